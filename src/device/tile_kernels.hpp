// The vector loops of the tile interpreter: one per row of the op table and register kind, plus loads, stores and
// conversions. Compiled once per instruction set from tile_kernel.cpp; includes nothing, so that those files share no
// inline code.
#pragma once

namespace sluice::detail {

/// out[i] = f(x[i], y[i], z[i]) for i < n. `out` may be the same array as an operand, not a shifted one.
using TileLoop = void (*)(void* out, const void* x, const void* y, const void* z, int n);

inline constexpr int kTileRegisters = 4;  // f32, f64, i32, i64, as in enum Register
inline constexpr int kTileTypes = 10;     // as DType::Code
inline constexpr int kTileRows = 48;      // at least the rows of the op table

// Two operations as one loop: (x inner y) outer z, or z outer (x inner y).
inline constexpr int kPairOuter = 6;  // add, sub, mul, div, max, min: the first rows of their kind
inline constexpr int kPairInner = 4;  // add, sub, mul, div
inline constexpr int kPairTypes = 2;  // f32, f64

struct TileKernels {
  TileLoop op[kTileRows][kTileRegisters];                // by row of the table, null where the row has no such kind
  TileLoop convert[kTileRegisters][kTileRegisters];      // [from][to]
  TileLoop load[kTileTypes];                             // storage to register; null where they are the same
  TileLoop store[kTileTypes];                            // register to storage, likewise
  TileLoop narrow[kTileTypes];                           // wrap an i32 register to u8, i8, i16
  TileLoop pair[kPairOuter][kPairInner][2][kPairTypes];  // [outer][inner][inner is the right operand][type]
};

namespace baseline {
extern const TileKernels tile_kernels;
}
#if defined(__x86_64__)
namespace avx2 {
extern const TileKernels tile_kernels;
}
namespace avx512 {
extern const TileKernels tile_kernels;
}
#endif

}  // namespace sluice::detail
