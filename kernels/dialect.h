// What every kernel is written in: plain C with the macros of a dialect_*.h, which come first, then math.h, this file
// and scalar.h. The host writes #define K_GROUP_SIZE (the items of a group, a power of two) and, where the device has
// doubles, SLUICE_F64 before all of them.
//
//   K_KERNEL(name)(K_READ(k_u32, x, 0), K_WRITE(k_u32, y, 1), K_VALUES(k_values, v, 2) K_IDS) { ... }
//
// A kernel's arguments are blocks of memory, then one struct of numbers: 8-byte members first, no arrays, the size a
// multiple of 8. Memory is words of 8 to 64 bits; k_get_TYPE makes a register's value of a word, k_put_TYPE a word
// of a value. Offsets into blocks are numbers, since not every dialect has pointers into the middle.
//
// Rules: local memory only at the top of a kernel; every item reaches every K_BARRIER; helpers take values, or
// K_GLOBAL and K_LOCAL_POINTER pointers; floating literals end in f; nothing of a standard header.
#ifndef SLUICE_KERNELS_DIALECT_H
#define SLUICE_KERNELS_DIALECT_H

typedef unsigned char k_u8;
typedef unsigned short k_u16;
typedef unsigned int k_u32;

#define K_GLOBAL_ITEM (K_GROUP * K_GROUP_SIZE + K_ITEM)
#define K_GLOBAL_ITEMS (K_GROUPS * K_GROUP_SIZE)

#define K_I64_MAX ((k_i64)(~(k_u64)0 >> 1))
#define K_I64_MIN (-K_I64_MAX - 1)
#define K_I32_MAX 0x7fffffff
#define K_I32_MIN (-0x7fffffff - 1)

// ---- The polynomials of sine and cosine reduce a limited range; the device's own functions take the rest.

KFN float k_sin_any(float x) { return k_abs(x) <= kSinCosFast ? k_sin(x) : k_device_sin(x); }
KFN float k_cos_any(float x) { return k_abs(x) <= kSinCosFast ? k_cos(x) : k_device_cos(x); }
#define k_sin k_sin_any
#define k_cos k_cos_any

// ---- x * y + z: of integers it wraps, of floats it is rounded once where that is quick.

KFN int k_multiply_add_i32(int x, int y, int z) { return (int)((k_u32)x * (k_u32)y + (k_u32)z); }
KFN k_i64 k_multiply_add_i64(k_i64 x, k_i64 y, k_i64 z) { return (k_i64)((k_u64)x * (k_u64)y + (k_u64)z); }

// ---- Conversions between registers: floats to integers truncate and saturate, NaN gives 0; integers wrap.

KFN int k_f32_to_i32(float x) {
  float inside = x >= -2147483648.0f && x < 2147483648.0f ? x : 0.0f;
  return x >= 2147483648.0f ? K_I32_MAX : x < -2147483648.0f ? K_I32_MIN : (int)inside;
}
KFN k_i64 k_f32_to_i64(float x) {
  float inside = x >= -9223372036854775808.0f && x < 9223372036854775808.0f ? x : 0.0f;
  return x >= 9223372036854775808.0f ? K_I64_MAX : x < -9223372036854775808.0f ? K_I64_MIN : (k_i64)inside;
}
KFN float k_i32_to_f32(int x) { return (float)x; }
KFN k_i64 k_i32_to_i64(int x) { return (k_i64)x; }
KFN float k_i64_to_f32(k_i64 x) { return (float)x; }
KFN int k_i64_to_i32(k_i64 x) { return (int)(k_u32)(k_u64)x; }

#ifdef SLUICE_F64
KFN int k_f64_to_i32(double x) {
  double inside = x > -2147483649.0 && x < 2147483648.0 ? x : 0.0;
  return x >= 2147483648.0 ? K_I32_MAX : x <= -2147483649.0 ? K_I32_MIN : (int)inside;
}
KFN k_i64 k_f64_to_i64(double x) {
  double inside = x >= -9223372036854775808.0 && x < 9223372036854775808.0 ? x : 0.0;
  return x >= 9223372036854775808.0 ? K_I64_MAX : x < -9223372036854775808.0 ? K_I64_MIN : (k_i64)inside;
}
KFN double k_f32_to_f64(float x) { return (double)x; }
KFN float k_f64_to_f32(double x) { return (float)x; }
KFN double k_i32_to_f64(int x) { return (double)x; }
KFN double k_i64_to_f64(k_i64 x) { return (double)x; }
#endif

// ---- Words and values.

// Denormals of a half go through an integer, because a device may flush those of a float.
KFN float k_get_f16(k_u16 word) {
  k_u32 sign = (k_u32)(word & 0x8000) << 16;
  k_u32 rest = word & 0x7fff;
  k_u32 normal = (rest << 13) + 0x38000000u;
  k_u32 small = (k_u32)k_bits((float)(int)rest * K_2_POW_MINUS_24);
  k_u32 magnitude = rest < 0x400u ? small : normal;
  magnitude = rest >= 0x7c00u ? (rest << 13) | 0x7f800000u : magnitude;
  return k_float((int)(sign | magnitude));
}

// Normal results: rebias and round to nearest even in integers. Small ones: adding 0.5 rounds at the place where a half
// denormal ends.
KFN k_u16 k_put_f16(float x) {
  k_u32 bits = (k_u32)k_bits(x);
  k_u32 magnitude = bits & 0x7fffffffu;
  k_u32 sign = (bits >> 16) & 0x8000u;
  k_u32 normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  k_u32 small = (k_u32)k_bits(k_float((int)magnitude) + 0.5f) - 0x3f000000u;
  k_u32 result = magnitude < 0x38800000u ? small : normal;
  result = magnitude >= 0x477ff000u ? 0x7c00u : result;
  result = magnitude > 0x7f800000u ? 0x7e00u : result;
  return (k_u16)(sign | result);
}

KFN float k_get_bf16(k_u16 word) { return k_float((int)((k_u32)word << 16)); }
KFN k_u16 k_put_bf16(float x) {
  k_u32 bits = (k_u32)k_bits(x);
  k_u32 rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  k_u32 quiet = (bits >> 16) | 0x40u;
  return (k_u16)((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

KFN int k_get_bool(k_u8 word) { return (int)word; }
KFN int k_get_u8(k_u8 word) { return (int)word; }
KFN int k_get_i8(k_u8 word) { return (int)(signed char)word; }
KFN int k_get_i16(k_u16 word) { return (int)(short)word; }
KFN int k_get_i32(k_u32 word) { return (int)word; }
KFN k_i64 k_get_i64(k_u64 word) { return (k_i64)word; }
KFN float k_get_f32(k_u32 word) { return k_float((int)word); }

KFN k_u8 k_put_bool(int x) { return (k_u8)x; }
KFN k_u8 k_put_u8(int x) { return (k_u8)x; }
KFN k_u8 k_put_i8(int x) { return (k_u8)x; }
KFN k_u16 k_put_i16(int x) { return (k_u16)x; }
KFN k_u32 k_put_i32(int x) { return (k_u32)x; }
KFN k_u64 k_put_i64(k_i64 x) { return (k_u64)x; }
KFN k_u32 k_put_f32(float x) { return (k_u32)k_bits(x); }

#ifdef SLUICE_F64
KFN double k_get_f64(k_u64 word) { return k_double(word); }
KFN k_u64 k_put_f64(double x) { return k_bits_f64(x); }
#endif

// ---- Sums of floats with what rounding has taken off kept beside: about twice the precision, without doubles.

KFN k_pair k_sum_of_none(void) {
  k_pair sum;
  sum.head = 0.0f;
  sum.tail = 0.0f;
  return sum;
}
KFN k_pair k_sum_step(k_pair sum, float x) {
  float head = sum.head + x;
  float added = head - sum.head;
  sum.tail = sum.tail + ((sum.head - (head - added)) + (x - added));
  sum.head = head;
  return sum;
}
KFN k_pair k_sum_join(k_pair a, k_pair b) {
  k_pair sum = k_sum_step(a, b.head);
  sum.tail = sum.tail + b.tail;
  return sum;
}
// The tail of a sum that has left the finite numbers means nothing.
KFN float k_sum_tail(k_pair sum) { return k_abs(sum.head) < K_INF ? sum.tail : 0.0f; }
KFN float k_sum_value(k_pair sum) { return sum.head + k_sum_tail(sum); }

#endif
