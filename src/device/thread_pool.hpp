// The CPU's threads: one pool per process, shared by every caller. A loop is cut into chunks that the caller and the
// free workers take in turn; a caller that finds the pool busy does its chunks itself and asks again between them, so
// nothing ever waits for a worker that has not started. A loop inside a loop's body therefore runs on its own thread.
// Workers start on demand, are never joined, and do not survive fork: the child builds a fresh pool when it needs one.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace sluice::detail {

/// Refers to a callable (begin, end); never allocates. The callable must outlive the call that takes this.
class RangeBody {
 public:
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, RangeBody> && std::is_invocable_v<F&, std::int64_t, std::int64_t>)
  RangeBody(F&& body)  // NOLINT(google-explicit-constructor): a lambda is passed where a RangeBody is expected
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(body)))),
        call_([](void* object, std::int64_t begin, std::int64_t end) {
          (*static_cast<std::remove_reference_t<F>*>(object))(begin, end);
        }) {}

  void operator()(std::int64_t begin, std::int64_t end) const { call_(object_, begin, end); }

 private:
  void* object_;
  void (*call_)(void*, std::int64_t, std::int64_t);
};

inline constexpr int kMaxThreads = 1023;

/// Calls body on ranges that together cover [0, n) once, in any order, from several threads; returns when all are done.
/// Ranges have at least `grain` elements (the last may be shorter); n <= grain is one plain call. How [0, n) is cut
/// depends on the machine, so results must not depend on it. The first exception of a body is rethrown here.
void parallel_for(std::int64_t n, std::int64_t grain, RangeBody body);

/// The number of threads a loop may use, its caller included: set_num_threads, else SLUICE_NUM_THREADS, else the cores.
int num_threads() noexcept;

/// Sets the limit, at most kMaxThreads; n < 1 restores the default. Surplus workers end as soon as they are idle.
void set_num_threads(int n) noexcept;

/// The number of worker threads alive in this process; never more than num_threads() - 1 while the limit is unchanged.
int worker_count() noexcept;

}  // namespace sluice::detail
