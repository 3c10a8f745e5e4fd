// The index of a safetensors checkpoint in several files; no file that it names exists.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "fuzz/target.hpp"
#include "src/data/safetensors.hpp"

void sluice::fuzz::read_input(std::span<const std::byte> input) {
  static const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("sluice-index-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string path = (folder / "model").string() + std::string(detail::kIndexEnding);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(input.data()), static_cast<std::streamsize>(input.size()));
  detail::open_safetensors(path, "load");
}
