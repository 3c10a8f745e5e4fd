// Vendors' math libraries that a backend can use. Their first call may abort or hang on a GPU they do not know, so a
// helper program makes it, once per driver, device and library file; the verdict is kept on disk.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/device/registry.hpp"

namespace sluice::detail {

/// One component as the backend describes it.
struct ComponentFacts {
  std::string name, file, version;
  std::string reason;  ///< why it is missing; empty if it was found
};

/// What the backend lists; makes no call into any of them.
std::vector<ComponentFacts> components(const BackendRecord& backend);

/// Why a component cannot be used, empty if it can. Asks the helper program unless a verdict is known. Never throws.
std::string component_problem(Registry& registry, BackendRecord& backend, std::string_view component);

}  // namespace sluice::detail
