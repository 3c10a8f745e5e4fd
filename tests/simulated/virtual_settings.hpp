// What the environment and the tests tell a virtual GPU; virtual_gpu_controls.h describes it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/simulated/virtual_gpu_controls.h"
#include "tests/simulated/virtual_group.hpp"

namespace virtual_gpu {

enum class Kind : std::uint8_t { discrete, integrated, cpu };

struct Settings {
  int count = 3;
  std::vector<int> visible;  // numbers of plugged-in devices
  std::uint64_t memory_bytes = std::uint64_t{1} << 30;
  bool has_poison = true;
  bool has_f64 = true;
  bool is_prompt = false;
  std::uint32_t dialect = 0;      // of backend.h
  Order order = Order::shuffled;  // of the items of a group
  std::uint64_t seed = 0;
  std::vector<Kind> kinds;  // of each plugged-in device
  std::string card;
};

/// A variable by the last part of its name; VIRTUAL_<BACKEND>_X comes before VIRTUAL_GPU_X.
std::optional<std::string> find_setting(std::string_view key);

/// Throws std::invalid_argument, which names the variable, if a number or kind is none.
Settings read_settings();

/// The devices that a list leaves visible, in its order. Any text is a list.
std::vector<int> parse_visible(std::string_view text, int count);

struct FaultPlan {
  // Which call of its kind fails, counted from 1; 0 is none.
  std::array<std::uint64_t, VIRTUAL_GPU_CALLS> fails{};
  std::uint64_t copy = 0;  // of any kind
  std::uint64_t wrong_launch = 0;
  std::uint64_t late = 0;
  std::uint64_t lost = 0;
  std::uint64_t throws = 0;
  std::uint64_t slow_open = 0;  // ms
  std::uint64_t abort_probe = 0, hang_probe = 0, no_driver = 0, old_driver = 0, no_device = 0, strict_exit = 0;
};

/// Throws std::invalid_argument, which names the entry, if the plan has an error.
FaultPlan parse_faults(std::string_view text);

}  // namespace virtual_gpu
