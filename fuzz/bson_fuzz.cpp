#include "src/data/bson.hpp"

#include "fuzz/target.hpp"

void sluice::fuzz::read_input(std::span<const std::byte> input) { detail::read_bson_state(input, "input"); }
