// What a checkpoint holds, for people and scripts.
#include <cstring>

#include "sluice/checkpoint.hpp"
#include "src/data/formats.hpp"
#include "src/data/npz.hpp"

namespace sluice::detail {
namespace {

constexpr std::uint64_t kPiece = std::uint64_t{4} << 20;

/// The bits of an element with the exponent above `mantissa` bits, all ones for NaN and infinity.
template <class Bits>
void look(std::span<const std::byte> bytes, int mantissa, Bits exponent, TensorSummary& summary) {
  const Bits fraction = static_cast<Bits>((Bits{1} << mantissa) - 1);
  for (std::size_t i = 0; i + sizeof(Bits) <= bytes.size(); i += sizeof(Bits)) {
    Bits bits = 0;
    std::memcpy(&bits, bytes.data() + i, sizeof bits);
    if ((bits & exponent) != exponent) continue;
    ((bits & fraction) == 0 ? summary.has_infinity : summary.has_nan) = true;
  }
}

void look_for_special(std::span<const std::byte> bytes, DType dtype, TensorSummary& summary) {
  switch (dtype.code()) {
    case DType::kF64: return look<std::uint64_t>(bytes, 52, 0x7FF0000000000000, summary);
    case DType::kF32: return look<std::uint32_t>(bytes, 23, 0x7F800000, summary);
    case DType::kF16: return look<std::uint16_t>(bytes, 10, 0x7C00, summary);
    case DType::kBF16: return look<std::uint16_t>(bytes, 7, 0x7F80, summary);
    default: return;
  }
}

std::vector<std::int64_t> sizes_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

void add_file(const SafetensorsFile& file, FileSummary& summary) {
  std::vector<std::byte> piece(kPiece);
  for (const StoredTensor& stored : file.header().tensors) {
    const std::string type = stored.is_readable ? std::string(stored.dtype.name()) : stored.type;
    const std::uint64_t bytes = stored.end - stored.begin;
    TensorSummary& each = summary.tensors.emplace_back(TensorSummary{stored.name, type, stored.sizes, bytes});
    if (!stored.is_readable || !stored.dtype.is_floating()) continue;
    for (std::uint64_t done = 0; done < bytes; done += kPiece) {
      const auto part = std::span(piece).first(static_cast<std::size_t>(std::min(kPiece, bytes - done)));
      file.read_piece(stored, done, part);
      look_for_special(part, stored.dtype, each);
    }
  }
  for (const auto& [key, value] : file.header().metadata) summary.metadata.emplace(key, value);
}

/// An array of NumPy; `read` gives its elements, if their type can be read.
template <class Read>
void add_array(const std::string& name, const NpyHeader& header, std::uint64_t bytes, Read read, FileSummary& summary) {
  const bool is_readable = header.refusal.empty();
  TensorSummary& each = summary.tensors.emplace_back(
      TensorSummary{name, is_readable ? std::string(header.dtype.name()) : header.type, header.shape, bytes});
  if (is_readable) look_for_special(read().bytes(), header.dtype, each);
}

void add_array_file(const std::string& path, FileSummary& summary) {
  std::uint64_t bytes = 0;
  const NpyHeader header = read_npy_file_header(path, "inspect", bytes);
  add_array(
      "tensor", header, bytes, [&] { return read_npy_state(path, "inspect").at("tensor").tensor(); }, summary);
}

void add_archive(const std::string& path, FileSummary& summary) {
  NpzFile file(path, "inspect");
  for (const NpzFile::Array& array : file.arrays()) {
    add_array(
        array.name, array.header, array.bytes, [&] { return file.read(array); }, summary);
  }
  for (const auto& [name, bytes] : file.others()) {
    summary.values.emplace_back(name, "a file of " + std::to_string(bytes) + " bytes");
  }
}

void add_tree(const State& state, const std::string& path, FileSummary& summary) {
  const auto below = [&](const std::string& name) { return path.empty() ? name : path + "." + name; };
  if (state.is_record()) {
    for (const auto& [name, child] : state.record()) add_tree(child, below(name), summary);
  } else if (state.is_list() && state.size() > 0) {
    for (std::size_t i = 0; i < state.size(); ++i) add_tree(state.list()[i], below(std::to_string(i)), summary);
  } else if (state.is_tensor() && state.tensor()) {
    const Tensor& x = state.tensor();
    TensorSummary& each = summary.tensors.emplace_back(
        TensorSummary{path, std::string(x.dtype().name()), sizes_of(x.shape()), x.bytes().size()});
    look_for_special(x.bytes(), x.dtype(), each);
  } else {
    summary.values.emplace_back(path, state.is_text() ? state.text() : state.describe());
  }
}

}  // namespace
}  // namespace sluice::detail

namespace sluice::inline v0 {

FileSummary inspect(const std::string& path, const std::string& wanted) {
  const detail::FileFormat& format = detail::format_of_file(path, wanted, "inspect");
  FileSummary summary{.format = std::string(format.name), .metadata = {}, .tensors = {}, .values = {}};
  detail::naming_file("inspect", path, [&] {
    if (format.name == "npz") return detail::add_archive(path, summary);
    if (format.name == "npy") return detail::add_array_file(path, summary);
    if (format.name != "safetensors") return detail::add_tree(format.read(path, "inspect"), "", summary);
    for (const auto& file : detail::open_safetensors(path, "inspect")) detail::add_file(*file, summary);
  });
  return summary;
}

}  // namespace sluice::inline v0
