// What this folder asks of a vendor. CUDA and HIP are drivers of one kind: contexts, streams, events, modules.
// Everything here is written once in terms of this header and compiled into each such backend, which defines
// SLUICE_STREAMS_<VENDOR> and supplies the types and constants that the header included below names, the functions of
// Api, and what is declared here. Everything throws Failure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/common/failure.hpp"
#include "sluice/backend.h"

#if defined(SLUICE_STREAMS_CUDA)
#include "backends/cuda/cuda_api.hpp"
#elif defined(SLUICE_STREAMS_HIP)
#include "backends/hip/hip_api.hpp"
#else
#error "the build says which vendor's driver this is compiled for"
#endif

namespace sluice::streams {

extern const char kBackendName[];

struct Driver {
  std::vector<DeviceNumber> devices;
  std::string left_out;  ///< why there are none, if there are none
};

/// The driver's functions. Opens the driver at the first call.
const Api& api();
/// The driver, started, and its devices.
const Driver& driver();

/// "CUDA_ERROR_LAUNCH_FAILED (719), unspecified launch failure".
std::string describe_code(int code);
/// What a result means for the host.
sluice_status status_of(int code) noexcept;

void describe(DeviceNumber device, sluice_device_info& info);
/// Which devices and drivers take a binary of this one.
std::string identity(DeviceNumber device);

/// Compiles text to what load_image() takes. SLUICE_BAD_SOURCE with the compiler's log where the text is at fault.
std::string compile_text(DeviceNumber device, const sluice_source& source);
/// A module of the current context.
Module load_image(DeviceNumber device, const std::string& image);
/// The bytes of each parameter of a kernel; nothing where the driver does not tell.
std::optional<std::vector<std::size_t>> parameters_of(KernelHandle kernel);

/// The context that the vendor's own libraries and the user's code have on a device.
Context context_of(DeviceNumber device);

/// Makes a device's context current in this thread for the scope, and then the one that was.
class Current {
 public:
  explicit Current(Context context);
  ~Current();
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  ThreadState before_;
};

}  // namespace sluice::streams
