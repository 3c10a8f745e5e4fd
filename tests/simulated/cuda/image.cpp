#include "tests/simulated/cuda/image.hpp"

#include <regex>
#include <sstream>

namespace simulated_cuda {
namespace {

constexpr char kCubin[] = "simulated-cubin", kPtx[] = "simulated-ptx";

}  // namespace

std::string write_image(const Image& image) {
  return std::string(image.is_cubin ? kCubin : kPtx) + " " + std::to_string(image.capability) + " " +
         std::to_string(image.version) + "\n" + image.text;
}

bool read_image(const char* bytes, Image& image) {
  std::istringstream in(bytes);
  std::string kind, end_of_line;
  if (!(in >> kind >> image.capability >> image.version) || (kind != kCubin && kind != kPtx)) return false;
  std::getline(in, end_of_line);
  image.is_cubin = kind == kCubin;
  image.text = std::string(bytes).substr(static_cast<std::size_t>(in.tellg()));
  return true;
}

std::vector<std::string> kernels_of(const std::string& text) {
  static const std::regex kKernel(
      R"(K_KERNEL\((\w+)\)|__global__\s+void\s+(?:__launch_bounds__\(\w+\)\s*)?(\w+)\s*\()");
  std::istringstream in(text);
  std::vector<std::string> kernels;
  for (std::string line; std::getline(in, line);) {
    // Searching with an expression is slow, and comments and definitions name no kernel.
    const bool may_match = line.find("K_KERNEL(") != std::string::npos || line.find("__global__") != std::string::npos;
    std::smatch found;
    if (!may_match || line.starts_with("#define") || line.starts_with("//")) continue;
    if (!std::regex_search(line, found, kKernel)) continue;
    kernels.push_back(found[1].matched ? found[1] : found[2]);
  }
  return kernels;
}

}  // namespace simulated_cuda
