// Whether a file is a whole shared library for this machine. The loader maps what the headers promise; where the file
// is shorter than that, the first access is a SIGBUS instead of an error.
#pragma once

#include <string>

namespace sluice::detail {

/// Why `path` must not be given to the loader, empty if it may.
std::string library_problem(const std::string& path);

}  // namespace sluice::detail
