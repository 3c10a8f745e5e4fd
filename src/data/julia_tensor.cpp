#include "src/data/julia_tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "src/core/tensor_rep.hpp"
#include "src/data/julia_types.hpp"

namespace sluice::detail {

std::optional<std::uint64_t> array_bytes(std::span<const std::int64_t> sizes, std::uint64_t size) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
  std::uint64_t product = size;
  bool is_empty = false;
  for (const std::int64_t each : sizes) {
    if (each < 0) return std::nullopt;
    is_empty = is_empty || each == 0;
    // A product without its zeros must stay in range too: it is what strides are made of.
    const auto factor = static_cast<std::uint64_t>(std::max<std::int64_t>(each, 1));
    if (product > kMost / factor) return std::nullopt;
    product *= factor;
  }
  return is_empty ? 0 : product;
}

std::string wrong_size(DType dtype, std::span<const std::int64_t> sizes, std::uint64_t bytes) {
  const std::optional<std::uint64_t> needed = array_bytes(sizes, dtype.size());
  if (needed && *needed == bytes) return {};
  const std::string array = fmt::format("an array of {} of size ({})", julia_name_of(dtype), fmt::join(sizes, ", "));
  return needed ? fmt::format("{} takes {} bytes, the data have {}", array, *needed, bytes)
                : fmt::format("{} is too large for any file", array);
}

Tensor read_julia_tensor(ByteSource& source, std::uint64_t at, DType dtype, const Shape& shape) {
  return read_julia_tensor(source, at, dtype, shape, [&](std::span<std::byte> to) { source.read(at, to); });
}

Tensor read_julia_tensor(ByteSource& source, std::uint64_t at, DType dtype, const Shape& shape,
                         const std::function<void(std::span<std::byte>)>& fill) {
  Tensor tensor = empty(shape, dtype, cpu_device_impl());
  const std::size_t count = static_cast<std::size_t>(shape.numel()) * dtype.size();
  const std::span<std::byte> bytes =
      count == 0 ? std::span<std::byte>() : std::span(dense_operand(tensor).host(), count);
  fill(bytes);
  if (dtype != boolean) return tensor;
  const auto wrong = std::find_if(bytes.begin(), bytes.end(), [](std::byte b) { return b > std::byte{1}; });
  if (wrong != bytes.end()) {
    source.fail(at, fmt::format("element {} of an array is a Bool that is neither 0 nor 1", wrong - bytes.begin() + 1));
  }
  return tensor;
}

std::optional<std::string> repeated_name(const State::Record& record) {
  std::vector<std::string_view> names;
  for (const auto& [name, child] : record) names.push_back(name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) return std::string(*twice);
  return std::nullopt;
}

}  // namespace sluice::detail
