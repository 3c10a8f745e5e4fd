// From an element type known at run time to a C++ type.
#pragma once

#include "sluice/dtype.hpp"

namespace sluice::detail {

/// Calls `f.template operator()<T>()` with the C++ type of `dtype`: visit_dtype(x, [&]<class T>() { ... }).
template <class F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
  switch (dtype.code()) {
    case DType::kBool: return f.template operator()<bool>();
    case DType::kU8: return f.template operator()<std::uint8_t>();
    case DType::kI8: return f.template operator()<std::int8_t>();
    case DType::kI16: return f.template operator()<std::int16_t>();
    case DType::kI32: return f.template operator()<std::int32_t>();
    case DType::kI64: return f.template operator()<std::int64_t>();
    case DType::kF16: return f.template operator()<Float16>();
    case DType::kBF16: return f.template operator()<BFloat16>();
    case DType::kF32: return f.template operator()<float>();
    case DType::kF64: break;
  }
  return f.template operator()<double>();
}

}  // namespace sluice::detail
