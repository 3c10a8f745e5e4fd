// Ways in which operands lie: broadcast, 0-dimensional, parts of a tensor, empty, one element, odd sizes; for all
// element types in one program, and conversions between all of them.
#include <algorithm>

#include "src/core/map.hpp"
#include "tools/sluice/conformance_kernels.hpp"
#include "tools/sluice/conformance_reference.hpp"

namespace sluice::conformance {
namespace {

/// max(x, y) for a pair of operands of every type: exact, and of the operands' own type.
const detail::Program* greater_of_pairs(std::size_t pairs) {
  detail::Trace trace(static_cast<int>(2 * pairs));
  const auto input = [](std::size_t k) {
    return Expr::node(detail::Trace::emit(detail::Node{detail::Op::input, {static_cast<std::uint16_t>(k)}}));
  };
  for (std::size_t i = 0; i < pairs; ++i) trace.output(max(input(2 * i), input(2 * i + 1)).id());
  return trace.program();
}

struct Pair {
  Shape x, y;
};

/// Kept few: every way of lying is a kernel. The second of a pair is broadcast, or the first, or both.
const std::vector<Pair>& pairs() {
  static const std::vector<Pair> list = {
      {{}, {}},         {{1}, {1}},       {{257}, {257}},   {{1031}, {}},        {{3, 4}, {3}},
      {{3, 5}, {1, 5}}, {{3, 1}, {1, 4}}, {{0, 3}, {1, 3}}, {{3, 1, 5}, {1, 4}}, {{2, 1, 3, 1}, {1, 4, 1, 5}}};
  return list;
}

void check_pair(Check& check, const Pair& pair) {
  const std::string where = to_string(pair.x) + " with " + to_string(pair.y);
  const std::vector<DType> types = check.types();
  std::vector<Array> arrays;
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < types.size(); ++i) {
    // Half the types the other way round, so that each side is broadcast in every program.
    for (const Shape& shape : {i % 2 == 0 ? pair.x : pair.y, i % 2 == 0 ? pair.y : pair.x}) {
      arrays.push_back(check.numbers(shape, types[i], types[i] == u8 ? 0 : -100, 100));
      inputs.push_back(check.move(tensor_of(arrays.back(), types[i])));
    }
  }
  check.attempt("broadcasting", f32, where, [&] {
    const std::vector<Tensor> got = detail::map_program(greater_of_pairs(types.size()), {}, inputs);
    for (std::size_t i = 0; i < types.size(); ++i) {
      const Array expected = broadcast(arrays[2 * i], arrays[2 * i + 1], [](Real x, Real y) { return std::max(x, y); });
      check.compare("broadcasting", types[i], where, got[i], {expected, types[i], 0, {}});
    }
  });
}

/// A part of a tensor starts where it lies.
void check_parts(Check& check) {
  for (const DType dtype : {i16, f32}) {
    const Array x = check.numbers({7, 5}, dtype, -100, 100);
    check.attempt("broadcasting", dtype, "parts of a tensor", [&] {
      const Tensor there = check.move(tensor_of(x, dtype));
      const Tensor got = slice(there, 1, 1, 4) - slice(there, 1, 4, 5);
      Array expected{{7, 3}, std::vector<Real>(21)};
      for (std::size_t i = 0; i < 21; ++i) expected.at[i] = x.at[7 + i] - x.at[28 + i % 7];
      check.compare("broadcasting", dtype, "parts of a tensor", got, {expected, dtype, kRounded.of(dtype), {}});
    });
  }
}

// ---- Conversions.

constexpr Real kWild[] = {0,
                          -0.0L,
                          0.5L,
                          -0.5L,
                          1.5L,
                          127.5L,
                          128,
                          -129,
                          255.9L,
                          256,
                          65504,
                          65519,
                          65520,
                          1e5L,
                          -1e5L,
                          2e9L,
                          2.5e9L,
                          -2.5e9L,
                          9e18L,
                          1e19L,
                          -1e19L,
                          1e30L,
                          1e-7L,
                          6e-8L,
                          1e-40L,
                          3e38L,
                          1e39L,
                          HUGE_VALL,
                          -HUGE_VALL,
                          NAN,
                          2147483647.5L,
                          -2147483648.5L,
                          4.1e-8L,
                          1.0009765625L,
                          1.00048828125L,
                          1.00390625L,
                          1.01171875L,
                          0.333333333333333333L,
                          16777217,
                          -32769};

/// Integers that become narrower wrap; all other conversions go to the nearest number.
Expected converted(const Array& x, DType from, DType to) {
  Expected expected{{x.shape, {}}, to, 0, {}};
  for (const Real value : x.at) {
    // Wide floats pass through f32 on their way to halves.
    const bool is_twice = from == f64 && (to == f16 || to == bf16);
    expected.values.at.push_back(rounded(is_twice ? rounded(value, f32) : value, to));
  }
  if (from.is_floating() || to.is_floating() || to == boolean) return expected;
  std::vector<std::int64_t> integers;
  for (const Real value : x.at) integers.push_back(static_cast<std::int64_t>(value));
  expected.values.at = array_of(tensor_of_integers(integers, to)).at;
  return expected;
}

/// Every one of `inputs` inputs as each of `outputs` outputs.
const detail::Program* identities(std::size_t inputs, std::size_t outputs) {
  detail::Trace trace(static_cast<int>(inputs));
  for (std::size_t k = 0; k < inputs; ++k) {
    for (std::size_t i = 0; i < outputs; ++i) {
      trace.output(detail::Trace::emit(detail::Node{detail::Op::input, {static_cast<std::uint16_t>(k)}}));
    }
  }
  return trace.program();
}

Array wild_numbers(const Check& check, DType dtype) {
  Array x{Shape{std::size(kWild)}, {std::begin(kWild), std::end(kWild)}};
  for (Real& value : x.at) {
    value = rounded(value, dtype);
    if (check.flushes() && std::fabs(value) < 0x1p-126L) value = 0;
  }
  return x;
}

/// Some types to others, in one program.
void check_casts(Check& check, const std::vector<DType>& from, const std::vector<DType>& to) {
  const std::string first = "from " + std::string(from[0].name());
  check.attempt("cast", from[0], first, [&] {
    std::vector<Tensor> inputs;
    std::vector<DType> types;
    for (const DType dtype : from) {
      inputs.push_back(check.move(tensor_of(wild_numbers(check, dtype), dtype)));
      types.insert(types.end(), to.begin(), to.end());
    }
    const std::vector<Tensor> got = detail::run_map(identities(from.size(), to.size()), {}, inputs, types.data());
    for (std::size_t k = 0; k < got.size(); ++k) {
      const DType source = from[k / to.size()];
      check.compare("cast", types[k], "from " + std::string(source.name()), got[k],
                    converted(wild_numbers(check, source), source, types[k]));
    }
  });
}

}  // namespace

void check_layouts(Check& check) {
  for (const Pair& pair : pairs()) {
    const bool is_more_of_the_same = pair.x.rank() == 3;
    if (!check.spares_kernels() || !is_more_of_the_same) check_pair(check, pair);
  }
  check_parts(check);
}

void check_casts(Check& check) {
  const std::vector<DType> types = check.types();
  for (std::size_t k = 0; k < types.size(); k += check.is_full() ? 1 : 2) {
    if (check.is_full()) {
      for (const DType to : types) check_casts(check, {types[k]}, {to});
    } else {
      std::vector<DType> from(types.begin() + static_cast<std::ptrdiff_t>(k), types.end());
      from.resize(std::min<std::size_t>(from.size(), 2));
      check_casts(check, from, types);
    }
  }
}

}  // namespace sluice::conformance
