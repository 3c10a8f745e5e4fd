#include "src/data/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <set>

#include "sluice/model.hpp"
#include "src/core/atomic_file.hpp"
#include "src/core/tensor_rep.hpp"
#include "src/core/utf8.hpp"
#include "src/data/write_elements.hpp"
#include "src/device/thread_pool.hpp"

namespace sluice::detail {
namespace {

static_assert(std::endian::native == std::endian::little, "the files are little-endian, and bytes are not turned");

constexpr std::uint64_t kMaxHeader = 100'000'000;
constexpr std::size_t kPiece = std::size_t{16} << 20;
constexpr std::int64_t kGrain = std::int64_t{4} << 20;  // bytes that are worth a thread

/// `text`, which is `what`, as a JSON string.
std::string json_string(const std::string& text, const std::string& what) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    throw ArgumentError(fmt::format("{} {} is not UTF-8, which safetensors needs", what, in_quotes(text)));
  }
}

std::string header_of(const std::vector<NamedTensor>& tensors, const std::map<std::string, std::string>& metadata) {
  std::string text = "{\"__metadata__\":{";
  const char* separator = "";
  for (const auto& [key, value] : metadata) {
    text += separator + json_string(key, "the metadata key") + ":" + json_string(value, "the metadata value");
    separator = ",";
  }
  text += "}";
  std::uint64_t begin = 0;
  for (const auto& [name, tensor] : tensors) {
    const std::vector<std::int64_t> sizes(std::make_reverse_iterator(tensor.shape().end()),
                                          std::make_reverse_iterator(tensor.shape().begin()));
    const std::uint64_t end = begin + static_cast<std::uint64_t>(tensor.numel()) * tensor.dtype().size();
    text +=
        fmt::format(",{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}", json_string(name, "the name"),
                    safetensors_type(tensor.dtype()), fmt::join(sizes, ","), begin, end);
    begin = end;
  }
  text += "}";
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the data begin at a multiple of 8
  return text;
}

/// Any other byte would be undefined as a bool.
void check_booleans(std::span<const std::byte> bytes, const StoredTensor& stored, const std::string& file) {
  const auto wrong = std::find_if(bytes.begin(), bytes.end(), [](std::byte b) { return b > std::byte{1}; });
  if (wrong == bytes.end()) return;
  throw FileError(fmt::format("{}: tensor \"{}\" is BOOL, but its byte {} is {}", file, stored.name,
                              wrong - bytes.begin(), std::to_integer<int>(*wrong)));
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path, const std::string& operation) : file_(path, operation) {
  std::uint64_t length = 0;
  if (file_.size() < sizeof length) {
    throw FileError(
        fmt::format("{}: has {} bytes; a safetensors file begins with 8 of a length", name(), file_.size()));
  }
  file_.read(0, std::as_writable_bytes(std::span(&length, 1)), "the length of the header");
  const std::uint64_t left = file_.size() - sizeof length;
  if (length > kMaxHeader || length > left) {
    throw FileError(
        fmt::format("{}: byte 0: a header of {} bytes; the file has {} left and at most {} are allowed (is "
                    "this a safetensors file?)",
                    name(), length, left, kMaxHeader));
  }
  std::string text(static_cast<std::size_t>(length), '\0');
  file_.read(sizeof length, std::as_writable_bytes(std::span(text)), "the header");
  data_start_ = sizeof length + length;
  header_ = parse_safetensors_header(text, file_.size() - data_start_, name());
}

void SafetensorsFile::read_piece(const StoredTensor& stored, std::uint64_t begin, std::span<std::byte> to) const {
  file_.read(data_start_ + stored.begin + begin, to, "tensor \"" + stored.name + "\"");
}

Tensor SafetensorsFile::read(const StoredTensor& stored, const Device& device) const {
  if (!stored.is_readable && stored.sizes.size() > static_cast<std::size_t>(Shape::kMaxRank)) {
    throw FileError(
        fmt::format("{}: tensor \"{}\": {} dimensions; at most {} are read, so reshape it before it is saved", name(),
                    stored.name, stored.sizes.size(), Shape::kMaxRank));
  }
  if (!stored.is_readable) {
    throw FileError(
        fmt::format("{}: tensor \"{}\": element type \"{}\" of the data at offset {} cannot be read; convert it to "
                    "F32, F16 or BF16",
                    name(), stored.name, stored.type, stored.begin));
  }
  const auto bytes = static_cast<std::size_t>(stored.end - stored.begin);
  // Integers go by way of the host, where their range is found.
  if (!device.impl()->is_host() && stored.dtype.is_floating() && bytes > 0) {
    Tensor tensor = empty(stored.shape, stored.dtype, device.impl());
    std::vector<std::byte> piece(std::min(bytes, kPiece));
    for (std::size_t done = 0; done < bytes; done += piece.size()) {
      piece.resize(std::min(piece.size(), bytes - done));
      read_piece(stored, done, piece);
      device.impl()->write(*tensor.rep()->storage, done, piece.data(), piece.size());
    }
    return tensor;
  }
  Tensor tensor = empty(stored.shape, stored.dtype, cpu_device_impl());
  std::byte* const elements = dense_operand(tensor).host();
  parallel_for(static_cast<std::int64_t>(bytes), kGrain, [&](std::int64_t begin, std::int64_t end) {
    read_piece(stored, static_cast<std::uint64_t>(begin), {elements + begin, elements + end});
  });
  if (stored.dtype == boolean) check_booleans({elements, bytes}, stored, name());
  return device(tensor);
}

void throw_equal_names(const std::string& name) {
  throw ArgumentError("two tensors are named " + in_quotes(name) + "; change the key, or the rename, that makes it so");
}

void check_tensor_names(const std::vector<NamedTensor>& tensors) {
  std::set<std::string> names;
  for (const auto& [name, tensor] : tensors) {
    if (name.empty() || name == "__metadata__" || name.find('\0') != std::string::npos) {
      throw ArgumentError("a tensor cannot be named " + in_quotes(name));
    }
    if (!names.insert(name).second) throw_equal_names(name);
  }
}

void write_safetensors(const std::string& path, const std::string& operation, std::vector<NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata, const std::string& like) {
  std::stable_sort(tensors.begin(), tensors.end(), [](const NamedTensor& a, const NamedTensor& b) {
    return a.tensor.dtype().size() > b.tensor.dtype().size();
  });
  check_tensor_names(tensors);
  const std::string header = header_of(tensors, metadata);
  const std::uint64_t length = header.size();
  if (length > kMaxHeader) throw ArgumentError("the names of the tensors take more than 100 MB");
  AtomicFile file(path, operation, AtomicFile::Link::followed, like);
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(std::as_bytes(std::span(header)));
  for (const NamedTensor& each : tensors) write_elements(file, each.tensor);
  file.commit();
}

}  // namespace sluice::detail
