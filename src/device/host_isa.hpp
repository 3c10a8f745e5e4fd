// Which of the compiled instruction sets this machine has. Kernel files are compiled once for each.
#pragma once

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace sluice::detail {

enum class HostIsa { baseline, avx2, avx512 };

#if defined(__x86_64__)
// clang 16 does not know this name in __builtin_cpu_supports.
inline bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

inline HostIsa host_isa() {
#if defined(__x86_64__)
  static const HostIsa isa = [] {
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
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
