#include "src/core/warn.hpp"

#include <cstdlib>
#include <mutex>
#include <set>
#include <string>

#include "src/device/fork_safe.hpp"

namespace sluice::detail {
namespace {

struct Told {
  std::mutex mutex;
  std::set<std::string, std::less<>> keys;
};

Told& told() {
  // Leaked: static destructors may warn.
  static Told* const shared = [] {
    auto* const made = new Told;
    hold_during_fork(made->mutex);
    return made;
  }();
  return *shared;
}
// Made while the library is loaded, so that no fork meets it half made.
[[maybe_unused]] const Told& kMadeAtLoad = told();

bool is_first(std::string_view key) noexcept {
  try {
    Told& state = told();
    const std::lock_guard lock(state.mutex);
    return state.keys.emplace(key).second;
  } catch (...) {
    return true;  // said twice rather than never
  }
}

}  // namespace

void warn(std::string_view text) noexcept { log_message(LogLevel::warning, text); }

void warn_once(std::string_view key, std::string_view text) noexcept {
  if (is_first(key)) warn(text);
}

void debug_once(std::string_view key, std::string_view text) noexcept {
  const char* const wish = std::getenv("SLUICE_LOG");
  if (wish != nullptr && std::string_view(wish) == "debug" && is_first(key)) log_message(LogLevel::info, text);
}

}  // namespace sluice::detail
