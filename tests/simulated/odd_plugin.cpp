// Plug-ins with something wrong, one for each value of SLUICE_ODD. What a host must not call ends the process.
#include <cstddef>
#include <cstdlib>

#include "sluice/backend.h"
#include "tests/simulated/virtual_backend.hpp"

#define SLUICE_ODD_ABI 1         // made for another version of the interface
#define SLUICE_ODD_NO_ABI 2      // says no version
#define SLUICE_ODD_NULL_OPEN 3   // opens nothing
#define SLUICE_ODD_DEPENDENCY 4  // needs a library that is not there
#define SLUICE_ODD_SMALL 5       // old: its table ends after `read`; it works
#define SLUICE_ODD_NULL_NAME 6   // has no name

#if SLUICE_ODD == SLUICE_ODD_ABI
const uint32_t sluice_backend_abi = 999;
#elif SLUICE_ODD != SLUICE_ODD_NO_ABI
const uint32_t sluice_backend_abi = SLUICE_BACKEND_ABI;
#endif

#if SLUICE_ODD == SLUICE_ODD_DEPENDENCY
extern "C" void sluice_absent_function();
#endif

#if SLUICE_ODD == SLUICE_ODD_SMALL
namespace {

template <class Function>
struct Forbidden;
template <class... Parameters>
struct Forbidden<sluice_status (*)(Parameters...)> {
  static sluice_status call(Parameters...) { std::abort(); }
};

/// A field that lies beyond the end of the table.
template <class Function>
void forbid(Function& field) {
  field = Forbidden<Function>::call;
}

sluice_backend make_small_table() {
  sluice_backend small = virtual_gpu::table;
  small.size = offsetof(sluice_backend, write_async);
  forbid(small.write_async);
  forbid(small.read_async);
  forbid(small.wait);
  forbid(small.copy);
  forbid(small.peer_copy);
  forbid(small.compile);
  forbid(small.kernel_binary);
  forbid(small.load_binary);
  forbid(small.launch);
  forbid(small.gemm);
  forbid(small.component);
  forbid(small.probe);
  forbid(small.enable);
  forbid(small.native_handle);
  forbid(small.wrap);
  forbid(small.sync);
  forbid(small.free_bytes);
  return small;
}

}  // namespace
#endif

const sluice_backend* sluice_backend_open([[maybe_unused]] uint32_t host_abi) {
#if SLUICE_ODD == SLUICE_ODD_NULL_OPEN
  return nullptr;
#elif SLUICE_ODD == SLUICE_ODD_DEPENDENCY
  sluice_absent_function();
  return nullptr;
#elif SLUICE_ODD == SLUICE_ODD_SMALL
  static const sluice_backend small = make_small_table();
  return &small;
#elif SLUICE_ODD == SLUICE_ODD_NULL_NAME
  static const sluice_backend nameless = [] {
    sluice_backend copy = virtual_gpu::table;
    copy.name = nullptr;
    return copy;
  }();
  return &nameless;
#else
  std::abort();
#endif
}
