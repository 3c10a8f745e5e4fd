// A fuzz target without a fuzzer: every file of a folder, and a number of mutations of each that are the same every
// time.
//
//   replay_bson seeds/bson 2000
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "fuzz/target.hpp"

namespace {

constexpr double kMostSeconds = 10;  // one for the reader; the rest for sanitizers and busy machines

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// One change of the kinds that files suffer, or that harm readers.
void mutate(std::string& text, std::mt19937_64& random) {
  if (text.empty()) text = "x";
  const auto below = [&](std::size_t limit) { return static_cast<std::size_t>(random() % limit); };
  const std::size_t at = below(text.size());
  const std::size_t count = 1 + below(std::min<std::size_t>(text.size() - at, 16));
  constexpr std::uint64_t kLies[] = {0, 1, 0x7f, 0xff, 0x7fffffff, 0xffffffff, 1ull << 62, 1ull << 63, ~0ull};
  switch (below(6)) {
    case 0: text[at] = static_cast<char>(text[at] ^ 1 << below(8)); break;
    case 1: text[at] = static_cast<char>(random()); break;
    case 2: text.erase(at, count); break;
    case 3: text.insert(below(text.size()), text, at, count); break;
    case 4: text.resize(at); break;
    default: {
      const std::uint64_t lie = kLies[below(std::size(kLies))];
      std::memcpy(text.data() + at, &lie, std::min<std::size_t>(text.size() - at, 1u << below(4)));
    }
  }
}

/// Whether the target took it as it must.
bool is_taken(const std::string& input, const std::string& what) {
  const auto start = std::chrono::steady_clock::now();
  try {
    sluice::fuzz::try_input(std::as_bytes(std::span(input)));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: threw what is no FileError: %s\n", what.c_str(), error.what());
    return false;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (took.count() <= kMostSeconds) return true;
  std::fprintf(stderr, "%s: took %g s\n", what.c_str(), took.count());
  return false;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    std::fprintf(stderr, "usage: %s <folder of seeds> <mutations of each>\n", arguments[0]);
    return 2;
  }
  std::set<std::filesystem::path> seeds;  // sorted, so that every run is the same
  for (const auto& entry : std::filesystem::directory_iterator(arguments[1])) seeds.insert(entry.path());
  bool all_taken = !seeds.empty();
  if (seeds.empty()) std::fprintf(stderr, "%s: no seeds\n", arguments[1]);
  for (const std::filesystem::path& seed : seeds) {
    const std::string content = content_of(seed);
    all_taken = is_taken(content, seed.string()) && all_taken;
    for (int i = 0; i < std::atoi(arguments[2]); ++i) {
      std::mt19937_64 random(static_cast<std::uint64_t>(i));
      std::string changed = content;
      for (int changes = 1 + i % 4; changes > 0; --changes) mutate(changed, random);
      all_taken = is_taken(changed, seed.string() + ", mutation " + std::to_string(i)) && all_taken;
    }
  }
  std::printf("%zu seeds, %s mutations of each\n", seeds.size(), arguments[2]);
  return all_taken ? 0 : 1;
}
