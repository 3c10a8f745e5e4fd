// What the OpenCL backend declares by hand is what OpenCL's own header says.
#include <gtest/gtest.h>

#if __has_include(<CL/cl.h>)
#define CL_TARGET_OPENCL_VERSION 120  // NOLINT(readability-identifier-naming): the name the header asks for
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <string>
#include <type_traits>

#include "backends/opencl/cl_api.hpp"
#include "backends/opencl/cl_error.hpp"

namespace sluice::tests {
namespace {

#define SLUICE_CHECK(name, result, parameters) \
  static_assert(std::is_same_v<decltype(opencl::Api::name), decltype(&::name)>, #name);
SLUICE_CL_FUNCTIONS(SLUICE_CHECK)
#undef SLUICE_CHECK

#define SLUICE_CHECK(ours, type, theirs, value) \
  static_assert(static_cast<long long>(opencl::ours) == static_cast<long long>(theirs), #ours);
SLUICE_CL_CONSTANTS(SLUICE_CHECK)
#undef SLUICE_CHECK

#define SLUICE_CHECK(name, code) static_assert((name) == (code), #code);
SLUICE_CL_ERRORS(SLUICE_CHECK)
#undef SLUICE_CHECK

static_assert(opencl::kSuccess == CL_SUCCESS);
static_assert(opencl::kBuildProgramFailure == CL_BUILD_PROGRAM_FAILURE);
static_assert(opencl::kInvalidBuildOptions == CL_INVALID_BUILD_OPTIONS);
static_assert(opencl::kInvalidKernelName == CL_INVALID_KERNEL_NAME);
static_assert(opencl::kExecStatusErrorForEventsInWaitList == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);

// Extensions are in newer headers only.
#ifdef CL_PLATFORM_NOT_FOUND_KHR
static_assert(opencl::kPlatformNotFound == CL_PLATFORM_NOT_FOUND_KHR);
#endif
#ifdef CL_DEVICE_PCI_BUS_INFO_KHR
static_assert(opencl::kDevicePciBusInfo == CL_DEVICE_PCI_BUS_INFO_KHR);
static_assert(sizeof(cl_device_pci_bus_info_khr) == 4 * sizeof(cl_uint));
static_assert(offsetof(cl_device_pci_bus_info_khr, pci_function) == 3 * sizeof(cl_uint));
#endif
#ifdef CL_DEVICE_PCI_BUS_ID_NV
static_assert(opencl::kDevicePciBusNv == CL_DEVICE_PCI_BUS_ID_NV);
static_assert(opencl::kDevicePciSlotNv == CL_DEVICE_PCI_SLOT_ID_NV);
#endif
#ifdef CL_DEVICE_PCI_DOMAIN_ID_NV
static_assert(opencl::kDevicePciDomainNv == CL_DEVICE_PCI_DOMAIN_ID_NV);
#endif
#ifdef CL_DEVICE_TOPOLOGY_AMD
static_assert(opencl::kDeviceTopologyAmd == CL_DEVICE_TOPOLOGY_AMD);
#endif

TEST(OpenClPrototypes, MatchTheHeader) { SUCCEED() << "checked while compiling"; }

}  // namespace
}  // namespace sluice::tests
#else
TEST(OpenClPrototypes, MatchTheHeader) { GTEST_SKIP() << "there is no <CL/cl.h>"; }
#endif
