// oneDNN's matrix product, opened when the program runs and never linked: the prototypes are declared here by hand (a
// test holds them against the real headers) and are the same in oneDNN 2 and 3. Every call runs on the calling thread
// alone, because oneDNN's own pool would multiply with our callers and hang after fork; a build whose threads cannot be
// held back is refused. Opening costs tens of milliseconds, so only a large product asks for it.
#pragma once

#include <cstdint>

namespace sluice::detail {

/// oneDNN's C interface as far as it is used, under the names of its headers.
namespace dnnl {

using status_t = int;  // dnnl_status_t
using dim_t = std::int64_t;

inline constexpr status_t kSuccess = 0;        // dnnl_success
inline constexpr unsigned kRuntimeSeq = 1;     // DNNL_RUNTIME_SEQ
inline constexpr unsigned kRuntimeOpenMp = 2;  // DNNL_RUNTIME_OMP

struct version_t {  // dnnl_version_t NOLINT(readability-identifier-naming): its name
  int major;
  int minor;
  int patch;
  const char* hash;
  unsigned cpu_runtime;
  unsigned gpu_runtime;
};

// Row-major C = alpha op(A) op(B) + beta C; 'N' or 'T'.
using sgemm_t = status_t(char transa, char transb, dim_t m, dim_t n, dim_t k, float alpha, const float* a, dim_t lda,
                         const float* b, dim_t ldb, float beta, float* c, dim_t ldc);
using version_fn_t = const version_t*();
}  // namespace dnnl

/// One column-major product, as in GemmCall, of f32.
struct SgemmCall {
  bool transpose_a, transpose_b;
  std::int64_t m, n, k;
  const float* a;
  std::int64_t lda;
  const float* b;
  std::int64_t ldb;
  float* c;
  std::int64_t ldc;
};

/// True if oneDNN can be called; the first question opens it. Never when SLUICE_ONEDNN=0. Any thread may ask.
bool onednn_usable();

/// Computes on the calling thread alone; false if oneDNN refused, C is then unspecified. Only after onednn_usable().
bool onednn_sgemm(const SgemmCall& call);

/// What is known about oneDNN so far: its version and file, or why it is not used. Opens nothing; never null.
const char* onednn_status();

/// For tests: makes oneDNN unusable until set to false again.
void hide_onednn(bool hidden);

}  // namespace sluice::detail
