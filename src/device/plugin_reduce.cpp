#include "src/device/plugin_reduce.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "src/core/program.hpp"
#include "src/device/column_groups.hpp"
#include "src/device/kernel_call.hpp"
#include "src/device/plugin_map.hpp"
#include "src/device/renderer.hpp"

namespace sluice::detail {
namespace {

/// The space of a reduction as two: the outputs, and what is reduced for each.
struct ReduceSpace {
  std::vector<int> kept, reduced;  // dimensions
  std::int64_t outputs = 1, length = 1;
  bool is_kept_first = false;

  explicit ReduceSpace(const ReduceCall& call) {
    for (int dim = 0; dim < call.space.rank(); ++dim) {
      const std::int64_t size = call.space[dim];
      if (size == 1) continue;
      const bool is_kept = call.output.strides[static_cast<std::size_t>(dim)] != 0;
      if (kept.empty() && reduced.empty()) is_kept_first = is_kept;
      (is_kept ? kept : reduced).push_back(dim);
      (is_kept ? outputs : length) *= size;
    }
  }
};

class Reduction {
 public:
  Reduction(PluginDevice& device, const ReduceCall& call)
      : device_(device),
        call_(call),
        target_(kernel_target(device)),
        space_(call),
        register_(register_of(call.program.output_types[0])),
        is_wide_(needs_wide_index(call.space, call.inputs)),
        loaded_(loaded_inputs(call.program)) {
    require_registers(call.program, target_, "reduce");
  }

  void run() {
    const ColumnGroups groups(target_.group_size, space_.outputs, space_.length, space_.is_kept_first, true);
    if (groups.pieces == 1) return reduce_inputs(groups, *call_.output.storage, call_.output.offset);
    // Every piece has one place for each output; then the pieces are what is reduced.
    const DeviceScratch parts(device_, static_cast<std::size_t>(groups.pieces * space_.outputs) * 8);
    reduce_inputs(groups, *parts, 0);
    reduce_parts(groups.pieces, *parts);
  }

 private:
  void add_common(KernelValues& values, const ColumnGroups& groups, std::int64_t length, std::int64_t offset) const {
    values.add_index({"outputs"}, space_.outputs);
    values.add_index({"length"}, length);
    groups.add_to(values);
    values.add_integer({"out_offset"}, offset);
    const double count = static_cast<double>(call_.length);
    const bool is_mean = call_.scale == 1 / count;
    const Register factor = target_.has_f64 ? Register::f64 : Register::f32;
    values.add_number({"factor"}, factor, is_mean ? 1.0 : call_.scale);
    values.add_number({"divisor"}, factor, is_mean ? count : 1.0);
  }

  bool is_scalar(std::size_t input) const { return lie_of(call_.inputs[input], call_.space) == Lie::scalar; }

  void add_walk(KernelValues& values) const {
    const auto add_sizes = [&](const char* name, const std::vector<int>& dims) {
      for (std::size_t d = 0; d + 1 < dims.size(); ++d) {
        values.add_index({name, static_cast<int>(d)}, call_.space[dims[d]]);
      }
    };
    add_sizes("kept_size", space_.kept);
    add_sizes("reduced_size", space_.reduced);
    for (std::size_t k = 0; k < loaded_.size(); ++k) {
      if (!loaded_[k]) continue;
      values.add_integer({"offset", static_cast<int>(k)}, call_.inputs[k].offset);
      if (is_scalar(k)) continue;
      const auto add_strides = [&](const char* name, const std::vector<int>& dims) {
        for (std::size_t d = 0; d < dims.size(); ++d) {
          values.add_stride({name, static_cast<int>(k), static_cast<int>(d)},
                            call_.inputs[k].strides[static_cast<std::size_t>(dims[d])]);
        }
      };
      add_strides("kept_stride", space_.kept);
      add_strides("reduced_stride", space_.reduced);
    }
  }

  std::string key(char stage, bool is_part) const {
    std::string key = "reduce";
    put(key, stage);
    put(key, is_part);
    put(key, call_.combine);
    put(key, call_.output.dtype.code());
    if (stage == 'p') {
      put(key, register_);
      return key;
    }
    put(key, &call_.program);
    put(key, is_wide_);
    put(key, space_.kept.size());
    put(key, space_.reduced.size());
    for (std::size_t k = 0; k < loaded_.size(); ++k) put(key, is_scalar(k));
    return key;
  }

  std::string prelude(const KernelValues& values) const {
    std::string text = kernel_prelude(target_) + values.text();
    text += fmt::format("#define K_COMBINE {}\n#define K_TYPE {}\n#define K_T {}\n#define K_NAME(f) f##_{}\n",
                        static_cast<int>(call_.combine), static_cast<int>(register_), register_type(register_),
                        register_name(register_));
    return text.append(kernel_file("reduce"));
  }

  /// The kernel after its parameters; `statements` take element r of output o into `total`.
  std::string body(const std::string& statements, bool is_part) const {
    const std::string store =
        is_part ? std::string("out[piece * v.outputs + o] = totals[K_ITEM];")
                : fmt::format("out[v.out_offset + o] = k_put_{}(k_finish(totals[K_ITEM], v.factor, v.divisor));",
                              call_.output.dtype.name());
    std::string text =
        "  K_LOCAL(k_total, totals, K_GROUP_SIZE);\n"
        "  const k_index lane = K_ITEM / v.width;\n"
        "  const k_index piece = K_GROUP % v.pieces;\n"
        "  const k_index o = K_GROUP / v.pieces * v.width + K_ITEM % v.width;\n"
        "  const k_index begin = piece * v.piece_length;\n"
        "  const k_index end = v.length - begin < v.piece_length ? v.length : begin + v.piece_length;\n"
        "  k_total total = k_neutral();\n"
        "  if (o < v.outputs) {\n";
    text += statements;
    text +=
        "  }\n"
        "  totals[K_ITEM] = total;\n"
        "  for (k_index apart = v.lanes / 2; apart > 0; apart /= 2) {\n"
        "    K_BARRIER;\n"
        "    if (lane < apart) totals[K_ITEM] = k_join(totals[K_ITEM], totals[K_ITEM + apart * v.width]);\n"
        "  }\n";
    return text + "  if (lane == 0 && o < v.outputs) " + store + "\n}\n";
  }

  std::string input_place(int input) const {
    std::string text = fmt::format("in_{0}[v.offset_{0}", input);
    if (is_scalar(static_cast<std::size_t>(input))) return text + "]";
    for (std::size_t d = 0; d < space_.kept.size(); ++d) {
      text += fmt::format(" + (k_offset)o_{0} * v.kept_stride_{1}_{0}", d, input);
    }
    for (std::size_t d = 0; d < space_.reduced.size(); ++d) {
      text += fmt::format(" + (k_offset)r_{0} * v.reduced_stride_{1}_{0}", d, input);
    }
    return text + "]";
  }

  std::string render_inputs(const KernelValues& values, bool is_part) const {
    std::string text = prelude(values) + program_helpers(call_.program) + "K_KERNEL(sluice_reduce)(";
    int slot = 0;
    for (std::size_t k = 0; k < loaded_.size(); ++k) {
      if (!loaded_[k]) continue;
      text += fmt::format("K_READ({}, in_{}, {}), ", word_name(call_.inputs[k].dtype), k, slot++);
    }
    text += fmt::format("K_WRITE({}, out, {}), K_VALUES(k_values, v, {}) K_IDS) {{\n",
                        is_part ? "k_total" : word_name(call_.output.dtype), slot, slot + 1);
    std::string loop;
    if (!space_.kept.empty()) {
      loop += coordinate_statements("o", "kept_size", static_cast<int>(space_.kept.size()), "    ");
    }
    loop += "    for (k_index r = begin + lane; r < end; r += v.lanes) {\n";
    if (!space_.reduced.empty()) {
      loop += coordinate_statements("r", "reduced_size", static_cast<int>(space_.reduced.size()), "      ");
    }
    loop += program_statements(call_.program, "      ", [&](int k) { return input_place(k); });
    loop += fmt::format("      total = k_step(total, x_{});\n    }}\n", call_.program.outputs[0]);
    return text + body(loop, is_part);
  }

  std::string render_parts(const KernelValues& values) const {
    const std::string loop =
        "    for (k_index r = begin + lane; r < end; r += v.lanes) total = k_join(total, parts[r * v.outputs + o]);\n";
    return prelude(values) +
           fmt::format(
               "K_KERNEL(sluice_reduce)(K_READ(k_total, parts, 0), K_WRITE({}, out, 1), K_VALUES(k_values, v, "
               "2) K_IDS) {{\n",
               word_name(call_.output.dtype)) +
           body(loop, false);
  }

  void reduce_inputs(const ColumnGroups& groups, const Storage& to, std::int64_t offset) {
    const bool is_part = groups.pieces > 1;
    KernelValues values(is_wide_);
    add_common(values, groups, space_.length, offset);
    add_walk(values);
    add_params(values, call_.program, call_.params);
    KernelCall kernel_call(device_);
    for (std::size_t k = 0; k < loaded_.size(); ++k) {
      if (loaded_[k]) kernel_call.add(call_.inputs[k]);
    }
    kernel_call.add(to);
    sluice_kernel* const kernel = device_.kernels().get(
        key('i', is_part), [&] { return device_.compile(render_inputs(values, is_part).c_str(), "sluice_reduce"); });
    kernel_call.launch(kernel, groups.groups(), values);
  }

  void reduce_parts(std::int64_t pieces, const Storage& parts) {
    const ColumnGroups groups(target_.group_size, space_.outputs, pieces, true, false);
    KernelValues values(false);
    add_common(values, groups, pieces, call_.output.offset);
    KernelCall kernel_call(device_);
    kernel_call.add(parts);
    kernel_call.add(call_.output);
    sluice_kernel* const kernel = device_.kernels().get(
        key('p', false), [&] { return device_.compile(render_parts(values).c_str(), "sluice_reduce"); });
    kernel_call.launch(kernel, groups.groups(), values);
  }

  PluginDevice& device_;
  const ReduceCall& call_;
  const KernelTarget target_;
  const ReduceSpace space_;
  const Register register_;
  const bool is_wide_;
  const std::vector<bool> loaded_;
};

/// The program's values in memory first, then a plain reduction of them.
void reduce_in_two(PluginDevice& device, const ReduceCall& call) {
  const DType dtype = call.program.output_types[0];
  const DeviceScratch values(device, static_cast<std::size_t>(call.space.numel()) * dtype.size());
  const Operand operand = values.dense(dtype, call.space);
  plugin_map(device, {call.program, call.params, call.space, call.inputs, {&operand, 1}});
  const TypedProgram& same = identity_program()->typed({&dtype, 1});
  Reduction(device, {same, {}, call.space, {&operand, 1}, call.output, call.combine, call.scale, call.length}).run();
}

}  // namespace

void plugin_reduce(PluginDevice& device, const ReduceCall& call) {
  const bool is_wide = needs_wide_index(call.space, call.inputs);
  if (has_room(call.program, kernel_room(call.space.rank(), is_wide))) return Reduction(device, call).run();
  reduce_in_two(device, call);
}

}  // namespace sluice::detail
