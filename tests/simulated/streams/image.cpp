#include "tests/simulated/streams/image.hpp"

#include <regex>
#include <sstream>

namespace simulated {
namespace {

constexpr char kMark[] = "simulated-image";

}  // namespace

std::string write_image(const Image& image) {
  return std::string(kMark) + " " + image.kind + " " + image.target + " " + std::to_string(image.version) + "\n" +
         image.text;
}

bool read_image(const char* bytes, Image& image) {
  std::istringstream in(bytes);
  std::string mark, end_of_line;
  if (!(in >> mark >> image.kind >> image.target >> image.version) || mark != kMark) return false;
  std::getline(in, end_of_line);
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

}  // namespace simulated
