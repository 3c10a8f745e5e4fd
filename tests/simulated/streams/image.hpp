// What a simulated compiler gives to the simulated driver in place of machine code: the text itself behind a header.
#pragma once

#include <string>
#include <vector>

namespace simulated {

struct Image {
  std::string kind;    // "cubin", "ptx" or "code-object"
  std::string target;  // "90", "gfx90a:sramecc+:xnack-"
  int version = 0;     // of the compiler that made it
  std::string text;
};

std::string write_image(const Image& image);
/// False if these are no such bytes.
bool read_image(const char* bytes, Image& image);

/// The names of the kernels in a text.
std::vector<std::string> kernels_of(const std::string& text);

/// The kernel of the library's own probe, which the virtual GPU knows without compiling it.
inline bool is_probe(const std::string& kernel) { return kernel == "sluice_probe"; }

}  // namespace simulated
