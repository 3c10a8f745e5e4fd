#include "src/data/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "src/core/atomic_file.hpp"
#include "src/core/tensor_rep.hpp"

namespace sluice::detail {
namespace {

static_assert(std::endian::native == std::endian::little, "the files are little-endian, and bytes are not turned");

constexpr std::uint64_t kMaxHeader = 100'000'000;
constexpr std::size_t kPiece = std::size_t{16} << 20;

/// Throws ArgumentError unless the names can be names in a file.
void check_names(const std::vector<NamedTensor>& tensors) {
  std::set<std::string> names;
  for (const auto& [name, tensor] : tensors) {
    if (name.empty() || name == "__metadata__" || name.find('\0') != std::string::npos) {
      throw ArgumentError("save: a tensor cannot be named \"" + name.substr(0, name.find('\0')) + "\"");
    }
    if (!names.insert(name).second) {
      throw ArgumentError("save: two tensors are named \"" + name + "\"; change a key of the map that holds one");
    }
  }
}

/// `text` as a JSON string.
std::string json_string(const std::string& text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    throw ArgumentError("save: a name is not UTF-8, which safetensors needs");
  }
}

std::string header_of(const std::vector<NamedTensor>& tensors, const std::map<std::string, std::string>& metadata) {
  std::string text = "{\"__metadata__\":{";
  const char* separator = "";
  for (const auto& [key, value] : metadata) {
    text += separator + json_string(key) + ":" + json_string(value);
    separator = ",";
  }
  text += "}";
  std::uint64_t begin = 0;
  for (const auto& [name, tensor] : tensors) {
    const std::vector<std::int64_t> sizes(std::make_reverse_iterator(tensor.shape().end()),
                                          std::make_reverse_iterator(tensor.shape().begin()));
    const std::uint64_t end = begin + static_cast<std::uint64_t>(tensor.numel()) * tensor.dtype().size();
    text += fmt::format(",{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}", json_string(name),
                        safetensors_type(tensor.dtype()), fmt::join(sizes, ","), begin, end);
    begin = end;
  }
  text += "}";
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the data begin at a multiple of 8
  return text;
}

void write_elements(AtomicFile& file, const Tensor& tensor) {
  const std::size_t bytes = static_cast<std::size_t>(tensor.numel()) * tensor.dtype().size();
  DeviceImpl* const device = device_of_rep(tensor);
  if (device->is_host() || bytes == 0) {
    if (bytes > 0) file.write(tensor.bytes());
    return;
  }
  const std::size_t start = static_cast<std::size_t>(tensor.rep()->offset) * tensor.dtype().size();
  std::vector<std::byte> piece(std::min(bytes, kPiece));
  for (std::size_t done = 0; done < bytes; done += piece.size()) {
    piece.resize(std::min(piece.size(), bytes - done));
    device->read(*tensor.rep()->storage, start + done, piece.data(), piece.size());
    file.write(piece);
  }
}

/// Any other byte would be undefined as a bool.
void check_booleans(std::span<const std::byte> bytes, const StoredTensor& stored, const std::string& path) {
  const auto wrong = std::find_if(bytes.begin(), bytes.end(), [](std::byte b) { return b > std::byte{1}; });
  if (wrong == bytes.end()) return;
  throw FileError(fmt::format("{}: tensor \"{}\" is BOOL, but its byte {} is {}", path, stored.name,
                              wrong - bytes.begin(), std::to_integer<int>(*wrong)));
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path) : path_(path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) throw FileError("load: there is no file " + path);
  if (!std::filesystem::is_regular_file(status)) throw FileError("load: " + path + " is not an ordinary file");
  const std::uint64_t size = std::filesystem::file_size(path, error);
  file_.open(path, std::ios::binary);
  if (error || !file_) throw FileError(fmt::format("load: {} cannot be opened: {}", path, std::strerror(errno)));
  const std::string name = "load: " + path;
  std::array<char, 8> bytes{};
  if (size < bytes.size() || !file_.read(bytes.data(), bytes.size())) {
    throw FileError(fmt::format("{}: has {} bytes; a safetensors file begins with 8 of a length", name, size));
  }
  const auto length = std::bit_cast<std::uint64_t>(bytes);
  if (length > kMaxHeader || length > size - bytes.size()) {
    throw FileError(
        fmt::format("{}: byte 0: a header of {} bytes; the file has {} left and at most {} are allowed (is "
                    "this a safetensors file?)",
                    name, length, size - bytes.size(), kMaxHeader));
  }
  std::string text(static_cast<std::size_t>(length), '\0');
  if (!file_.read(text.data(), static_cast<std::streamsize>(length))) throw FileError(name + ": reading failed");
  data_start_ = bytes.size() + length;
  header_ = parse_safetensors_header(text, size - data_start_, name);
}

Tensor SafetensorsFile::read(const StoredTensor& stored) {
  Tensor tensor = empty(stored.shape, stored.dtype, cpu_device_impl());
  const auto bytes = static_cast<std::size_t>(stored.end - stored.begin);
  if (bytes == 0) return tensor;
  auto* const elements = dense_operand(tensor).host();
  file_.seekg(static_cast<std::streamoff>(data_start_ + stored.begin));
  if (!file_.read(reinterpret_cast<char*>(elements), static_cast<std::streamsize>(bytes))) {
    throw FileError(fmt::format("load: {}: reading tensor \"{}\" failed; the file has changed", path_, stored.name));
  }
  if (stored.dtype == boolean) check_booleans({elements, bytes}, stored, "load: " + path_);
  return tensor;
}

void write_safetensors(const std::string& path, std::vector<NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::stable_sort(tensors.begin(), tensors.end(), [](const NamedTensor& a, const NamedTensor& b) {
    return a.tensor.dtype().size() > b.tensor.dtype().size();
  });
  check_names(tensors);
  const std::string header = header_of(tensors, metadata);
  const std::uint64_t length = header.size();
  if (length > kMaxHeader) throw ArgumentError("save: the names of the tensors take more than 100 MB");
  AtomicFile file(path, "save");
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(std::as_bytes(std::span(header)));
  for (const NamedTensor& each : tensors) write_elements(file, each.tensor);
  file.commit();
}

}  // namespace sluice::detail
