#include "src/device/cpu_gemm_product.hpp"

#include <algorithm>
#include <atomic>
#include <type_traits>

#include "src/device/cpu_scratch.hpp"
#include "src/device/onednn.hpp"
#include "src/device/thread_pool.hpp"

namespace sluice::detail {
namespace {

constexpr double kDirectWork = 1 << 22;
constexpr std::int64_t kFew = 32;             // columns or rows
constexpr std::int64_t kNearBytes = 1 << 18;  // half of the second cache
constexpr std::int64_t kSlabRows = 512;
constexpr std::int64_t kSlabDepth = 32;
constexpr std::int64_t kCopiedSlabDepth = 64;
constexpr std::int64_t kSlabColumns = 16;
// A panel for oneDNN, in either direction, is so large because it is far slower with smaller ones; a product must give
// several of them, or our own kernels, whose tiles keep more threads busy, are faster.
constexpr std::int64_t kOneDnnLong = 1024;
constexpr std::int64_t kOneDnnShort = 512;
constexpr std::int64_t kOneDnnDepth = 256;
constexpr double kOneDnnResult = 1 << 21;
constexpr std::int64_t kDepth = 256;     // of a packed panel: one panel of A and one of B fit the first cache
constexpr std::int64_t kTileRows = 192;  // times kDepth: half of the second cache
constexpr std::int64_t kTileColumns = 96;
constexpr std::int64_t kSpan = 4096;           // rows and columns packed at once, which bounds the scratch memory
constexpr std::int64_t kVectorSize = 1 << 10;  // elements of a matrix from which 2 or 3 vectors are taken one by one
constexpr std::int64_t kPartDepth = 2048;
constexpr std::int64_t kMostParts = 16;

std::int64_t pieces_of(std::int64_t n, std::int64_t size) { return (n + size - 1) / size; }

// The size of equal pieces, multiples of `unit`, of about `largest` or less.
std::int64_t even_piece(std::int64_t n, std::int64_t largest, std::int64_t unit) {
  const std::int64_t piece = pieces_of(n, pieces_of(n, largest));
  return pieces_of(piece, unit) * unit;
}

// ---- y = M x, element (i, p) of the matrix at matrix[i * row + p * column] ----

template <class T>
void matrix_times_vector(const GemmKernels<T>& kernels, std::int64_t rows, std::int64_t k, const T* matrix,
                         std::int64_t row, std::int64_t column, const T* x, std::int64_t x_step, T* y,
                         std::int64_t y_step) {
  const Scratch<T> space(std::max<std::int64_t>((x_step == 1 ? 0 : k) + (y_step == 1 ? 0 : rows), 1));
  T* dense_y = y_step == 1 ? y : space.data();
  if (x_step != 1) {
    T* dense_x = space.data() + (y_step == 1 ? 0 : rows);
    for (std::int64_t p = 0; p < k; ++p) dense_x[p] = x[p * x_step];
    x = dense_x;
  }
  // Reading the matrix is what takes time: an element counts as four multiply-adds.
  parallel_for(rows, std::max<std::int64_t>(grain_for(4.0 * static_cast<double>(k)), 64),
               [&](std::int64_t begin, std::int64_t end) {
                 const T* from = matrix + begin * row;
                 const auto kernel = row == 1 ? kernels.times_vector : kernels.transposed_times_vector;
                 kernel(end - begin, k, from, row == 1 ? column : row, x, dense_y + begin);
               });
  if (y_step == 1) return;
  for (std::int64_t i = 0; i < rows; ++i) y[i * y_step] = dense_y[i];
}

// Products with at most three columns or rows; false if this is none.
template <class T>
bool multiply_vectors(const GemmKernels<T>& kernels, const Product<T>& x) {
  if (x.n == 1 || (x.n <= 3 && x.m * x.k >= kVectorSize)) {
    for (std::int64_t j = 0; j < x.n; ++j) {
      matrix_times_vector(kernels, x.m, x.k, x.a, x.a_row, x.a_column, x.b + j * x.b_column, x.b_row,
                          x.c + j * x.c_step, 1);
    }
    return true;
  }
  if (x.m == 1 || (x.m <= 3 && x.n * x.k >= kVectorSize)) {
    for (std::int64_t i = 0; i < x.m; ++i) {
      matrix_times_vector(kernels, x.n, x.k, x.b, x.b_column, x.b_row, x.a + i * x.a_row, x.a_column, x.c + i,
                          x.c_step);
    }
    return true;
  }
  return false;
}

// ---- without packing ----

// Whether the columns of A would push each other out of the second cache while a strip of rows crosses them.
template <class T>
bool columns_collide(const Product<T>& x) {
  const auto step = static_cast<std::uint64_t>(x.a_column) * sizeof(T);
  const std::uint64_t spread = step & (~step + 1);  // the power of two in it
  return static_cast<std::uint64_t>(x.k) * std::max<std::uint64_t>(spread, sizeof(T) * 16) > kNearBytes;
}

// A is read once, some columns at a time over many rows, which the machine can foresee; C is added up in between. With
// more than a few columns of C a copy of the slab pays, and with it a deeper slab.
template <class T>
void multiply_in_slabs(const GemmKernels<T>& kernels, const Product<T>& x) {
  const bool copied = x.n > kSlabColumns;
  const std::int64_t depth = copied ? kCopiedSlabDepth : kSlabDepth;
  const std::int64_t step = copied ? kernels.block_rows : kSlabRows;
  const Scratch<T> slab(copied ? kSlabRows * depth : 1);
  for (std::int64_t i = 0; i < x.m; i += kSlabRows) {
    const std::int64_t rows = std::min(kSlabRows, x.m - i);
    for (std::int64_t p = 0; p < x.k; p += depth) {
      const std::int64_t k = std::min(depth, x.k - p);
      const T* a = x.a + i + p * x.a_column;
      if (copied) kernels.pack(rows, k, a, 1, x.a_column, step, slab.data());
      for (std::int64_t r = 0; r < rows; r += step) {
        kernels.direct(std::min(step, rows - r), x.n, k, copied ? slab.data() + r * k : a + r,
                       copied ? step : x.a_column, x.b + p * x.b_row, x.b_row, x.b_column, p > 0, x.c + i + r,
                       x.c_step);
      }
    }
  }
}

// A's columns are not contiguous: its rows go through a copy in which they are.
template <class T>
void multiply_through_copy(const GemmKernels<T>& kernels, const Product<T>& x) {
  const std::int64_t fitting = kNearBytes / 2 / static_cast<std::int64_t>(sizeof(T)) / x.k;
  const std::int64_t rows = std::min(x.m, std::max<std::int64_t>(fitting / kernels.block_rows, 1) * kernels.block_rows);
  const Scratch<T> copy(rows * x.k);
  for (std::int64_t i = 0; i < x.m; i += rows) {
    const std::int64_t count = std::min(rows, x.m - i);
    kernels.pack(count, x.k, x.a + i * x.a_row, x.a_row, x.a_column, count, copy.data());
    kernels.direct(count, x.n, x.k, copy.data(), count, x.b, x.b_row, x.b_column, false, x.c + i, x.c_step);
  }
}

template <class T>
void multiply_part_directly(const GemmKernels<T>& kernels, Product<T> x) {
  if (x.a_row == 1 && columns_collide(x)) return multiply_in_slabs(kernels, x);
  // Every strip of rows reads all of B: so much of it at a time as stays near.
  const std::int64_t fitting = kNearBytes / 2 / static_cast<std::int64_t>(sizeof(T)) / x.k;
  const std::int64_t n = x.n;
  const std::int64_t columns = x.m <= kernels.block_rows
                                   ? n
                                   : std::max<std::int64_t>(fitting / kernels.block_columns, 1) * kernels.block_columns;
  for (std::int64_t j = 0; j < n; j += columns) {
    x.n = std::min(columns, n - j);
    if (x.a_row == 1) {
      kernels.direct(x.m, x.n, x.k, x.a, x.a_column, x.b, x.b_row, x.b_column, false, x.c, x.c_step);
    } else {
      multiply_through_copy(kernels, x);
    }
    x.b += columns * x.b_column;
    x.c += columns * x.c_step;
  }
}

// Small products, and those with few columns or rows, where packing costs more than it saves.
template <class T>
bool suits_direct(const Product<T>& x) {
  if (work_of(x.m, x.n, x.k) <= kDirectWork) return true;
  return x.n <= kFew || (x.m <= kFew && x.b_row == 1);
}

template <class T>
void multiply_directly(const GemmKernels<T>& kernels, const Product<T>& x) {
  // A part by rows copies its own rows of a transposed A, one by columns all of them.
  const bool by_rows = x.m > x.n || (x.a_row != 1 && x.m >= 4 * kernels.block_rows);
  const std::int64_t unit = by_rows ? kernels.block_rows : kernels.block_columns;
  const std::int64_t size = by_rows ? x.m : x.n;
  const double unit_work = work_of(x.m, x.n, x.k) / static_cast<double>(size) * static_cast<double>(unit);
  parallel_for(pieces_of(size, unit), grain_for(unit_work), [&](std::int64_t begin, std::int64_t end) {
    Product<T> part = x;
    begin *= unit;
    end = std::min(end * unit, size);
    (by_rows ? part.m : part.n) = end - begin;
    part.a += by_rows ? begin * x.a_row : 0;
    part.b += by_rows ? 0 : begin * x.b_column;
    part.c += by_rows ? begin : begin * x.c_step;
    multiply_part_directly(kernels, part);
  });
}

// ---- with packing ----

template <class T>
struct Packed {
  std::int64_t m, n, k;
  T* a;
  T* b;
};

// Copies all panels of A and of B; x is at most kSpan wide and high and kDepth deep.
template <class T>
void pack_operands(const GemmKernels<T>& kernels, const Product<T>& x, const Packed<T>& packed) {
  const std::int64_t rows = kernels.block_rows;
  const std::int64_t columns = kernels.block_columns;
  const std::int64_t a_panels = pieces_of(x.m, rows);
  const std::int64_t b_panels = pieces_of(x.n, columns);
  const double panel_work = static_cast<double>(32 * x.k * std::max(rows, columns));
  parallel_for(a_panels + b_panels, grain_for(panel_work), [&](std::int64_t begin, std::int64_t end) {
    if (begin < a_panels) {
      const std::int64_t i = begin * rows;
      const std::int64_t count = std::min(end * rows, x.m) - i;
      kernels.pack(count, x.k, x.a + i * x.a_row, x.a_row, x.a_column, rows, packed.a + i * x.k);
    }
    if (end > a_panels) {
      const std::int64_t j = std::max<std::int64_t>(begin - a_panels, 0) * columns;
      const std::int64_t count = std::min((end - a_panels) * columns, x.n) - j;
      kernels.pack(count, x.k, x.b + j * x.b_column, x.b_column, x.b_row, columns, packed.b + j * x.k);
    }
  });
}

template <class T>
void multiply_packed(const GemmKernels<T>& kernels, const Packed<T>& packed, bool add, T* c, std::int64_t c_step) {
  const std::int64_t rows = even_piece(packed.m, kTileRows, kernels.block_rows);
  const std::int64_t columns = even_piece(packed.n, kTileColumns, kernels.block_columns);
  const std::int64_t column_tiles = pieces_of(packed.n, columns);
  const std::int64_t tiles = pieces_of(packed.m, rows) * column_tiles;
  parallel_for(tiles, grain_for(work_of(rows, columns, packed.k)), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t tile = begin; tile < end; ++tile) {
      const std::int64_t i = tile / column_tiles * rows;
      const std::int64_t j = tile % column_tiles * columns;
      kernels.packed(std::min(rows, packed.m - i), std::min(columns, packed.n - j), packed.k, packed.a + i * packed.k,
                     packed.b + j * packed.k, add, c + i + j * c_step, c_step);
    }
  });
}

template <class T>
void multiply_with_packing(const GemmKernels<T>& kernels, const Product<T>& x) {
  const std::int64_t depth = even_piece(x.k, kDepth, 1);
  const std::int64_t span_rows = pieces_of(std::min(x.m, kSpan), kernels.block_rows) * kernels.block_rows;
  const std::int64_t span_columns = pieces_of(std::min(x.n, kSpan), kernels.block_columns) * kernels.block_columns;
  const Scratch<T> a(span_rows * depth);
  const Scratch<T> b(span_columns * depth);
  for (std::int64_t j = 0; j < x.n; j += span_columns) {
    for (std::int64_t i = 0; i < x.m; i += span_rows) {
      for (std::int64_t p = 0; p < x.k; p += depth) {
        Product<T> part = x;
        part.m = std::min(span_rows, x.m - i);
        part.n = std::min(span_columns, x.n - j);
        part.k = std::min(depth, x.k - p);
        part.a += i * x.a_row + p * x.a_column;
        part.b += p * x.b_row + j * x.b_column;
        const Packed<T> packed{part.m, part.n, part.k, a.data(), b.data()};
        pack_operands(kernels, part, packed);
        multiply_packed(kernels, packed, p > 0, x.c + i + j * x.c_step, x.c_step);
      }
    }
  }
}

// ---- deep products with a small result: k is cut by the shape, the parts are added in order ----

template <class T>
bool multiply_deep(const GemmKernels<T>& kernels, const Product<T>& x) {
  const std::int64_t parts = std::min(x.k / kPartDepth, kMostParts);
  if (parts < 2 || work_of(x.m, x.n, 1) > static_cast<double>(2 * kTileRows * kTileColumns)) return false;
  const std::int64_t depth = pieces_of(x.k, parts);
  const Scratch<T> sums(parts * x.m * x.n);
  parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t part = begin; part < end; ++part) {
      Product<T> y = x;
      y.k = std::min(depth, x.k - part * depth);
      y.a += part * depth * x.a_column;
      y.b += part * depth * x.b_row;
      y.c = sums.data() + part * x.m * x.n;
      y.c_step = x.m;
      multiply(kernels, y);
    }
  });
  for (std::int64_t j = 0; j < x.n; ++j) {
    for (std::int64_t i = 0; i < x.m; ++i) {
      T sum = sums.data()[i + j * x.m];
      for (std::int64_t part = 1; part < parts; ++part) sum += sums.data()[i + (j + part * x.n) * x.m];
      x.c[i + j * x.c_step] = sum;
    }
  }
  return true;
}

// ---- oneDNN, one thread for each panel of C ----

bool multiply_with_onednn(const Product<float>& x) {
  const bool large = work_of(x.m, x.n, 1) >= kOneDnnResult && std::min(x.m, x.n) >= kOneDnnShort && x.k >= kOneDnnDepth;
  if (!large || !onednn_usable()) return false;
  const std::int64_t rows = even_piece(x.m, x.m > x.n ? kOneDnnShort : kOneDnnLong, 16);
  const std::int64_t columns = even_piece(x.n, x.m > x.n ? kOneDnnLong : kOneDnnShort, 16);
  const std::int64_t column_panels = pieces_of(x.n, columns);
  std::atomic<bool> refused{false};
  parallel_for(pieces_of(x.m, rows) * column_panels, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t panel = begin; panel < end; ++panel) {
      const std::int64_t i = panel / column_panels * rows;
      const std::int64_t j = panel % column_panels * columns;
      const bool done = onednn_sgemm({.transpose_a = x.a_row != 1,
                                      .transpose_b = x.b_row != 1,
                                      .m = std::min(rows, x.m - i),
                                      .n = std::min(columns, x.n - j),
                                      .k = x.k,
                                      .a = x.a + i * x.a_row,
                                      .lda = x.a_row != 1 ? x.a_row : x.a_column,
                                      .b = x.b + j * x.b_column,
                                      .ldb = x.b_row != 1 ? x.b_row : x.b_column,
                                      .c = x.c + i + j * x.c_step,
                                      .ldc = x.c_step});
      if (!done) refused = true;
    }
  });
  return !refused;
}

}  // namespace

template <class T>
void multiply(const GemmKernels<T>& kernels, const Product<T>& x) {
  if (multiply_vectors(kernels, x) || multiply_deep(kernels, x)) return;
  if (suits_direct(x)) return multiply_directly(kernels, x);
  if constexpr (std::is_same_v<T, float>) {
    if (multiply_with_onednn(x)) return;
  }
  multiply_with_packing(kernels, x);
}

template void multiply(const GemmKernels<double>&, const Product<double>&);
template void multiply(const GemmKernels<float>&, const Product<float>&);
template void multiply(const GemmKernels<std::uint64_t>&, const Product<std::uint64_t>&);
template void multiply(const GemmKernels<std::uint32_t>&, const Product<std::uint32_t>&);

}  // namespace sluice::detail
