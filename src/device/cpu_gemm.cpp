#include "cpu_gemm.hpp"
#include <bit>
#include <cmath>
#include <type_traits>
namespace sluice::detail {
namespace {
float half_to_float(std::uint16_t h) {
  int e = (h >> 10) & 31; int f = h & 1023; float v;
  if (e == 31) v = f ? NAN : INFINITY; else if (e) v = std::ldexp(float(1024 + f), e - 25); else v = std::ldexp(float(f), -24);
  return h & 0x8000 ? -v : v;
}
std::uint16_t float_to_half(float v) {
  std::uint16_t s = std::signbit(v) ? 0x8000 : 0; v = std::fabs(v);
  if (std::isnan(v)) return s | 0x7e00;
  if (v >= 65520.0f) return s | 0x7c00;
  if (v < 0x1p-14f) return std::uint16_t(s | int(std::nearbyint(std::ldexp(v, 24))));
  int e; std::frexp(v, &e);
  int q = int(std::nearbyint(std::ldexp(v, 11 - e)));
  return std::uint16_t(s | (((e + 13) << 10) + q));
}
float bf_to_float(std::uint16_t b) { return std::bit_cast<float>(std::uint32_t(b) << 16); }
std::uint16_t float_to_bf(float v) {
  auto u = std::bit_cast<std::uint32_t>(v); if (v != v) return std::uint16_t((u >> 16) | 64);
  return std::uint16_t((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}
template <class S, class A, class L, class W> void loops(const GemmCall& g, L load, W store) {
  for (std::int64_t t = 0; t < g.batch; ++t) {
    const S* a = static_cast<const S*>(g.a) + t * g.stride_a; const S* b = static_cast<const S*>(g.b) + t * g.stride_b;
    S* c = static_cast<S*>(g.c) + t * g.stride_c;
    for (std::int64_t j = 0; j < g.n; ++j) for (std::int64_t i = 0; i < g.m; ++i) {
      A s = 0;
      for (std::int64_t p = 0; p < g.k; ++p)
        s = A(s + A(load(g.transpose_a ? a[p + i * g.lda] : a[i + p * g.lda])) * A(load(g.transpose_b ? b[j + p * g.ldb] : b[p + j * g.ldb])));
      c[i + j * g.ldc] = store(s);
    }
  }
}
template <class S, class A> void plain(const GemmCall& g) { loops<S, A>(g, [](S x) { return x; }, [](A x) { return S(x); }); }
}  // namespace
void gemm(const GemmCall& g) {
  switch (g.type) {
    case GemmType::f64: return plain<double, double>(g);
    case GemmType::f32: return plain<float, float>(g);
    case GemmType::f16: return loops<std::uint16_t, float>(g, half_to_float, float_to_half);
    case GemmType::bf16: return loops<std::uint16_t, float>(g, bf_to_float, float_to_bf);
    case GemmType::i64: return plain<std::uint64_t, std::uint64_t>(g);
    case GemmType::i32: return plain<std::uint32_t, std::uint32_t>(g);
    case GemmType::i16: return plain<std::uint16_t, std::uint32_t>(g);
    case GemmType::i8: case GemmType::u8: return plain<std::uint8_t, std::uint32_t>(g);
  }
}
}  // namespace sluice::detail
