// Says where in a model an error happened.
#pragma once

#include <string>

#include "sluice/error.hpp"

namespace sluice::detail {

/// Throws the error being handled anew, of the same type, with `where` before its message and the old one nested in it.
/// Errors that are not the library's pass unchanged. Call inside a catch block.
[[noreturn]] void rethrow_in(const std::string& where);

}  // namespace sluice::detail
