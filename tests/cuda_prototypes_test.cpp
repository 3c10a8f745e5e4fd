// What the CUDA backend declares by hand is what CUDA's own headers say.
#include <gtest/gtest.h>

#if __has_include(<cuda.h>) && __has_include(<nvrtc.h>) && __has_include(<cublas_v2.h>)
#include <cublas_v2.h>
#include <cuda.h>
#include <nvrtc.h>

#include "backends/cuda/cuda_api.hpp"
#include "backends/streams/text_program.hpp"
#include "tests/same_prototype.hpp"

namespace sluice::tests {
namespace {

static_assert(sizeof(CUresult) == sizeof(int) && sizeof(CUjit_option) == sizeof(int));
static_assert(kIsSame<CUjit_option*, int*> && !kIsSame<unsigned*, int*> && !kIsSame<int (*)(int), int (*)(int, int)>);

#define SLUICE_CHECK(ours, theirs, parameters) \
  static_assert(kIsSame<decltype(&::theirs), decltype(streams::Api::ours.raw)>, #theirs);
SLUICE_CUDA_FUNCTIONS(SLUICE_CHECK)
#if CUDA_VERSION >= 12040
SLUICE_CUDA_OPTIONAL_FUNCTIONS(SLUICE_CHECK)
#endif
#undef SLUICE_CHECK

#define SLUICE_CHECK(ours, theirs, parameters) \
  static_assert(kIsSame<decltype(&::theirs), decltype(streams::NvrtcApi::ours.raw)>, #theirs);
SLUICE_NVRTC_FUNCTIONS(SLUICE_CHECK)
#undef SLUICE_CHECK
static_assert(kIsSame<decltype(&::nvrtcGetErrorString), decltype(streams::NvrtcApi::error_text)>);

#define SLUICE_CHECK(ours, theirs, value) static_assert(streams::ours == static_cast<int>(theirs), #ours);
SLUICE_CUDA_CONSTANTS(SLUICE_CHECK)
SLUICE_CUDA_RESULTS(SLUICE_CHECK)
#undef SLUICE_CHECK

// The header has an older form of the product beside the one that the library exports.
using Product = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*,
                                   const void*, cudaDataType, int, long long, const void*, cudaDataType, int, long long,
                                   const void*, void*, cudaDataType, int, long long, int, cublasComputeType_t,
                                   cublasGemmAlgo_t);
template <class F>
concept IsProduct = requires { static_cast<F>(&::cublasGemmStridedBatchedEx); };
static_assert(IsProduct<Product> && kIsSame<Product, decltype(streams::CublasApi::cublasGemmStridedBatchedEx)>);
static_assert(kIsSame<decltype(&::cublasCreate_v2), decltype(streams::CublasApi::cublasCreate_v2)>);
static_assert(kIsSame<decltype(&::cublasDestroy_v2), decltype(streams::CublasApi::cublasDestroy_v2)>);
static_assert(kIsSame<decltype(&::cublasSetStream_v2), decltype(streams::CublasApi::cublasSetStream_v2)>);

#define SLUICE_CHECK(ours, theirs, value) static_assert(streams::ours == static_cast<int>(theirs), #ours);
SLUICE_CUBLAS_CONSTANTS(SLUICE_CHECK)
#undef SLUICE_CHECK

static_assert(streams::kCompilerOutOfMemory == NVRTC_ERROR_OUT_OF_MEMORY);
static_assert(streams::kCompilerInvalidOption == NVRTC_ERROR_INVALID_OPTION);
static_assert(streams::kCompilerCompilation == NVRTC_ERROR_COMPILATION);

TEST(CudaPrototypes, MatchTheHeaders) { SUCCEED() << "checked while compiling"; }

}  // namespace
}  // namespace sluice::tests
#else
TEST(CudaPrototypes, MatchTheHeaders) { GTEST_SKIP() << "CUDA's headers are not there"; }
#endif
