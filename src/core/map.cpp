// Elementwise programs over tensors: broadcast, collapse, allocate or reuse, run, record.
#include "src/core/map.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "src/core/tensor_rep.hpp"
#include "src/core/typed_program.hpp"

namespace sluice::detail {
namespace {

/// Room for `n` values on the stack when they are few, which they nearly always are.
template <class T, std::size_t N = 6>
class Few {
 public:
  explicit Few(std::size_t n) : size_(n), heap_(n > N ? n : 0) {}
  T* data() { return size_ > N ? heap_.data() : stack_.data(); }
  T& operator[](std::size_t i) { return data()[i]; }
  std::span<T> span() { return {data(), size_}; }

 private:
  std::size_t size_;
  std::array<T, N> stack_{};
  std::vector<T> heap_;
};

/// Finds typed programs without a lock in the usual case.
const TypedProgram& typed_program(const Program* program, std::span<const Tensor> inputs, const DType* output_types) {
  struct Entry {
    const Program* program = nullptr;
    std::uint64_t types = 0;
    const TypedProgram* typed = nullptr;
  };
  constexpr std::size_t kEntries = 64;
  thread_local std::array<Entry, kEntries> recent;

  std::uint64_t types = 1;
  for (const Tensor& x : inputs) types = types << 4 | x.rep()->dtype.code();
  const std::size_t forced = output_types == nullptr ? 0 : program->outputs().size();
  for (std::size_t i = 0; i < forced; ++i) types = types << 4 | output_types[i].code();
  const bool fits = inputs.size() + forced < 15;
  Entry& entry = recent[(reinterpret_cast<std::uintptr_t>(program) / 64 ^ types * 31) % kEntries];
  if (fits && entry.program == program && entry.types == types << 1 && forced == 0) return *entry.typed;
  if (fits && entry.program == program && entry.types == (types << 1 | 1) && forced != 0) return *entry.typed;
  Few<DType, 8> list(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) list[i] = inputs[i].rep()->dtype;
  const TypedProgram& typed = program->typed(list.span(), output_types);
  if (fits) entry = {program, types << 1 | (forced != 0 ? 1 : 0), &typed};
  return typed;
}

/// Whether the buffer of a given-away input can hold an output: nobody else sees it and it has the right size.
bool reusable(const Tensor& x, const Shape& shape, DType dtype) {
  if (!x) return false;
  const TensorRep& rep = *x.rep();
  return rep.refs.load(std::memory_order_acquire) == 1 && rep.storage->refs.load(std::memory_order_acquire) == 1 &&
         !rep.storage->lent && rep.offset == 0 && rep.dtype.size() == dtype.size() && rep.shape == shape;
}

/// Mask of the inputs that are outputs as they are: they are read when other outputs have been written.
std::uint64_t inputs_given_out(const Program& program) {
  std::uint64_t mask = 0;
  for (const std::uint16_t output : program.outputs()) {
    const Node& node = program.nodes()[output];
    if (node.op == Op::input && node.operand[0] < 64) mask |= std::uint64_t{1} << node.operand[0];
  }
  return mask;
}

Tensor output_tensor(std::span<Tensor> inputs, const Shape& shape, DType dtype, DeviceImpl* device,
                     std::uint64_t& taken) {
  for (std::size_t i = 0; i < inputs.size() && i < 64; ++i) {
    if (((taken >> i) & 1) != 0 || !reusable(inputs[i], shape, dtype)) continue;
    taken |= std::uint64_t{1} << i;
    inputs[i].rep()->storage->range = {};
    if (inputs[i].rep()->dtype == dtype) return detach(inputs[i]);
    // Same size, another type: a second handle on the storage.
    Storage* storage = inputs[i].rep()->storage;
    storage->refs.fetch_add(1, std::memory_order_relaxed);
    return make_tensor(storage, 0, shape, dtype);
  }
  return empty(shape, dtype, device);
}

void launch(const TypedProgram& typed, std::span<const Scalar> params, const Shape& shape,
            std::span<const Tensor> inputs, std::span<const Tensor> outputs, DeviceImpl* device) {
  Few<Operand, 8> operands(inputs.size() + outputs.size());
  const bool dense = std::ranges::all_of(inputs, [&](const Tensor& x) { return x.rep()->shape == shape; });
  Shape space = shape;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (dense) {
      Operand& operand = operands[i];
      operand.storage = inputs[i].rep()->storage;
      operand.offset = inputs[i].rep()->offset;
      operand.dtype = inputs[i].rep()->dtype;
      operand.strides[0] = 1;
    } else {
      operands[i] = broadcast_operand(inputs[i], shape);
    }
  }
  for (std::size_t o = 0; o < outputs.size(); ++o) operands[inputs.size() + o] = dense_operand(outputs[o]);
  if (dense) space = Shape{shape.numel()};
  else collapse(space, operands.span());
  const std::span<const Operand> all = operands.span();
  device->map({typed, params, space, all.first(inputs.size()), all.subspan(inputs.size())});
}

void run_into(const Program* program, std::span<const Scalar> params, std::span<Tensor> inputs,
              const DType* output_types, std::span<Tensor> outputs) {
  for (const Tensor& x : inputs) require_value(x, "map");
  DeviceImpl* device = common_device(inputs, "map");
  const Shape shape = broadcast_all(inputs, "map");
  const TypedProgram& typed = typed_program(program, inputs, output_types);
  std::vector<Scalar> storage;
  params = all_params(typed, params, storage);
  check_params(typed, params);
  std::uint64_t taken = outputs.size() > 1 ? inputs_given_out(*program) : 0;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    outputs[o] = output_tensor(inputs, shape, typed.output_types[o], device, taken);
  }
  if (shape.numel() == 0) return;
  launch(typed, params, shape, inputs, outputs, device);
}

// ---- The pullback of a map.

/// What a recorded map keeps: the inputs its derivative reads, or the result alone where that is enough.
struct MapPullback {
  const Program* program;
  std::vector<Scalar> params;
  std::vector<Tensor> saved;  // empty where the derivative does not read the input
  std::vector<Shape> shapes;
  std::vector<DType> types;
  Shape space;
  bool from_result = false;

  std::vector<Tensor> operator()(std::span<const Tensor> gradients, Needed needed) const {
    std::uint64_t given = 0;
    for (std::size_t o = 0; o < gradients.size(); ++o) given |= static_cast<std::uint64_t>(bool(gradients[o])) << o;
    std::uint64_t wanted = 0;
    for (std::size_t i = 0; i < shapes.size() && i < 64; ++i) {
      wanted |= static_cast<std::uint64_t>(needed[i] && types[i].is_floating()) << i;
    }
    std::vector<Tensor> result(shapes.size());
    if (from_result) {
      std::array<Tensor, 2> inputs{saved[0], gradients[0]};
      result[0] = run_map1(program->derivative_of_result(), params, inputs, types.data());
      return result;
    }
    std::vector<Tensor> operands = operands_with(gradients);
    full_gradients(wanted, given, operands, result);
    return result;
  }

  std::vector<Tensor> operands_with(std::span<const Tensor> gradients) const {
    std::vector<Tensor> operands = saved;
    Tensor any;
    for (const Tensor& g : gradients) any = g ? g : any;
    for (Tensor& x : operands) x = x ? x : any;  // an operand nobody reads
    for (const Tensor& g : gradients) {
      if (g) operands.push_back(g);
    }
    return operands;
  }

  /// Gradients of inputs that fill the space come from one pass; those of broadcast inputs are sums, of a gradient that
  /// exists anyway (a bias beside a matrix product) or of a pass of their own that stores nothing else.
  void full_gradients(std::uint64_t wanted, std::uint64_t given, const std::vector<Tensor>& operands,
                      std::vector<Tensor>& result) const {
    const Program* derivative = program->derivative(wanted, given);
    std::vector<std::size_t> place(shapes.size());
    std::uint64_t full = 0;
    std::size_t next = 0;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      if (((wanted >> i) & 1) == 0) continue;
      place[i] = next++;
      if (!derivative->output_is_zero(place[i]) && shapes[i].numel() == space.numel()) full |= std::uint64_t{1} << i;
    }
    if (full != 0) run_full(full, given, operands, result);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const bool flows = ((wanted >> i) & 1) != 0 && !derivative->output_is_zero(place[i]);
      if (!flows || ((full >> i) & 1) != 0) continue;
      for (std::size_t j = 0; j < shapes.size(); ++j) {
        const bool same = ((full >> j) & 1) != 0 && types[i] == types[j] && shapes[j] == space &&
                          derivative->outputs()[place[i]] == derivative->outputs()[place[j]];
        if (same && !result[i]) result[i] = sum_to_shape(result[j], shapes[i]);
      }
      if (!result[i]) {
        result[i] =
            map_sum_to_shape(program->derivative(std::uint64_t{1} << i, given), params, operands, shapes[i], types[i]);
      }
    }
  }

  void run_full(std::uint64_t full, std::uint64_t given, const std::vector<Tensor>& operands,
                std::vector<Tensor>& result) const {
    std::vector<DType> output_types;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      if (((full >> i) & 1) != 0) output_types.push_back(types[i]);
    }
    std::vector<Tensor> copies = operands;
    std::vector<Tensor> outputs = run_map(program->derivative(full, given), params, copies, output_types.data());
    std::size_t next = 0;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      if (((full >> i) & 1) == 0) continue;
      result[i] = outputs[next++];
      if (result[i].shape() != shapes[i]) result[i] = view(result[i], 0, shapes[i]);
    }
  }
};

MapPullback make_pullback(const Program* program, std::span<const Scalar> params, std::span<const Tensor> inputs) {
  if (inputs.size() > 64) throw ArgumentError("map: a differentiated map takes at most 64 tensors; split the function");
  MapPullback pullback{program, {params.begin(), params.end()}, {}, {}, {}, broadcast_all(inputs, "map")};
  for (const Tensor& x : inputs) {
    pullback.shapes.push_back(x.shape());
    pullback.types.push_back(x.dtype());
  }
  pullback.from_result = inputs.size() == 1 && program->outputs().size() == 1 && inputs[0].dtype().is_floating() &&
                         program->derivative_of_result() != nullptr;
  std::uint64_t wanted = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool flows = inputs[i].slot().tape != 0 && inputs[i].dtype().is_floating();
    wanted |= static_cast<std::uint64_t>(flows) << i;
  }
  const std::uint64_t every_output = ~std::uint64_t{0} >> (64 - program->outputs().size());
  std::uint64_t read = 0;
  if (!pullback.from_result && wanted != 0) read = program->derivative(wanted, every_output)->inputs_read();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    pullback.saved.push_back(((read >> i) & 1) != 0 ? detach(inputs[i]) : Tensor());
  }
  return pullback;
}

void map_into(const Program* program, std::span<const Scalar> params, std::span<Tensor> inputs,
              std::span<Tensor> outputs) {
  if (!tracked(inputs)) return run_into(program, params, inputs, nullptr, outputs);
  for (const Tensor& x : inputs) require_value(x, "map");
  MapPullback pullback = make_pullback(program, params, inputs);
  std::vector<Tensor> tracked_inputs(inputs.begin(), inputs.end());  // keeps handles shared: nothing is reused
  // `params` may be those of this thread's last trace, and making the pullback may have traced.
  run_into(program, pullback.params, inputs, nullptr, outputs);
  if (pullback.from_result) pullback.saved[0] = outputs[0];
  record(outputs, tracked_inputs, std::move(pullback));
}

}  // namespace

Shape broadcast_all(std::span<const Tensor> inputs, std::string_view operation) {
  Shape shape = inputs[0].shape();
  for (const Tensor& x : inputs.subspan(1)) {
    if (x.rep()->shape != shape) shape = broadcast(shape, x.rep()->shape, operation);
  }
  return shape;
}

void check_params(const TypedProgram& program, std::span<const Scalar> params) {
  for (const auto& [slot, dtype] : program.fitted_params) {
    const std::int64_t value = params[slot].integer;
    const int bits = static_cast<int>(dtype.size()) * 8;
    const std::int64_t low = dtype == u8 ? 0 : -(std::int64_t{1} << (bits - 1));
    const std::int64_t high = dtype == u8 ? 255 : (std::int64_t{1} << (bits - 1)) - 1;
    if (value < low || value > high) {
      throw TypeError("map: the number " + std::to_string(value) + " does not fit " + std::string(dtype.name()) +
                      "; cast the tensor to a wider type first");
    }
  }
}

std::span<const Scalar> all_params(const TypedProgram& program, std::span<const Scalar> params,
                                   std::vector<Scalar>& storage) {
  if (program.own_params.empty()) return params;
  storage.assign(params.begin(), params.end());
  storage.insert(storage.end(), program.own_params.begin(), program.own_params.end());
  return storage;
}

std::vector<Tensor> run_map(const Program* program, std::span<const Scalar> params, std::span<Tensor> inputs,
                            const DType* output_types) {
  std::vector<Tensor> outputs(program->outputs().size());
  run_into(program, params, inputs, output_types, outputs);
  return outputs;
}

Tensor run_map1(const Program* program, std::span<const Scalar> params, std::span<Tensor> inputs,
                const DType* output_types) {
  Tensor output;
  run_into(program, params, inputs, output_types, {&output, 1});
  return output;
}

std::vector<Tensor> map_program(const Program* program, std::span<const Scalar> params, std::span<Tensor> inputs) {
  std::vector<Tensor> outputs(program->outputs().size());
  map_into(program, params, inputs, outputs);
  return outputs;
}

Tensor map_program1(const Program* program, std::span<const Scalar> params, std::span<Tensor> inputs) {
  Tensor output;
  map_into(program, params, inputs, {&output, 1});
  return output;
}

}  // namespace sluice::detail
