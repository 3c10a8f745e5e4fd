#include "src/device/cpu_reduce.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "src/core/typed_program.hpp"
#include "src/device/host_isa.hpp"
#include "src/device/reduce_kernels.hpp"
#include "src/device/reduce_walk.hpp"
#include "src/device/thread_pool.hpp"
#include "src/device/tile_interpreter.hpp"

namespace sluice::detail {
namespace {

using Accumulator = std::uint64_t;  // the bits of a double or of an int64

constexpr std::int64_t kPiece = 1 << 16;  // elements that are worth a piece of their own
constexpr std::int64_t kMaxPieces = 256;  // of one output, beyond those within a run
constexpr std::int64_t kGrain = 1 << 15;  // elements that are worth waking a thread
constexpr int kMaxWidth = 1024;           // outputs that are worked on together

Accumulator bits_of(double value) {
  Accumulator bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// What combines with any value to that value.
Accumulator neutral(CombineOp combine, bool floating) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  using Limits = std::numeric_limits<std::int64_t>;
  switch (combine) {
    case CombineOp::sum: return 0;
    case CombineOp::prod: return floating ? bits_of(1) : 1;
    case CombineOp::max: return floating ? bits_of(-kInf) : static_cast<Accumulator>(Limits::min());
    case CombineOp::min: return floating ? bits_of(kInf) : static_cast<Accumulator>(Limits::max());
  }
  return 0;
}

/// The operand itself, when the program only loads it and it lies in memory as the space is walked.
const std::byte* plain_operand(const ReduceCall& call) {
  const TypedProgram& program = call.program;
  if (program.nodes.size() != 1 || program.nodes[0].step != Step::load) return nullptr;
  const Operand& operand = call.inputs[program.nodes[0].operand[0]];
  const DType dtype = operand.dtype;
  if (dtype != f32 && dtype != f64 && dtype != i32 && dtype != i64) return nullptr;
  std::int64_t stride = 1;
  for (int dim = 0; dim < call.space.rank(); ++dim) {
    const std::int64_t size = call.space[dim];
    if (size != 1 && operand.strides[static_cast<std::size_t>(dim)] != stride) return nullptr;
    stride *= size;
  }
  return operand.host();
}

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

template <class T>
void put(std::byte*& to, T value) {
  std::memcpy(to, &value, sizeof value);
  to += sizeof value;
}

void store_floating(const Accumulator* from, std::size_t count, double factor, double divisor, DType dtype,
                    std::byte* to) {
  for (std::size_t i = 0; i < count; ++i) {
    double value;
    std::memcpy(&value, from + i, sizeof value);
    value = value * factor / divisor;
    switch (dtype.code()) {
      case DType::kF64: put(to, value); break;
      case DType::kF16: put(to, Float16(static_cast<float>(value))); break;
      case DType::kBF16: put(to, BFloat16(static_cast<float>(value))); break;
      default: put(to, static_cast<float>(value)); break;
    }
  }
}

void store_integers(const Accumulator* from, std::size_t count, DType dtype, std::byte* to) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<std::int64_t>(from[i]);
    switch (dtype.size()) {
      case 1: put(to, static_cast<std::int8_t>(value)); break;
      case 2: put(to, static_cast<std::int16_t>(value)); break;
      case 4: put(to, static_cast<std::int32_t>(value)); break;
      default: put(to, value); break;
    }
  }
}

/// The work of a call, cut into units that do not depend on each other.
class Reduction {
 public:
  explicit Reduction(const ReduceCall& call)
      : call_(call),
        walk_(call.space, call.output),
        plain_(plain_operand(call)),
        register_(register_of(call.program.output_types[0])),
        element_(register_ == Register::f32 || register_ == Register::i32 ? 4 : 8),
        floating_(register_ == Register::f32 || register_ == Register::f64) {
    const auto type = static_cast<std::size_t>(register_);
    const auto combine = static_cast<std::size_t>(call.combine);
    runs_ = reduce_loops().runs[type][combine];
    rows_ = reduce_loops().rows[type][combine];
    split();
  }

  void run() {
    const std::int64_t units = pieces_ * blocks_ * walk_.kept();
    const std::int64_t unit_elements = std::max<std::int64_t>(1, call_.space.numel() / units);
    const std::int64_t grain = std::max<std::int64_t>(1, kGrain / unit_elements);
    if (pieces_ > 1) partials_.resize(static_cast<std::size_t>(units * width_));
    parallel_for(units, grain, [&](std::int64_t begin, std::int64_t end) { do_units(begin, end); });
    if (pieces_ > 1) finish();
  }

 private:
  void split() {
    const std::int64_t most = std::min<std::int64_t>(walk_.width(), kMaxWidth);
    width_ = walk_.run() == 1 ? most : std::clamp<std::int64_t>(4096 / walk_.run(), 1, most);
    blocks_ = divide_up(walk_.width(), width_);
    run_pieces_ = divide_up(walk_.run(), kPiece);
    runs_per_piece_ = 1;
    if (run_pieces_ == 1) {
      runs_per_piece_ =
          std::max({std::int64_t{1}, kPiece / (walk_.run() * width_), divide_up(walk_.reduced(), kMaxPieces)});
    }
    pieces_ = run_pieces_ * divide_up(walk_.reduced(), runs_per_piece_);
  }

  void do_units(std::int64_t begin, std::int64_t end) {
    Accumulator local[kMaxWidth];
    std::optional<TileRunner> tiles;
    if (plain_ == nullptr) tiles.emplace(call_.program, call_.params, call_.space, call_.inputs);
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t group = unit / pieces_;
      Accumulator* accumulators = pieces_ > 1 ? partials_.data() + unit * width_ : local;
      std::fill_n(accumulators, width_, neutral(call_.combine, floating_));
      do_piece(tiles, group, unit % pieces_, accumulators);
      if (pieces_ == 1) store(group, accumulators);
    }
  }

  /// Width of a group: the outputs that are worked on together.
  std::int64_t width_of(std::int64_t group) const { return std::min(width_, walk_.width() - group % blocks_ * width_); }

  void do_piece(std::optional<TileRunner>& tiles, std::int64_t group, std::int64_t piece, Accumulator* accumulators) {
    const std::int64_t run = walk_.run();
    const std::int64_t width = width_of(group);
    const std::int64_t base = walk_.kept_first(group / blocks_) + group % blocks_ * width_ * run;
    const std::int64_t begin = piece / run_pieces_ * runs_per_piece_;
    const std::int64_t end = std::min(begin + runs_per_piece_, walk_.reduced());
    if (run_pieces_ > 1) {
      const std::int64_t skipped = piece % run_pieces_ * kPiece;
      do_runs(tiles, base + walk_.reduced_first(begin) + skipped, std::min(kPiece, run - skipped), 1, accumulators);
    } else if (run > 1) {
      for (std::int64_t i = begin; i < end; ++i)
        do_runs(tiles, base + walk_.reduced_first(i), run, width, accumulators);
    } else {
      for (std::int64_t i = begin; i < end;) {
        const std::int64_t rows = std::min(end - i, walk_.rows_from(i));
        do_rows(tiles, base + walk_.reduced_first(i), width, rows, accumulators);
        i += rows;
      }
    }
  }

  /// accumulators[j] combined with `run` elements from position first + j * run.
  void do_runs(std::optional<TileRunner>& tiles, std::int64_t first, std::int64_t run, std::int64_t count,
               Accumulator* accumulators) {
    if (!tiles) return runs_(plain(first), run, count, accumulators);
    const std::int64_t together = std::max<std::int64_t>(1, kTile / run);
    for (std::int64_t j = 0; j < count; j += together) {
      const std::int64_t outputs = std::min(together, count - j);
      for (std::int64_t i = 0; i < run; i += kTile) {
        const std::int64_t length = std::min<std::int64_t>(kTile, run - i);
        const void* values = tiles->values(first + j * run + i, static_cast<int>(outputs * length));
        runs_(values, length, outputs, accumulators + j);
      }
    }
  }

  /// accumulators[j] combined with `rows` elements from position first + j, one row stride apart.
  void do_rows(std::optional<TileRunner>& tiles, std::int64_t first, std::int64_t width, std::int64_t rows,
               Accumulator* accumulators) {
    const std::int64_t stride = walk_.row_stride();
    if (!tiles) return rows_(plain(first), width, stride, rows, accumulators);
    const std::int64_t together = stride == width ? std::max<std::int64_t>(1, kTile / width) : 1;
    for (std::int64_t i = 0; i < rows; i += together) {
      const std::int64_t count = std::min(together, rows - i);
      for (std::int64_t j = 0; j < width; j += kTile) {
        const std::int64_t length = std::min<std::int64_t>(kTile, width - j);
        const void* values = tiles->values(first + i * stride + j, static_cast<int>(count * length));
        rows_(values, length, length, count, accumulators + j);
      }
    }
  }

  const void* plain(std::int64_t position) const { return plain_ + static_cast<std::size_t>(position) * element_; }

  /// Combines the partial results of every group, in the order of its pieces.
  void finish() {
    const auto type = static_cast<std::size_t>(floating_ ? Register::f64 : Register::i64);
    const ReduceLoops::Rows rows = reduce_loops().rows[type][static_cast<std::size_t>(call_.combine)];
    Accumulator total[kMaxWidth];
    for (std::int64_t group = 0; group < blocks_ * walk_.kept(); ++group) {
      std::fill_n(total, width_, neutral(call_.combine, floating_));
      rows(partials_.data() + group * pieces_ * width_, width_, width_, pieces_, total);
      store(group, total);
    }
  }

  void store(std::int64_t group, const Accumulator* accumulators) const {
    const std::int64_t first = group / blocks_ * walk_.width() + group % blocks_ * width_;
    const std::size_t count = static_cast<std::size_t>(width_of(group));
    const DType dtype = call_.output.dtype;
    std::byte* to = call_.output.host() + static_cast<std::size_t>(first) * dtype.size();
    if (floating_) {
      // Dividing by the length makes the mean of equal values exact; multiplying by its reciprocal does not.
      const double length = static_cast<double>(call_.length);
      const bool is_mean = call_.scale == 1 / length;
      store_floating(accumulators, count, is_mean ? 1 : call_.scale, is_mean ? length : 1, dtype, to);
    } else {
      store_integers(accumulators, count, dtype, to);
    }
  }

  const ReduceCall& call_;
  ReduceWalk walk_;
  const std::byte* plain_;
  Register register_;
  std::size_t element_;
  bool floating_;
  ReduceLoops::Runs runs_;
  ReduceLoops::Rows rows_;
  std::int64_t width_ = 1, blocks_ = 1;                            // outputs of a unit; units side by side
  std::int64_t run_pieces_ = 1, runs_per_piece_ = 1, pieces_ = 1;  // units of one output
  std::vector<Accumulator> partials_;
};

}  // namespace

const ReduceLoops& reduce_loops() {
#if defined(__x86_64__)
  if (host_isa() == HostIsa::avx512) return avx512::kReduceLoops;
  if (host_isa() == HostIsa::avx2) return avx2::kReduceLoops;
#endif
  return baseline::kReduceLoops;
}

void cpu_reduce(const ReduceCall& call) { Reduction(call).run(); }

}  // namespace sluice::detail
