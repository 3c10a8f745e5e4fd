// The Metal backend's table without the library, on the stand-in of tests/simulated/metal/.
#pragma once

#include "tests/simulated_metal.hpp"
#include "tests/stream_table.hpp"

namespace sluice::tests {

using MetalTable = StreamTable;

/// In groups of 64 items.
inline constexpr const char* kMetalScale =
    "#include <metal_stdlib>\n"
    "kernel void scale(device float* x [[buffer(0)]], constant float& factor [[buffer(1)]],\n"
    "                  constant int& count [[buffer(2)]], uint item [[thread_position_in_threadgroup]],\n"
    "                  uint group [[threadgroup_position_in_grid]], uint groups [[threadgroups_per_grid]]) {\n"
    "  int i = (int)(group * 64 + item);\n"
    "  if (i < count) x[i] *= factor;\n"
    "}\n";

}  // namespace sluice::tests
