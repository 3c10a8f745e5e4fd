#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include "sluice/layers.hpp"
#include "tests/fake_device.hpp"

namespace sluice {
namespace {

template <class T>
std::string printed(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

// The layouts are those of the reference's documentation; its byte counts include headers, these do not.

TEST(Print, OneLayer) {
  EXPECT_EQ(printed(Dense(2, 3)), "Dense(2 => 3)       # 9 parameters");
  EXPECT_EQ(printed(Dense(10, 5)), "Dense(10 => 5)      # 55 parameters");
  EXPECT_EQ(printed(Dense(100, 1000, tanh)), "Dense(100 => 1000, tanh)  # 101_000 parameters");
  EXPECT_EQ(printed(Dense(2, 3, {.bias = false})), "Dense(2 => 3; bias=false)  # 6 parameters");
  EXPECT_EQ(printed(Dense(2, 3, [](auto x) { return x * x; })), "Dense(2 => 3, <function>)  # 9 parameters");
  EXPECT_EQ(printed(Scale(2)), "Scale(2)            # 4 parameters");
  EXPECT_EQ(printed(Scale({2, 3}, relu, {.bias = false})), "Scale(2, 3, relu; bias=false)  # 6 parameters");
  EXPECT_EQ(printed(Dropout(0.3)), "Dropout(0.3)");
  EXPECT_EQ(printed(Dropout(0.5, {.dims = {1}})), "Dropout(0.5; dims=1)");
  EXPECT_EQ(printed(Chain(relu)), "Chain(\n  relu,\n)");
  EXPECT_EQ(printed(Chain()), "Chain()");
}

TEST(Print, AChain) {
  const Chain model(Dense(10, 5, relu), Dense(5, 2), softmax);
  EXPECT_EQ(printed(model),
            "Chain(\n"
            "  Dense(10 => 5, relu),                 # 55 parameters\n"
            "  Dense(5 => 2),                        # 12 parameters\n"
            "  softmax,\n"
            ")                   # Total: 4 arrays, 67 parameters, 268 bytes.");
  EXPECT_EQ(printed(Chain(Dense(3, 3))), "Chain(\n  Dense(3 => 3),                        # 12 parameters\n)");
}

TEST(Print, NestedChains) {
  const Chain model(Dense(2, 2), Chain(Dense(2, 2, tanh), Dropout(0.5)), flatten);
  EXPECT_EQ(printed(model),
            "Chain(\n"
            "  Dense(2 => 2),                        # 6 parameters\n"
            "  Chain(\n"
            "    Dense(2 => 2, tanh),                # 6 parameters\n"
            "    Dropout(0.5),\n"
            "  ),\n"
            "  flatten,\n"
            ")                   # Total: 4 arrays, 12 parameters, 48 bytes.");
}

TEST(Print, ASequentialLooksLikeItsLayers) {
  const Sequential model({Dense(2, 2), relu});
  EXPECT_EQ(printed(model),
            "Sequential(\n"
            "  Dense(2 => 2),                        # 6 parameters\n"
            "  relu,\n"
            ")");
}

struct Normed {
  Dense dense{2, 3};
  std::vector<Dense> more{Dense(3, 1)};
  Tensor gain = ones({3});
  Buffer mean = zeros({3});
  SLUICE_FIELDS(dense, more, gain, mean)
};

TEST(Print, AStructWithNamedFields) {
  EXPECT_EQ(summary(Normed{}),
            "Normed(\n"
            "  dense = Dense(2 => 3),                # 9 parameters\n"
            "  more = [\n"
            "    Dense(3 => 1),                      # 4 parameters\n"
            "  ],\n"
            "  gain = 3-element Tensor f32,          # 3 parameters\n"
            "  mean = 3-element Tensor f32,\n"
            ")         # Total: 5 trainable arrays, 16 parameters,\n"
            "          # plus 1 non-trainable, 3 parameters, summarysize 64 bytes.");
}

TEST(Print, AStructOfTensorsIsOneLine) {
  struct Affine {
    Tensor weight, bias;
    Buffer mean;
    SLUICE_FIELDS(weight, bias, mean)
  };
  EXPECT_EQ(summary(Affine{ones({2, 2}), ones({2}), ones({5})}),
            "Affine(...)         # 6 parameters, plus 5 non-trainable");
}

TEST(Print, TiedTensorsCountOnce) {
  Chain model(Dense(2, 2, {.bias = false}), Dense(2, 2), Dense(2, 2));
  model.get<1>().weight = model.get<0>().weight;
  EXPECT_NE(printed(model).find("# Total: 4 arrays, 12 parameters, 48 bytes."), std::string::npos);
}

TEST(Print, SizesHaveUnits) {
  const Chain model(Dense(64, 64), Dense(64, 64));
  EXPECT_NE(printed(model).find("# Total: 4 arrays, 8_320 parameters, 32.500 KiB."), std::string::npos);
}

TEST(Print, WhatMustNotBeOverlooked) {
  EXPECT_EQ(printed(Dense(2, 2, {.init = zeros})), "Dense(2 => 2)       # 6 parameters  (all zero)");
  Dense dense(2, 2);
  dense.bias = tensor({0.0, std::numeric_limits<double>::infinity()});
  EXPECT_EQ(printed(dense), "Dense(2 => 2)       # 6 parameters  (some Inf)");
  dense.weight = dense.weight * std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(printed(dense), "Dense(2 => 2)       # 6 parameters  (some NaN)");
}

TEST(Print, ALayerWithoutParameters) { EXPECT_EQ(printed(Dense()), "Dense()"); }

}  // namespace
}  // namespace sluice
