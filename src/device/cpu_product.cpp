#include "src/device/cpu_product.hpp"

#include <algorithm>
#include <cassert>

#include "src/device/cpu_gemm.hpp"

namespace sluice::detail {
namespace {

GemmType gemm_type(DType dtype) {
  switch (dtype.code()) {
    case DType::kF64: return GemmType::f64;
    case DType::kF32: return GemmType::f32;
    case DType::kF16: return GemmType::f16;
    case DType::kBF16: return GemmType::bf16;
    case DType::kI64: return GemmType::i64;
    case DType::kI32: return GemmType::i32;
    case DType::kI16: return GemmType::i16;
    case DType::kI8: return GemmType::i8;
    case DType::kU8: return GemmType::u8;
    case DType::kBool: break;
  }
  assert(false && "bool is multiplied as i32");
  return GemmType::u8;
}

}  // namespace

void cpu_product(const ProductCall& call) {
  if (call.m == 0 || call.n == 0 || call.batch == 0) return;
  gemm({.type = gemm_type(call.c.dtype),
        .transpose_a = call.transpose_a,
        .transpose_b = call.transpose_b,
        .m = call.m,
        .n = call.n,
        .k = call.k,
        .a = call.a.host(),
        .lda = std::max<std::int64_t>(1, call.transpose_a ? call.k : call.m),
        .b = call.b.host(),
        .ldb = std::max<std::int64_t>(1, call.transpose_b ? call.n : call.k),
        .c = call.c.host(),
        .ldc = call.m,
        .batch = call.batch,
        .stride_a = call.batch_stride_a,
        .stride_b = call.batch_stride_b,
        .stride_c = call.m * call.n});
}

}  // namespace sluice::detail
