// `sluice inspect` and `sluice convert`; main.cpp describes the JSON.
#include <algorithm>
#include <cstdio>
#include <set>

#include "sluice/checkpoint.hpp"
#include "tools/sluice/commands.hpp"
#include "tools/sluice/output.hpp"

namespace sluice::command {
namespace {

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t size : shape) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "(" + text + ")";
}

std::uint64_t elements(const TensorSummary& tensor) {
  std::uint64_t product = 1;
  for (const std::int64_t size : tensor.shape) product *= static_cast<std::uint64_t>(size);
  return product;
}

std::string special_text(const TensorSummary& tensor) {
  if (tensor.has_nan && tensor.has_infinity) return "NaN Inf";
  return tensor.has_nan ? "NaN" : tensor.has_infinity ? "Inf" : "";
}

struct Total {
  std::uint64_t elements = 0, bytes = 0;
  bool has_nan = false, has_infinity = false;
};

Total total_of(const FileSummary& summary) {
  Total total;
  for (const TensorSummary& tensor : summary.tensors) {
    total.elements += elements(tensor);
    total.bytes += tensor.bytes;
    total.has_nan = total.has_nan || tensor.has_nan;
    total.has_infinity = total.has_infinity || tensor.has_infinity;
  }
  return total;
}

/// An object of texts; of equal names the first one counts. (An insertion by name would look through all.)
template <class Texts>
Json object_of(const Texts& texts) {
  Json object = Json::object();
  std::set<std::string_view> names;
  for (const auto& [name, text] : texts) {
    if (names.insert(name).second) object.get_ref<Json::object_t&>().emplace_back(name, text);
  }
  return object;
}

void print_json(const FileSummary& summary, const Total& total) {
  Json tensors = Json::array();
  for (const TensorSummary& each : summary.tensors) {
    tensors.push_back({{"name", each.name},
                       {"type", each.type},
                       {"shape", each.shape},
                       {"bytes", each.bytes},
                       {"nan", each.has_nan},
                       {"infinity", each.has_infinity}});
  }
  print(Json{{"format", summary.format},
             {"tensors", tensors},
             {"values", object_of(summary.values)},
             {"metadata", object_of(summary.metadata)},
             {"elements", total.elements},
             {"bytes", total.bytes},
             {"nan", total.has_nan},
             {"infinity", total.has_infinity}});
}

void print_text(const FileSummary& summary, const Total& total) {
  Table table({"name", "type", "shape", "bytes", ""});
  for (const TensorSummary& each : summary.tensors) {
    table.add({escaped(each.name), each.type, shape_text(each.shape), std::to_string(each.bytes), special_text(each)});
  }
  std::string text = summary.tensors.empty() ? "" : table.text();
  for (const auto& [name, value] : summary.values) text += escaped(name) + " = " + escaped(value) + "\n";
  for (const auto& [name, value] : summary.metadata) text += escaped(name) + ": " + escaped(value) + "\n";
  print(text + summary.format + ", " + std::to_string(summary.tensors.size()) +
        (summary.tensors.size() == 1 ? " tensor, " : " tensors, ") + std::to_string(total.elements) + " elements, " +
        std::to_string(total.bytes) + " bytes\n");
}

}  // namespace

int inspect_file(const InspectOptions& options) {
  const FileSummary summary = inspect(options.path, options.format);
  const Total total = total_of(summary);
  if (options.json) print_json(summary, total);
  else print_text(summary, total);
  return options.finite && (total.has_nan || total.has_infinity) ? kFinding : kFine;
}

/// A list as a record.
State numbered(const State::List& list) {
  State::Record record;
  for (std::size_t i = 0; i < list.size(); ++i) record.emplace_back(std::to_string(i), list[i]);
  return State(std::move(record));
}

std::set<std::string> names_in(const State& state) {
  std::set<std::string> names;
  for (const auto& each : named_tensors(state)) names.insert(each.first);
  return names;
}

/// With a tree in place of names with dots, as Julia reads it, where that keeps them.
State tree_for_julia(const State& state) {
  const auto is_leaf = [](const State::Member& member) { return member.second.is_tensor(); };
  const bool is_flat = state.is_record() && std::ranges::all_of(state.record(), is_leaf);
  if (!is_flat) return state;
  try {
    State tree = tree_of(named_tensors(state));
    if (tree.is_list()) tree = numbered(tree.list());
    return names_in(tree) == names_in(state) ? tree : state;
  } catch (const ArgumentError&) {
    return state;  // "weight" beside "weight.scale"
  }
}

/// Its tensors alone, under their paths.
State tensors_only(const State& state, const ConvertOptions& options) {
  State::Record tensors;
  for (auto& [name, tensor] : named_tensors(state)) tensors.emplace_back(name, std::move(tensor));
  if (tensors.empty()) {
    throw ArgumentError("convert: " + options.from + " holds no tensor, and " + options.to + " keeps nothing else");
  }
  return State(std::move(tensors));
}

/// Whether TO is to be of a format, by its name or its ending.
bool is_written_as(const ConvertOptions& options, std::string_view format, std::string_view ending) {
  return options.to_format.empty() ? lower(options.to).ends_with(ending) : options.to_format == format;
}

int convert_file(const ConvertOptions& options) {
  const FileSummary summary = inspect(options.from, options.from_format);
  State state = read_state(options.from, options.from_format);
  SaveOptions saving{.prefix = {}, .rename = {}, .metadata = {}, .format = options.to_format};
  if (options.shard_bytes > 0) saving.shard_bytes = options.shard_bytes;
  const bool is_safetensors = is_written_as(options, "safetensors", ".safetensors") ||
                              is_written_as(options, "safetensors", ".safetensors.index.json");
  std::vector<std::pair<std::string, std::string>> left_out;
  for (const auto& [key, value] : summary.metadata) {
    if (key.starts_with("sluice.")) continue;  // how the library stores things there
    if (is_safetensors) saving.metadata.emplace(key, value);
    else left_out.emplace_back("metadata." + key, value);
  }
  const bool keeps_values = is_written_as(options, "bson", ".bson");
  // Those of an .npz file are other files, which are not in the tree.
  if (!keeps_values || summary.format == "npz") {
    left_out.insert(left_out.end(), summary.values.begin(), summary.values.end());
  }
  if (keeps_values) state = tree_for_julia(state);
  else if (!summary.values.empty()) state = tensors_only(state, options);
  write_state(options.to, state, saving);
  for (const auto& [name, value] : left_out) {
    std::fprintf(stderr, "sluice: left out, for it is no tensor: %s = %s\n", escaped(name).c_str(),
                 escaped(value).c_str());
  }
  if (options.json) print(Json{{"tensors", named_tensors(state).size()}, {"left_out", object_of(left_out)}});
  return kFine;
}

}  // namespace sluice::command
