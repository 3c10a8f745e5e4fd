#include "metal_lint.hpp"

#include <gtest/gtest.h>

namespace sluice::tests {
namespace {

using Lines = std::vector<std::string>;

TEST(MetalLint, GoodTextPasses) {
  EXPECT_EQ(lint_metal("typedef struct { float a; } pair;\n"
                       "static inline float half_of(float x, int y) { return x * (float)y / 2; }\n"
                       "static inline float first(device const float* p, threadgroup pair* q) { return p[0] * q->a; }\n"
                       "[[max_total_threads_per_threadgroup(256)]] kernel void k(device const float* x [[buffer(0)]],\n"
                       "  device pair* y [[buffer(1)]], constant pair& v [[buffer(2)]],\n"
                       "  uint i [[thread_position_in_threadgroup]]) {\n"
                       "  float z = half_of(x[i], 1) * v.a; int both = i && 1; y[i].a = z & both; }\n"),
            Lines{});
}

TEST(MetalLint, PointersNeedAnAddressSpace) {
  EXPECT_EQ(lint_metal("float f(float* p) { return *p; }"), Lines{"float* p: no address space"});
  EXPECT_EQ(lint_metal("float f(const float * p) { return *p; }"), Lines{"float* p: no address space"});
  EXPECT_EQ(lint_metal("float f(device float* p) { float const* q = p; return *q; }"),
            Lines{"float* q: no address space"});
  EXPECT_EQ(lint_metal("typedef struct { int a; } pair; int f(pair& p) { return p.a; }"),
            Lines{"pair& p: no address space"});
  EXPECT_EQ(lint_metal("int f(device int* p, int* q) { return *p; }"), Lines{"int* q: no address space"});
}

TEST(MetalLint, ParametersOfKernelsNeedAttributesInOrder) {
  EXPECT_EQ(lint_metal("kernel void k(device float* x [[buffer(0)]], device float* y) {}").size(), 1U);
  EXPECT_EQ(lint_metal("kernel void k(device float* x [[buffer(1)]]) {}"),
            Lines{"k: a parameter has the attribute \"buffer(1)\", not buffer(0)"});
  EXPECT_EQ(lint_metal("kernel void k(device float* x [[buffer(0)]], device float* y [[buffer(0)]]) {}").size(), 1U);
  EXPECT_EQ(lint_metal("kernel void k(device float* x [[buffer(0)]], uint i [[thread_index]]) {}").size(), 1U);
  EXPECT_EQ(lint_metal("void helper(device float* x) {}"), Lines{});
}

TEST(MetalLint, AKernelHasAtMost31Buffers) {
  const auto with = [](int count) {
    std::string text = "kernel void k(";
    for (int i = 0; i < count; ++i) {
      const std::string number = std::to_string(i);
      text += (i == 0 ? "device float* x_" : ", device float* x_") + number + " [[buffer(" + number + ")]]";
    }
    return text + ") {}";
  };
  EXPECT_EQ(lint_metal(with(31)), Lines{});
  EXPECT_EQ(lint_metal(with(32)), Lines{"k: 32 buffers; there are 31"});
}

TEST(MetalLint, DoublesAndWideAtomicsDoNotExist) {
  EXPECT_EQ(lint_metal("float f(float x) { double y = x; return (float)y; }"), Lines{"double does not exist"});
  EXPECT_EQ(lint_metal("void f(device atomic_ulong* p) {}").size(), 1U);
  EXPECT_EQ(lint_metal("void f(device atomic<ulong>* p) {}").size(), 1U);
  EXPECT_EQ(lint_metal("void f(device atomic_uint* p) { atomic_fetch_add_explicit(p, 1u, memory_order_relaxed); }"),
            Lines{});
}

TEST(MetalLint, FunctionsDoNotCallThemselves) {
  EXPECT_EQ(lint_metal("int f(int x) { return x > 0 ? f(x - 1) : 0; }"), Lines{"f: calls itself"});
  EXPECT_EQ(lint_metal("int f(int x) { return g(x); } int g(int x) { return f(x); }").size(), 1U);
  EXPECT_EQ(lint_metal("int f(int x) { return x; } int g(int x) { return f(f(x)); }"), Lines{});
}

}  // namespace
}  // namespace sluice::tests
