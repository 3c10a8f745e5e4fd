#include "src/data/npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "sluice/ops.hpp"
#include "src/core/atomic_file.hpp"
#include "src/core/tensor_rep.hpp"
#include "src/data/write_elements.hpp"

namespace sluice::detail {
namespace {

constexpr std::uint64_t kMaxHeader = 1 << 20;

/// Bytes of an array, nothing beyond 2^62.
std::optional<std::uint64_t> bytes_of(const NpyHeader& header) {
  std::uint64_t product = header.dtype.size();
  bool is_empty = false;
  for (const std::int64_t size : header.shape) {
    is_empty = is_empty || size == 0;
    const auto factor = static_cast<std::uint64_t>(std::max<std::int64_t>(size, 1));
    if (product > (std::uint64_t{1} << 62) / factor) return std::nullopt;
    product *= factor;
  }
  return is_empty ? 0 : product;
}

void swap_bytes(std::span<std::byte> bytes, std::size_t size) {
  for (std::size_t i = 0; i < bytes.size(); i += size)
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(i), bytes.begin() + static_cast<std::ptrdiff_t>(i + size));
}

Tensor with_reversed_sizes(const Tensor& x) {
  if (x.rank() < 2) return x;
  std::vector<int> order(static_cast<std::size_t>(x.rank()));
  std::iota(order.rbegin(), order.rend(), 0);
  return detach(permute(x, order));
}

std::string read_text(const NextBytes& next, std::uint64_t count) {
  std::string text(static_cast<std::size_t>(count), '\0');
  next(std::as_writable_bytes(std::span(text)));
  return text;
}

void check_booleans(std::span<const std::byte> bytes, const std::string& name) {
  if (std::any_of(bytes.begin(), bytes.end(), [](std::byte b) { return b > std::byte{1}; })) {
    throw FileError(name + ": an element of type bool is neither 0 nor 1");
  }
}

/// The bytes of a file from its start on.
NextBytes bytes_in(const StoredFile& file) {
  return [&file, position = std::uint64_t{0}](std::span<std::byte> to) mutable {
    file.read(position, to, "the array");
    position += to.size();
  };
}

Tensor read_array_file(const std::string& path, const std::string& operation, bool reverse) {
  const StoredFile file(path, operation);
  return read_npy_array(bytes_in(file), file.size(), file.name(), reverse);
}

void write_array_file(const std::string& path, const std::string& operation, const NamedTensor& array) {
  const std::string preamble = npy_preamble(array.tensor, array.name);
  AtomicFile file(path, operation);
  file.write(std::as_bytes(std::span(preamble)));
  write_elements(file, array.tensor);
  file.commit();
}

}  // namespace

NpyHeader read_npy_header(const NextBytes& next, std::uint64_t& size, const std::string& name) {
  const auto take = [&](std::uint64_t count) {
    if (count > size) throw FileError(name + ": is cut off in its header");
    size -= count;
    return read_text(next, count);
  };
  const std::string start = take(8);
  if (!start.starts_with("\x93NUMPY")) throw FileError(name + ": does not begin as a .npy file");
  const int version = start[6];
  if (version < 1 || version > 3) throw FileError(fmt::format("{}: version {} of .npy is not known", name, version));
  const std::string digits = take(version == 1 ? 2 : 4);
  std::uint64_t length = 0;
  for (std::size_t i = digits.size(); i-- > 0;) length = length << 8 | static_cast<unsigned char>(digits[i]);
  if (length > kMaxHeader) throw FileError(fmt::format("{}: a header of {} bytes", name, length));
  return parse_npy_header(take(length), name);
}

void check_npy_size(const NpyHeader& header, std::uint64_t size, const std::string& name) {
  const std::optional<std::uint64_t> bytes = bytes_of(header);
  if (bytes && (*bytes == size || !header.refusal.empty())) return;
  throw FileError(fmt::format("{}: shape ({}) of {} does not take the {} bytes that are there", name,
                              fmt::join(header.shape, ", "), header.type, size));
}

Tensor read_npy_array(const NextBytes& next, std::uint64_t size, const std::string& name, bool reverse) {
  const NpyHeader header = read_npy_header(next, size, name);
  if (!header.refusal.empty()) throw FileError(name + ": is " + header.refusal);
  check_npy_size(header, size, name);
  std::vector<std::int64_t> sizes = header.shape;
  if (!header.is_fortran) std::reverse(sizes.begin(), sizes.end());
  const Tensor stored = empty(Shape(sizes), header.dtype, cpu_device_impl());
  const std::span<std::byte> elements(dense_operand(stored).host(), static_cast<std::size_t>(size));
  next(elements);
  if (header.dtype == boolean) check_booleans(elements, name);
  if (header.is_swapped) swap_bytes(elements, header.dtype.size());
  // In C order the sizes as they are here are the reversed ones already.
  return header.is_fortran == reverse ? with_reversed_sizes(stored) : stored;
}

NpyHeader read_npy_file_header(const std::string& path, const std::string& operation, std::uint64_t& bytes) {
  const StoredFile file(path, operation);
  bytes = file.size();
  NpyHeader header = read_npy_header(bytes_in(file), bytes, file.name());
  check_npy_size(header, bytes, file.name());
  return header;
}

State read_npy_state(const std::string& path, const std::string& operation) {
  return State(State::Record{{"tensor", read_array_file(path, operation, false)}});
}

void write_npy_file(const std::string& path, const std::string& operation, const TensorFile& file) {
  const std::size_t count = file.tensors.size() + file.aliases.size();
  if (count != 1) throw ArgumentError(fmt::format("a .npy file holds one array, not {}; write .npz", count));
  write_array_file(path, operation, file.tensors.front());
}

}  // namespace sluice::detail

namespace sluice::inline v0 {

Tensor read_npy(const std::string& path, const NpyOptions& options) {
  return detail::read_array_file(path, "read_npy", options.reverse);
}

void write_npy(const std::string& path, const Tensor& x) {
  detail::require_value(x, "write_npy");
  detail::naming_file("write_npy", path, [&] { detail::write_array_file(path, "write_npy", {"the tensor", x}); });
}

}  // namespace sluice::inline v0
