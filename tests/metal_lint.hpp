// What Metal's compiler refuses and clang with a stand-in header cannot see, found in the text of kernels that has been
// through the preprocessor with Metal's words left alone.
#pragma once

#include <string>
#include <vector>

namespace sluice::tests {

/// One line per offence, empty if there is none:
/// - a pointer or reference without device, constant, threadgroup or thread before its type,
/// - a parameter of a kernel without an attribute, a [[buffer(n)]] out of order, or more than 31 of them,
/// - a double, an atomic of 64 bits, a function that calls itself, also through others.
std::vector<std::string> lint_metal(const std::string& text);

}  // namespace sluice::tests
