// What the HIP backend declares by hand is what ROCm's own headers say. Debian has those of HIP and hipRTC; rocBLAS's
// are looked at where they are installed.
#include <gtest/gtest.h>

#if __has_include(<hip/hip_runtime_api.h>) && __has_include(<hip/hiprtc.h>)
#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__
#endif
// Without the forms for callers who have a pointer of another type, which share their names.
#define __HIP_DISABLE_CPP_FUNCTIONS__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wattributes"
#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>
#pragma GCC diagnostic pop

#include <cstddef>
#include <string_view>

#include "backends/hip/hip_api.hpp"
#include "backends/streams/text_program.hpp"
#include "tests/same_prototype.hpp"
#if __has_include(<rocblas/rocblas.h>)
#include <rocblas/rocblas.h>
#define SLUICE_HAS_ROCBLAS_HEADER
#endif

namespace sluice::tests {

// Addresses of the device are numbers in the backend, which are passed like pointers; so is the pointer to one.
template <>
constexpr bool kIsSame<void*, streams::DevicePointer> = sizeof(void*) == sizeof(streams::DevicePointer);
template <>
constexpr bool kIsSame<const void*, streams::DevicePointer> = true;
template <>
constexpr bool kIsSame<void**, streams::DevicePointer*> = true;
// What the run-time only reads is const for the backend, whatever its header says.
template <>
constexpr bool kIsSame<void*, const void*> = true;

namespace {

static_assert(!kIsSame<unsigned*, int*> && !kIsSame<int (*)(int), int (*)(int, int)> && !kIsSame<int*, void*>);
static_assert(!kIsSame<void**, streams::DevicePointer> && kIsSame<hipError_t, int>);

#define SLUICE_CHECK(ours, theirs, parameters) \
  static_assert(kIsSame<decltype(&::theirs), decltype(streams::Api::ours.raw)>, #theirs);
SLUICE_HIP_FUNCTIONS(SLUICE_CHECK)
#undef SLUICE_CHECK

#define SLUICE_CHECK(ours, theirs) static_assert(kIsSame<decltype(&::theirs), decltype(streams::Api::ours)>, #theirs);
SLUICE_HIP_TEXTS(SLUICE_CHECK)
#undef SLUICE_CHECK

#define SLUICE_CHECK(ours, theirs, parameters) \
  static_assert(kIsSame<decltype(&::theirs), decltype(streams::HiprtcApi::ours.raw)>, #theirs);
SLUICE_HIPRTC_FUNCTIONS(SLUICE_CHECK)
#undef SLUICE_CHECK
static_assert(kIsSame<decltype(&::hiprtcGetErrorString), decltype(streams::HiprtcApi::error_text)>);

#define SLUICE_CHECK(ours, theirs, value) static_assert(streams::ours == static_cast<int>(theirs), #ours);
SLUICE_HIP_CONSTANTS(SLUICE_CHECK)
SLUICE_HIP_RESULTS(SLUICE_CHECK)
#undef SLUICE_CHECK

static_assert(streams::kCompilerOutOfMemory == HIPRTC_ERROR_OUT_OF_MEMORY);
static_assert(streams::kCompilerInvalidOption == HIPRTC_ERROR_INVALID_OPTION);
static_assert(streams::kCompilerCompilation == HIPRTC_ERROR_COMPILATION);

// The place of the architecture in the struct of this header's version.
constexpr std::size_t place_of(const char* function) {
#define SLUICE_PLACE(ours, theirs, place) \
  if (std::string_view(function) == #theirs) return place;
  SLUICE_HIP_PROPERTIES(SLUICE_PLACE)
#undef SLUICE_PLACE
  return 0;
}
#if HIP_VERSION_MAJOR >= 6
static_assert(offsetof(hipDeviceProp_tR0600, gcnArchName) == place_of("hipGetDevicePropertiesR0600"));
#else
static_assert(offsetof(hipDeviceProp_t, gcnArchName) == place_of("hipGetDeviceProperties"));
#endif
static_assert(sizeof(hipDeviceProp_t) <= streams::kPropertiesBytes);
static_assert(sizeof hipDeviceProp_t{}.gcnArchName == streams::kArchitectureBytes);

#ifdef SLUICE_HAS_ROCBLAS_HEADER
#define SLUICE_CHECK(name, parameters) \
  static_assert(kIsSame<decltype(&::name), decltype(streams::RocblasApi::name)>, #name);
SLUICE_ROCBLAS_FUNCTIONS(SLUICE_CHECK)
#undef SLUICE_CHECK
#define SLUICE_CHECK(ours, theirs, value) static_assert(streams::ours == static_cast<int>(theirs), #ours);
SLUICE_ROCBLAS_CONSTANTS(SLUICE_CHECK)
#undef SLUICE_CHECK
#endif

TEST(HipPrototypes, MatchTheHeaders) { SUCCEED() << "checked while compiling"; }

TEST(HipPrototypes, MatchTheHeaderOfRocblas) {
#ifdef SLUICE_HAS_ROCBLAS_HEADER
  SUCCEED() << "checked while compiling";
#else
  GTEST_SKIP() << "rocBLAS's header is not there";
#endif
}

}  // namespace
}  // namespace sluice::tests
#else
TEST(HipPrototypes, MatchTheHeaders) { GTEST_SKIP() << "HIP's headers are not there"; }
#endif
