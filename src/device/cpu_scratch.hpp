// Working memory of CPU kernels: each thread keeps the few blocks it used last, so that a product does not pay for
// fresh pages every time. Blocks are taken and given back on one thread; other threads may read and write them
// meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::detail {

/// An uninitialised block of at least `bytes`, aligned to 64; goes back to this thread's store when it leaves its
/// scope.
class ScratchBlock {
 public:
  explicit ScratchBlock(std::size_t bytes);  // throws std::bad_alloc
  ~ScratchBlock();
  ScratchBlock(const ScratchBlock&) = delete;
  ScratchBlock& operator=(const ScratchBlock&) = delete;

  void* data() const { return data_; }

 private:
  void* data_;
  std::size_t bytes_;
};

/// A ScratchBlock of `count` elements.
template <class T>
class Scratch : private ScratchBlock {
 public:
  explicit Scratch(std::int64_t count) : ScratchBlock(static_cast<std::size_t>(count) * sizeof(T)) {}
  T* data() const { return static_cast<T*>(ScratchBlock::data()); }
};

}  // namespace sluice::detail
