#include "src/device/cpu_moments.hpp"

#include <algorithm>

#include "src/device/host_isa.hpp"
#include "src/device/moments_kernels.hpp"
#include "src/device/thread_pool.hpp"

namespace sluice::detail {
namespace {

constexpr std::int64_t kGrain = 1 << 14;  // elements that are worth waking a thread

const MomentsTable& moments_table() {
#if defined(__x86_64__)
  if (host_isa() == HostIsa::avx512) return avx512::kMomentsTable;
  if (host_isa() == HostIsa::avx2) return avx2::kMomentsTable;
#endif
  return baseline::kMomentsTable;
}

template <class T>
void run(const MomentsLoops<T>& loops, const AxisCall& call, const Operand& variance, std::int64_t correction) {
  const T* x = reinterpret_cast<const T*>(call.input.host());
  T* mean = reinterpret_cast<T*>(call.output.host());
  T* var = reinterpret_cast<T*>(variance.host());
  if (call.inner == 1) {
    const std::int64_t grain = std::max<std::int64_t>(1, kGrain / call.length);
    parallel_for(call.outer, grain, [&](std::int64_t begin, std::int64_t end) {
      loops.columns(x + begin * call.length, call.length, end - begin, correction, mean + begin, var + begin);
    });
    return;
  }
  const std::int64_t width = std::min<std::int64_t>(call.inner, MomentsLoops<T>::kWidth);
  const std::int64_t groups = (call.inner + width - 1) / width;
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / (call.length * width));
  parallel_for(groups * call.outer, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t skipped = i % groups * width;
      const std::int64_t to = i / groups * call.inner + skipped;
      loops.group(x + i / groups * call.inner * call.length + skipped, std::min(width, call.inner - skipped),
                  call.inner, call.length, correction, mean + to, var + to);
    }
  });
}

}  // namespace

void cpu_moments(const AxisCall& call, const Operand& variance, std::int64_t correction) {
  if (call.input.dtype == f64) run(moments_table().f64, call, variance, correction);
  else run(moments_table().f32, call, variance, correction);
}

}  // namespace sluice::detail
