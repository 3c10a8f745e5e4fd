// What a checkpoint has under its names, whatever its format: type and shape at once, elements when they are asked for.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sluice/state.hpp"
#include "src/data/safetensors.hpp"

namespace sluice::detail {

struct StoredItem {
  std::string name;  ///< the first one it has
  DType dtype;
  Shape shape;
  std::function<Tensor(const Device&)> read;
  std::string unreadable = {};  ///< type and shape of one that there is none like here
  /// How a State may say that there is no bias, and a number that is no tensor; neither has to have a place in a model.
  bool is_false = false, is_number = false;
  std::string other = {};  ///< what a State has there that no tensor can be made of: "text", "nothing", ...

  std::string describe() const;
};

class Contents {
 public:
  /// Of a safetensors file, or of all those that an index names. `origin` begins every message: "load:
  /// model.safetensors".
  static Contents of_files(const std::vector<std::shared_ptr<SafetensorsFile>>& files, const std::string& origin);
  static Contents of_npz(const std::string& path, const std::string& operation);
  /// Tensors that are one handle in the tree are one item.
  static Contents of_state(const State& state, const std::string& origin, const char* noun = "the file");

  const std::string& origin() const { return origin_; }
  /// "the file", for messages.
  const char* noun() const { return noun_; }
  /// Whether it is a State, which need not have random generators and may say that there is no bias.
  bool is_tree() const { return is_tree_; }
  const StoredItem* find(const std::string& name) const;
  const std::map<std::string, std::size_t>& names() const { return names_; }
  const StoredItem& item(std::size_t number) const { return items_[number]; }
  /// The tensor on a device; the same handle for the same item.
  Tensor read(const StoredItem& item, const Device& device);

 private:
  Contents(std::string origin, const char* noun, bool is_tree)
      : origin_(std::move(origin)), noun_(noun), is_tree_(is_tree) {}
  void add(StoredItem item);
  void add_alias(const std::string& name, const std::string& target);
  void add_tree(const State& state, const std::string& path, std::map<const TensorRep*, std::size_t>& known);
  void add_file(const std::shared_ptr<SafetensorsFile>& file);

  std::string origin_;
  const char* noun_;
  bool is_tree_;
  std::vector<StoredItem> items_;
  std::map<std::string, std::size_t> names_;
  std::map<std::pair<const StoredItem*, DeviceImpl*>, Tensor> read_;
};

}  // namespace sluice::detail
