#include "src/data/safetensors_shards.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "sluice/error.hpp"
#include "src/core/atomic_file.hpp"
#include "src/core/utf8.hpp"
#include "src/data/folder_lock.hpp"

namespace sluice::detail {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".safetensors";

struct Shard {
  std::vector<NamedTensor> tensors;
  std::map<std::string, std::string> metadata;
  std::uint64_t bytes = 0;
};

std::vector<Shard> shards_of(const TensorFile& file) {
  std::vector<Shard> shards;
  std::map<std::string, std::size_t, std::less<>> shard_with;
  for (const NamedTensor& each : file.tensors) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(each.tensor.numel()) * each.tensor.dtype().size();
    const bool fits = !shards.empty() && bytes <= file.shard_bytes && shards.back().bytes <= file.shard_bytes - bytes;
    if (!fits) shards.push_back({{}, file.metadata, 0});
    shards.back().tensors.push_back(each);
    shards.back().bytes += bytes;
    shard_with[each.name] = shards.size() - 1;
  }
  for (const auto& [name, target] : file.aliases) {
    shards[shard_with.find(target)->second].metadata.emplace(std::string(kAliasPrefix) + name, target);
  }
  return shards;
}

/// The names of the files of one checkpoint: none that the old index lists, so that its files stay as they are. What a
/// save that was killed has left is written over.
class ShardNames {
 public:
  ShardNames(const std::string& index, std::size_t count, const std::set<std::string>& old) : count_(count) {
    const fs::path path(index);
    folder_ = path.parent_path();
    stem_ = path.filename().string();
    stem_.resize(stem_.size() - kIndexEnding.size());
    while (is_listed(old)) ++series_;
  }

  std::string name(std::size_t shard) const {
    const std::string series = series_ == 1 ? "" : fmt::format("{}-", series_);
    return fmt::format("{}-{}{:05}-of-{:05}{}", stem_, series, shard + 1, count_, kEnding);
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  /// Whether a file was written by a save to the same index: "stem-00001-of-00002.safetensors" or one of a later
  /// series.
  bool is_ours(std::string_view name) const {
    if (!name.starts_with(stem_ + "-") || !name.ends_with(kEnding)) return false;
    name = name.substr(stem_.size() + 1, name.size() - stem_.size() - 1 - kEnding.size());
    const std::size_t of = name.find("-of-");
    if (of == std::string_view::npos) return false;
    std::string_view number = name.substr(0, of);
    if (const std::size_t dash = number.find('-'); dash != std::string_view::npos) {
      if (!is_number(number.substr(0, dash))) return false;
      number.remove_prefix(dash + 1);
    }
    return is_number(number) && is_number(name.substr(of + 4));
  }

 private:
  static bool is_number(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  }
  bool is_listed(const std::set<std::string>& old) const {
    for (std::size_t shard = 0; shard < count_; ++shard) {
      if (old.contains(name(shard))) return true;
    }
    return false;
  }

  fs::path folder_;
  std::string stem_;
  std::size_t count_;
  int series_ = 1;
};

/// Files that go with this object, unless they are kept.
class Unfinished {
 public:
  Unfinished() = default;
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  ~Unfinished() {
    std::error_code error;
    for (const std::string& path : paths_) fs::remove(path, error);
  }

  void add(const std::string& path) { paths_.push_back(path); }
  void keep() { paths_.clear(); }

 private:
  std::vector<std::string> paths_;
};

/// The files of the index that is about to be replaced; none if it cannot be read.
std::set<std::string> files_of_old(const std::string& index) {
  std::set<std::string> files;
  try {
    for (const auto& [name, file] : read_safetensors_index(StoredFile(index, "save"))) files.insert(file);
  } catch (const FileError&) {
    files.clear();
  }
  return files;
}

/// A file beside the index is written, not one elsewhere.
void remove_link(const std::string& path) {
  std::error_code error;
  if (fs::is_symlink(path, error)) fs::remove(path, error);
}

void check_sizes(const TensorFile& file, const std::vector<Shard>& shards) {
  if (shards.size() > kMostShards) {
    throw ArgumentError(fmt::format("shard_bytes of {} makes {} files, and at most {} are read; give more",
                                    file.shard_bytes, shards.size(), kMostShards));
  }
  const auto is_of_user = [](const auto& entry) { return !entry.first.starts_with("sluice."); };
  if (shards.empty() && std::ranges::any_of(file.metadata, is_of_user)) {
    throw ArgumentError("metadata are kept in the files of the tensors, and there is no tensor");
  }
}

}  // namespace

void write_sharded_safetensors(const std::string& index, const std::string& operation, const TensorFile& file) {
  check_tensor_names(file.tensors);
  const std::vector<Shard> shards = shards_of(file);
  check_sizes(file, shards);
  if (!is_utf8_name(fs::path(index).filename().string())) {
    throw ArgumentError("an index lists files by names that are UTF-8, and its own, with which they begin, is not");
  }
  const FolderLock lock(fs::path(index).parent_path().string());
  const std::set<std::string> old = files_of_old(index);
  const ShardNames names(index, shards.size(), old);
  Unfinished unfinished;
  std::map<std::string, std::string> weights;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::string name = names.name(i);
    remove_link(names.path(name));
    write_safetensors(names.path(name), operation, shards[i].tensors, shards[i].metadata, index);
    unfinished.add(names.path(name));
    for (const NamedTensor& each : shards[i].tensors) weights.emplace(each.name, name);
    bytes += shards[i].bytes;
  }
  const std::string text =
      nlohmann::json{{"metadata", {{"total_size", bytes}}}, {"weight_map", weights}}.dump(2) + "\n";
  AtomicFile out(index, operation, AtomicFile::Link::replaced);
  out.write(std::as_bytes(std::span(text)));
  out.commit();
  unfinished.keep();
  std::error_code error;
  for (const std::string& name : old) {
    if (names.is_ours(name)) fs::remove(names.path(name), error);
  }
}

}  // namespace sluice::detail
