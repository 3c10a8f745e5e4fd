// Mutexes that are held while the process forks, so that what they guard is whole in the child and the child can lock
// them. Such a mutex is a leaf: whoever holds it takes no other registered one.
#pragma once

#include <mutex>

namespace sluice::detail {

/// Registers the handlers, if nobody has. Handlers before a fork run in reverse order: a lock under which registered
/// mutexes are taken registers its own after calling this.
void watch_forks();

/// Registers `mutex`, which must live for ever. At most 32 in all.
void hold_during_fork(std::mutex& mutex);

}  // namespace sluice::detail
