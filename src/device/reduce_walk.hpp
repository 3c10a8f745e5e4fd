// The index space of a reduction in its normal form: (run, width, ...), where the first dimension is reduced (size 1 if
// the space starts with a kept one), the second kept, and the rest alternates. Positions are flat indices of the space.
// Outputs are dense, so output number kept * width() + j belongs to position kept_first(kept) + j * run().
#pragma once

#include <algorithm>
#include <array>

#include "src/device/device_impl.hpp"

namespace sluice::detail {

class ReduceWalk {
 public:
  /// A dimension of `space` is reduced where the stride of `output` is 0.
  ReduceWalk(const Shape& space, const Operand& output) {
    std::int64_t stride = 1;
    bool last_kept = false;
    for (int dim = 0; dim < space.rank(); ++dim) {
      const std::int64_t size = space[dim];
      if (size == 1) continue;
      const bool is_kept = output.strides[static_cast<std::size_t>(dim)] != 0;
      if (stride > 1 && is_kept == last_kept) {
        *last_size_ *= size;
      } else {
        start(is_kept, size, stride);
      }
      last_kept = is_kept;
      stride *= size;
    }
  }

  std::int64_t run() const { return run_; }
  std::int64_t width() const { return width_; }
  /// Number of combinations of the further kept, or reduced, dimensions.
  std::int64_t kept() const { return kept_.count(); }
  std::int64_t reduced() const { return reduced_.count(); }
  std::int64_t kept_first(std::int64_t index) const { return kept_.position(index); }
  std::int64_t reduced_first(std::int64_t index) const { return reduced_.position(index); }
  /// Positions of the reduced combinations from `index` on are `row_stride()` apart, for this many.
  std::int64_t rows_from(std::int64_t index) const {
    return reduced_.rank == 0 ? 1 : reduced_.size[0] - index % reduced_.size[0];
  }
  std::int64_t row_stride() const { return reduced_.rank == 0 ? run_ * width_ : reduced_.stride[0]; }

 private:
  struct Dimensions {
    std::size_t rank = 0;
    std::array<std::int64_t, Shape::kMaxRank> size;
    std::array<std::int64_t, Shape::kMaxRank> stride;

    std::int64_t count() const {
      std::int64_t product = 1;
      for (std::size_t i = 0; i < rank; ++i) product *= size[i];
      return product;
    }
    std::int64_t position(std::int64_t index) const {
      std::int64_t at = 0;
      for (std::size_t i = 0; i < rank; ++i) {
        at += index % size[i] * stride[i];
        index /= size[i];
      }
      return at;
    }
  };

  void start(bool is_kept, std::int64_t size, std::int64_t stride) {
    if (!is_kept && stride == 1) {
      last_size_ = &run_;
    } else if (is_kept && stride == run_) {
      last_size_ = &width_;
    } else {
      Dimensions& dims = is_kept ? kept_ : reduced_;
      dims.stride[dims.rank] = stride;
      last_size_ = &dims.size[dims.rank++];
    }
    *last_size_ = size;
  }

  std::int64_t run_ = 1, width_ = 1;
  Dimensions kept_, reduced_;
  std::int64_t* last_size_ = nullptr;  // used while building
};

}  // namespace sluice::detail
