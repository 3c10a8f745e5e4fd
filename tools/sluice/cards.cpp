#include "tools/sluice/cards.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace sluice::command {
namespace {

namespace fs = std::filesystem;

std::string first_word(const fs::path& file) {
  std::string word;
  std::ifstream(file) >> word;
  return word;
}

std::string vendor_name(const std::string& number) {
  if (number == "0x10de") return "NVIDIA";
  if (number == "0x1002") return "AMD";
  if (number == "0x8086") return "Intel";
  return {};
}

}  // namespace

std::optional<std::vector<Card>> find_cards() {
  std::error_code error;
  fs::directory_iterator at("/sys/bus/pci/devices", error);
  if (error) return std::nullopt;
  std::vector<Card> cards;
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    // Displays, and what computes for them.
    const std::string kind = first_word(at->path() / "class");
    const std::string vendor = vendor_name(first_word(at->path() / "vendor"));
    if (vendor.empty() || !(kind.starts_with("0x03") || kind.starts_with("0x12"))) continue;
    cards.push_back({vendor, at->path().filename().string()});
  }
  std::sort(cards.begin(), cards.end(), [](const Card& a, const Card& b) { return a.address < b.address; });
  return cards;
}

std::string maker_of(std::string_view backend) {
  if (backend == "CUDA") return "NVIDIA";
  if (backend == "AMDGPU") return "AMD";
  return {};
}

}  // namespace sluice::command
