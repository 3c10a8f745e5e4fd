#include "fuzz/target.hpp"
#include "sluice/readers.hpp"

void sluice::fuzz::read_input(std::span<const std::byte> input) {
  parse_idx(input, "input", {.max_bytes = std::int64_t{1} << 20});
}
