// Random numbers: bit for bit those of Philox 4x32-10 as it is published, on every device.
#include <array>

#include "src/core/tensor_rep.hpp"
#include "tools/sluice/conformance_kernels.hpp"

namespace sluice::conformance {
namespace {

/// Word `i` of a call, by the published rounds.
std::uint32_t random_word(RandomKey key, std::uint64_t i) {
  const std::uint64_t block = i / 4;
  std::array<std::uint32_t, 4> c = {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                                    static_cast<std::uint32_t>(key.call), static_cast<std::uint32_t>(key.call >> 32)};
  auto k0 = static_cast<std::uint32_t>(key.seed), k1 = static_cast<std::uint32_t>(key.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * c[0], b = std::uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<std::uint32_t>(b >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(b),
         static_cast<std::uint32_t>(a >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(a)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c[i % 4];
}

void check_count(Check& check, DType dtype, std::int64_t count) {
  const std::string where = std::to_string(count) + " numbers";
  check.attempt("rand", dtype, where, [&] {
    const RandomKey key{0x123456789ABCDEF0, 0xFEDCBA9876543210};
    const Tensor there = zeros({count}, dtype, check.device());
    detail::Operand operand{there.rep()->storage, there.rep()->offset, dtype, {}};
    operand.strides[0] = 1;
    check.device().impl()->uniform(operand, count, key);
    Array expected{{count}, {}};
    for (std::int64_t i = 0; i < count; ++i) {
      expected.at.push_back(std::ldexp(Real(random_word(key, static_cast<std::uint64_t>(i)) >> 8), -24));
    }
    check.compare("rand", dtype, where, there, {expected, dtype, 0, {}});
  });
}

/// Box and Muller on pairs of uniforms. Normals are made on the CPU and moved, so the bits are those of the CPU.
void check_normals(Check& check, DType dtype) {
  const RandomKey key{7, 1};
  check.attempt("randn", dtype, "1001 numbers", [&] {
    const Tensor here = randn({1001}, dtype, key);
    check.compare_bits("randn", dtype, "moved", check.move(here), here);
    Array expected{{1001}, {}};
    for (std::uint64_t i = 0; i < 1001; ++i) {
      const Real first = std::ldexp(Real(random_word(key, i / 2 * 2) >> 8), -24);
      const Real second = std::ldexp(Real(random_word(key, i / 2 * 2 + 1) >> 8), -24);
      const Real angle = 2 * std::acos(Real(-1)) * second;
      expected.at.push_back(std::sqrt(-2 * std::log(1 - first)) * (i % 2 == 0 ? std::cos(angle) : std::sin(angle)));
    }
    // Made in f32 for all types; the angle is rounded.
    const Bounds bounds{16, 16 * 0x1p29};
    check.compare("randn", dtype, "1001 numbers", check.move(here),
                  {expected, dtype, bounds.of(dtype), std::vector<Real>(1001, 1)});
  });
}

}  // namespace

void check_uniform(Check& check) {
  for (const DType dtype : {f32, f64}) {
    if (!check.has(dtype)) continue;
    for (const std::int64_t count : {1, 3, 4, 1025, 70001}) check_count(check, dtype, count);
  }
  for (const DType dtype : check.floating_types()) check_normals(check, dtype);
}

}  // namespace sluice::conformance
