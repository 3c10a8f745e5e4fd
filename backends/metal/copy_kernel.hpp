// A kernel that copies bytes from anywhere to anywhere: Metal's own copies are of whole words on macOS.
#pragma once

#include <cstdint>

namespace sluice::metal {

struct CopyValues {
  std::uint64_t to, from, bytes;
};

inline constexpr std::uint64_t kCopyGroup = 256, kCopyMostGroups = 1024;
inline constexpr const char* kCopyEntry = "sluice_copy_bytes";
inline constexpr const char* kCopyText =
    "#include <metal_stdlib>\n"
    "typedef struct { ulong to, from, bytes; } copy_values;\n"
    "kernel void sluice_copy_bytes(device unsigned char* to [[buffer(0)]],\n"
    "                              device const unsigned char* from [[buffer(1)]],\n"
    "                              constant copy_values& v [[buffer(2)]],\n"
    "                              uint item [[thread_position_in_threadgroup]],\n"
    "                              uint group [[threadgroup_position_in_grid]],\n"
    "                              uint groups [[threadgroups_per_grid]]) {\n"
    "  for (ulong i = (ulong)group * 256 + item; i < v.bytes; i += (ulong)groups * 256) {\n"
    "    to[v.to + i] = from[v.from + i];\n"
    "  }\n"
    "}\n";

}  // namespace sluice::metal
