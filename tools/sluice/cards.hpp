// The graphics cards that the machine shows, whether or not there is a driver for them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::command {

struct Card {
  std::string vendor;   ///< "NVIDIA", "AMD" or "Intel"
  std::string address;  ///< on the PCI bus: "0000:41:00.0"
};

/// Those on the PCI bus, by address; nothing where there is no list of what is on it.
std::optional<std::vector<Card>> find_cards();

/// "NVIDIA" for "CUDA", "AMD" for "AMDGPU"; empty for a backend that is not for one maker's cards.
std::string maker_of(std::string_view backend);

}  // namespace sluice::command
