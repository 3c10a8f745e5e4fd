// The CPU's form of a typed program: a list of vector loops over a file of tile-sized registers. Made once per typed
// program and kept with it.
#pragma once

#include <cstdint>
#include <vector>

#include "src/core/typed_program.hpp"
#include "src/device/tile_kernels.hpp"

namespace sluice::detail {

/// Elements of a tile: a few registers of it stay in the first-level cache.
inline constexpr int kTile = 512;

struct TilePlan {
  /// A value of the program is a pointer for the tile at hand; `source` says where it comes from.
  enum class Source : std::uint8_t { input, splat, scratch };
  struct Value {
    Source source;
    std::uint16_t slot = 0;  ///< input number, or scratch slot
  };
  /// Runs `loop` over values x, y, z (indices of values) into value `out`.
  struct Instruction {
    TileLoop loop;
    std::uint16_t out, x, y, z;
    bool reads_input;  ///< whether any operand is an input read in place
  };
  struct Splat {
    std::uint16_t value;
    bool is_param;
    int literal;
    std::uint16_t param;
    Register type;
  };
  struct Output {
    std::uint16_t value;
    TileLoop store;             ///< null if the register is the storage form
    std::uint16_t instruction;  ///< the instruction that makes the value, or kNone
    bool after_last_read;       ///< no input is read in place after that instruction
  };
  static constexpr std::uint16_t kNone = 0xffff;

  std::vector<Value> values;
  std::vector<Instruction> instructions;
  std::vector<Splat> splats;
  std::vector<Output> outputs;
  int scratch_slots = 0;
  int param_slots = 0;  ///< the program's own parameters start at the number of parameters given
};

/// The plan of a program, built at the first call.
const TilePlan& tile_plan(const TypedProgram& program);

/// The loops for this machine's instruction set.
const TileKernels& tile_kernels();

}  // namespace sluice::detail
