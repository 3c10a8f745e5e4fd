#include "src/core/warn.hpp"

#include <cstdio>

namespace sluice::detail {

void warn(std::string_view text) noexcept {
  std::fprintf(stderr, "sluice: %.*s\n", static_cast<int>(text.size()), text.data());
}

}  // namespace sluice::detail
