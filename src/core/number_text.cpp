#include "src/core/number_text.hpp"

#include <fmt/format.h>

#include <cmath>

#include "src/core/parse_number.hpp"

namespace sluice::detail {
namespace {

constexpr int kDigits = 6;

// "-d.ddde±xx" with `digits` significant digits, taken apart.
struct Decimal {
  Decimal(double value, int digits) {
    const std::string text = fmt::format("{:.{}e}", std::fabs(value), digits - 1);
    const std::size_t e = text.find('e');
    for (const char c : text.substr(0, e)) {
      if (c != '.') significand += c;
    }
    significand.erase(std::max<std::size_t>(significand.find_last_not_of('0') + 1, 1));
    exponent = std::stoi(text.substr(e + 1));
  }
  std::string significand;  // no trailing zeros
  int exponent;             // of the first digit
};

std::string text_of(double value, int digits) {
  if (std::isnan(value)) return "NaN";
  const std::string sign = std::signbit(value) ? "-" : "";
  if (std::isinf(value)) return sign + "Inf";
  Decimal decimal(value, digits);
  std::string& s = decimal.significand;
  const int exponent = decimal.exponent;
  if (value != 0 && (exponent < -4 || exponent >= kDigits)) {
    return fmt::format("{}{}.{}e{}", sign, s[0], s.size() > 1 ? s.substr(1) : "0", exponent);
  }
  if (exponent < 0) return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + s;
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (s.size() <= whole) return sign + s + std::string(whole - s.size(), '0') + ".0";
  return sign + s.substr(0, whole) + "." + s.substr(whole);
}

template <class T>
std::string shortest(T value) {
  const auto wide = static_cast<float>(value);
  for (int digits = 1; digits < kDigits; ++digits) {
    std::string text = text_of(wide, digits);
    float back = 0;
    parse_number(text.data(), text.data() + text.size(), back);
    if (T(back) == value || std::isnan(wide)) return text;
  }
  return text_of(wide, kDigits);
}

}  // namespace

std::string number_text(double value) { return text_of(value, kDigits); }

std::string number_text(float value) { return text_of(static_cast<double>(value), kDigits); }

std::string number_text(Float16 value) { return shortest(value); }

std::string number_text(BFloat16 value) { return shortest(value); }

}  // namespace sluice::detail
