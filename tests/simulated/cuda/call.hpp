// What the functions of the simulated driver have in common: who may call, the lock, faults, and whose handles they
// take.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <exception>
#include <functional>
#include <mutex>

#include "tests/simulated/cuda/driver.hpp"
#include "tests/simulated/cuda/settings.hpp"

#define SIMULATED_EXPORT extern "C" __attribute__((visibility("default")))

namespace simulated_cuda {

using sluice::streams::DevicePointer;

inline constexpr int kInvalidValue = 1, kNotInitialized = 3, kInvalidDevice = 101, kInvalidContext = 201,
                     kInvalidHandle = 400;
inline constexpr int kMostThreads = 1024;

/// The process that started the driver, and whether it is ending.
inline pid_t owner = 0;
inline bool has_shut_down = false;

/// What every call has in common: the lock, a process that may call, the plan of faults.
template <class Body>
int call(const char* function, const Body& body) noexcept {
  Driver& driver = Driver::get();
  const std::lock_guard guard(driver.mutex);
  if (has_shut_down) return sluice::streams::kDeinitialized;
  if (owner != 0 && owner != getpid()) return kNotInitialized;
  if (const int fault = planned_fault(function)) return fault;
  try {
    return body(driver);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "simulated CUDA: %s: %s\n", function, error.what());
    return sluice::streams::kUnknown;
  }
}

/// A call about devices, after cuInit.
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
    CUctx_st* const context = current();
    if (context == nullptr) return kInvalidContext;
    if (context->broken != 0) return context->broken;
    return body(driver, *context);
  });
}

/// A call on a stream of the current context.
template <class Body>
int call_on_stream(const char* function, CUstream_st* stream, const Body& body) noexcept {
  return call_in_context(function, [&](Driver& driver, CUctx_st& context) -> int {
    return context.streams.contains(stream) ? body(driver, *stream) : kInvalidHandle;
  });
}

/// Whether the bytes are memory of the context.
inline bool has(CUctx_st& context, DevicePointer address, std::size_t bytes) {
  std::uint64_t rest = 0;
  return context.at(address, &rest) != nullptr && bytes <= rest;
}

inline std::function<std::byte*()> place_in(CUctx_st& context, DevicePointer address) {
  return [&context, address] {
    std::uint64_t rest = 0;
    return context.at(address, &rest);
  };
}

inline std::function<std::byte*()> place_at(void* memory) {
  return [memory] { return static_cast<std::byte*>(memory); };
}

}  // namespace simulated_cuda
