// What the simulated NVRTC and hipRTC have in common: what does not compile for the virtual GPU does not compile here.
#pragma once

#include <cstddef>
#include <string>

#include "tests/simulated/streams/image.hpp"

namespace simulated {

// Results. hipRTC has taken NVRTC's numbers over.
inline constexpr int kInvalidInput = 3, kInvalidOption = 5, kCompilation = 6;

struct Program {
  std::string text, log;
  Image image;
};

/// Compiles with options of the form -Dname=value, and those that `take` takes into the image. Counts as a call of
/// `function`.
int compile_program(const char* function, Program& program, int count, const char* const* options,
                    bool (*take)(const std::string& option, Image& image));

/// "NVRTC_ERROR_COMPILATION" for the prefix "NVRTC". Stays valid.
const char* compiler_result(const char* prefix, int code);

// ---- A text that is asked for by its size first, with its final 0.

int size_of(const std::string& text, std::size_t* bytes);
int give(const std::string& text, char* to);

}  // namespace simulated
