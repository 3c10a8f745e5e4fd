// Holds the prototypes that src/device/onednn.hpp declares by hand against oneDNN's own headers, where those are
// installed.
#include "src/device/onednn.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <type_traits>

#if __has_include(<oneapi/dnnl/dnnl.h>)
#include <oneapi/dnnl/dnnl.h>
#define SLUICE_TEST_HAS_DNNL 1
#endif

namespace {

namespace ours = sluice::detail::dnnl;

#ifdef SLUICE_TEST_HAS_DNNL

// A C function type with its status enum replaced by int, which is how enums are passed.
template <class Function>
struct WithIntStatus;
template <class... Arguments>
struct WithIntStatus<dnnl_status_t(Arguments...)> {
  using type = int(Arguments...);
};

static_assert(sizeof(dnnl_status_t) == sizeof(ours::status_t));
static_assert(std::is_same_v<dnnl_dim_t, ours::dim_t>);
static_assert(std::is_same_v<WithIntStatus<decltype(dnnl_sgemm)>::type, ours::sgemm_t>);
static_assert(std::is_same_v<decltype(dnnl_version), const dnnl_version_t*()>);

static_assert(sizeof(dnnl_version_t) == sizeof(ours::version_t));
static_assert(offsetof(dnnl_version_t, major) == offsetof(ours::version_t, major));
static_assert(offsetof(dnnl_version_t, minor) == offsetof(ours::version_t, minor));
static_assert(offsetof(dnnl_version_t, patch) == offsetof(ours::version_t, patch));
static_assert(offsetof(dnnl_version_t, hash) == offsetof(ours::version_t, hash));
static_assert(offsetof(dnnl_version_t, cpu_runtime) == offsetof(ours::version_t, cpu_runtime));
static_assert(offsetof(dnnl_version_t, gpu_runtime) == offsetof(ours::version_t, gpu_runtime));
static_assert(std::is_same_v<decltype(dnnl_version_t::cpu_runtime), decltype(ours::version_t::cpu_runtime)>);

TEST(OneDnnPrototypes, ConstantsAreThoseOfTheHeaders) {
  EXPECT_EQ(static_cast<int>(dnnl_success), ours::kSuccess);
  EXPECT_EQ(DNNL_RUNTIME_SEQ, ours::kRuntimeSeq);
  EXPECT_EQ(DNNL_RUNTIME_OMP, ours::kRuntimeOpenMp);
}

#else

TEST(OneDnnPrototypes, ConstantsAreThoseOfTheHeaders) { GTEST_SKIP() << "oneDNN's headers are not installed"; }

#endif

}  // namespace
