// Matrix products by a vendor's library behind a backend's `gemm`: where it works, has the type, and was quicker than
// the library's own kernel in a trial. The verdict of the trial is kept on disk beside those of components.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "src/device/device_impl.hpp"

namespace sluice::detail {

class PluginDevice;

/// What a device has decided, for each of f16, bf16, f32 and f64.
struct GemmChoice {
  enum class State : std::uint8_t { undecided, vendor, own };
  std::array<std::atomic<State>, 4> states{};
  std::atomic<std::uint64_t> products{0};  ///< that the vendor's library made

  /// For tests: no trial is made.
  void force(State state) {
    for (std::atomic<State>& each : states) each = state;
  }
};

/// Whether the vendor's library has queued the product; the caller's own kernel makes it otherwise. The first large
/// product of a type waits for the trial.
bool plugin_gemm(PluginDevice& device, const ProductCall& call);

/// What allow_tf32 has set.
std::atomic<bool>& may_use_tf32();

}  // namespace sluice::detail
