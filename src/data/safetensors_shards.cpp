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

/// The files that an index lists; none if it cannot be read.
std::set<std::string> files_of(const std::string& index) {
  std::set<std::string> files;
  try {
    for (const auto& [name, file] : read_safetensors_index(StoredFile(index, "save"))) files.insert(file);
  } catch (const FileError&) {
    files.clear();
  }
  return files;
}

/// The folder of an index, whose files may be those of others as well.
class Folder {
 public:
  /// Throws FileError if it cannot be listed: whose the files are would not be known.
  Folder(const std::string& index, const std::string& operation)
      : path_(fs::path(index).parent_path()), old_(files_of(index)) {
    const std::string own = fs::path(index).filename().string(), path = path_.empty() ? "." : path_.string();
    std::error_code error;
    for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
      names_.push_back(entry->path().filename().string());
      if (has_ending(names_.back(), kIndexEnding) && names_.back() != own) {
        of_others_.merge(files_of(entry->path().string()));
      }
    }
    if (error)
      throw FileError(fmt::format("{}: {}: the folder cannot be listed: {}", operation, index, error.message()));
  }

  std::string path(const std::string& name) const { return (path_ / name).string(); }
  const std::vector<std::string>& names() const { return names_; }
  /// Whether the index of that name lists the file, or another one does.
  bool is_old(const std::string& name) const { return old_.contains(name); }
  bool is_of_others(const std::string& name) const { return of_others_.contains(name); }

 private:
  fs::path path_;
  std::vector<std::string> names_;
  std::set<std::string> old_, of_others_;
};

/// The names of the files of one checkpoint: "stem-00001-of-00002.safetensors", and with ".2" before the ending where
/// there are such files already, so that the stem can be told from the name and no two indices have the same names.
class ShardNames {
 public:
  ShardNames(const std::string& index, std::size_t count, const Folder& folder)
      : own_(fs::path(index).filename().string()),
        stem_(own_.substr(0, own_.size() - kIndexEnding.size())),
        count_(count),
        folder_(folder) {
    while (is_taken()) ++series_;
  }

  std::string name(std::size_t shard) const {
    const std::string series = series_ == 1 ? "" : fmt::format(".{}", series_);
    return fmt::format("{}-{:05}-of-{:05}{}{}", stem_, shard + 1, count_, series, kEnding);
  }

  /// Once a new index is in place: whether a file is of the old one, or was left by a save that was killed.
  bool is_left(const std::string& name) const {
    return has_form(name) && !folder_.is_of_others(name) && (folder_.is_old(name) || is_marked(name));
  }

 private:
  static bool is_number(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  }
  bool has_form(std::string_view name) const {
    if (!name.starts_with(stem_ + "-") || !name.ends_with(kEnding)) return false;
    name = name.substr(stem_.size() + 1, name.size() - stem_.size() - 1 - kEnding.size());
    const std::size_t of = name.find("-of-");
    if (of == std::string_view::npos || !is_number(name.substr(0, of))) return false;
    const std::string_view rest = name.substr(of + 4), count = rest.substr(0, rest.find('.'));
    return is_number(count) && (count.size() == rest.size() || is_number(rest.substr(count.size() + 1)));
  }
  /// Whether a save to this index has written it.
  bool is_marked(const std::string& name) const {
    try {
      const SafetensorsFile file(folder_.path(name), "save");
      const auto mark = file.header().metadata.find(std::string(kShardKey));
      return mark != file.header().metadata.end() && mark->second == own_;
    } catch (const FileError&) {
      return false;
    }
  }
  /// What an index lists stays as it is, and so does what nobody here has written.
  bool is_taken() const {
    std::error_code error;
    for (std::size_t shard = 0; shard < count_; ++shard) {
      const std::string each = name(shard);
      if (folder_.is_old(each) || folder_.is_of_others(each)) return true;
      if (fs::exists(fs::symlink_status(folder_.path(each), error)) && !is_marked(each)) return true;
    }
    return false;
  }

  std::string own_, stem_;
  std::size_t count_;
  const Folder& folder_;
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
  std::vector<Shard> shards = shards_of(file);
  check_sizes(file, shards);
  if (!is_utf8_name(fs::path(index).filename().string())) {
    throw ArgumentError("an index lists files by names that are UTF-8, and its own, with which they begin, is not");
  }
  for (Shard& shard : shards) shard.metadata.emplace(kShardKey, fs::path(index).filename().string());
  const FolderLock lock(fs::path(index).parent_path().string());
  const Folder folder(index, operation);
  const ShardNames names(index, shards.size(), folder);
  Unfinished unfinished;
  std::map<std::string, std::string> weights;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::string name = names.name(i), path = folder.path(name);
    write_safetensors(path, operation, shards[i].tensors, shards[i].metadata, index);
    unfinished.add(path);
    for (const NamedTensor& each : shards[i].tensors) weights.emplace(each.name, name);
    bytes += shards[i].bytes;
  }
  const std::string text =
      nlohmann::json{{"metadata", {{"total_size", bytes}}}, {"weight_map", weights}}.dump(2) + "\n";
  AtomicFile out(index, operation, AtomicFile::Link::replaced);
  out.write(std::as_bytes(std::span(text)));
  out.commit();
  unfinished.keep();
  std::set<std::string> used;
  for (const auto& [tensor, name] : weights) used.insert(name);
  std::error_code error;
  for (const std::string& name : folder.names()) {
    if (!used.contains(name) && names.is_left(name)) fs::remove(folder.path(name), error);
  }
}

}  // namespace sluice::detail
