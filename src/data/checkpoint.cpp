#include "sluice/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <set>

#include "src/core/utf8.hpp"
#include "src/data/bson.hpp"
#include "src/data/contents.hpp"
#include "src/data/formats.hpp"
#include "src/data/load_leaves.hpp"

namespace sluice::detail {
namespace {

TensorFile file_of(ModelRef model, const SaveOptions& options) {
  TensorFile file{.tensors = {}, .aliases = {}, .metadata = options.metadata, .shard_bytes = options.shard_bytes};
  const std::vector<ModelLeaf> leaves = leaves_of(model);
  check_naming(options.prefix, options.rename, leaves);
  const Ties ties(leaves);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (!leaves[i].value) continue;
    const std::string name = stored_name(leaves[i].name, options.prefix, options.rename);
    if (ties.is_first(i)) file.tensors.push_back({name, leaves[i].value});
    else file.aliases.emplace(name, stored_name(leaves[ties.of(i).front()].name, options.prefix, options.rename));
  }
  return file;
}

void check_options(const std::string& path, const SaveOptions& options, const FileFormat& format) {
  const bool is_index = format.name == "safetensors" && has_ending(path, kIndexEnding);
  if (options.shard_bytes != SaveOptions{}.shard_bytes && !is_index) {
    throw ArgumentError(
        fmt::format("shard_bytes are for a checkpoint in several files, whose name ends in {}", kIndexEnding));
  }
  if (options.metadata.empty()) return;
  if (format.name != "safetensors") {
    throw ArgumentError(fmt::format("metadata are kept in safetensors files only, not in {}", format.name));
  }
  for (const auto& [key, value] : options.metadata) {
    if (!key.starts_with("sluice.")) continue;
    throw ArgumentError(
        fmt::format("the metadata {}: names that begin with \"sluice.\" are the library's", in_quotes(key)));
  }
}

/// Writes what `tree` or `tensors` makes, whichever the format takes.
template <class Tree, class Tensors>
void write_file(const std::string& path, const SaveOptions& options, const char* operation, Tree tree,
                Tensors tensors) {
  const FileFormat& format = format_to_write(path, options.format, operation);
  naming_file(operation, path, [&] {
    check_options(path, options, format);
    if (format.write_tensors != nullptr) return format.write_tensors(path, operation, tensors());
    if (!options.rename.empty() || !options.prefix.empty()) {
      throw ArgumentError(fmt::format("{} keeps the names of the fields; prefix and rename cannot be", format.name));
    }
    format.write_state(path, operation, on_host(tree()));
  });
}

/// Throws unless every tensor has a name of its own: the key "a.b" of a map can be that of a field in a field.
void check_distinct(const std::vector<ModelLeaf>& leaves) {
  std::set<std::string_view> names;
  for (const ModelLeaf& leaf : leaves) {
    if (leaf.value && !names.insert(leaf.name).second) throw_equal_names(leaf.name);
  }
}

/// The name below which everything lies in a file of Julia, if the places of the model are there and not at the top.
std::string name_of_whole(const Contents& contents, ModelRef model, const LoadOptions& options) {
  if (contents.names().empty()) return {};
  const std::string& any = contents.names().begin()->first;
  const std::string name = any.substr(0, any.find('.')), start = name + ".";
  if (!any.starts_with(start) || !contents.names().rbegin()->first.starts_with(start)) return {};
  constexpr std::size_t kEnough = 100;
  const std::vector<ModelLeaf> leaves = leaves_of(model);
  const auto has_places = [&](const std::string& prefix) {
    return std::ranges::any_of(std::span(leaves).first(std::min(leaves.size(), kEnough)), [&](const ModelLeaf& leaf) {
      return contents.find(stored_name(leaf.name, prefix, options.rename)) != nullptr;
    });
  };
  return !has_places("") && has_places(name) ? name : std::string();
}

/// A tensor that is all there is, whatever its name, where a tensor is all that is wanted.
State only_tensor(State tree, ModelRef model) {
  if (!tree.is_record() || tree.size() != 1 || !tree.record().front().second.is_tensor()) return tree;
  const std::vector<ModelLeaf> leaves = leaves_of(model);
  return leaves.size() == 1 && leaves[0].name == "tensor" ? State(tree.record().front().second) : tree;
}

Contents contents_of(const std::string& path, const FileFormat& format, ModelRef model) {
  const std::string origin = "load: " + path;
  if (format.name == "safetensors") return Contents::of_files(open_safetensors(path, "load"), origin);
  if (format.name == "npz") return Contents::of_npz(path, "load");
  State tree = format.read(path, "load");
  return Contents::of_state(format.is_julia ? only_tensor(std::move(tree), model) : tree, origin);
}

}  // namespace

void save_model(const std::string& path, ModelRef model, const SaveOptions& options) {
  const auto tree = [&] {
    check_distinct(leaves_of(model));
    return State(State::Record{{std::string(kModelState), flux_state_of(model)}});
  };
  write_file(path, options, "save", tree, [&] { return file_of(model, options); });
}

LoadReport load_model(const std::string& path, ModelRef model, const LoadOptions& options) {
  const FileFormat& format = format_of_file(path, options.format, "load");
  return naming_file("load", path, [&] {
    Contents contents = contents_of(path, format, model);
    LoadOptions found = options;
    if (format.is_julia && found.prefix.empty()) found.prefix = name_of_whole(contents, model, options);
    return load_leaves(contents, model, found);
  });
}

LoadReport load_model_state(ModelRef model, const State& state, const LoadOptions& options) {
  try {
    return naming_file("load_state", "the tree", [&] {
      Contents contents = Contents::of_state(state, "load_state", "the state");
      return load_leaves(contents, model, options);
    });
  } catch (const FileError& error) {
    throw ArgumentError(error.what());
  }
}

}  // namespace sluice::detail

namespace sluice::inline v0 {

void write_state(const std::string& path, const State& state, const SaveOptions& options) {
  detail::write_file(
      path, options, "write_state", [&] { return state; }, [&] { return detail::tensor_file_of(state, options); });
}

NamedTensors read_tensors(const std::string& path) {
  NamedTensors tensors;
  for (const auto& file : detail::open_only_safetensors(path, "read_tensors")) {
    for (const detail::StoredTensor& stored : file->header().tensors)
      tensors.emplace_back(stored.name, file->read(stored));
  }
  return tensors;
}

std::map<std::string, std::string> read_metadata(const std::string& path) {
  std::map<std::string, std::string> all;
  for (const auto& file : detail::open_only_safetensors(path, "read_metadata")) {
    all.insert(file->header().metadata.begin(), file->header().metadata.end());
  }
  return all;
}

std::ostream& operator<<(std::ostream& out, const LoadReport& report) {
  out << report.loaded.size() << " loaded, " << report.missing.size() << " missing, " << report.unexpected.size()
      << " unexpected\n";
  for (const auto& [place, name] : report.loaded) out << "  " << place << (place == name ? "" : " <- " + name) << '\n';
  for (const std::string& place : report.missing) out << "  missing " << place << '\n';
  for (const std::string& name : report.unexpected) out << "  unexpected " << name << '\n';
  return out;
}

}  // namespace sluice::inline v0
