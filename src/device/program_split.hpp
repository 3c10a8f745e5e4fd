// A program with more tensors than a kernel can take, as programs that each fit: one after the other, what a later one
// needs of an earlier one going through memory.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "src/core/typed_program.hpp"

namespace sluice::detail {

/// What one kernel can take.
struct KernelRoom {
  std::size_t blocks;        ///< of memory
  std::size_t bytes;         ///< of arguments
  std::size_t input_bytes;   ///< what an input costs
  std::size_t output_bytes;  ///< what an output costs
};

/// A tensor of a part: one of the whole program's own, or a temporary.
struct PartTensor {
  bool is_temporary;
  std::size_t number;
};

struct ProgramPart {
  std::unique_ptr<TypedProgram> program;
  std::vector<PartTensor> inputs, outputs;  ///< in the order of the part's inputs and outputs
};

struct SplitProgram {
  std::vector<ProgramPart> parts;
  std::vector<DType> temporaries;
};

/// Whether a kernel of the program, inputs that are loaded and outputs, finds room.
bool has_room(const TypedProgram& program, const KernelRoom& room);

/// Parameters keep their slots: every part takes those of the whole program.
SplitProgram split_program(const TypedProgram& program, const KernelRoom& room);

}  // namespace sluice::detail
