// Rows of the op table on integers, by definition, in integers of 128 bits.
#include <algorithm>

#include "sluice/error.hpp"
#include "tools/sluice/conformance_rows.hpp"

namespace sluice::conformance {
namespace {

__extension__ using Wide = __int128;
__extension__ using WideBits = unsigned __int128;

std::int64_t wrapped(Wide value, DType dtype) {
  const auto bits = static_cast<std::uint64_t>(static_cast<WideBits>(value));
  switch (dtype.code()) {
    case DType::kBool: return value != 0 ? 1 : 0;
    case DType::kU8: return static_cast<std::uint8_t>(bits);
    case DType::kI8: return static_cast<std::int8_t>(bits);
    case DType::kI16: return static_cast<std::int16_t>(bits);
    case DType::kI32: return static_cast<std::int32_t>(bits);
    default: return static_cast<std::int64_t>(bits);
  }
}

Wide floored_quotient(Wide x, Wide y) {
  const bool rounds_down = x % y != 0 && (x < 0) != (y < 0);
  return x / y - (rounds_down ? 1 : 0);
}

}  // namespace

std::int64_t integer_value(detail::Op op, std::int64_t a, std::int64_t b, std::int64_t c, DType dtype) {
  using detail::Op;
  const Wide x = a, y = b;
  switch (op) {
    case Op::add: return wrapped(x + y, dtype);
    case Op::sub: return wrapped(x - y, dtype);
    case Op::mul: return wrapped(x * y, dtype);
    case Op::floor_div: return y == 0 ? 0 : wrapped(floored_quotient(x, y), dtype);
    case Op::mod: return y == 0 ? 0 : wrapped(x - floored_quotient(x, y) * y, dtype);
    case Op::max: return std::max(a, b);
    case Op::min: return std::min(a, b);
    case Op::lt: return a < b ? 1 : 0;
    case Op::le: return a <= b ? 1 : 0;
    case Op::eq: return a == b ? 1 : 0;
    case Op::logical_and: return a != 0 && b != 0 ? 1 : 0;
    case Op::logical_or: return a != 0 || b != 0 ? 1 : 0;
    case Op::logical_not: return a == 0 ? 1 : 0;
    case Op::where: return a != 0 ? b : c;
    case Op::isnan: return 0;
    case Op::neg: return wrapped(-x, dtype);
    case Op::abs: return wrapped(x < 0 ? -x : x, dtype);
    case Op::sign: return (a > 0 ? 1 : 0) - (a < 0 ? 1 : 0);
    case Op::round:
    case Op::floor: return a;
    default: throw ArgumentError(std::string(op_reference(op).name) + ": no reference for integers; add its line");
  }
}

}  // namespace sluice::conformance
