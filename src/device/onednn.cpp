#include "src/device/onednn.hpp"

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "src/device/dynamic_library.hpp"
#include "src/device/fork_safe.hpp"

namespace sluice::detail {
namespace {

// Leaked: a product may be computed while static objects are being destroyed.
struct OneDnn {
  dnnl::sgemm_t* sgemm = nullptr;
  void (*set_threads)(int) = nullptr;  // null when oneDNN has no threads
  int (*max_threads)() = nullptr;
  std::string status;
  bool usable = false;
};

std::atomic<bool> hidden{false};
std::atomic<const OneDnn*> opened{nullptr};

constinit std::mutex opening;

// Holds the caller's OpenMP setting at one thread; the setting is per thread and the user's is put back.
class OneThread {
 public:
  explicit OneThread(const OneDnn& library) : library_(library) {
    if (!library_.set_threads) return;
    before_ = library_.max_threads();
    if (before_ != 1) library_.set_threads(1);
  }
  ~OneThread() {
    if (library_.set_threads && before_ != 1) library_.set_threads(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  const OneDnn& library_;
  int before_ = 1;
};

// oneDNN is row-major, where our C is its transpose: C' = op(B)' op(A)'.
bool call(const OneDnn& library, const SgemmCall& x) {
  const OneThread one(library);
  return library.sgemm(x.transpose_b ? 'T' : 'N', x.transpose_a ? 'T' : 'N', x.n, x.m, x.k, 1.0f, x.b, x.ldb, x.a,
                       x.lda, 0.0f, x.c, x.ldc) == dnnl::kSuccess;
}

// A small product whose result is known. It also makes oneDNN generate its code now, while fork is held off.
bool computes_correctly(const OneDnn& library) {
  constexpr int kSize = 48;
  std::vector<float> a(kSize * kSize), b(kSize * kSize), c(kSize * kSize);
  for (int i = 0; i < kSize * kSize; ++i) {
    a[static_cast<std::size_t>(i)] = static_cast<float>(i % 5 - 2);
    b[static_cast<std::size_t>(i)] = static_cast<float>(i % 7 - 3);
  }
  if (!call(library, {false, true, kSize, kSize, kSize, a.data(), kSize, b.data(), kSize, c.data(), kSize}))
    return false;
  for (int j = 0; j < kSize; ++j) {
    for (int i = 0; i < kSize; ++i) {
      int sum = 0;
      for (int p = 0; p < kSize; ++p) sum += ((i + p * kSize) % 5 - 2) * ((j + p * kSize) % 7 - 3);
      if (c[static_cast<std::size_t>(i) + static_cast<std::size_t>(j) * kSize] != static_cast<float>(sum)) return false;
    }
  }
  return true;
}

// Fills in everything but `usable`; the returned text is the reason against using it, or empty.
std::string load(OneDnn& library) {
  const char* wish = std::getenv("SLUICE_ONEDNN");
  if (wish && std::strcmp(wish, "0") == 0) return "not used: SLUICE_ONEDNN=0";
#if defined(__APPLE__)
  const auto file = DynamicLibrary::open({"libdnnl.3.dylib", "libdnnl.2.dylib"});
#else
  const auto file = DynamicLibrary::open({"libdnnl.so.3", "libdnnl.so.2"});
#endif
  if (!file) return "not found: " + file.error();
  const auto version_of = file.symbol<dnnl::version_fn_t>("dnnl_version");
  library.sgemm = file.symbol<dnnl::sgemm_t>("dnnl_sgemm");
  if (!version_of || !library.sgemm) return file.name() + " lacks dnnl_version or dnnl_sgemm";
  const dnnl::version_t& version = *version_of();
  if (version.major != 2 && version.major != 3) return file.name() + " is neither version 2 nor 3";
  library.status = "oneDNN " + std::to_string(version.major) + '.' + std::to_string(version.minor) + '.' +
                   std::to_string(version.patch) + " (" + file.name() + ")";
  if (version.cpu_runtime == dnnl::kRuntimeOpenMp) {
    library.set_threads = file.symbol_as_seen_from_inside<void(int)>("omp_set_num_threads");
    library.max_threads = file.symbol_as_seen_from_inside<int()>("omp_get_max_threads");
    if (!library.set_threads || !library.max_threads) return library.status + " not used: its OpenMP was not found";
  } else if (version.cpu_runtime != dnnl::kRuntimeSeq) {
    return library.status + " not used: its threads cannot be limited";
  }
  return computes_correctly(library) ? "" : library.status + " not used: it computed a wrong product";
}

const OneDnn& library() {
  const OneDnn* known = opened.load(std::memory_order_acquire);
  if (known) return *known;
  // A child forked in the middle of the loader's or the code generator's work could never finish it.
  static std::atomic<bool> fork_waits{false};
  if (!fork_waits.exchange(true)) hold_during_fork(opening);
  const std::lock_guard lock(opening);
  known = opened.load(std::memory_order_acquire);
  if (known) return *known;
  auto* fresh = new OneDnn;
  const std::string reason = load(*fresh);
  fresh->usable = reason.empty();
  if (!fresh->usable) fresh->status = reason;
  opened.store(fresh, std::memory_order_release);
  return *fresh;
}

}  // namespace

bool onednn_usable() { return !hidden.load(std::memory_order_relaxed) && library().usable; }

bool onednn_sgemm(const SgemmCall& x) { return call(library(), x); }

const char* onednn_status() {
  if (hidden.load(std::memory_order_relaxed)) return "not used: hidden by a test";
  const OneDnn* known = opened.load(std::memory_order_acquire);
  return known ? known->status.c_str() : "not opened: no large product has asked for it";
}

void hide_onednn(bool hide) { hidden.store(hide, std::memory_order_relaxed); }

}  // namespace sluice::detail
