// The loops of the tile interpreter, generated from the op table. Compiled once per instruction set (SLUICE_ISA), so it
// includes no standard header: an inline function of one would be shared with code that must run on every machine.
#include "src/device/tile_kernels.hpp"

#include "kernels/cpu_prelude.h"
#include "kernels/math.h"
#include "sluice/op_table.hpp"

typedef long long k_i64;
typedef unsigned long long k_u64;

// What the kernel text leaves to the includer. f64 is libm's.
KFN float k_rint(float x) { return __builtin_rintf(x); }
KFN float k_fmod_f32(float x, float y) { return __builtin_fmodf(x, y); }
KFN double k_fmod_f64(double x, double y) { return __builtin_fmod(x, y); }
KFN double k_floor_f64(double x) { return __builtin_floor(x); }
KFN double k_round_f64(double x) { return __builtin_rint(x); }
KFN double k_abs_f64(double x) { return __builtin_fabs(x); }
KFN double k_sqrt_f64(double x) { return __builtin_sqrt(x); }
KFN double k_exp_f64(double x) { return __builtin_exp(x); }
KFN double k_expm1_f64(double x) { return __builtin_expm1(x); }
KFN double k_log_f64(double x) { return __builtin_log(x); }
KFN double k_log1p_f64(double x) { return __builtin_log1p(x); }
KFN double k_tanh_f64(double x) { return __builtin_tanh(x); }
KFN double k_erf_f64(double x) { return __builtin_erf(x); }
KFN double k_sin_f64(double x) { return __builtin_sin(x); }
KFN double k_cos_f64(double x) { return __builtin_cos(x); }
KFN double k_pow_f64(double x, double y) { return __builtin_pow(x, y); }
#define SLUICE_F64
#include "kernels/scalar.h"

#define K_JOIN_(a, b) a##b
#define K_JOIN(a, b) K_JOIN_(a, b)
// Operands and result may be the same array but are never shifted against each other.
#ifdef __clang__
#define K_LOOP _Pragma("clang loop vectorize(assume_safety)") for (int i = 0; i < n; ++i)
#else
#define K_LOOP _Pragma("GCC ivdep") for (int i = 0; i < n; ++i)
#endif

namespace sluice::detail::SLUICE_ISA {
namespace {

// ---- One loop per row: NAME(row)_(register), reading T and writing R.

#define K_BODY_1(R, T, text)  \
  const T* px = (const T*)x_; \
  R* out = (R*)out_;          \
  K_LOOP {                    \
    const T x = px[i];        \
    out[i] = (R)(text);       \
  }
#define K_BODY_2(R, T, text)      \
  const T* px = (const T*)x_;     \
  const T* py = (const T*)y_;     \
  R* out = (R*)out_;              \
  K_LOOP {                        \
    const T x = px[i], y = py[i]; \
    out[i] = (R)(text);           \
  }
// The only row of three operands is `where`, whose condition is a truth value.
#define K_BODY_3(R, T, text)      \
  const int* px = (const int*)x_; \
  const T* py = (const T*)y_;     \
  const T* pz = (const T*)z_;     \
  R* out = (R*)out_;              \
  K_LOOP {                        \
    const int x = px[i];          \
    const T y = py[i], z = pz[i]; \
    out[i] = (R)(text);           \
  }

#define K_RESULT_same(T) T
#define K_RESULT_truth(T) int
#define K_DEFINE(name, arity, result, text)                                                      \
  void K_JOIN(name##_, K_S)(void* out_, const void* x_, const void* y_, const void* z_, int n) { \
    (void)y_, (void)z_;                                                                          \
    K_BODY_##arity(K_RESULT_##result(K_T), K_T, text)                                            \
  }
#define FN(f) K_JOIN(k_##f##_, K_S)

// Which rows a register kind has.
#define K_ARITHMETIC_ROW(name, arity, kind, result, text, ...) K_KIND_##kind(K_DEFINE(name, arity, result, text))
#define K_YES(definition) definition
#define K_NO(definition)

#define K_KIND_arithmetic K_YES
#define K_KIND_ordered K_YES
#define K_KIND_floating K_YES
#define K_KIND_logical K_NO
#define K_S f32
#define K_T float
SLUICE_OPS(K_ARITHMETIC_ROW)
#undef K_S
#undef K_T
#define K_S f64
#define K_T double
SLUICE_OPS(K_ARITHMETIC_ROW)
#undef K_S
#undef K_T
#undef K_KIND_floating
#undef K_KIND_logical
#define K_KIND_floating K_NO
#define K_KIND_logical K_YES
#define K_S i32
#define K_T int
SLUICE_OPS(K_ARITHMETIC_ROW)
#undef K_S
#undef K_T
#undef K_KIND_logical
#define K_KIND_logical K_NO
#define K_S i64
#define K_T k_i64
SLUICE_OPS(K_ARITHMETIC_ROW)
#undef K_S
#undef K_T

// ---- Two operations in one loop, which saves a store and a load.

#define K_PAIR(outer, inner, side, text)                                                                             \
  void K_JOIN(outer##_##inner##_##side##_, K_S)(void* out_, const void* x_, const void* y_, const void* z_, int n) { \
    const K_T* px = (const K_T*)x_;                                                                                  \
    const K_T* py = (const K_T*)y_;                                                                                  \
    const K_T* pz = (const K_T*)z_;                                                                                  \
    K_T* out = (K_T*)out_;                                                                                           \
    K_LOOP {                                                                                                         \
      const K_T first = INNER_##inner(px[i], py[i]), z = pz[i];                                                      \
      out[i] = text;                                                                                                 \
    }                                                                                                                \
  }
#define INNER_add(x, y) ((x) + (y))
#define INNER_sub(x, y) ((x) - (y))
#define INNER_mul(x, y) ((x) * (y))
#define INNER_div(x, y) ((x) / (y))
#define K_PAIRS_OF(inner)                      \
  K_PAIR(add, inner, left, first + z)          \
  K_PAIR(sub, inner, left, first - z)          \
  K_PAIR(mul, inner, left, first* z)           \
  K_PAIR(div, inner, left, first / z)          \
  K_PAIR(max, inner, left, FN(max)(first, z))  \
  K_PAIR(min, inner, left, FN(min)(first, z))  \
  K_PAIR(sub, inner, right, z - first)         \
  K_PAIR(div, inner, right, z / first)         \
  K_PAIR(max, inner, right, FN(max)(z, first)) \
  K_PAIR(min, inner, right, FN(min)(z, first))
#define K_PAIRS   \
  K_PAIRS_OF(add) \
  K_PAIRS_OF(sub) \
  K_PAIRS_OF(mul) \
  K_PAIRS_OF(div)
#define K_S f32
#define K_T float
K_PAIRS
#undef K_S
#undef K_T
#define K_S f64
#define K_T double
K_PAIRS
#undef K_S
#undef K_T

// sin and cos reduce their argument with limited range; a tile that leaves it is redone with libm.
#define K_LIBM_OUTSIDE(name)                                                                   \
  void name##_f32_any(void* out_, const void* x_, const void* y_, const void* z_, int n) {     \
    const float* px = (const float*)x_;                                                        \
    float* out = (float*)out_;                                                                 \
    int outside = 0;                                                                           \
    for (int i = 0; i < n; ++i) outside |= (k_bits(px[i]) & 0x7fffffff) > k_bits(kSinCosFast); \
    if (!outside) return name##_f32(out_, x_, y_, z_, n);                                      \
    for (int i = 0; i < n; ++i) out[i] = __builtin_##name##f(px[i]);                           \
  }
K_LIBM_OUTSIDE(sin)
K_LIBM_OUTSIDE(cos)

// ---- Conversions between registers: floats to integers truncate and saturate, NaN gives 0; integers wrap.

#define K_CONVERT(from, to, F, R, text)                                              \
  void from##_to_##to(void* out_, const void* x_, const void*, const void*, int n) { \
    const F* px = (const F*)x_;                                                      \
    R* out = (R*)out_;                                                               \
    K_LOOP {                                                                         \
      const F x = px[i];                                                             \
      out[i] = (R)(text);                                                            \
    }                                                                                \
  }
KFN int k_float_to_int(float x) {
  const float inside = x >= -2147483648.0f && x < 2147483648.0f ? x : 0.0f;
  return x >= 2147483648.0f ? 2147483647 : x < -2147483648.0f ? -2147483647 - 1 : (int)inside;
}
KFN int k_double_to_int(double x) {
  const double inside = x > -2147483649.0 && x < 2147483648.0 ? x : 0.0;
  return x >= 2147483648.0 ? 2147483647 : x <= -2147483649.0 ? -2147483647 - 1 : (int)inside;
}
KFN k_i64 k_double_to_long(double x) {
  const double inside = x >= -9223372036854775808.0 && x < 9223372036854775808.0 ? x : 0.0;
  return x >= 9223372036854775808.0   ? 9223372036854775807LL
         : x < -9223372036854775808.0 ? -9223372036854775807LL - 1
                                      : (k_i64)inside;
}
K_CONVERT(f32, f64, float, double, x)
K_CONVERT(f32, i32, float, int, k_float_to_int(x))
K_CONVERT(f32, i64, float, k_i64, k_double_to_long((double)x))
K_CONVERT(f64, f32, double, float, x)
K_CONVERT(f64, i32, double, int, k_double_to_int(x))
K_CONVERT(f64, i64, double, k_i64, k_double_to_long(x))
K_CONVERT(i32, f32, int, float, x)
K_CONVERT(i32, f64, int, double, x)
K_CONVERT(i32, i64, int, k_i64, x)
K_CONVERT(i64, f32, k_i64, float, x)
K_CONVERT(i64, f64, k_i64, double, x)
K_CONVERT(i64, i32, k_i64, int, x)

// ---- Storage types that differ from their register.

KFN float k_from_half(unsigned short h) {
  const unsigned int sign = (unsigned int)(h & 0x8000) << 16;
  const unsigned int rest = h & 0x7fff;
  // Exponent rebias by a multiplication, which also makes half denormals normal; infinities and NaN get the top
  // exponent.
  const float scaled = k_float((int)(rest << 13)) * 5.192296858534828e33f;  // 2^112
  const unsigned int special = rest >= 0x7c00 ? 0x7f800000u : 0u;
  return k_float((int)(sign | (unsigned int)k_bits(scaled) | special));
}
KFN unsigned short k_to_half(float x) {
  const unsigned int bits = (unsigned int)k_bits(x);
  const unsigned int magnitude = bits & 0x7fffffffu;
  const unsigned int sign = (bits >> 16) & 0x8000u;
  // Normal results: rebias and round to nearest even in integers. Small ones: adding 0.5 lets the hardware round at the
  // place where a half denormal ends.
  const unsigned int normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  const unsigned int small = (unsigned int)k_bits(k_float((int)magnitude) + 0.5f) - 0x3f000000u;
  unsigned int result = magnitude < 0x38800000u ? small : normal;
  result = magnitude >= 0x477ff000u ? 0x7c00u : result;
  result = magnitude > 0x7f800000u ? 0x7e00u : result;
  return (unsigned short)(sign | result);
}
KFN float k_from_bfloat(unsigned short b) { return k_float((int)((unsigned int)b << 16)); }
KFN unsigned short k_to_bfloat(float x) {
  const unsigned int bits = (unsigned int)k_bits(x);
  const unsigned int rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const unsigned int quiet = (bits >> 16) | 0x40u;
  return (unsigned short)((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}
K_CONVERT(bool, register, unsigned char, int, x)
K_CONVERT(u8, register, unsigned char, int, x)
K_CONVERT(i8, register, signed char, int, x)
K_CONVERT(i16, register, short, int, x)
K_CONVERT(f16, register, unsigned short, float, k_from_half(x))
K_CONVERT(bf16, register, unsigned short, float, k_from_bfloat(x))
K_CONVERT(register, bool, int, unsigned char, x)
K_CONVERT(register, u8, int, unsigned char, x)
K_CONVERT(register, i8, int, signed char, x)
K_CONVERT(register, i16, int, short, x)
K_CONVERT(register, f16, float, unsigned short, k_to_half(x))
K_CONVERT(register, bf16, float, unsigned short, k_to_bfloat(x))
K_CONVERT(wrap, u8, int, int, (unsigned char)x)
K_CONVERT(wrap, i8, int, int, (signed char)x)
K_CONVERT(wrap, i16, int, int, (short)x)

#define sin_f32 sin_f32_any
#define cos_f32 cos_f32_any
#define K_ENTRY(name, arity, kind, ...) {K_ENTRIES_##kind(name)},
#define K_ENTRIES_arithmetic(name) name##_f32, name##_f64, name##_i32, name##_i64
#define K_ENTRIES_ordered(name) name##_f32, name##_f64, name##_i32, name##_i64
#define K_ENTRIES_floating(name) name##_f32, name##_f64, nullptr, nullptr
#define K_ENTRIES_logical(name) nullptr, nullptr, name##_i32, nullptr

#define K_SIDE(outer, inner, side) \
  { outer##_##inner##_##side##_f32, outer##_##inner##_##side##_f64 }
#define K_COMMUTES(outer, inner) \
  { K_SIDE(outer, inner, left), K_SIDE(outer, inner, left) }
#define K_SIDES(outer, inner) \
  { K_SIDE(outer, inner, left), K_SIDE(outer, inner, right) }
#define K_INNERS(sides, outer) \
  { sides(outer, add), sides(outer, sub), sides(outer, mul), sides(outer, div) }

}  // namespace

extern const TileKernels tile_kernels;
const TileKernels tile_kernels = {
    {SLUICE_OPS(K_ENTRY)},
    {{nullptr, f32_to_f64, f32_to_i32, f32_to_i64},
     {f64_to_f32, nullptr, f64_to_i32, f64_to_i64},
     {i32_to_f32, i32_to_f64, nullptr, i32_to_i64},
     {i64_to_f32, i64_to_f64, i64_to_i32, nullptr}},
    {bool_to_register, u8_to_register, i8_to_register, i16_to_register, nullptr, nullptr, f16_to_register,
     bf16_to_register, nullptr, nullptr},
    {register_to_bool, register_to_u8, register_to_i8, register_to_i16, nullptr, nullptr, register_to_f16,
     register_to_bf16, nullptr, nullptr},
    {nullptr, wrap_to_u8, wrap_to_i8, wrap_to_i16, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr},
    {K_INNERS(K_COMMUTES, add), K_INNERS(K_SIDES, sub), K_INNERS(K_COMMUTES, mul), K_INNERS(K_SIDES, div),
     K_INNERS(K_SIDES, max), K_INNERS(K_SIDES, min)},
};

}  // namespace sluice::detail::SLUICE_ISA
