#include "src/data/contents.hpp"

#include <fmt/format.h>

#include "src/core/rethrow.hpp"
#include "src/core/utf8.hpp"
#include "src/data/npz.hpp"

namespace sluice::detail {
namespace {

/// A tensor that there is none like here.
std::string described(const std::string& type, const std::vector<std::int64_t>& sizes) {
  return fmt::format("{} ({})", type, fmt::join(sizes, ", "));
}

}  // namespace

std::string StoredItem::describe() const {
  if (is_false) return "false";
  if (!other.empty()) return other;
  return unreadable.empty() ? fmt::format("{} {}", dtype.name(), to_string(shape)) : unreadable;
}

const StoredItem* Contents::find(const std::string& name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? nullptr : &items_[found->second];
}

Tensor Contents::read(const StoredItem& item, const Device& device) {
  Tensor& tensor = read_[{&item, device.impl()}];
  if (tensor) return tensor;
  try {
    return tensor = item.read(device);
  } catch (const FileError&) {
    throw;
  } catch (const Error&) {
    rethrow_in(in_quotes(item.name));
  }
}

void Contents::add(StoredItem item) {
  if (!names_.emplace(item.name, items_.size()).second) {
    throw FileError(fmt::format("{}: there are two tensors \"{}\"", origin_, item.name));
  }
  items_.push_back(std::move(item));
}

void Contents::add_alias(const std::string& name, const std::string& target) {
  const StoredItem* const stored = find(target);
  const bool exists = stored != nullptr && stored->name == target;  // and is not an alias
  if (!exists || !names_.emplace(name, static_cast<std::size_t>(stored - items_.data())).second) {
    throw FileError(fmt::format("{}: the metadata say that \"{}\" is \"{}\", but {}", origin_, name, target,
                                exists ? "it is stored itself" : "no such tensor is stored"));
  }
}

void Contents::add_file(const std::shared_ptr<SafetensorsFile>& file) {
  for (const StoredTensor& stored : file->header().tensors) {
    add({.name = stored.name,
         .dtype = stored.dtype,
         .shape = stored.shape,
         .read = [file, &stored](const Device& device) { return file->read(stored, device); },
         .unreadable = stored.is_readable ? "" : described(stored.type, stored.sizes)});
  }
}

Contents Contents::of_files(const std::vector<std::shared_ptr<SafetensorsFile>>& files, const std::string& origin) {
  Contents contents(origin, "the file", false);
  for (const auto& file : files) contents.add_file(file);
  for (const auto& file : files) {
    for (const auto& [key, value] : file->header().metadata) {
      if (key == kOrderKey && value != kOrder) {
        throw FileError(fmt::format("{}: {} is \"{}\"; expected \"{}\"", origin, kOrderKey, value, kOrder));
      }
      if (key.starts_with(kAliasPrefix)) contents.add_alias(key.substr(kAliasPrefix.size()), value);
    }
  }
  return contents;
}

Contents Contents::of_npz(const std::string& path, const std::string& operation) {
  Contents contents(operation + ": " + path, "the file", false);
  const auto file = std::make_shared<NpzFile>(path, operation);
  for (const NpzFile::Array& array : file->arrays()) {
    const NpyHeader& header = array.header;
    const bool is_readable = header.refusal.empty();
    contents.add({.name = array.name,
                  .dtype = header.dtype,
                  .shape = is_readable ? Shape(header.shape) : Shape(),
                  .read = [file, &array](const Device& device) { return device(file->read(array)); },
                  .unreadable = is_readable ? "" : described(header.type, header.shape)});
  }
  return contents;
}

void Contents::add_tree(const State& state, const std::string& path, std::map<const TensorRep*, std::size_t>& known) {
  const auto below = [&](const std::string& name) { return path.empty() ? name : path + "." + name; };
  if (state.is_record()) {
    for (const auto& [name, child] : state.record()) add_tree(child, below(name), known);
  } else if (state.is_list()) {
    for (std::size_t i = 0; i < state.list().size(); ++i) add_tree(state.list()[i], below(std::to_string(i)), known);
  } else if (state.is_tensor() && state.tensor()) {
    const Tensor& tensor = state.tensor();
    const std::string name = path.empty() ? "tensor" : path;
    const auto [first, fresh] = known.try_emplace(tensor.rep(), items_.size());
    if (!fresh) {
      add_alias(name, items_[first->second].name);
      return;
    }
    add({.name = name, .dtype = tensor.dtype(), .shape = tensor.shape(), .read = [tensor](const Device& device) {
           return device(tensor);
         }});
  } else if (state.is_real() || (state.is_bool() && !state.boolean())) {
    const Tensor tensor = scalar(state.is_real() ? state.real() : 0.0);
    add({.name = path,
         .dtype = f64,
         .shape = Shape{},
         .read = [tensor](const Device& device) { return device(tensor); },
         .is_false = state.is_bool(),
         .is_number = state.is_real()});
  } else if (!state.is_nothing() || state.type().empty()) {
    add({.name = path,
         .dtype = f32,
         .shape = {},
         .read = {},
         .other = state.is_nothing() ? "nothing" : state.describe()});
  }
}

Contents Contents::of_state(const State& state, const std::string& origin, const char* noun) {
  Contents contents(origin, noun, true);
  std::map<const TensorRep*, std::size_t> known;
  contents.add_tree(state, "", known);
  return contents;
}

}  // namespace sluice::detail
