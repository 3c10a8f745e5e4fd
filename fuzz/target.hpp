// What a fuzz target is: a file `<name>_fuzz.cpp` that defines `read_input`. CMake makes two programs of it, one for
// libFuzzer and one that replays seeds and fixed mutations of them in the tests.
//
//   #include "fuzz/target.hpp"
//   #include "src/data/bson.hpp"
//
//   void sluice::fuzz::read_input(std::span<const std::byte> input) { detail::read_bson_state(input, "input"); }
//
// A FileError is a verdict. Any other exception, a crash, a sanitizer's complaint, more than a second or an allocation
// of more than 64 MiB is a finding. `seeds.cpp` has the valid files that a fuzzer starts from.
#pragma once

#include <cstddef>
#include <span>

#include "sluice/error.hpp"

namespace sluice::fuzz {

/// Reads `input` as a file of the format.
void read_input(std::span<const std::byte> input);

/// Reads `input` and takes the verdict.
inline void try_input(std::span<const std::byte> input) {
  try {
    read_input(input);
  } catch (const FileError&) {  // NOLINT(bugprone-empty-catch): a verdict
  }
}

}  // namespace sluice::fuzz
