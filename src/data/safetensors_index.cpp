// A checkpoint in several safetensors files: "model.safetensors.index.json" says which file has which tensor.
//
//   {"metadata": {...}, "weight_map": {"layers.0.weight": "model-00001-of-00002.safetensors", ...}}
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "src/data/safetensors.hpp"

namespace sluice::detail {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMaxIndex = 100'000'000;
constexpr std::size_t kMaxDepth = 64;

/// Takes the events of a parse; what is not the weight map is passed over.
class IndexEvents final : public nlohmann::json_sax<Json> {
 public:
  explicit IndexEvents(const std::string& file) : file_(file) {}

  bool null() override { return other("null"); }
  bool boolean(bool) override { return other("a boolean"); }
  bool number_integer(std::int64_t) override { return other("a number"); }
  bool number_unsigned(std::uint64_t) override { return other("a number"); }
  bool number_float(double, const std::string&) override { return other("a number"); }
  bool binary(Json::binary_t&) override { return other("binary data"); }
  bool string(std::string& value) override {
    if (!in_map_) return other("text");
    if (!weights.emplace(key_, std::move(value)).second)
      fail(fmt::format("\"{}\" is there twice", key_.substr(0, 200)));
    return true;
  }
  bool start_object(std::size_t) override {
    if (in_map_) return other("an object");
    if (depth_ == 1 && key_ == "weight_map") in_map_ = has_map = true;
    return open();
  }
  bool key(std::string& name) override {
    if (in_map_ || depth_ == 1) key_ = std::move(name);
    return true;
  }
  bool end_object() override {
    in_map_ = false;
    --depth_;
    return true;
  }
  bool start_array(std::size_t) override {
    other("a list");
    return open();
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    fail(fmt::format("byte {}: this is not JSON in UTF-8", position));
  }

  std::map<std::string, std::string> weights;
  bool has_map = false;

 private:
  [[noreturn]] void fail(const std::string& message) const { throw FileError(file_ + ": " + message); }
  bool other(const char* what) const {
    if (in_map_) fail(fmt::format("weight_map has {} for \"{}\"; expected a file name", what, key_.substr(0, 200)));
    if (depth_ == 0) fail(fmt::format("the index is {}; expected an object", what));
    return true;
  }
  bool open() {
    if (++depth_ > kMaxDepth) fail(fmt::format("the index has more than {} levels", kMaxDepth));
    return true;
  }

  const std::string& file_;
  std::string key_;
  std::size_t depth_ = 0;
  bool in_map_ = false;
};

/// A name that cannot lead out of the folder.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos && name != "." &&
         name != "..";
}

/// Beside the index, or beside what it is a link to.
std::string shard_path(const std::string& index, const std::string& shard) {
  namespace fs = std::filesystem;
  const fs::path near = fs::path(index).parent_path() / shard;
  std::error_code error;
  if (fs::exists(near, error) || !fs::is_symlink(index, error)) return near.string();
  const fs::path far = fs::weakly_canonical(index, error).parent_path() / shard;
  return (fs::exists(far, error) ? far : near).string();
}

using Files = std::vector<std::shared_ptr<SafetensorsFile>>;

/// The files that an index lists, with just the tensors that it lists.
Files open_listed(const std::string& path, const StoredFile& index, const std::string& operation) {
  const std::map<std::string, std::string> weights = read_safetensors_index(index);
  const std::string& where = index.name();
  std::map<std::string, std::shared_ptr<SafetensorsFile>> files;
  std::set<std::pair<std::string, std::string>> present;
  for (const auto& [name, shard] : weights) {
    if (files.contains(shard)) continue;
    if (!is_plain_name(shard)) {
      throw FileError(fmt::format("{}: \"{}\" is said to be in \"{}\"; a file in the folder of the index is expected",
                                  where, name, shard.substr(0, std::min<std::size_t>(200, shard.find('\0')))));
    }
    if (files.size() == kMostShards) throw FileError(fmt::format("{}: more than {} files", where, kMostShards));
    const auto& file = files[shard] = std::make_shared<SafetensorsFile>(shard_path(path, shard), operation);
    for (const StoredTensor& stored : file->header().tensors) {
      present.emplace(stored.name, shard);
      const auto listed = weights.find(stored.name);
      if (listed != weights.end() && listed->second == shard) continue;
      throw FileError(
          fmt::format("{}: {} has a tensor \"{}\" that the index does not list there", where, shard, stored.name));
    }
  }
  for (const auto& [name, shard] : weights) {
    if (present.contains({name, shard})) continue;
    throw FileError(fmt::format("{}: \"{}\" is not in {}, where the index has it", where, name, shard));
  }
  Files list;
  list.reserve(files.size());
  for (auto& [name, file] : files) list.push_back(std::move(file));
  return list;
}

}  // namespace

std::map<std::string, std::string> read_safetensors_index(const StoredFile& file) {
  if (file.size() > kMaxIndex) throw FileError(fmt::format("{}: an index of {} bytes", file.name(), file.size()));
  const std::string text = file.head(static_cast<std::size_t>(file.size()));
  IndexEvents events(file.name());
  Json::sax_parse(text, &events);
  if (!events.has_map) throw FileError(file.name() + ": the index has no \"weight_map\"");
  return std::move(events.weights);
}

Files open_safetensors(const std::string& path, const std::string& operation) {
  if (!has_ending(path, kIndexEnding)) return {std::make_shared<SafetensorsFile>(path, operation)};
  constexpr int kMostAttempts = 1000;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    const StoredFile index(path, operation);
    try {
      Files files = open_listed(path, index, operation);
      if (index.is_at(path)) return files;
    } catch (const FileError&) {
      // Once a save has replaced the index, files of the old one are gone.
      if (index.is_at(path)) throw;
    }
  }
  throw FileError(fmt::format("{}: {} was replaced {} times while it was opened", operation, path, kMostAttempts));
}

}  // namespace sluice::detail
