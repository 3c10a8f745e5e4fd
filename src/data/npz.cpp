#include "src/data/npz.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "src/core/tensor_rep.hpp"
#include "src/core/utf8.hpp"

namespace sluice::detail {
namespace {

constexpr std::string_view kEnding = ".npy";

NamedTensors read_arrays(const std::string& path, const std::string& operation, const NpyOptions& options) {
  NpzFile file(path, operation, options.max_bytes);
  NamedTensors tensors;
  for (const NpzFile::Array& array : file.arrays()) tensors.emplace_back(array.name, file.read(array, options.reverse));
  return tensors;
}

void write_arrays(const std::string& path, const std::string& operation, const NamedTensors& tensors) {
  std::set<std::string> names;
  for (const auto& [name, tensor] : tensors) {
    if (!tensor) throw ArgumentError(fmt::format("\"{}\" is a tensor that holds nothing", name));
    if (!is_utf8_name(name))
      throw ArgumentError("the name " + in_quotes(name) + " is not UTF-8 without NUL, which .npz files need");
    if (!names.insert(name).second) throw_equal_names(name);
  }
  ZipWriter archive(path, operation);
  for (const auto& [name, tensor] : tensors) {
    const std::string preamble = npy_preamble(tensor, name);
    const Tensor host = cpu_device()(detach(tensor));
    const std::span<const std::byte> parts[] = {std::as_bytes(std::span(preamble)), host.bytes()};
    archive.add(name + std::string(kEnding), parts);
  }
  archive.commit();
}

}  // namespace

NpzFile::NpzFile(const std::string& path, const std::string& operation, std::int64_t max_bytes)
    : file_(path, operation),
      max_bytes_(max_bytes),
      left_(static_cast<std::uint64_t>(std::max<std::int64_t>(max_bytes, 0))) {
  for (ZipEntry& entry : read_zip_directory(file_)) add(std::move(entry));
  std::set<std::string_view> names;
  for (const Array& array : arrays_) {
    if (!names.insert(array.name).second)
      throw FileError(file_.name() + ": there are two arrays " + in_quotes(array.name));
  }
  if (arrays_.empty() && !others_.empty()) {
    throw FileError(
        fmt::format("{}: has no array (.npy), but \"{}\"; is this an .npz file?", file_.name(), others_.front().first));
  }
}

void NpzFile::add(ZipEntry entry) {
  if (!is_utf8_name(entry.name))
    throw FileError(file_.name() + ": the name " + in_quotes(entry.name) + " is not UTF-8");
  if (entry.name.ends_with("data.pkl")) {
    throw FileError(file_.name() +
                    ": this is a PyTorch file, a Python pickle, which runs code when it is opened; save a "
                    ".safetensors file in Python with safetensors.torch.save_file");
  }
  if (entry.name.ends_with('/')) return;  // a folder
  if (!entry.name.ends_with(kEnding)) return others_.emplace_back(entry.name, entry.size), void();
  const std::string name = entry.name.substr(0, entry.name.size() - kEnding.size());
  ZipContent content(file_, entry);
  const NextBytes next = [&](std::span<std::byte> to) {
    spend(entry, to.size());
    content.read(to);
  };
  std::uint64_t bytes = entry.size;
  NpyHeader header = read_npy_header(next, bytes, name_of(name));
  check_npy_size(header, bytes, name_of(name));
  arrays_.push_back({name, std::move(header), bytes, std::move(entry)});
}

void NpzFile::spend(const ZipEntry& entry, std::uint64_t bytes) {
  if (!entry.is_deflated) return;
  if (bytes > left_) {
    throw FileError(
        fmt::format("{}: \"{}\" would take more than the limit of {} bytes; read_npz takes a greater max_bytes",
                    file_.name(), entry.name, max_bytes_));
  }
  left_ -= bytes;
}

Tensor NpzFile::read(const Array& array, bool reverse) {
  spend(array.entry, array.entry.size);
  ZipContent content(file_, array.entry);
  const NextBytes next = [&content](std::span<std::byte> to) { content.read(to); };
  Tensor tensor = read_npy_array(next, array.entry.size, name_of(array.name), reverse);
  content.finish();
  return tensor;
}

State read_npz_state(const std::string& path, const std::string& operation) {
  State::Record members;
  for (auto& [name, tensor] : read_arrays(path, operation, {})) members.emplace_back(name, std::move(tensor));
  return State(std::move(members));
}

void write_npz_file(const std::string& path, const std::string& operation, const TensorFile& file) {
  NamedTensors tensors;
  std::map<std::string, Tensor> known;
  for (const auto& [name, tensor] : file.tensors) tensors.emplace_back(name, known[name] = tensor);
  for (const auto& [name, target] : file.aliases) tensors.emplace_back(name, known.at(target));
  write_arrays(path, operation, tensors);
}

}  // namespace sluice::detail

namespace sluice::inline v0 {

NamedTensors read_npz(const std::string& path, const NpyOptions& options) {
  return detail::read_arrays(path, "read_npz", options);
}

void write_npz(const std::string& path, const NamedTensors& tensors) {
  detail::naming_file("write_npz", path, [&] { detail::write_arrays(path, "write_npz", tensors); });
}

}  // namespace sluice::inline v0
