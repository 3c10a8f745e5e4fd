// What `sluice doctor` knows: the library's report, with a judgement and a remedy for everything in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sluice/backends.hpp"
#include "tools/sluice/cards.hpp"

namespace sluice::command {

/// The first step on the way to a working backend that fails.
enum class Trouble : std::uint8_t {
  none,
  no_file,
  refused_file,
  crash,  // its driver ends the process, or never answers
  no_driver,
  bad_driver,
  no_device,
  bad_device,
};

struct ComponentFinding {
  ComponentReport facts;
  bool functional = false;
  std::string reason;  ///< why it is not used
};

struct DeviceFinding {
  DeviceReport facts;
  std::string remedy;
};

struct BackendFinding {
  BackendReport facts;
  bool found = false;
  Trouble trouble = Trouble::none;
  std::string remedy;
  std::vector<DeviceFinding> devices;
  std::vector<ComponentFinding> components;
};

struct RefusalFinding {
  RefusedFile facts;
  std::string remedy;
};

/// Something that makes the doctor's exit code 1.
struct Problem {
  std::string subject, reason, remedy;
};

struct Diagnosis {
  SelectionReport report;
  bool is_preference_followed = true;
  std::optional<std::vector<Card>> cards;
  std::vector<BackendFinding> backends;
  std::vector<RefusalFinding> refused;
  std::vector<Problem> problems;
};

/// Asks everything there is to ask. Takes as long as the drivers and the trials of vendors' libraries.
Diagnosis make_diagnosis();

}  // namespace sluice::command
