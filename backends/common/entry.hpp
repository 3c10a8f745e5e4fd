// The way into a backend: every function of its table runs its body in run_entry(), so nothing is thrown out of the
// backend and last_error() has the reason.
#pragma once

#include <exception>
#include <new>

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

}  // namespace sluice::plugin
