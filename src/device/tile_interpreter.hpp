// Runs programs on the CPU, a tile of the flat index space at a time: one vector loop per operation, operands read in
// place where they lie densely, broadcast operands expanded into the tile.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "src/device/device_impl.hpp"
#include "src/device/tile_plan.hpp"

namespace sluice::detail {

/// Hands out one operand's elements tile by tile.
class TileReader {
 public:
  TileReader() = default;
  /// `expanded` is room for kReaderTile elements of 8 bytes, used when the operand is not dense.
  TileReader(const Operand& operand, const Shape& space, std::byte* expanded);
  /// Elements [first, first + count) of the flat space, count <= kTile unless dense(). Valid until the next call.
  const void* read(std::int64_t first, int count);
  /// Element `at` of a dense operand.
  const std::byte* address(std::int64_t at) const { return data_ + at * size_; }
  int element_size() const { return size_; }
  /// Whether the operand lies exactly as the space does, so that any range can be read in place.
  bool dense() const { return kind_ == Kind::dense; }

 private:
  enum class Kind : std::uint8_t { dense, repeated, scalar, general };
  const void* expand(std::int64_t first, int count);

  Kind kind_ = Kind::dense;
  int size_ = 0;  // bytes of an element
  int rank_ = 0;
  bool filled_ = false;  // whether `expanded_` holds what every tile needs
  std::int64_t period_ = 0;
  const std::byte* data_ = nullptr;
  std::byte* expanded_ = nullptr;
  std::array<std::int64_t, Shape::kMaxRank> sizes_{};
  std::array<std::int64_t, Shape::kMaxRank> strides_{};
};

/// One program over pieces of its index space, on one thread.
class TileRunner {
 public:
  TileRunner(const TypedProgram& program, std::span<const Scalar> params, const Shape& space,
             std::span<const Operand> inputs);
  ~TileRunner();
  TileRunner(const TileRunner&) = delete;
  TileRunner& operator=(const TileRunner&) = delete;

  /// Output 0 for flat indices [first, first + count), count <= kTile, in its register type; may point into an input.
  /// Valid until the next call.
  const void* values(std::int64_t first, int count);

  /// Whether output 0 is an input that can be read in place, in any length.
  bool in_place() const { return in_place_; }

  /// All outputs for [first, last), stored densely. `overlap` says that an output may be the same memory as an input.
  void run(std::int64_t first, std::int64_t last, std::span<const Operand> outputs, bool overlap);

 private:
  static constexpr std::size_t kInlineInputs = 6;
  void splat(std::span<const Scalar> params, int count);
  void load(std::int64_t first, int count);
  void execute(int count);
  void execute_and_prefetch(int count, std::int64_t next, int next_count);
  void place_outputs(std::int64_t first, std::span<const Operand> outputs, bool overlap);
  void store_outputs(std::int64_t first, int count, std::span<const Operand> outputs);

  const TilePlan& plan_;
  std::span<TileReader> readers_;
  const void** values_ = nullptr;
  std::byte* scratch_ = nullptr;
  int longest_ = kTile;
  bool in_place_ = false;
  std::size_t arena_mark_ = 0;
};

}  // namespace sluice::detail
