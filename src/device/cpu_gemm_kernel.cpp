// Compiled once per instruction set with SLUICE_ISA = baseline, avx2 or avx512. Everything but the table is in an
// unnamed namespace and nothing inline comes from the standard library: a function shared between the copies could be
// linked in its widest form and then run on a machine that lacks those instructions.
#include "src/device/cpu_gemm_kernel.hpp"

#if defined(__FMA__) || defined(__AVX512F__)
#include <immintrin.h>
#elif defined(__aarch64__) && defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#ifndef SLUICE_ISA
#define SLUICE_ISA baseline
#endif

// In these innermost functions the checks of UndefinedBehaviorSanitizer would double the time to compile.
#define SLUICE_INLINE inline __attribute__((always_inline, no_sanitize("undefined")))

namespace sluice::detail::SLUICE_ISA {
namespace {

using std::int64_t;
using std::uint16_t;
using std::uint32_t;
using std::uint64_t;
using std::uint8_t;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLUICE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SLUICE_SANITIZED 1
#endif
#endif

// Registers of kBytes; a block of C is kBlockVectors of them high and kBlockColumns wide, so that it fills the file.
// With the checks of a sanitizer in every access such blocks take minutes to compile: they are narrow there.
#if defined(__AVX512F__)
constexpr int kBytes = 64;
constexpr int kFullColumns = 12;
#elif defined(__AVX__)
constexpr int kBytes = 32;
constexpr int kFullColumns = 6;
#elif defined(__aarch64__)
constexpr int kBytes = 16;
constexpr int kFullColumns = 8;
#else
constexpr int kBytes = 16;
constexpr int kFullColumns = 4;
#endif
#ifdef SLUICE_SANITIZED
constexpr int kBlockColumns = 4;
#else
constexpr int kBlockColumns = kFullColumns;
#endif
constexpr int kBlockVectors = 2;

template <class T, int Bytes>
struct VectorOf {
  typedef T type __attribute__((vector_size(Bytes)));
};
template <class T>
struct VectorOf<T, sizeof(T)> {
  using type = T;
};
template <class T, int Bytes>
using Vector = typename VectorOf<T, Bytes>::type;

template <class V, class T>
SLUICE_INLINE V load(const T* x) {
  V value;
  __builtin_memcpy(&value, x, sizeof(V));
  return value;
}

template <class V, class T>
SLUICE_INLINE void store(T* x, V value) {
  __builtin_memcpy(x, &value, sizeof(V));
}

template <class V, class T>
SLUICE_INLINE V splat(T x) {
  if constexpr (sizeof(V) == sizeof(T)) {
    return x;
  } else {
    return x - V{};  // minus, not plus: it keeps -0
  }
}

// a * b + c, fused where the machine can, so that an element has the same bits in a block of any size.
template <class V>
SLUICE_INLINE V multiply_add(V a, V b, V c) {
  return static_cast<V>(a * b + c);
}
#if defined(__FMA__)
SLUICE_INLINE float multiply_add(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
SLUICE_INLINE double multiply_add(double a, double b, double c) { return __builtin_fma(a, b, c); }
SLUICE_INLINE __m128 multiply_add(__m128 a, __m128 b, __m128 c) { return _mm_fmadd_ps(a, b, c); }
SLUICE_INLINE __m128d multiply_add(__m128d a, __m128d b, __m128d c) { return _mm_fmadd_pd(a, b, c); }
SLUICE_INLINE __m256 multiply_add(__m256 a, __m256 b, __m256 c) { return _mm256_fmadd_ps(a, b, c); }
SLUICE_INLINE __m256d multiply_add(__m256d a, __m256d b, __m256d c) { return _mm256_fmadd_pd(a, b, c); }
#if defined(__AVX512F__)
SLUICE_INLINE __m512 multiply_add(__m512 a, __m512 b, __m512 c) { return _mm512_fmadd_ps(a, b, c); }
SLUICE_INLINE __m512d multiply_add(__m512d a, __m512d b, __m512d c) { return _mm512_fmadd_pd(a, b, c); }
#endif
#elif defined(__aarch64__) && defined(__ARM_NEON)
SLUICE_INLINE float multiply_add(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
SLUICE_INLINE double multiply_add(double a, double b, double c) { return __builtin_fma(a, b, c); }
SLUICE_INLINE float32x4_t multiply_add(float32x4_t a, float32x4_t b, float32x4_t c) { return vfmaq_f32(c, a, b); }
SLUICE_INLINE float64x2_t multiply_add(float64x2_t a, float64x2_t b, float64x2_t c) { return vfmaq_f64(c, a, b); }
#endif

// One block of C, Rows vectors high and Columns wide, held in registers over the whole of k.
template <class T, int Bytes, int Rows, int Columns>
SLUICE_INLINE void block(int64_t k, const T* a, int64_t a_step, const T* b, int64_t b_row, int64_t b_column, bool add,
                         T* c, int64_t c_step) {
  using V = Vector<T, Bytes>;
  constexpr int kLanes = Bytes / static_cast<int>(sizeof(T));
  V sum[Columns][Rows] = {};
  for (int64_t p = 0; p < k; ++p, a += a_step, b += b_row) {
    V x[Rows];
#pragma GCC unroll 4
    for (int i = 0; i < Rows; ++i) x[i] = load<V>(a + i * kLanes);
#pragma GCC unroll 16
    for (int j = 0; j < Columns; ++j) {
      const V y = splat<V>(b[j * b_column]);
#pragma GCC unroll 4
      for (int i = 0; i < Rows; ++i) sum[j][i] = multiply_add(x[i], y, sum[j][i]);
    }
  }
#pragma GCC unroll 16
  for (int j = 0; j < Columns; ++j, c += c_step) {
#pragma GCC unroll 4
    for (int i = 0; i < Rows; ++i) {
      T* out = c + i * kLanes;
      store<V>(out, add ? static_cast<V>(load<V>(out) + sum[j][i]) : sum[j][i]);
    }
  }
}

// ---- without packing ----

// Edges are covered by blocks that overlap the ones before them; when adding, where an element must not be met twice,
// by smaller blocks. An element's bits are the same in both.
template <class T>
struct Direct {
  int64_t n, k;
  const T* a;
  int64_t a_step;
  const T* b;
  int64_t b_row, b_column;
  bool add;
  T* c;
  int64_t c_step;

  template <int Bytes, int Rows, int Columns>
  SLUICE_INLINE void one_block(int64_t i, int64_t j) const {
    block<T, Bytes, Rows, Columns>(k, a + i, a_step, b + j * b_column, b_row, b_column, add, c + i + j * c_step,
                                   c_step);
  }

  // All columns of the rows from i, as many as Rows vectors hold.
  template <int Bytes, int Rows>
  __attribute__((noinline)) void strip(int64_t i) const {
    int64_t j = 0;
    for (; j + kBlockColumns <= n; j += kBlockColumns) one_block<Bytes, Rows, kBlockColumns>(i, j);
    if (j < n && n >= kBlockColumns && !add) return one_block<Bytes, Rows, kBlockColumns>(i, n - kBlockColumns);
    for (; j + 4 <= n; j += 4) one_block<Bytes, Rows, 4>(i, j);
    for (; j + 2 <= n; j += 2) one_block<Bytes, Rows, 2>(i, j);
    if (j < n) one_block<Bytes, Rows, 1>(i, j);
  }

  // The rows from i to m, in vectors of Bytes and, for what they do not fill, smaller ones.
  template <int Bytes>
  void rows(int64_t i, int64_t m) const {
    constexpr int64_t kLanes = Bytes / static_cast<int>(sizeof(T));
    if constexpr (Bytes == kBytes) {
      constexpr int64_t kHeight = kBlockVectors * kLanes;
      for (; i + kHeight <= m; i += kHeight) strip<Bytes, kBlockVectors>(i);
      if (!add && m >= kHeight && m - i > kLanes) return strip<Bytes, kBlockVectors>(m - kHeight);
    }
    for (; i + kLanes <= m; i += kLanes) strip<Bytes, 1>(i);
    if (i == m) return;
    if (!add && m >= kLanes) return strip<Bytes, 1>(m - kLanes);
    if constexpr (kLanes > 1) rows<(Bytes > 16 ? Bytes / 2 : static_cast<int>(sizeof(T)))>(i, m);
  }
};

template <class T>
void direct(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_step, const T* b, int64_t b_row, int64_t b_column,
            bool add, T* c, int64_t c_step) {
  Direct<T>{n, k, a, a_step, b, b_row, b_column, add, c, c_step}.template rows<kBytes>(0, m);
}

// ---- with packing ----

template <class T>
constexpr int64_t kBlockRows = kBlockVectors * kBytes / static_cast<int>(sizeof(T));

// Lanes that are contiguous: several panels at a time, so that each visit to a column copies a long piece of it.
template <class T>
SLUICE_INLINE void pack_columns(int64_t panels, int64_t k, const T* x, int64_t k_step, int64_t width, T* packed) {
  constexpr int64_t kGroup = 8;
  for (int64_t first = 0; first < panels; first += kGroup) {
    const int64_t count = panels - first < kGroup ? panels - first : kGroup;
    for (int64_t p = 0; p < k; ++p) {
      const T* from = x + first * width + p * k_step;
      T* to = packed + (first * k + p) * width;
      for (int64_t q = 0; q < count; ++q, from += width, to += width * k) {
        __builtin_memcpy(to, from, static_cast<unsigned long>(width) * sizeof(T));
      }
    }
  }
}

template <class T>
constexpr int kTile = kBytes / sizeof(T) >= 4 ? 4 : 2;

// A square of elements: kTile along k of each of kTile lanes become kTile lanes of each of kTile along k.
template <class T>
SLUICE_INLINE void transpose_tile(const T* x, int64_t lane_step, T* packed, int64_t width) {
  using V = Vector<T, kTile<T>* static_cast<int>(sizeof(T))>;
  const V x0 = load<V>(x);
  const V x1 = load<V>(x + lane_step);
  if constexpr (kTile<T> == 2) {
    store<V>(packed, __builtin_shufflevector(x0, x1, 0, 2));
    store<V>(packed + width, __builtin_shufflevector(x0, x1, 1, 3));
  } else {
    const V x2 = load<V>(x + 2 * lane_step);
    const V x3 = load<V>(x + 3 * lane_step);
    const V low01 = __builtin_shufflevector(x0, x1, 0, 4, 1, 5);
    const V low23 = __builtin_shufflevector(x2, x3, 0, 4, 1, 5);
    const V high01 = __builtin_shufflevector(x0, x1, 2, 6, 3, 7);
    const V high23 = __builtin_shufflevector(x2, x3, 2, 6, 3, 7);
    store<V>(packed, __builtin_shufflevector(low01, low23, 0, 1, 4, 5));
    store<V>(packed + width, __builtin_shufflevector(low01, low23, 2, 3, 6, 7));
    store<V>(packed + 2 * width, __builtin_shufflevector(high01, high23, 0, 1, 4, 5));
    store<V>(packed + 3 * width, __builtin_shufflevector(high01, high23, 2, 3, 6, 7));
  }
}

template <class T>
SLUICE_INLINE void pack_panel(int64_t lanes, int64_t k, const T* x, int64_t lane_step, int64_t k_step, int64_t width,
                              T* packed) {
  constexpr int64_t kSide = kTile<T>;
  int64_t i = 0;
  for (; k_step == 1 && i + kSide <= lanes; i += kSide) {
    int64_t p = 0;
    for (; p + kSide <= k; p += kSide) {
      transpose_tile<T>(x + i * lane_step + p, lane_step, packed + i + p * width, width);
    }
    for (; p < k; ++p) {
      for (int64_t q = i; q < i + kSide; ++q) packed[p * width + q] = x[q * lane_step + p];
    }
  }
  for (; i < lanes; ++i) {
    for (int64_t p = 0; p < k; ++p) packed[p * width + i] = x[i * lane_step + p * k_step];
  }
  for (; i < width; ++i) {
    for (int64_t p = 0; p < k; ++p) packed[p * width + i] = T{};
  }
}

// Inlined with each width that matters, so that the copies have a constant length.
template <class T>
SLUICE_INLINE void pack_width(int64_t lanes, int64_t k, const T* x, int64_t lane_step, int64_t k_step, int64_t width,
                              T* packed) {
  int64_t i = 0;
  if (lane_step == 1) {
    const int64_t whole = lanes / width;
    pack_columns<T>(whole, k, x, k_step, width, packed);
    i = whole * width;
  }
  for (; i < lanes; i += width) {
    pack_panel<T>(lanes - i < width ? lanes - i : width, k, x + i * lane_step, lane_step, k_step, width,
                  packed + i * k);
  }
}

template <class T>
void pack(int64_t lanes, int64_t k, const T* x, int64_t lane_step, int64_t k_step, int64_t width, T* packed) {
  if (width == kBlockRows<T>) return pack_width<T>(lanes, k, x, lane_step, k_step, kBlockRows<T>, packed);
  if (width == kBlockColumns) return pack_width<T>(lanes, k, x, lane_step, k_step, kBlockColumns, packed);
  pack_width<T>(lanes, k, x, lane_step, k_step, width, packed);
}

// A block that reaches over the last row or column is computed beside C and copied.
template <class T>
void packed(int64_t m, int64_t n, int64_t k, const T* a, const T* b, bool add, T* c, int64_t c_step) {
  constexpr int64_t kRows = kBlockRows<T>;
  for (int64_t j = 0; j < n; j += kBlockColumns) {
    for (int64_t i = 0; i < m; i += kRows) {
      const bool whole = i + kRows <= m && j + kBlockColumns <= n;
      T edge[kRows * kBlockColumns];
      T* out = c + i + j * c_step;
      block<T, kBytes, kBlockVectors, kBlockColumns>(k, a + i * k, kRows, b + j * k, kBlockColumns, 1, add && whole,
                                                     whole ? out : edge, whole ? c_step : kRows);
      if (whole) continue;
      const int64_t rows = m - i < kRows ? m - i : kRows;
      const int64_t columns = n - j < kBlockColumns ? n - j : kBlockColumns;
      for (int64_t q = 0; q < columns; ++q) {
        for (int64_t r = 0; r < rows; ++r) {
          T& to = out[r + q * c_step];
          to = static_cast<T>(add ? to + edge[r + q * kRows] : edge[r + q * kRows]);
        }
      }
    }
  }
}

// ---- matrix times vector: bound by memory, so every column is read once and in order ----

template <class T, int Columns>
SLUICE_INLINE void add_columns(int64_t m, const T* a, int64_t a_step, const T* x, T* y) {
  using V = Vector<T, kBytes>;
  constexpr int64_t kLanes = kBytes / static_cast<int>(sizeof(T));
  int64_t i = 0;
  for (; i + kLanes <= m; i += kLanes) {
    V sum = load<V>(y + i);
#pragma GCC unroll 8
    for (int q = 0; q < Columns; ++q) sum = multiply_add(load<V>(a + i + q * a_step), splat<V>(x[q]), sum);
    store<V>(y + i, sum);
  }
  for (; i < m; ++i) {
    for (int q = 0; q < Columns; ++q) y[i] = multiply_add(a[i + q * a_step], x[q], y[i]);
  }
}

template <class T>
void times_vector(int64_t m, int64_t k, const T* a, int64_t a_step, const T* x, T* y) {
  constexpr int64_t kRows = 4096 / static_cast<int>(sizeof(T));  // this much of y stays in the first cache
  for (int64_t i = 0; i < m; i += kRows) {
    const int64_t rows = m - i < kRows ? m - i : kRows;
    for (int64_t r = 0; r < rows; ++r) y[i + r] = T{};
    int64_t p = 0;
    for (; p + 4 <= k; p += 4) add_columns<T, 4>(rows, a + i + p * a_step, a_step, x + p, y + i);
    for (; p < k; ++p) add_columns<T, 1>(rows, a + i + p * a_step, a_step, x + p, y + i);
  }
}

template <class T, int Columns>
SLUICE_INLINE void dot_columns(int64_t k, const T* a, int64_t a_step, const T* x, T* y) {
  using V = Vector<T, kBytes>;
  constexpr int64_t kLanes = kBytes / static_cast<int>(sizeof(T));
  V sum[Columns][2] = {};
  int64_t p = 0;
  for (; p + 2 * kLanes <= k; p += 2 * kLanes) {
    const V x0 = load<V>(x + p);
    const V x1 = load<V>(x + p + kLanes);
#pragma GCC unroll 8
    for (int q = 0; q < Columns; ++q) {
      sum[q][0] = multiply_add(load<V>(a + p + q * a_step), x0, sum[q][0]);
      sum[q][1] = multiply_add(load<V>(a + p + kLanes + q * a_step), x1, sum[q][1]);
    }
  }
  for (int q = 0; q < Columns; ++q) {
    T lanes[kLanes];
    store<V>(lanes, static_cast<V>(sum[q][0] + sum[q][1]));
    for (int64_t width = kLanes / 2; width > 0; width /= 2) {
      for (int64_t l = 0; l < width; ++l) lanes[l] = static_cast<T>(lanes[l] + lanes[l + width]);
    }
    for (int64_t r = p; r < k; ++r) lanes[0] = multiply_add(a[r + q * a_step], x[r], lanes[0]);
    y[q] = lanes[0];
  }
}

template <class T>
void transposed_times_vector(int64_t n, int64_t k, const T* a, int64_t a_step, const T* x, T* y) {
  int64_t j = 0;
  for (; j + 4 <= n; j += 4) dot_columns<T, 4>(k, a + j * a_step, a_step, x, y + j);
  for (; j < n; ++j) dot_columns<T, 1>(k, a + j * a_step, a_step, x, y + j);
}

// ---- storage types, branch-free so that the loops vectorise ----

SLUICE_INLINE float float_of(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

SLUICE_INLINE uint32_t bits_of(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}

// The exponent is corrected by a multiplication, which also makes subnormal halves right.
SLUICE_INLINE float from_half(uint16_t half) {
  const uint32_t magnitude = (half & 0x7fffu) << 13;
  const uint32_t scaled = bits_of(float_of(magnitude) * 0x1p112f);
  const uint32_t special = magnitude | 0x7f800000u;
  const uint32_t bits = magnitude >= 0x0f800000u ? special : scaled;
  return float_of(bits | (half & 0x8000u) << 16);
}

// Rounds normal results with an integer addition and subnormal ones with a floating addition whose last bit is 2^-24.
SLUICE_INLINE uint16_t to_half(float value) {
  const uint32_t bits = bits_of(value);
  const uint32_t magnitude = bits & 0x7fffffffu;
  const uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  const uint32_t small = bits_of(float_of(magnitude) + 0.5f) - 0x3f000000u;
  uint32_t half = magnitude < 0x38800000u ? small : normal;
  half = magnitude >= 0x477ff000u ? 0x7c00u : half;
  half = magnitude > 0x7f800000u ? 0x7e00u | ((magnitude >> 13) & 0x3ffu) : half;
  return static_cast<uint16_t>(half | (bits & 0x80000000u) >> 16);
}

SLUICE_INLINE uint16_t to_bfloat(float value) {
  const uint32_t bits = bits_of(value);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const uint32_t nan = (bits >> 16) | 0x40u;
  return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

SLUICE_INLINE float from_bfloat(uint16_t bfloat) { return float_of(static_cast<uint32_t>(bfloat) << 16); }

template <class To, class From>
SLUICE_INLINE To change_width(From x) {
  return static_cast<To>(x);
}

template <class From, class To, To (*Convert)(From)>
void convert(int64_t n, const From* x, To* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = Convert(x[i]);
}

template <class T>
constexpr GemmKernels<T> kKernels{
    kBlockRows<T>, kBlockColumns, direct<T>, pack<T>, packed<T>, times_vector<T>, transposed_times_vector<T>};

constexpr GemmTable kTable{kKernels<double>,
                           kKernels<float>,
                           kKernels<uint64_t>,
                           kKernels<uint32_t>,
                           convert<uint16_t, float, from_half>,
                           convert<float, uint16_t, to_half>,
                           convert<uint16_t, float, from_bfloat>,
                           convert<float, uint16_t, to_bfloat>,
                           convert<uint16_t, uint32_t, change_width<uint32_t>>,
                           convert<uint32_t, uint16_t, change_width<uint16_t>>,
                           convert<uint8_t, uint32_t, change_width<uint32_t>>,
                           convert<uint32_t, uint8_t, change_width<uint8_t>>};

}  // namespace

const GemmTable& gemm_table() { return kTable; }

}  // namespace sluice::detail::SLUICE_ISA
