// What becomes of drivers at a fork and at exit. A driver does not survive a fork, and has gone before the last
// destructors run; whoever holds a device asks here before he calls it.
#pragma once

namespace sluice::detail {

/// Counts the forks between the first process and this one.
int fork_generation() noexcept;

/// From the end of main on, once watch_exit was called.
bool is_exiting() noexcept;
/// Whether this is the thread that runs the exit handlers.
bool is_exiting_thread() noexcept;

/// Starts watching for forks and exit. Called after a driver was opened, so that the flag is set before the driver's
/// own exit handler runs. Any number of times, from any thread.
void watch_process();

/// Never returns: for a thread that meets a driver after the exit began. The process ends without it.
[[noreturn]] void wait_for_end() noexcept;

}  // namespace sluice::detail
