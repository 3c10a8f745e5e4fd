#include "src/device/tile_interpreter.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace sluice::detail {
namespace {

constexpr std::size_t kSlotBytes = kTile * 8;
// A repeated pattern is kept a period longer than a tile, so that every tile is one piece of it.
constexpr std::size_t kReaderBytes = 2 * kSlotBytes;
// Programs without registers of their own run in longer pieces: fewer calls, same memory.
constexpr int kLongTile = 16384;

/// This thread's memory for registers: a stack, since a runner may live while another one works.
class Arena {
 public:
  std::byte* take(std::size_t bytes) {
    bytes = (bytes + 63) / 64 * 64;
    while (block_ < blocks_.size() && used_ + bytes > blocks_[block_].size) {
      ++block_;
      used_ = 0;
    }
    if (block_ == blocks_.size()) {
      const std::size_t size = std::max<std::size_t>(bytes, 256 * 1024);
      blocks_.push_back(
          {std::unique_ptr<std::byte, Free>(static_cast<std::byte*>(::operator new(size, kAlignment))), size});
    }
    std::byte* result = blocks_[block_].memory.get() + used_;
    used_ += bytes;
    return result;
  }
  std::size_t mark() const { return block_ << 40 | used_; }
  void rewind(std::size_t mark) {
    block_ = mark >> 40;
    used_ = mark & ((std::size_t{1} << 40) - 1);
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete(memory, kAlignment); }
  };
  struct Block {
    std::unique_ptr<std::byte, Free> memory;
    std::size_t size;
  };
  std::vector<Block> blocks_;
  std::size_t block_ = 0;
  std::size_t used_ = 0;
};

Arena& arena() {
  thread_local Arena instance;
  return instance;
}

template <class T>
void fill(void* destination, T value, int count) {
  std::fill_n(static_cast<T*>(destination), count, value);
}

void fill_number(std::byte* destination, Register type, const Scalar& value, int count) {
  switch (type) {
    case Register::f32: return fill(destination, static_cast<float>(value.floating), count);
    case Register::f64: return fill(destination, value.floating, count);
    case Register::i32: return fill(destination, static_cast<std::int32_t>(value.integer), count);
    case Register::i64: return fill(destination, value.integer, count);
  }
}

/// `count` elements from `from`, `stride` elements apart.
void copy_strided(std::byte* to, const std::byte* from, std::int64_t stride, int count, int size) {
  const auto loop = [&]<class T>(T) {
    const T* source = reinterpret_cast<const T*>(from);
    T* target = reinterpret_cast<T*>(to);
    if (stride == 0) std::fill_n(target, count, *source);
    else
      for (int i = 0; i < count; ++i) target[i] = source[i * stride];
  };
  if (stride == 1) std::memcpy(to, from, static_cast<std::size_t>(count) * static_cast<std::size_t>(size));
  else if (size == 1) loop(std::uint8_t{});
  else if (size == 2) loop(std::uint16_t{});
  else if (size == 4) loop(std::uint32_t{});
  else loop(std::uint64_t{});
}

}  // namespace

TileReader::TileReader(const Operand& operand, const Shape& space, std::byte* expanded)
    : size_(static_cast<int>(operand.dtype.size())), rank_(space.rank()), data_(operand.host()), expanded_(expanded) {
  std::int64_t dense_stride = 1;
  bool dense = true;
  bool constant = true;
  for (int d = 0; d < rank_; ++d) {
    const auto at = static_cast<std::size_t>(d);
    sizes_[at] = space[d];
    strides_[at] = operand.strides[at];
    dense = dense && (strides_[at] == dense_stride || space[d] == 1);
    constant = constant && (strides_[at] == 0 || space[d] == 1);
    dense_stride *= space[d];
  }
  if (dense) kind_ = Kind::dense;
  else if (constant) kind_ = Kind::scalar;
  else if (rank_ == 2 && strides_[0] == 1 && strides_[1] == 0 && sizes_[0] <= kTile) kind_ = Kind::repeated;
  else kind_ = Kind::general;
  period_ = sizes_[0];
}

const void* TileReader::read(std::int64_t first, int count) {
  switch (kind_) {
    case Kind::dense: return data_ + first * size_;
    case Kind::scalar:
      if (!filled_) copy_strided(expanded_, data_, 0, kTile, size_);
      filled_ = true;
      return expanded_;
    case Kind::repeated: {
      const int length = static_cast<int>(period_) + kTile;
      for (int done = 0; !filled_ && done < length; done += static_cast<int>(period_)) {
        const int piece = std::min(static_cast<int>(period_), length - done);
        std::memcpy(expanded_ + done * size_, data_, static_cast<std::size_t>(piece) * static_cast<std::size_t>(size_));
      }
      filled_ = true;
      return expanded_ + first % period_ * size_;
    }
    case Kind::general: break;
  }
  return expand(first, count);
}

const void* TileReader::expand(std::int64_t first, int count) {
  std::array<std::int64_t, Shape::kMaxRank> index{};
  std::int64_t position = 0;
  std::int64_t rest = first;
  for (int d = 0; d < rank_; ++d) {
    const auto at = static_cast<std::size_t>(d);
    index[at] = rest % sizes_[at];
    rest /= sizes_[at];
    position += index[at] * strides_[at];
  }
  if (strides_[0] == 1 && index[0] + count <= sizes_[0]) return data_ + position * size_;
  int done = 0;
  while (done < count) {
    const int piece = static_cast<int>(std::min<std::int64_t>(sizes_[0] - index[0], count - done));
    copy_strided(expanded_ + done * size_, data_ + position * size_, strides_[0], piece, size_);
    done += piece;
    position -= index[0] * strides_[0];
    index[0] = 0;
    for (int d = 1; d < rank_; ++d) {
      const auto at = static_cast<std::size_t>(d);
      position += strides_[at];
      if (++index[at] < sizes_[at]) break;
      position -= index[at] * strides_[at];
      index[at] = 0;
    }
  }
  return expanded_;
}

TileRunner::TileRunner(const TypedProgram& program, std::span<const Scalar> params, const Shape& space,
                       std::span<const Operand> inputs)
    : plan_(tile_plan(program)), arena_mark_(arena().mark()) {
  auto* readers = reinterpret_cast<TileReader*>(arena().take(inputs.size() * sizeof(TileReader)));
  bool all_dense = true;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    TileReader* reader = new (readers + i) TileReader(inputs[i], space, nullptr);
    if (reader->dense()) continue;
    *reader = TileReader(inputs[i], space, arena().take(kReaderBytes));
    all_dense = false;
  }
  readers_ = {readers, inputs.size()};
  values_ = reinterpret_cast<const void**>(arena().take(plan_.values.size() * sizeof(void*)));
  const std::size_t registers = static_cast<std::size_t>(plan_.scratch_slots) + plan_.splats.size();
  scratch_ = arena().take(registers * kSlotBytes);
  for (std::size_t v = 0; v < plan_.values.size(); ++v) {
    if (plan_.values[v].source == TilePlan::Source::scratch) values_[v] = scratch_ + plan_.values[v].slot * kSlotBytes;
  }
  splat(params, static_cast<int>(std::min<std::int64_t>(kTile, space.numel())));
  const TilePlan::Value& result = plan_.values[plan_.outputs[0].value];
  in_place_ = result.source == TilePlan::Source::input && readers_[result.slot].dense();
  // One operation between memory and memory needs no registers.
  const bool direct = plan_.outputs.size() == 1 && plan_.instructions.size() == 1 && plan_.splats.empty();
  if (direct && all_dense && plan_.outputs[0].store == nullptr) longest_ = kLongTile;
}

TileRunner::~TileRunner() { arena().rewind(arena_mark_); }

void TileRunner::splat(std::span<const Scalar> params, int count) {
  for (std::size_t i = 0; i < plan_.splats.size(); ++i) {
    const TilePlan::Splat& s = plan_.splats[i];
    std::byte* slot = scratch_ + (static_cast<std::size_t>(plan_.scratch_slots) + i) * kSlotBytes;
    fill_number(slot, s.type, s.is_param ? params[s.param] : Scalar(s.literal), count);
    values_[s.value] = slot;
  }
}

void TileRunner::load(std::int64_t first, int count) {
  for (std::size_t v = 0; v < plan_.values.size(); ++v) {
    const TilePlan::Value& value = plan_.values[v];
    if (value.source == TilePlan::Source::input) values_[v] = readers_[value.slot].read(first, count);
  }
}

void TileRunner::execute(int count) {
  for (const TilePlan::Instruction& i : plan_.instructions) {
    i.loop(const_cast<void*>(values_[i.out]), values_[i.x], values_[i.y], values_[i.z], count);
  }
}

// The loops read the cache, so memory would idle while they compute. Each instruction asks for its share of the next
// tile: more at once than a core has line buffers would wait for memory instead of computing.
void TileRunner::execute_and_prefetch(int count, std::int64_t next, int next_count) {
  constexpr int kLine = 64;
  const int instructions = static_cast<int>(plan_.instructions.size());
  for (int k = 0; k < instructions; ++k) {
    const TilePlan::Instruction& i = plan_.instructions[static_cast<std::size_t>(k)];
    i.loop(const_cast<void*>(values_[i.out]), values_[i.x], values_[i.y], values_[i.z], count);
    for (const TileReader& reader : readers_) {
      if (!reader.dense()) continue;
      const std::byte* const tile = reader.address(next);
      const int lines = (next_count * reader.element_size() + kLine - 1) / kLine;
      for (int l = k * lines / instructions; l < (k + 1) * lines / instructions; ++l) {
        __builtin_prefetch(tile + static_cast<std::ptrdiff_t>(l) * kLine);
      }
    }
  }
}

const void* TileRunner::values(std::int64_t first, int count) {
  load(first, count);
  execute(count);
  return values_[plan_.outputs[0].value];
}

namespace {

std::byte* place(const Operand& output, std::int64_t first) {
  return output.host() + first * static_cast<std::int64_t>(output.dtype.size());
}

}  // namespace

// A result whose register is its storage form is made where it belongs, unless that memory is still to be read.
void TileRunner::place_outputs(std::int64_t first, std::span<const Operand> outputs, bool overlap) {
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const TilePlan::Output& output = plan_.outputs[o];
    if (output.store != nullptr || output.instruction == TilePlan::kNone) continue;
    if (!overlap || output.after_last_read) values_[output.value] = place(outputs[o], first);
  }
}

void TileRunner::store_outputs(std::int64_t first, int count, std::span<const Operand> outputs) {
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const TilePlan::Output& output = plan_.outputs[o];
    const void* value = values_[output.value];
    std::byte* target = place(outputs[o], first);
    if (output.store != nullptr) output.store(target, value, nullptr, nullptr, count);
    else if (value != target) std::memmove(target, value, static_cast<std::size_t>(count) * outputs[o].dtype.size());
  }
}

void TileRunner::run(std::int64_t first, std::int64_t last, std::span<const Operand> outputs, bool overlap) {
  while (first < last) {
    const int count = static_cast<int>(std::min<std::int64_t>(longest_, last - first));
    const std::int64_t next = first + count;
    const int next_count = static_cast<int>(std::min<std::int64_t>(longest_, last - next));
    place_outputs(first, outputs, overlap);
    load(first, count);
    if (longest_ == kTile && next_count > 0) execute_and_prefetch(count, next, next_count);
    else execute(count);
    store_outputs(first, count, outputs);
    first = next;
  }
}

}  // namespace sluice::detail
