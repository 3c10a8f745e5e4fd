#include "src/data/formats.hpp"

#include <fmt/format.h>

#include "sluice/checkpoint.hpp"
#include "src/data/bson.hpp"
#include "src/data/jld2.hpp"
#include "src/data/npy.hpp"
#include "src/data/npz.hpp"
#include "src/data/safetensors_shards.hpp"
#include "src/data/stored_file.hpp"

namespace sluice::detail {
namespace {

constexpr std::size_t kHead = 16;  // bytes that tell formats apart

State read_safetensors(const std::string& path, const std::string& operation) {
  State::Record members;
  std::map<std::string, Tensor> known;
  std::vector<std::pair<std::string, std::string>> aliases;
  for (const auto& file : open_safetensors(path, operation)) {
    for (const StoredTensor& stored : file->header().tensors) {
      members.emplace_back(stored.name, known[stored.name] = file->read(stored));
    }
    for (const auto& [key, target] : file->header().metadata) {
      if (key.starts_with(kAliasPrefix)) aliases.emplace_back(key.substr(kAliasPrefix.size()), target);
    }
  }
  for (const auto& [name, target] : aliases) {
    if (!known.contains(target) || known.contains(name)) {
      throw FileError(fmt::format("{}: {}: the metadata say that \"{}\" is \"{}\", which makes no sense", operation,
                                  path, name, target));
    }
    members.emplace_back(name, known[target]);
  }
  return State(std::move(members));
}

void write_safetensors_file(const std::string& path, const std::string& operation, const TensorFile& file) {
  TensorFile whole = file;
  whole.metadata.emplace(kOrderKey, kOrder);
  if (has_ending(path, kIndexEnding)) return write_sharded_safetensors(path, operation, whole);
  for (const auto& [name, target] : file.aliases) whole.metadata.emplace(std::string(kAliasPrefix) + name, target);
  write_safetensors(path, operation, whole.tensors, whole.metadata);
}

/// A length of at most 100 MB, then the header's JSON.
bool begins_as_safetensors(std::string_view head) {
  return head.size() > 8 && head[8] == '{' && head.substr(4, 4) == std::string_view("\0\0\0\0", 4);
}

constexpr std::string_view kSafetensors[] = {".safetensors", kIndexEnding};
constexpr std::string_view kNpz[] = {".npz"};
constexpr std::string_view kNpy[] = {".npy"};
constexpr std::string_view kBson[] = {".bson"};
constexpr std::string_view kJld2[] = {".jld2"};

constexpr FileFormat kFormats[] = {
    {"safetensors", kSafetensors, begins_as_safetensors, false, read_safetensors, write_safetensors_file, nullptr},
    {"npz", kNpz, [](std::string_view head) { return head.starts_with("PK\3\4") || head.starts_with("PK\5\6"); }, false,
     read_npz_state, write_npz_file, nullptr},
    {"npy", kNpy, [](std::string_view head) { return head.starts_with("\x93NUMPY"); }, false, read_npy_state,
     write_npy_file, nullptr},
    {"bson", kBson, nullptr, true, read_bson_state, nullptr, write_bson_state},
    {"jld2", kJld2, [](std::string_view head) { return head.starts_with("HDF5-based Julia"); }, true, read_jld2_state,
     nullptr, nullptr},
};

constexpr std::string_view kPickles[] = {".pt", ".pth", ".bin", ".ckpt", ".pkl", ".pickle"};

/// Why a pickle is neither read nor written, and what to do.
void refuse_pickles(const std::string& path, std::string_view operation, bool is_written) {
  for (const std::string_view ending : kPickles) {
    if (!has_ending(path, ending)) continue;
    if (is_written) {
      throw ArgumentError(
          fmt::format("{}: {} has the ending of a Python pickle, which is not written; end it in .safetensors, which "
                      "PyTorch reads by safetensors.torch.load_file",
                      operation, path));
    }
    throw ArgumentError(
        fmt::format("{0}: {1} has the ending of a Python pickle, which runs code when it is opened, so it is never "
                    "read; convert it once in Python: import torch; from safetensors.torch import save_file; "
                    "save_file(torch.load(\"{1}\", map_location=\"cpu\", weights_only=True), \"model.safetensors\")",
                    operation, path));
  }
}

bool is_writable(const FileFormat& format) { return format.write_tensors != nullptr || format.write_state != nullptr; }

std::string known_formats(bool endings, bool is_written) {
  std::vector<std::string_view> words;
  for (const FileFormat& format : kFormats) {
    if (is_written && !is_writable(format)) continue;
    if (endings) words.insert(words.end(), format.endings.begin(), format.endings.end());
    else words.push_back(format.name);
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

const FileFormat& named_format(const std::string& path, const std::string& wanted, std::string_view operation,
                               bool is_written) {
  for (const FileFormat& format : kFormats) {
    if (wanted == format.name) return format;
    for (const std::string_view ending : format.endings) {
      if (wanted.empty() && has_ending(path, ending)) return format;
    }
  }
  if (!wanted.empty()) {
    throw ArgumentError(fmt::format("{}: there is no format \"{}\"; there are {}", operation, wanted,
                                    known_formats(false, is_written)));
  }
  throw ArgumentError(fmt::format("{}: \"{}\" does not say its format; end the name in one of {}, or name the format",
                                  operation, path, known_formats(true, is_written)));
}

}  // namespace

const FileFormat& format_to_write(const std::string& path, const std::string& wanted, std::string_view operation) {
  if (wanted.empty()) refuse_pickles(path, operation, true);
  const FileFormat& format = named_format(path, wanted, operation, true);
  if (is_writable(format)) return format;
  throw ArgumentError(
      fmt::format("{}: {}: the format {} can only be read; use safetensors", operation, path, format.name));
}

const FileFormat& format_of_file(const std::string& path, const std::string& wanted, std::string_view operation) {
  if (wanted.empty()) refuse_pickles(path, operation, false);
  const StoredFile file(path, std::string(operation));  // before its format, so that a file that is absent is called so
  const FileFormat& format = named_format(path, wanted, operation, false);
  const std::string head = file.head(kHead);
  if (format.begins != nullptr && format.begins(head)) return format;
  for (const FileFormat& other : kFormats) {
    if (&other == &format || other.begins == nullptr || !other.begins(head)) continue;
    throw FileError(fmt::format("{}: {} is to be read as {}, but begins as {}; rename it, or name that format",
                                operation, path, format.name, other.name));
  }
  return format;  // whose reader says what is wrong with it
}

std::vector<std::shared_ptr<SafetensorsFile>> open_only_safetensors(const std::string& path,
                                                                    const std::string& operation) {
  const std::string head = StoredFile(path, operation).head(kHead);
  for (const FileFormat& format : kFormats) {
    if (format.name == "safetensors" || format.begins == nullptr || !format.begins(head)) continue;
    throw FileError(fmt::format("{}: {} is no safetensors file, but begins as {}; read_state reads it", operation, path,
                                format.name));
  }
  return open_safetensors(path, operation);
}

}  // namespace sluice::detail

namespace sluice::inline v0 {

State read_state(const std::string& path, const std::string& wanted) {
  const detail::FileFormat& format = detail::format_of_file(path, wanted, "read_state");
  return detail::naming_file("read_state", path, [&] { return format.read(path, "read_state"); });
}

}  // namespace sluice::inline v0
