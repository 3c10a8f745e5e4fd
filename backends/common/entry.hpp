// The way into a backend: every function of its table runs its body in run_entry(), so nothing is thrown out of the
// backend and last_error() has the reason.
#pragma once

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "backends/common/failure.hpp"
#include "sluice/backend.h"

namespace sluice::plugin {

/// Keeps `text`, cut to about 4000 bytes, as the last error of this thread.
void set_last_error(const char* text) noexcept;
/// What set_last_error kept in this thread; empty after a call that went well.
const char* last_error() noexcept;

/// Runs `body` and turns what it throws into a status.
template <class Body>
sluice_status run_entry(const Body& body) noexcept {
  set_last_error("");
  try {
    body();
    return SLUICE_OK;
  } catch (const Failure& failure) {
    set_last_error(failure.what());
    return failure.status();
  } catch (const std::bad_alloc&) {
    set_last_error("the host has no memory left");
    return SLUICE_OUT_OF_MEMORY;
  } catch (const std::exception& error) {
    set_last_error(error.what());
    return SLUICE_ERROR;
  } catch (...) {
    set_last_error("an unknown exception");
    return SLUICE_ERROR;
  }
}

/// Throws unless a struct of the host is at least as long as the part that is read.
template <class T>
void require_whole(const T* given, const char* name) {
  if (given->size < sizeof(T))
    throw Failure(SLUICE_ERROR, std::string(name) + " is too short; it was made for an older ABI");
}

/// Fills as much of the host's struct as it has room for; its size stays.
template <class T>
void give(T whole, T* to) {
  whole.size = to->size;
  std::memcpy(to, &whole, std::min<std::size_t>(to->size, sizeof whole));
}

}  // namespace sluice::plugin
