#include "fuzz/memory_file.hpp"
#include "fuzz/target.hpp"
#include "sluice/checkpoint.hpp"
#include "sluice/npy.hpp"

void sluice::fuzz::read_input(std::span<const std::byte> input) {
  const MemoryFile file(input);
  inspect(file.path(), "npz");  // which takes more than read_npz
  read_npz(file.path());
}
