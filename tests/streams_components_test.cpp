// The BLAS of a backend with streams, tried by the helper program of this build on a simulated driver. What the trial
// does to its own process does not reach this one. Each program gives one answer, so each has a child of its own.
#include <gtest/gtest.h>

#if defined(SLUICE_TEST_SIMULATED) && defined(SLUICE_CUDA_PLUGIN)
#include <cstdlib>

#include "processes.hpp"
#include "sluice/sluice.hpp"
#include "temporary_folder.hpp"
#include "tests/stream_vendor.hpp"

namespace sluice {
namespace {

using tests::kCuda;
using tests::kHip;
using tests::StreamVendor;

class StreamsComponents : public ::testing::TestWithParam<StreamVendor> {
 protected:
  StreamsComponents() {
    const std::string folder = SLUICE_TEST_SIMULATED + std::string(is_cuda ? "/cuda" : "/hip");
    setenv("SLUICE_BACKEND_PATH", SLUICE_TEST_PLUGINS "/../..", 1);
    setenv("SLUICE_BACKENDS", "cuda,amdgpu", 1);
    setenv("XDG_CACHE_HOME", (folder_ / "cache").c_str(), 1);
    // For the helper program, which the loader starts anew.
    setenv("LD_LIBRARY_PATH", folder.c_str(), 1);
    setenv(vendor.count_variable, "1", 1);
  }

  /// What a program hears of the library under these faults: whether `part` is in its reason, which is empty where
  /// that is. It must compute right in any case.
  bool hears(const std::string& part, const std::string& faults) {
    return testing::exit_code_of_child([&] {
             setenv(vendor.faults_variable, faults.c_str(), 1);
             tests::use_simulated_driver(vendor.backend);
             const std::string reason = why(vendor.backend, vendor.blas);
             const bool is_right = part.empty() ? reason.empty() : reason.find(part) != std::string::npos;
             if (!is_right) std::fprintf(stderr, "not \"%s\" but \"%s\"\n", part.c_str(), reason.c_str());
             const Device device = get_device(vendor.backend);
             const Tensor product = matmul(ones({3, 4}) | device, ones({4, 2}) | device);
             return is_right && cpu(product).to_vector<float>() == std::vector<float>(6, 4.0F);
           }) == 0;
  }

  const StreamVendor& vendor = GetParam();
  const bool is_cuda = vendor.backend == std::string("CUDA");
  const std::string create = is_cuda ? "cublasCreate_v2" : "rocblas_create_handle";

 private:
  tests::TemporaryFolder folder_;
};
SLUICE_INSTANTIATE_FOR_STREAM_VENDORS(StreamsComponents);

TEST_P(StreamsComponents, OneThatWorksIsUsed) { EXPECT_TRUE(hears("", "")); }

TEST_P(StreamsComponents, OneThatEndsTheProcessIsLeftAlone) {
  EXPECT_TRUE(hears("aborted (signal 6)", create + "=abort")) << "as rocBLAS does on a GPU it has no kernels for";
}

TEST_P(StreamsComponents, OneThatFailsIsLeftAloneWithItsReason) {
  EXPECT_TRUE(hears(std::string(vendor.blas) + " status 6", create + "=6"));
}

}  // namespace
}  // namespace sluice
#else
TEST(StreamsComponents, OfSimulatedDrivers) { GTEST_SKIP() << "built without the simulated drivers"; }
#endif
