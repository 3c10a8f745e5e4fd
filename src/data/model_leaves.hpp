// The places of a model that are saved and loaded.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sluice/model.hpp"

namespace sluice::detail {

enum class LeafKind : std::uint8_t { tensor, buffer, counter, generator, setting };

/// A place and what it holds: a generator as seed and call, two i64 of the same bits, a setting as a 0-dimensional f64.
struct ModelLeaf {
  LeafKind kind;
  std::string name;
  Tensor value;  ///< empty for a place without a tensor, such as the bias of a layer that has none

  bool is_random() const { return kind == LeafKind::counter || kind == LeafKind::generator; }
};

/// A generator as it is saved.
Tensor generator_tensor(const Generator& generator);

/// Every place, depth first.
std::vector<ModelLeaf> leaves_of(ModelRef model);

/// Puts a value for each leaf in its place, none for an empty one. Where the owner refuses one, all are as before and
/// its error is thrown on.
void write_leaves(ModelRef model, const std::vector<ModelLeaf>& leaves, const std::vector<Tensor>& values);

/// Which places hold the same tensor. Buffers are set anew one by one: that two hold the same tensor ties nothing.
class Ties {
 public:
  explicit Ties(const std::vector<ModelLeaf>& leaves);
  /// Place i and those tied to it, in order.
  const std::vector<std::size_t>& of(std::size_t i) const { return groups_[group_of_[i]]; }
  bool is_first(std::size_t i) const { return of(i).front() == i; }

 private:
  std::vector<std::size_t> group_of_;
  std::vector<std::vector<std::size_t>> groups_;
};

}  // namespace sluice::detail
