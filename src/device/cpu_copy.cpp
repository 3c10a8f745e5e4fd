#include "src/device/cpu_copy.hpp"

#include <algorithm>
#include <cstring>

#include "src/device/thread_pool.hpp"

namespace sluice::detail {
namespace {

constexpr std::int64_t kBlock = 1 << 14;  // elements copied between two steps of the walk
constexpr std::int64_t kGrain = 1 << 15;  // elements that are worth another thread

// Elements along the edge of a transposed tile: whole cache lines on both sides, and the tile stays in the first cache.
constexpr std::int64_t tile_edge(std::int64_t element) { return std::min<std::int64_t>(128, 256 / element); }

struct Dim {
  std::int64_t size = 1, from = 0, to = 0;
};

// A copy cut into blocks: `count` dimensions, the first two of them in pieces of at most `piece` elements.
struct Plan {
  std::array<Dim, Shape::kMaxRank> dims{};
  int count = 0;
  std::array<std::int64_t, 2> piece{1, 1};

  std::int64_t steps(int d) const {
    const Dim& dim = dims[static_cast<std::size_t>(d)];
    return d < 2 ? (dim.size - 1) / piece[static_cast<std::size_t>(d)] + 1 : dim.size;
  }
  std::int64_t blocks() const {
    std::int64_t product = 1;
    for (int d = 0; d < count; ++d) product *= steps(d);
    return product;
  }
};

// Dimension 0 is the fastest of `to`. If another one is the fastest of `from`, it comes second and blocks are tiles.
Plan make_plan(const CopyCall& call, std::int64_t element) {
  Plan plan;
  for (int d = 0; d < call.space.rank(); ++d) {
    const auto i = static_cast<std::size_t>(d);
    if (call.space[d] == 1) continue;
    plan.dims[static_cast<std::size_t>(plan.count++)] = {call.space[d], call.from.strides[i], call.to.strides[i]};
  }
  plan.count = std::max(plan.count, 2);
  const auto dims = plan.dims.begin();
  bool exchanged = false;
  if (dims->from != 1 && dims->from != 0) {
    const auto fastest = std::find_if(dims + 1, dims + plan.count, [](const Dim& dim) { return dim.from == 1; });
    exchanged = fastest != dims + plan.count;
    if (exchanged) std::rotate(dims + 1, fastest, fastest + 1);
  }
  if (exchanged) {
    // A narrow side leaves room for a longer one.
    const std::int64_t edge = tile_edge(element);
    plan.piece[1] = std::min(dims[1].size, edge);
    plan.piece[0] = std::min(dims[0].size, edge * edge / plan.piece[1]);
    plan.piece[1] = std::min(dims[1].size, edge * edge / plan.piece[0]);
  } else {
    plan.piece[0] = std::min(dims[0].size, kBlock);
    plan.piece[1] = std::min(dims[1].size, kBlock / plan.piece[0]);
  }
  return plan;
}

// Visits blocks in order, from any of them on.
class Walk {
 public:
  Walk(const Plan& plan, std::int64_t block) : plan_(plan) {
    for (int d = 0; d < plan.count; ++d) {
      at_[static_cast<std::size_t>(d)] = block % plan.steps(d);
      block /= plan.steps(d);
    }
    locate();
  }

  void next() {
    for (int d = 0; d < plan_.count; ++d) {
      const auto i = static_cast<std::size_t>(d);
      if (++at_[i] < plan_.steps(d)) {
        from_ += stride(d) * plan_.dims[i].from;
        to_ += stride(d) * plan_.dims[i].to;
        return;
      }
      at_[i] = 0;
      from_ -= (plan_.steps(d) - 1) * stride(d) * plan_.dims[i].from;
      to_ -= (plan_.steps(d) - 1) * stride(d) * plan_.dims[i].to;
    }
  }

  std::int64_t from() const { return from_; }
  std::int64_t to() const { return to_; }
  /// Elements of this block along dimension d < 2.
  Dim extent(std::size_t d) const {
    const Dim& dim = plan_.dims[d];
    return {std::min(plan_.piece[d], dim.size - at_[d] * plan_.piece[d]), dim.from, dim.to};
  }

 private:
  std::int64_t stride(int d) const { return d < 2 ? plan_.piece[static_cast<std::size_t>(d)] : 1; }
  void locate() {
    for (int d = 0; d < plan_.count; ++d) {
      const auto i = static_cast<std::size_t>(d);
      from_ += at_[i] * stride(d) * plan_.dims[i].from;
      to_ += at_[i] * stride(d) * plan_.dims[i].to;
    }
  }

  const Plan& plan_;
  std::array<std::int64_t, Shape::kMaxRank> at_{};
  std::int64_t from_ = 0, to_ = 0;
};

// Through a buffer, so that rows a power of two apart do not push each other out of the cache.
template <class T>
void copy_tile(const T* from, T* to, Dim first, Dim second) {
  constexpr std::int64_t kEdge = tile_edge(sizeof(T));
  T buffer[kEdge * kEdge];
  const auto row = static_cast<std::size_t>(second.size) * sizeof(T);
  for (std::int64_t i = 0; i < first.size; ++i) std::memcpy(buffer + i * second.size, from + i * first.from, row);
  for (std::int64_t j = 0; j < second.size; ++j) {
    for (std::int64_t i = 0; i < first.size; ++i) to[i * first.to + j * second.to] = buffer[i * second.size + j];
  }
}

template <class T>
void copy_row(const T* from, T* to, Dim row) {
  constexpr std::int64_t kWorthMemcpy = 32;
  if (row.to == 1 && row.from == 1 && row.size >= kWorthMemcpy) {
    std::memcpy(to, from, static_cast<std::size_t>(row.size) * sizeof(T));
  } else if (row.to == 1 && row.from == 0) {
    std::fill_n(to, row.size, *from);
  } else {
    for (std::int64_t i = 0; i < row.size; ++i) to[i * row.to] = from[i * row.from];
  }
}

template <class T>
void copy_block(const T* from, T* to, Dim first, Dim second) {
  if (second.from == 1 && first.from != 1 && first.from != 0) {
    copy_tile(from, to, first, second);
    return;
  }
  for (std::int64_t j = 0; j < second.size; ++j) copy_row(from + j * second.from, to + j * second.to, first);
}

template <class T>
void copy_as(const CopyCall& call) {
  const Plan plan = make_plan(call, sizeof(T));
  const auto* from = reinterpret_cast<const T*>(call.from.host());
  auto* to = reinterpret_cast<T*>(call.to.host());
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / (plan.piece[0] * plan.piece[1]));
  parallel_for(plan.blocks(), grain, [&](std::int64_t begin, std::int64_t end) {
    Walk walk(plan, begin);
    for (std::int64_t block = begin; block < end; ++block, walk.next()) {
      copy_block(from + walk.from(), to + walk.to(), walk.extent(0), walk.extent(1));
    }
  });
}

}  // namespace

void cpu_copy(const CopyCall& call) {
  if (call.space.numel() == 0) return;
  switch (call.from.dtype.size()) {
    case 1: return copy_as<std::uint8_t>(call);
    case 2: return copy_as<std::uint16_t>(call);
    case 4: return copy_as<std::uint32_t>(call);
    default: return copy_as<std::uint64_t>(call);
  }
}

}  // namespace sluice::detail
