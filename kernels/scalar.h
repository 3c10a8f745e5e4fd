// The helpers that the op table names through FN(...), for each type programs compute in: f32, f64, i32, i64.
//
// Integer arithmetic wraps (computed unsigned); floor_div and mod by 0 give 0; max, min and relu propagate NaN. f64
// takes the device's own functions. Includes math.h's polynomials for f32; the includer defines KFN, k_rint, k_fmod,
// the k_*_f64 functions it has, and SLUICE_F64 where doubles exist.
#ifndef SLUICE_KERNELS_SCALAR_H
#define SLUICE_KERNELS_SCALAR_H

#define K_INTEGER_HELPERS(S, T, U)                                                      \
  KFN T k_add_##S(T x, T y) { return (T)((U)x + (U)y); }                                \
  KFN T k_sub_##S(T x, T y) { return (T)((U)x - (U)y); }                                \
  KFN T k_mul_##S(T x, T y) { return (T)((U)x * (U)y); }                                \
  KFN T k_neg_##S(T x) { return (T)((U)0 - (U)x); }                                     \
  KFN T k_max_##S(T x, T y) { return x > y ? x : y; }                                   \
  KFN T k_min_##S(T x, T y) { return x < y ? x : y; }                                   \
  KFN T k_abs_##S(T x) { return x < 0 ? k_neg_##S(x) : x; }                             \
  KFN T k_sign_##S(T x) { return (T)(x > 0) - (T)(x < 0); }                             \
  KFN T k_round_##S(T x) { return x; }                                                  \
  KFN T k_floor_##S(T x) { return x; }                                                  \
  /* The divisor 0 gives 0 and -1 negates: neither may reach the machine's division. */ \
  KFN T k_floor_div_##S(T x, T y) {                                                     \
    T d = ((y == 0) | (y == -1)) ? 1 : y;                                               \
    T q = x / d;                                                                        \
    T down = (T)((q * d != x) & ((x < 0) != (d < 0)));                                  \
    return y == 0 ? 0 : y == -1 ? k_neg_##S(x) : q - down;                              \
  }                                                                                     \
  KFN T k_mod_##S(T x, T y) {                                                           \
    T d = ((y == 0) | (y == -1)) ? 1 : y;                                               \
    T r = x % d;                                                                        \
    return ((r != 0) & ((r < 0) != (d < 0))) ? r + d : r;                               \
  }

#define K_FLOAT_HELPERS(S, T)                                        \
  KFN T k_add_##S(T x, T y) { return x + y; }                        \
  KFN T k_sub_##S(T x, T y) { return x - y; }                        \
  KFN T k_mul_##S(T x, T y) { return x * y; }                        \
  KFN T k_neg_##S(T x) { return -x; }                                \
  KFN T k_max_##S(T x, T y) { return ((x > y) | (x != x)) ? x : y; } \
  KFN T k_min_##S(T x, T y) { return ((x < y) | (x != x)) ? x : y; } \
  KFN T k_sign_##S(T x) { return x > 0 ? (T)1 : x < 0 ? (T)-1 : x; } \
  KFN T k_floor_div_##S(T x, T y) { return k_floor_##S(x / y); }     \
  KFN T k_mod_##S(T x, T y) {                                        \
    T r = k_fmod_##S(x, y);                                          \
    return ((r != 0) & ((r < 0) != (y < 0))) ? r + y : r;            \
  }

K_INTEGER_HELPERS(i32, int, unsigned int)
K_INTEGER_HELPERS(i64, k_i64, k_u64)

KFN float k_floor_f32(float x) { return k_floor(x); }
KFN float k_round_f32(float x) { return k_rint(x); }
KFN float k_abs_f32(float x) { return k_abs(x); }
KFN float k_sqrt_f32(float x) { return k_sqrt(x); }
KFN float k_exp_f32(float x) { return k_exp(x); }
KFN float k_expm1_f32(float x) { return k_expm1(x); }
KFN float k_log_f32(float x) { return k_log(x); }
KFN float k_log1p_f32(float x) { return k_log1p(x); }
KFN float k_tanh_f32(float x) { return k_tanh(x); }
KFN float k_erf_f32(float x) { return k_erf(x); }
KFN float k_sin_f32(float x) { return k_sin(x); }
KFN float k_cos_f32(float x) { return k_cos(x); }
KFN float k_pow_f32(float x, float y) { return k_pow(x, y); }
K_FLOAT_HELPERS(f32, float)

#ifdef SLUICE_F64
K_FLOAT_HELPERS(f64, double)
#endif

#endif
