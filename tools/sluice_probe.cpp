// sluice-probe <plug-in file> <device number> <component number>
//
// Makes the first call into a vendor's library, in place of a program that must survive it. Ends with 0 if the call
// worked and with 1 if it failed, or with 75 if it was not made; then the reason is the last line of its output.
#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "src/device/component_probe.hpp"
#include "src/device/plugin_file.hpp"
#include "src/device/plugin_table.hpp"

namespace {

using sluice::detail::PluginFailure;
using sluice::detail::PluginTable;

// Longer than anybody waits: the parent may have died meanwhile.
constexpr unsigned kSeconds = 60;

/// Leaves at once: what exit handlers of a driver do is not what is tried here.
[[noreturn]] void end(int code, const std::string& text = {}) {
  if (!text.empty()) {
    std::printf("\n%s\n", sluice::detail::printable(text).c_str());
    std::fflush(stdout);
  }
  std::_Exit(code);
}

[[noreturn]] void give_up(const std::string& text) { end(sluice::detail::kProbeUntried, text); }

std::uint32_t number(std::string_view text) {
  std::uint32_t result = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), result);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size())
    give_up("not a number: " + std::string(text));
  return result;
}

void require(const PluginFailure& failure, const char* what) {
  if (failure.status != SLUICE_OK) give_up(std::string(what) + ": " + failure.text);
}

[[noreturn]] void try_component(const PluginTable& table, std::uint32_t device_number, std::uint32_t k) {
  std::uint32_t count = 0;
  require(table.call(&sluice_backend::device_count, &count), "device_count");
  if (device_number >= count) give_up("the device is not there");
  sluice_device* device = nullptr;
  require(table.call(&sluice_backend::open, device_number, &device), "open");
  sluice_component component{};
  component.size = sizeof component;
  require(table.call(&sluice_backend::component, k, &component), "component");
  if (component.state != SLUICE_COMPONENT_FOUND) give_up("the library is not there");

  const PluginFailure failure = table.call(&sluice_backend::probe, device, k);
  // Another time there may be memory, or a device.
  const bool is_passing = failure.status == SLUICE_OUT_OF_MEMORY || failure.status == SLUICE_DEVICE_LOST;
  if (is_passing) give_up(failure.text);
  end(failure.status == SLUICE_OK ? 0 : 1,
      failure.status == SLUICE_OK || !failure.text.empty() ? failure.text : "no reason is given");
}

}  // namespace

int main(int count, char** words) {
  alarm(kSeconds);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (count != 4) give_up("usage: sluice-probe <plug-in file> <device number> <component number>");
  // A library that ends the process does not work.
  std::atexit([] { end(1, "the library ended the process"); });
  const sluice::detail::OpenedPlugin plugin = sluice::detail::open_plugin(words[1]);
  if (plugin.table == nullptr) give_up(std::string(words[1]) + ": " + plugin.problem);
  const PluginTable table(plugin.table);
  if (const std::string problem = table.problem(); !problem.empty()) give_up(problem);
  try_component(table, number(words[2]), number(words[3]));
}
