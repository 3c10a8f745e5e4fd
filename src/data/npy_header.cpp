// The dictionary at the head of a .npy file, a Python literal of known form.
#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <set>

#include "src/data/npy.hpp"

namespace sluice::detail {
namespace {

constexpr std::size_t kMostSizes = 64;  // as in NumPy; Shape has fewer

struct TypeCode {
  std::string_view code;
  DType dtype;
};
constexpr TypeCode kTypes[] = {{"f8", f64}, {"f4", f32}, {"f2", f16}, {"i8", i64},    {"i4", i32},
                               {"i2", i16}, {"i1", i8},  {"u1", u8},  {"b1", boolean}};

class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& name) : rest_(text), size_(text.size()), name_(name) {}

  NpyHeader parse() {
    expect('{');
    std::set<std::string> keys;
    while (!take('}')) {
      const std::string key = string();
      if (!keys.insert(key).second) fail("has \"" + key + "\" twice");
      expect(':');
      value(key);
      if (!take(',') && peek() != '}') fail("lacks a comma");
    }
    skip_blanks();
    if (!rest_.empty()) fail("goes on after its end");
    if (keys.size() != 3) fail("lacks one of 'descr', 'fortran_order' and 'shape'");
    return std::move(header_);
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw FileError(fmt::format("{}: byte {}: the header {}", name_, size_ - rest_.size(), message));
  }
  void skip_blanks() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n' || rest_[0] == '\t')) rest_.remove_prefix(1);
  }
  char peek() {
    skip_blanks();
    return rest_.empty() ? '\0' : rest_[0];
  }
  bool take(char c) {
    if (peek() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(fmt::format("has no '{}' where one is expected", c));
  }
  std::string string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail("has no string where one is expected");
    const std::size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos) fail("has a string that does not end");
    std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return text.substr(0, 40);
  }

  void value(const std::string& key) {
    if (key == "descr") descr();
    else if (key == "fortran_order") header_.is_fortran = boolean_word();
    else if (key == "shape") shape();
    else fail("has '" + key + "'; expected 'descr', 'fortran_order' and 'shape'");
  }
  bool boolean_word() {
    skip_blanks();
    for (const std::string_view word : {"True", "False"}) {
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(word.size());
      return word == "True";
    }
    fail("has neither True nor False for 'fortran_order'");
  }
  /// A list of fields and their types.
  void skip_list() {
    std::size_t depth = 0;
    do {
      const char c = peek();
      if (c == '\'' || c == '"') {
        string();
        continue;
      }
      if (c == '\0') fail("has a list that does not end");
      if (c == '[') ++depth;
      if (c == ']') --depth;
      rest_.remove_prefix(1);
    } while (depth > 0);
  }
  void descr() {
    if (peek() == '[') {
      header_.type = "struct";
      header_.refusal = "an array of structs, which cannot be read; save its fields one by one";
      return skip_list();
    }
    const std::string code = string();
    header_.type = code;
    const char order = code.empty() ? '\0' : code[0];
    for (const TypeCode& type : kTypes) {
      if (std::string_view(code).substr(std::min<std::size_t>(1, code.size())) != type.code) continue;
      if (order != '<' && order != '>' && order != '|' && order != '=') break;
      header_.dtype = type.dtype;
      header_.is_swapped = order == '>' && type.dtype.size() > 1;
      return;
    }
    header_.refusal =
        code.find('O') != std::string::npos
            ? "an array of Python objects, which run code when they are opened; save numbers"
            : fmt::format(
                  "of element type \"{}\", which cannot be read; x.astype(...) in NumPy gives one of f8 f4 f2 i8 i4 "
                  "i2 i1 u1 b1",
                  code);
  }
  void shape() {
    expect('(');
    while (!take(')')) {
      header_.shape.push_back(size());
      if (header_.shape.size() > kMostSizes) fail(fmt::format("has more than {} sizes", kMostSizes));
      if (!take(',') && peek() != ')') fail("lacks a comma between sizes");
    }
    if (header_.shape.size() <= static_cast<std::size_t>(Shape::kMaxRank)) return;
    header_.refusal = fmt::format("an array of {} dimensions; at most {} are read, so reshape it before it is saved",
                                  header_.shape.size(), Shape::kMaxRank);
  }
  std::int64_t size() {
    skip_blanks();
    std::int64_t value = -1;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || value < 0) fail("has a size that is no integer from 0 on");
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    take('L');  // of Python 2
    return value;
  }

  std::string_view rest_;
  std::size_t size_;
  const std::string& name_;
  NpyHeader header_;
};

}  // namespace

NpyHeader parse_npy_header(const std::string& text, const std::string& name) {
  return HeaderParser(text, name).parse();
}

std::string npy_preamble(const Tensor& x, const std::string& name) {
  constexpr std::size_t kAlignment = 64, kBefore = 10;
  std::string_view code;
  for (const TypeCode& type : kTypes) {
    if (type.dtype == x.dtype()) code = type.code;
  }
  if (code.empty()) {
    throw TypeError(fmt::format("\"{}\" is {}, which NumPy has not; write cast(x, f32), or a .safetensors file", name,
                                x.dtype().name()));
  }
  std::string sizes;
  for (const std::int64_t size : x.shape()) sizes += std::to_string(size) + ", ";
  std::string text = fmt::format("{{'descr': '{}{}', 'fortran_order': True, 'shape': ({}), }}",
                                 x.dtype().size() == 1 ? '|' : '<', code, sizes);
  text.resize((kBefore + text.size() + 1 + kAlignment - 1) / kAlignment * kAlignment - kBefore - 1, ' ');
  text += '\n';
  std::string preamble = "\x93NUMPY";
  preamble += '\1';
  preamble += '\0';
  preamble += static_cast<char>(text.size() & 0xFF);
  preamble += static_cast<char>(text.size() >> 8);
  return preamble + text;
}

}  // namespace sluice::detail
