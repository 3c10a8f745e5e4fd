// The trial of a vendor's library: a helper program, `sluice-probe`, makes the first call into it in a process of its
// own, so that one that aborts, hangs, or ends the process does no harm here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::detail {

/// How a trial ended.
struct ProbeVerdict {
  enum class End : std::uint8_t {
    untried,  // the helper did not come as far as the call, or was ended by somebody else
    works,
    aborted,    // by a signal
    timed_out,  // and was killed
    failed,     // the call gave an error, or the library ended the process
  };
  End end = End::untried;
  int number = 0;    ///< the signal, or for how many seconds it was waited for
  std::string text;  ///< the last line that the helper wrote, or why it did not run

  bool operator==(const ProbeVerdict&) const = default;
};

/// "aborted (signal 6): ..." and the like.
std::string to_string(const ProbeVerdict& verdict);

/// The exit code by which the helper says that it could not try.
inline constexpr int kProbeUntried = 75;

/// The helper's file, in libexec/ beside the folder of this library. Empty with the reason if there is none that may be
/// trusted.
std::string probe_program(std::string& problem);

/// How many seconds a helper has: 20, or fewer by $SLUICE_PROBE_SECONDS.
int probe_seconds();

/// Runs the helper and waits for its end, or kills it. Never throws. Its output is caught; the signal handlers, open
/// files and children of this process are left alone.
ProbeVerdict run_probe(const std::string& program, const std::vector<std::string>& arguments, int seconds);

/// `text` as one printable line.
std::string printable(std::string text);

}  // namespace sluice::detail
