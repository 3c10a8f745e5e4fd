// What the functions of the simulated driver have in common: who may call, the lock, faults, and whose handles they
// take.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <exception>
#include <functional>
#include <mutex>

#include "tests/simulated/streams/driver.hpp"
#include "tests/simulated/streams/settings.hpp"
#include "tests/simulated/virtual_backend.hpp"

#define SIMULATED_EXPORT extern "C" __attribute__((visibility("default")))

namespace simulated {

inline constexpr int kMostThreads = 1024;

/// The process that started the driver, and whether it is ending.
inline pid_t owner = 0;
inline bool has_shut_down = false;

/// What a vendor's driver does before any call: nothing, or it starts itself. The code of the call if that fails.
int prepare(Driver& driver);

/// What every call has in common: the lock, a process that may call, the plan of faults.
template <class Body>
int call(const char* function, const Body& body) noexcept {
  Driver& driver = Driver::get();
  const std::lock_guard guard(driver.mutex);
  const auto run = [&]() -> int {
    if (has_shut_down) return kDeinitialized;
    if (owner != 0 && owner != getpid()) return kNotInitialized;
    if (const int fault = planned_fault(function)) return fault;
    if (const int code = prepare(driver)) return code;
    return body(driver);
  };
  try {
    const int code = run();
    if (code != 0) last_failure() = code;
    return code;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "simulated %s: %s: %s\n", virtual_gpu::backend_name, function, error.what());
    return kUnknown;
  }
}

/// A call about devices, once the driver is started.
template <class Body>
int call_on_device(const char* function, int device, const Body& body) noexcept {
  return call(function, [&](Driver& driver) -> int {
    if (!driver.is_initialised) return kNotInitialized;
    if (device < 0 || static_cast<std::size_t>(device) >= driver.contexts.size()) return kInvalidDevice;
    return body(*driver.contexts[static_cast<std::size_t>(device)]);
  });
}

/// A call that works in the thread's current context.
template <class Body>
int call_in_context(const char* function, const Body& body) noexcept {
  return call(function, [&](Driver& driver) -> int {
    Context* const context = current();
    if (context == nullptr) return kInvalidContext;
    if (context->broken != 0) return context->broken;
    return body(driver, *context);
  });
}

/// A call on a stream of the current context.
template <class Body>
int call_on_stream(const char* function, Stream* stream, const Body& body) noexcept {
  return call_in_context(function, [&](Driver& driver, Context& context) -> int {
    return context.streams.contains(stream) ? body(driver, *stream) : kInvalidHandle;
  });
}

/// Whether the bytes are memory of the context.
inline bool has(Context& context, std::uint64_t address, std::size_t bytes) {
  std::uint64_t rest = 0;
  return context.at(address, &rest) != nullptr && bytes <= rest;
}

inline std::function<std::byte*()> place_in(Context& context, std::uint64_t address) {
  return [&context, address] {
    std::uint64_t rest = 0;
    return context.at(address, &rest);
  };
}

inline std::function<std::byte*()> place_at(void* memory) {
  return [memory] { return static_cast<std::byte*>(memory); };
}

}  // namespace simulated
