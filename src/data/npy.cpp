#include "src/data/npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "sluice/ops.hpp"
#include "src/core/atomic_file.hpp"
#include "src/core/tensor_rep.hpp"
#include "src/core/utf8.hpp"
#include "src/data/write_elements.hpp"
#include "src/data/zip.hpp"

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

/// Reads up to the elements; `size` becomes the bytes that are left.
NpyHeader read_header(const NextBytes& next, std::uint64_t& size, const std::string& name) {
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

void check_booleans(std::span<const std::byte> bytes, const std::string& name) {
  if (std::any_of(bytes.begin(), bytes.end(), [](std::byte b) { return b > std::byte{1}; })) {
    throw FileError(name + ": an element of type bool is neither 0 nor 1");
  }
}

std::string npz_name(const std::string& entry, const std::string& file) {
  constexpr std::string_view kEnding = ".npy";
  if (!is_utf8_name(entry)) throw FileError(file + ": the name of an entry is not UTF-8");
  if (entry.ends_with("data.pkl")) {
    throw FileError(file +
                    ": this is a PyTorch file, a Python pickle, which runs code when it is opened; save a "
                    ".safetensors file in Python with safetensors.torch.save_file");
  }
  if (!entry.ends_with(kEnding)) throw FileError(fmt::format("{}: \"{}\" is no array (.npy)", file, entry));
  return entry.substr(0, entry.size() - kEnding.size());
}

NamedTensors read_archive(const std::string& path, const std::string& operation, const NpyOptions& options) {
  const StoredFile file(path, operation);
  const std::vector<ZipEntry> entries = read_zip_directory(file);
  std::uint64_t left = static_cast<std::uint64_t>(std::max<std::int64_t>(options.max_bytes, 0));
  NamedTensors tensors;
  std::set<std::string> names;
  for (const ZipEntry& entry : entries) {
    const std::string name = npz_name(entry.name, file.name());
    if (!names.insert(name).second) throw FileError(fmt::format("{}: there are two arrays \"{}\"", file.name(), name));
    if (entry.is_deflated && entry.size > left) {
      throw FileError(
          fmt::format("{}: \"{}\" would take more than the limit of {} bytes; raise max_bytes if that is right",
                      file.name(), name, options.max_bytes));
    }
    if (entry.is_deflated) left -= entry.size;
    ZipContent content(file, entry);
    const NextBytes next = [&content](std::span<std::byte> to) { content.read(to); };
    tensors.emplace_back(name, read_npy_array(next, entry.size, file.name() + ": \"" + name + "\"", options.reverse));
    content.finish();
  }
  return tensors;
}

void write_archive(const std::string& path, const NamedTensors& tensors) {
  std::set<std::string> names;
  for (const auto& [name, tensor] : tensors) {
    require_value(tensor, "write_npz");
    if (!is_utf8_name(name)) throw ArgumentError("save: a name is not UTF-8 without NUL, which .npz files need");
    if (!names.insert(name).second) throw ArgumentError("save: two tensors are named \"" + name + "\"");
  }
  ZipWriter archive(path);
  for (const auto& [name, tensor] : tensors) {
    const std::string preamble = npy_preamble(tensor, name);
    const Tensor host = cpu_device()(detach(tensor));
    const std::span<const std::byte> parts[] = {std::as_bytes(std::span(preamble)), host.bytes()};
    archive.add(name + ".npy", parts);
  }
  archive.commit();
}

Tensor read_array_file(const std::string& path, const std::string& operation, bool reverse) {
  const StoredFile file(path, operation);
  std::uint64_t position = 0;
  const NextBytes next = [&](std::span<std::byte> to) {
    file.read(position, to, "the array");
    position += to.size();
  };
  return read_npy_array(next, file.size(), file.name(), reverse);
}

}  // namespace

Tensor read_npy_array(const NextBytes& next, std::uint64_t size, const std::string& name, bool reverse) {
  const NpyHeader header = read_header(next, size, name);
  const std::optional<std::uint64_t> bytes = bytes_of(header);
  if (!bytes || *bytes != size) {
    throw FileError(fmt::format("{}: shape ({}) of {} does not take the {} bytes that are there", name,
                                fmt::join(header.shape, ", "), header.dtype.name(), size));
  }
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

State read_npy_state(const std::string& path) {
  return State(State::Record{{"tensor", read_array_file(path, "read_state", false)}});
}

State read_npz_state(const std::string& path) {
  State::Record members;
  for (auto& [name, tensor] : read_archive(path, "read_state", {})) members.emplace_back(name, std::move(tensor));
  return State(std::move(members));
}

void write_npy_file(const std::string& path, const TensorFile& file) {
  if (file.tensors.size() + file.aliases.size() != 1) {
    throw ArgumentError(fmt::format("save: a .npy file holds one array, not {}; write .npz",
                                    file.tensors.size() + file.aliases.size()));
  }
  write_npy(path, file.tensors.front().tensor);
}

void write_npz_file(const std::string& path, const TensorFile& file) {
  NamedTensors tensors;
  std::map<std::string, Tensor> known;
  for (const auto& [name, tensor] : file.tensors) tensors.emplace_back(name, known[name] = tensor);
  for (const auto& [name, target] : file.aliases) tensors.emplace_back(name, known.at(target));
  write_archive(path, tensors);
}

}  // namespace sluice::detail

namespace sluice::inline v0 {

Tensor read_npy(const std::string& path, const NpyOptions& options) {
  return detail::read_array_file(path, "read_npy", options.reverse);
}

void write_npy(const std::string& path, const Tensor& x) {
  detail::require_value(x, "write_npy");
  const std::string preamble = detail::npy_preamble(x, path);
  detail::AtomicFile file(path, "write_npy");
  file.write(std::as_bytes(std::span(preamble)));
  detail::write_elements(file, x);
  file.commit();
}

NamedTensors read_npz(const std::string& path, const NpyOptions& options) {
  return detail::read_archive(path, "read_npz", options);
}

void write_npz(const std::string& path, const NamedTensors& tensors) { detail::write_archive(path, tensors); }

}  // namespace sluice::inline v0
