// A fuzz target as libFuzzer calls it.
#include <cstdint>

#include "fuzz/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sluice::fuzz::try_input(std::as_bytes(std::span(data, size)));
  return 0;
}
