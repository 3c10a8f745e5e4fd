#include "sluice/checkpoint.hpp"

#include <fmt/format.h>

#include <ostream>

#include "src/data/contents.hpp"
#include "src/data/formats.hpp"
#include "src/data/load_leaves.hpp"

namespace sluice::detail {
namespace {

TensorFile file_of(ModelRef model, const SaveOptions& options) {
  TensorFile file{.tensors = {}, .aliases = {}, .metadata = options.metadata, .shard_bytes = options.shard_bytes};
  const std::vector<ModelLeaf> leaves = leaves_of(model);
  const Ties ties(leaves);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (!leaves[i].value) continue;
    const std::string name = stored_name(leaves[i].name, options.prefix, options.rename);
    if (ties.is_first(i)) file.tensors.push_back({name, leaves[i].value});
    else file.aliases.emplace(name, stored_name(leaves[ties.of(i).front()].name, options.prefix, options.rename));
  }
  return file;
}

void check_metadata(const SaveOptions& options, const FileFormat& format) {
  if (options.metadata.empty()) return;
  if (format.name != "safetensors") {
    throw ArgumentError(fmt::format("save: metadata are kept in safetensors files only, not in {}", format.name));
  }
  for (const auto& [key, value] : options.metadata) {
    if (!key.starts_with("sluice.")) continue;
    throw ArgumentError(
        fmt::format("save: the metadata \"{}\": names that begin with \"sluice.\" are the library's", key));
  }
}

}  // namespace

void save_model(const std::string& path, ModelRef model, const SaveOptions& options) {
  const FileFormat& format = format_to_write(path, options.format, "save");
  check_metadata(options, format);
  if (format.write_state == nullptr) return write_tensor_file(format, path, file_of(model, options));
  if (!options.rename.empty() || !options.prefix.empty()) {
    throw ArgumentError(
        fmt::format("save: {} keeps the names of the fields; prefix and rename cannot be", format.name));
  }
  format.write_state(path, on_host(flux_state_of(model)));
}

LoadReport load_model(const std::string& path, ModelRef model, const LoadOptions& options) {
  const FileFormat& format = format_of_file(path, options.format, "load");
  const std::string origin = "load: " + path;
  Contents contents = format.name == "safetensors" ? Contents::of_files(open_safetensors(path, "load"), origin)
                                                   : Contents::of_state(format.read(path), origin);
  return load_leaves(contents, model, options);
}

LoadReport load_model_state(ModelRef model, const State& state, const LoadOptions& options) {
  try {
    Contents contents = Contents::of_state(state, "load_state", "the state");
    return load_leaves(contents, model, options);
  } catch (const FileError& error) {
    throw ArgumentError(error.what());
  }
}

}  // namespace sluice::detail

namespace sluice::inline v0 {

NamedTensors read_tensors(const std::string& path) {
  NamedTensors tensors;
  for (const auto& file : detail::open_safetensors(path, "load")) {
    for (const detail::StoredTensor& stored : file->header().tensors)
      tensors.emplace_back(stored.name, file->read(stored));
  }
  return tensors;
}

std::map<std::string, std::string> read_metadata(const std::string& path) {
  std::map<std::string, std::string> all;
  for (const auto& file : detail::open_safetensors(path, "read_metadata")) {
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
