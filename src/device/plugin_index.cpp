#include "src/device/plugin_index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "sluice/error.hpp"
#include "src/device/kernel_call.hpp"
#include "src/device/renderer.hpp"

namespace sluice::detail {
namespace {

using Indices = std::vector<std::int64_t>;

/// Compiles kernels/<name>.k after `definitions`.
sluice_kernel* compiled(PluginDevice& device, const char* name, const std::string& definitions,
                        const KernelValues& values) {
  std::string key = name + definitions;
  put(key, values.is_wide());
  return device.kernels().get(key, [&] {
    std::string text = kernel_prelude(kernel_target(device)) + values.text() + definitions;
    text.append(kernel_file(name));
    return device.compile(text.c_str(), fmt::format("sluice_{}", name).c_str());
  });
}

std::string word_definition(DType dtype) { return fmt::format("#define K_WORD {}\n", word_name(dtype)); }

Indices read_indices(PluginDevice& device, const IndexCall& call) {
  Indices indices(static_cast<std::size_t>(call.count));
  const auto first = static_cast<std::size_t>(call.indices.offset) * sizeof(std::int64_t);
  device.read(*call.indices.storage, first, indices.data(), indices.size() * sizeof(std::int64_t));
  return indices;
}

[[noreturn]] void throw_wrong_index(const Indices& indices, std::int64_t bound, std::string_view operation) {
  std::size_t j = 0;
  while (j + 1 < indices.size() && indices[j] >= 0 && indices[j] < bound) ++j;
  throw IndexError(
      fmt::format("{}: index {} at position {} is out of range for {} columns", operation, indices[j], j, bound));
}

/// Looks at the indices on the device, unless it is known between what they lie. The answer is waited for; the indices
/// themselves are read only if one of them is wrong.
void check_on_device(PluginDevice& device, const IndexCall& call, std::string_view operation) {
  const IntegerRange& known = call.indices.storage->range;
  if (known.least >= 0 && known.greatest < call.bound) return;
  std::uint32_t flag = 0;
  const DeviceScratch scratch(device, sizeof flag);
  device.write(*scratch, 0, &flag, sizeof flag);
  KernelValues values(needs_wide_index(Shape{call.count}, {}));
  values.add_index({"count"}, call.count);
  values.add_integer({"index_offset"}, call.indices.offset);
  values.add_integer({"bound"}, call.bound);
  KernelCall kernel_call(device);
  kernel_call.add(call.indices);
  kernel_call.add(*scratch);
  kernel_call.launch(compiled(device, "check_indices", "", values), groups_for(call.count), values);
  device.read(*scratch, 0, &flag, sizeof flag);
  if (flag != 0) throw_wrong_index(read_indices(device, call), call.bound, operation);
}

/// The numbers that gather and scatter_add take.
KernelValues values_of(const IndexCall& call) {
  const std::int64_t most = call.column * std::max(call.count, call.bound);
  KernelValues values(needs_wide_index(Shape{most}, {}));
  values.add_index({"count"}, call.count * call.column);
  values.add_index({"column"}, call.column);
  values.add_integer({"x_offset"}, call.input.offset);
  values.add_integer({"y_offset"}, call.output.offset);
  return values;
}

// ---- The indices of a scatter_add, sorted.

/// The bitonic sort of kernels/sort_blocks.k.
class SortedKeys {
 public:
  SortedKeys(PluginDevice& device, const IndexCall& call)
      : device_(device),
        block_(2 * std::int64_t{kernel_target(device).group_size}),
        room_(static_cast<std::int64_t>(std::max<std::uint64_t>(std::bit_ceil(static_cast<std::uint64_t>(call.count)),
                                                                static_cast<std::uint64_t>(block_)))),
        keys_(device, static_cast<std::size_t>(room_) * sizeof(std::int64_t)) {
    sort_blocks(call);
    for (std::int64_t size = 2 * block_; size <= room_; size *= 2) {
      for (std::int64_t apart = size / 2; apart >= block_; apart /= 2) step(size, apart);
      merge(size);
    }
  }
  Storage& operator*() const { return *keys_; }

 private:
  void sort_blocks(const IndexCall& call) {
    KernelValues values(false);
    values.add_integer({"count"}, call.count);
    values.add_integer({"index_offset"}, call.indices.offset);
    KernelCall kernel_call(device_);
    kernel_call.add(call.indices);
    kernel_call.add(*keys_);
    kernel_call.launch(compiled(device_, "sort_blocks", "", values), blocks(), values);
  }
  void step(std::int64_t size, std::int64_t apart) {
    KernelValues values(false);
    values.add_integer({"pairs"}, room_ / 2);
    values.add_integer({"apart"}, apart);
    values.add_integer({"size"}, size);
    KernelCall kernel_call(device_);
    kernel_call.add(*keys_);
    kernel_call.launch(compiled(device_, "sort_step", "", values), groups_for(room_ / 2), values);
  }
  void merge(std::int64_t size) {
    KernelValues values(false);
    values.add_integer({"size"}, size);
    KernelCall kernel_call(device_);
    kernel_call.add(*keys_);
    kernel_call.launch(compiled(device_, "sort_merge", "", values), blocks(), values);
  }
  std::uint32_t blocks() const { return static_cast<std::uint32_t>(room_ / block_); }

  PluginDevice& device_;
  const std::int64_t block_;  // as many as two groups have items
  std::int64_t room_;         // a power of two, block_ at least
  DeviceScratch keys_;
};

void zero(PluginDevice& device, const Operand& to, std::int64_t count) {
  KernelValues values(needs_wide_index(Shape{count}, {}));
  values.add_index({"count"}, count);
  values.add_integer({"y_offset"}, to.offset);
  KernelCall kernel_call(device);
  kernel_call.add(to);
  kernel_call.launch(compiled(device, "zero", word_definition(to.dtype), values), groups_for(count), values);
}

/// Keys are index * count + position.
void require_keys(const IndexCall& call) {
  std::int64_t greatest = 0;
  if (!__builtin_mul_overflow(call.bound, call.count, &greatest)) return;
  throw Unsupported(fmt::format("scatter_add: {} indices into {} columns are too many", call.count, call.bound));
}

}  // namespace

void plugin_gather(PluginDevice& device, const IndexCall& call) {
  if (call.count == 0) return;
  check_on_device(device, call, "gather");
  if (call.column == 0) return;
  KernelValues values = values_of(call);
  values.add_integer({"index_offset"}, call.indices.offset);
  KernelCall kernel_call(device);
  kernel_call.add(call.input);
  kernel_call.add(call.indices);
  kernel_call.add(call.output);
  kernel_call.launch(compiled(device, "gather", word_definition(call.input.dtype), values),
                     groups_for(call.count * call.column), values);
}

void plugin_scatter_add(PluginDevice& device, const IndexCall& call) {
  require_type(call.input.dtype, kernel_target(device), "scatter_add");
  require_keys(call);
  check_on_device(device, call, "scatter_add");
  if (call.bound == 0 || call.column == 0) return;
  zero(device, call.output, call.bound * call.column);
  const SortedKeys keys(device, call);
  KernelValues values = values_of(call);
  values.add_integer({"indices"}, call.count);
  KernelCall kernel_call(device);
  kernel_call.add(call.input);
  kernel_call.add(*keys);
  kernel_call.add(call.output);
  kernel_call.launch(compiled(device, "scatter_add", type_definitions(call.input.dtype), values),
                     groups_for(call.count * call.column), values);
}

}  // namespace sluice::detail
