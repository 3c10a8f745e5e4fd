// Kernel text to a pipeline, which is what Metal calls a kernel that is compiled for a device.
#pragma once

#include <string>
#include <vector>

#include "backends/metal/metal_api.hpp"

namespace sluice::metal {

/// What Metal tells of a kernel's parameter.
struct Parameter {
  NSUInteger slot;
  std::uint64_t bytes;  ///< of a value, or of an element of memory
};

/// Compiles without fast maths. SLUICE_BAD_SOURCE with the compiler's log where the text is at fault. Fills
/// `parameters` unless it is null. Needs a pool; any thread.
Reference make_pipeline(id device, const std::string& text, const char* entry, std::vector<Parameter>* parameters);

/// The text behind a #define for each option "-DNAME=VALUE"; Metal takes no others.
std::string with_options(const char* text, const char* options);

}  // namespace sluice::metal
