// Verdicts about vendors' libraries, kept between processes: one small file each in $XDG_CACHE_HOME/sluice/probe, else
// ~/.cache/sluice/probe. Nothing here is needed for the library to work: what cannot be read, is damaged, belongs to
// somebody else or cannot be written counts as not there.
#pragma once

#include <optional>
#include <string>

#include "src/device/component_probe.hpp"

namespace sluice::detail {

/// Where the verdict of a key is kept: its hash names the file. Empty if nothing is kept, because there is no home or
/// the program is setuid.
std::string verdict_file(const std::string& key);

/// The verdict in a file, if that is ours and of this very key.
std::optional<ProbeVerdict> load_verdict(const std::string& file, const std::string& key);

/// Writes it, whole or not at all; whether it is there now.
bool keep_verdict(const std::string& file, const std::string& key, const ProbeVerdict& verdict);

}  // namespace sluice::detail
