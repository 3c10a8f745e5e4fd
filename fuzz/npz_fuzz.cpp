#include "fuzz/memory_file.hpp"
#include "fuzz/target.hpp"
#include "sluice/npy.hpp"

void sluice::fuzz::read_input(std::span<const std::byte> input) {
  const MemoryFile file(input);
  read_npz(file.path());
}
