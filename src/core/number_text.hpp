// Numbers as text, the way Julia shows them in an array: six significant digits, always a point in a floating number,
// an exponent below 1e-4 and from 1e6 on.
#pragma once

#include <cstdint>
#include <string>

#include "sluice/dtype.hpp"

namespace sluice::detail {

std::string number_text(double value);
std::string number_text(float value);
/// The fewest digits that name the value among those of its type.
std::string number_text(Float16 value);
std::string number_text(BFloat16 value);

template <class T>
  requires std::is_integral_v<T>
std::string number_text(T value) {
  return std::to_string(static_cast<std::int64_t>(value));
}

}  // namespace sluice::detail
