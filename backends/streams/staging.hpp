// Pinned memory on the way to a device. What is written is copied here first, so its source may be reused at once and
// the device fetches it at full speed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backends/streams/events.hpp"

namespace sluice::streams {

/// Used with the device's context current, by one thread at a time.
class Staging {
 public:
  struct Part {
    std::byte* memory;
    std::size_t bytes;  ///< at most what was asked for
  };

  explicit Staging(Stream stream) : stream_(stream) {}
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Room for the next copy, which must be queued on the stream before the next call.
  Part take(std::uint64_t bytes);

 private:
  struct Chunk {
    std::byte* memory = nullptr;
    SharedEvent last_use;  // none while it is being filled
  };

  void next_chunk();

  Stream stream_;
  std::vector<Chunk> chunks_;  // live as long as the device, which is for ever
  std::size_t current_ = 0;
  std::size_t used_bytes_ = 0;
};

}  // namespace sluice::streams
