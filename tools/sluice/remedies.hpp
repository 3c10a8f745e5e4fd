// What to do about each thing that `sluice doctor` finds, as far as it can be named.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/sluice/diagnosis.hpp"

namespace sluice::command {

/// For a backend with that trouble; empty if there is none.
std::string remedy_for(const BackendFinding& backend, const std::optional<std::vector<Card>>& cards);
/// For a backend whose driver ends the process.
std::string remedy_for_crash(const std::string& backend);
/// For a device that was opened or not, and cannot be used.
std::string remedy_for_device(const std::string& backend);
/// For a file or folder that was not used.
std::string remedy_for_refusal(const RefusedFile& refused);
/// For a preference that cannot be followed; `source` is where it stands.
std::string remedy_for_preference(const std::string& source);

}  // namespace sluice::command
