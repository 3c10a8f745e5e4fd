#include "src/device/cpu_gemm.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "src/device/cpu_gemm_kernel.hpp"
#include "src/device/cpu_gemm_product.hpp"
#include "src/device/cpu_scratch.hpp"
#include "src/device/host_isa.hpp"
#include "src/device/thread_pool.hpp"

namespace sluice::detail {
namespace {

constexpr double kBatchedWork = 1 << 24;  // smaller products of a batch run side by side, larger ones one by one

std::atomic<const GemmTable*> chosen_table{nullptr};

// The kernels of `isa`; null if they were not compiled.
const GemmTable* table_for(HostIsa isa) {
#if defined(__x86_64__)
  if (isa == HostIsa::avx512) return &avx512::gemm_table();
  if (isa == HostIsa::avx2) return &avx2::gemm_table();
#endif
  return isa == HostIsa::baseline ? &baseline::gemm_table() : nullptr;
}

const GemmTable& table() {
  const GemmTable* known = chosen_table.load(std::memory_order_relaxed);
  if (known) return *known;
  const GemmTable* best = table_for(host_isa());
  chosen_table.store(best, std::memory_order_relaxed);
  return *best;
}

// The products of a batch: operand x of product b begins at x + b * stride_x.
template <class T>
struct Operands {
  const T* a;
  std::int64_t lda, stride_a;
  const T* b;
  std::int64_t ldb, stride_b;
  T* c;
  std::int64_t ldc, stride_c;
};

template <class T>
Product<T> product_of(const GemmCall& call, const Operands<T>& x, std::int64_t index) {
  return {call.m,
          call.n,
          call.k,
          x.a + index * x.stride_a,
          call.transpose_a ? x.lda : 1,
          call.transpose_a ? 1 : x.lda,
          x.b + index * x.stride_b,
          call.transpose_b ? x.ldb : 1,
          call.transpose_b ? 1 : x.ldb,
          x.c + index * x.stride_c,
          x.ldc};
}

// Calls one(index) for the whole batch.
template <class One>
void for_batch(const GemmCall& call, One one) {
  if (call.batch == 1) return one(std::int64_t{0});
  const double work = work_of(call.m, call.n, call.k);
  if (work >= kBatchedWork) {
    for (std::int64_t i = 0; i < call.batch; ++i) one(i);
    return;
  }
  parallel_for(call.batch, grain_for(work + 64), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) one(i);
  });
}

template <class T>
void compute(const GemmCall& call, const GemmKernels<T>& kernels) {
  const Operands<T> x{static_cast<const T*>(call.a), call.lda, call.stride_a,
                      static_cast<const T*>(call.b), call.ldb, call.stride_b,
                      static_cast<T*>(call.c),       call.ldc, call.stride_c};
  for_batch(call, [&](std::int64_t index) { multiply(kernels, product_of(call, x, index)); });
}

// ---- types that are computed in a wider one ----

template <class From, class To>
using Convert = void (*)(std::int64_t, const From*, To*);

// Converts a matrix, columns `from_step` and `to_step` apart.
template <class From, class To>
void convert_matrix(Convert<From, To> convert, std::int64_t rows, std::int64_t columns, const From* from,
                    std::int64_t from_step, To* to, std::int64_t to_step) {
  parallel_for(columns, grain_for(8.0 * static_cast<double>(rows)), [&](std::int64_t begin, std::int64_t end) {
    if (from_step == rows && to_step == rows) {
      return convert((end - begin) * rows, from + begin * rows, to + begin * rows);
    }
    for (std::int64_t j = begin; j < end; ++j) convert(rows, from + j * from_step, to + j * to_step);
  });
}

template <class Storage, class T>
void compute_widened(const GemmCall& call, const GemmKernels<T>& kernels, Convert<Storage, T> widen,
                     Convert<T, Storage> narrow) {
  const std::int64_t a_rows = call.transpose_a ? call.k : call.m;
  const std::int64_t b_rows = call.transpose_b ? call.n : call.k;
  const auto* a = static_cast<const Storage*>(call.a);
  const auto* b = static_cast<const Storage*>(call.b);
  auto* c = static_cast<Storage*>(call.c);
  for_batch(call, [&](std::int64_t index) {
    const Scratch<T> wide_a(call.m * call.k);
    const Scratch<T> wide_b(call.k * call.n);
    const Scratch<T> wide_c(call.m * call.n);
    const auto a_columns = call.transpose_a ? call.m : call.k;
    const auto b_columns = call.transpose_b ? call.k : call.n;
    convert_matrix(widen, a_rows, a_columns, a + index * call.stride_a, call.lda, wide_a.data(), a_rows);
    convert_matrix(widen, b_rows, b_columns, b + index * call.stride_b, call.ldb, wide_b.data(), b_rows);
    const Operands<T> x{wide_a.data(), a_rows, 0, wide_b.data(), b_rows, 0, wide_c.data(), call.m, 0};
    multiply(kernels, product_of(call, x, 0));
    convert_matrix(narrow, call.m, call.n, wide_c.data(), call.m, c + index * call.stride_c, call.ldc);
  });
}

std::size_t size_of(GemmType type) {
  switch (type) {
    case GemmType::f64:
    case GemmType::i64: return 8;
    case GemmType::f32:
    case GemmType::i32: return 4;
    case GemmType::f16:
    case GemmType::bf16:
    case GemmType::i16: return 2;
    default: return 1;
  }
}

// The empty sum; zero is all bits clear in every type.
void write_zeros(const GemmCall& call) {
  const std::size_t size = size_of(call.type);
  for (std::int64_t index = 0; index < call.batch; ++index) {
    for (std::int64_t j = 0; j < call.n; ++j) {
      const std::int64_t offset = index * call.stride_c + j * call.ldc;
      std::memset(static_cast<char*>(call.c) + static_cast<std::size_t>(offset) * size, 0,
                  static_cast<std::size_t>(call.m) * size);
    }
  }
}

}  // namespace

void gemm(const GemmCall& call) {
  if (call.batch <= 0 || call.m <= 0 || call.n <= 0) return;
  if (call.k <= 0) return write_zeros(call);
  const GemmTable& kernels = table();
  switch (call.type) {
    case GemmType::f64: return compute(call, kernels.f64);
    case GemmType::f32: return compute(call, kernels.f32);
    case GemmType::f16: return compute_widened(call, kernels.f32, kernels.f16_to_f32, kernels.f32_to_f16);
    case GemmType::bf16: return compute_widened(call, kernels.f32, kernels.bf16_to_f32, kernels.f32_to_bf16);
    case GemmType::i64: return compute(call, kernels.u64);
    case GemmType::i32: return compute(call, kernels.u32);
    case GemmType::i16: return compute_widened(call, kernels.u32, kernels.u16_to_u32, kernels.u32_to_u16);
    case GemmType::i8:
    case GemmType::u8: return compute_widened(call, kernels.u32, kernels.u8_to_u32, kernels.u32_to_u8);
  }
}

bool use_gemm_isa(HostIsa isa) {
  const GemmTable* wanted = isa <= host_isa() ? table_for(isa) : nullptr;
  if (wanted) chosen_table.store(wanted, std::memory_order_relaxed);
  return wanted != nullptr;
}

}  // namespace sluice::detail
