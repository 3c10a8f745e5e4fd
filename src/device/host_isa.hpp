// Which of the compiled instruction sets this machine has. Kernel files are compiled once for each.
#pragma once

namespace sluice::detail {

enum class HostIsa { baseline, avx2, avx512 };

inline HostIsa host_isa() {
#if defined(__x86_64__)
  static const HostIsa isa = [] {
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    return avx2 && avx512 ? HostIsa::avx512 : avx2 ? HostIsa::avx2 : HostIsa::baseline;
  }();
  return isa;
#else
  return HostIsa::baseline;
#endif
}

}  // namespace sluice::detail
