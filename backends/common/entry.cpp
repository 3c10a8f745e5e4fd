#include "backends/common/entry.hpp"

#include "backends/common/text.hpp"

namespace sluice::plugin {
namespace {

// Without a destructor, so that it can be used while the process ends.
thread_local char last_text[4096];

}  // namespace

void set_last_error(const char* text) noexcept { copy_text(last_text, text); }
const char* last_error() noexcept { return last_text; }

}  // namespace sluice::plugin
