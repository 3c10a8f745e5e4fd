// Every rule against a plain loop over doubles, in all floating element types.
#include "sluice/optimisers.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <sstream>

namespace sluice {
namespace {

using Vector = std::vector<double>;

const Vector kStart{0.5, -1.25, 3, 0.001, -0.75};
constexpr int kSteps = 6;

/// A gradient for a step, changing in size and sign.
Vector gradient_of(int step) {
  Vector g;
  for (int i = 0; i < static_cast<int>(kStart.size()); ++i) g.push_back(std::sin(1.7 * step + 0.9 * i) * (1 + i));
  return g;
}

Tensor make(const Vector& values, DType dtype) { return cast(from(values), dtype); }
Vector values_of(const Tensor& x) { return cast(x, f64).to_vector<double>(); }
Vector rounded(const Vector& values, DType dtype) { return values_of(make(values, dtype)); }

/// What is subtracted from parameter `x` with gradient `g` at step `t`, written over a whole vector.
using Reference = std::function<Vector(const Vector& x, const Vector& g, int t)>;

double tolerance(DType dtype) {
  if (dtype == f64) return 1e-13;
  if (dtype == f32) return 3e-6;
  return dtype == f16 ? 2e-3 : 1.6e-2;
}

/// `make_reference` gives a new one, with its states at their start.
void expect_follows(const Rule& rule, const std::function<Reference()>& make_reference) {
  for (const DType dtype : {f64, f32, f16, bf16}) {
    SCOPED_TRACE(std::string(dtype.name()));
    const Reference reference = make_reference();
    Vector expected = rounded(kStart, dtype);
    Tensor x = make(kStart, dtype);
    OptimiserState state = setup(rule, x);
    for (int t = 1; t <= kSteps; ++t) {
      const Tensor g = make(gradient_of(t), dtype);
      update(state, x, g);
      const Vector dx = reference(expected, values_of(g), t);
      for (std::size_t i = 0; i < dx.size(); ++i) expected[i] -= dx[i];
      expected = rounded(expected, dtype);
      ASSERT_EQ(x.dtype(), dtype);
      const Vector got = values_of(x);
      for (std::size_t i = 0; i < got.size(); ++i) {
        EXPECT_NEAR(got[i], expected[i], tolerance(dtype) * std::max(1.0, std::abs(expected[i]))) << "step " << t;
      }
    }
  }
}

/// For rules that work on one element at a time: f(x, g, states of this element, t).
template <std::size_t N, class F>
std::function<Reference()> elementwise(F f) {
  return [f] {
    auto states = std::make_shared<std::vector<std::array<double, N>>>(kStart.size());
    return [f, states](const Vector& x, const Vector& g, int t) {
      Vector dx;
      for (std::size_t i = 0; i < x.size(); ++i) dx.push_back(f(x[i], g[i], (*states)[i], t));
      return dx;
    };
  };
}

double reference_adam(double g, std::array<double, 2>& s, int t, double beta1, double beta2, double epsilon) {
  s[0] = beta1 * s[0] + (1 - beta1) * g;
  s[1] = beta2 * s[1] + (1 - beta2) * g * g;
  double power1 = 1, power2 = 1;
  for (int i = 0; i < t; ++i) power1 *= beta1, power2 *= beta2;
  return s[0] / (1 - power1) / (std::sqrt(s[1] / (1 - power2)) + epsilon);
}

TEST(Rules, Descent) {
  expect_follows(Descent{.eta = 0.05}, elementwise<0>([](double, double g, auto&, int) { return 0.05 * g; }));
}

TEST(Rules, Momentum) {
  expect_follows(Momentum{.eta = 0.03, .rho = 0.8}, elementwise<1>([](double, double g, auto& s, int) {
                   s[0] = 0.8 * s[0] + 0.03 * g;
                   return s[0];
                 }));
}

TEST(Rules, Nesterov) {
  expect_follows(Nesterov{.eta = 0.03, .rho = 0.8}, elementwise<1>([](double, double g, auto& s, int) {
                   const double dx = -0.64 * s[0] + 1.8 * 0.03 * g;
                   s[0] = 0.8 * s[0] - 0.03 * g;
                   return dx;
                 }));
}

TEST(Rules, RMSProp) {
  expect_follows(RMSProp{.eta = 0.1, .rho = 0.7}, elementwise<1>([](double, double g, auto& s, int) {
                   s[0] = 0.7 * s[0] + 0.3 * g * g;
                   return 0.1 * g / (std::sqrt(s[0]) + 1e-8);
                 }));
  expect_follows(RMSProp{.eta = 0.1, .rho = 0.7, .centred = true}, elementwise<2>([](double, double g, auto& s, int) {
                   s[0] = 0.7 * s[0] + 0.3 * g * g;
                   s[1] = 0.7 * s[1] + 0.3 * g;
                   return 0.1 * g / (std::sqrt(s[0] - s[1] * s[1]) + 1e-8);
                 }));
}

TEST(Rules, RMSPropKeepsOneTensorUnlessCentred) {
  const Tensor x = ones({3});
  EXPECT_EQ(setup(RMSProp{}, x).leaves()[0].tensors.size(), 1u);
  EXPECT_EQ(setup(RMSProp{.centred = true}, x).leaves()[0].tensors.size(), 2u);
}

TEST(Rules, CentredRMSPropSurvivesAConstantGradient) {
  Tensor x = ones({64});
  const Tensor g = full({64}, 0.3);
  OptimiserState state = setup(RMSProp{.centred = true}, x);
  for (int t = 0; t < 300; ++t) update(state, x, g);
  for (const float value : x.to_vector<float>()) ASSERT_TRUE(std::isfinite(value));
}

TEST(Rules, Adam) {
  expect_follows(Adam{.eta = 0.1, .beta1 = 0.8, .beta2 = 0.95}, elementwise<2>([](double, double g, auto& s, int t) {
                   return 0.1 * reference_adam(g, s, t, 0.8, 0.95, 1e-8);
                 }));
}

TEST(Rules, AdamW) {
  expect_follows(AdamW{.eta = 0.1, .lambda = 0.3}, elementwise<2>([](double x, double g, auto& s, int t) {
                   return 0.1 * (reference_adam(g, s, t, 0.9, 0.999, 1e-8) + 0.3 * x);
                 }));
  expect_follows(AdamW{.eta = 0.1, .lambda = 0.05, .couple = false},
                 elementwise<2>([](double x, double g, auto& s, int t) {
                   return 0.1 * reference_adam(g, s, t, 0.9, 0.999, 1e-8) + 0.05 * x;
                 }));
}

TEST(Rules, ChainOfWeightDecayClipGradMomentum) {
  expect_follows(OptimiserChain(WeightDecay{0.25}, ClipGrad{1.5}, Momentum{.eta = 0.1, .rho = 0.5}),
                 elementwise<1>([](double x, double g, auto& s, int) {
                   const double clipped = std::min(1.5, std::max(-1.5, g + 0.25 * x));
                   s[0] = 0.5 * s[0] + 0.1 * clipped;
                   return s[0];
                 }));
}

TEST(Rules, ChainOfTwoRulesWithStates) {
  expect_follows(OptimiserChain(Momentum{.eta = 1, .rho = 0.5}, Adam{.eta = 0.1}),
                 elementwise<3>([](double, double g, auto& s, int t) {
                   s[0] = 0.5 * s[0] + g;
                   std::array<double, 2> adam{s[1], s[2]};
                   const double dx = 0.1 * reference_adam(s[0], adam, t, 0.9, 0.999, 1e-8);
                   s[1] = adam[0], s[2] = adam[1];
                   return dx;
                 }));
}

Vector scaled(const Vector& g, double factor) {
  Vector result;
  for (const double value : g) result.push_back(factor * value);
  return result;
}

double reference_norm(const Vector& g, double p) {
  double total = 0;
  for (const double value : g) total += std::pow(std::abs(value), p);
  return std::pow(total, 1 / p);
}

TEST(Rules, ClipNorm) {
  for (const double p : {1.0, 2.0, 3.0, 10.0}) {
    SCOPED_TRACE(p);
    expect_follows(OptimiserChain(ClipNorm{.omega = 2, .p = p}, Descent{0.1}), [p] {
      return
          [p](const Vector&, const Vector& g, int) { return scaled(g, 0.1 * std::min(1.0, 2 / reference_norm(g, p))); };
    });
  }
  expect_follows(OptimiserChain(ClipNorm{.omega = 2, .p = std::numeric_limits<double>::infinity()}, Descent{0.1}), [] {
    return [](const Vector&, const Vector& g, int) {
      double largest = 0;
      for (const double value : g) largest = std::max(largest, std::abs(value));
      return scaled(g, 0.1 * std::min(1.0, 2 / largest));
    };
  });
}

TEST(Rules, ClipNormAfterOtherStagesAndTwice) {
  expect_follows(OptimiserChain(WeightDecay{0.5}, ClipNorm{3}, Momentum{.eta = 1, .rho = 0.9}, ClipNorm{0.5}), [] {
    auto velocity = std::make_shared<Vector>(kStart.size());
    return [velocity](const Vector& x, const Vector& g, int) {
      Vector decayed = g;
      for (std::size_t i = 0; i < g.size(); ++i) decayed[i] += 0.5 * x[i];
      decayed = scaled(decayed, std::min(1.0, 3 / reference_norm(decayed, 2)));
      for (std::size_t i = 0; i < g.size(); ++i) (*velocity)[i] = 0.9 * (*velocity)[i] + decayed[i];
      return scaled(*velocity, std::min(1.0, 0.5 / reference_norm(*velocity, 2)));
    };
  });
}

TEST(Rules, ClipNormLeavesAShortGradientBitEqual) {
  Tensor x = zeros({3});
  OptimiserState state = setup(OptimiserChain(ClipNorm{10}, Descent{1}), x);
  update(state, x, tensor({0.1f, 0.7f, 3.3f}));
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{-0.1f, -0.7f, -3.3f}));
}

TEST(Rules, ClipNormOfHugeAndTinyGradients) {
  Tensor x = zeros({2});
  OptimiserState state = setup(OptimiserChain(ClipNorm{1}, Descent{1}), x);
  update(state, x, tensor({3e25f, -4e25f}));  // squares overflow f32
  EXPECT_NEAR(x.to_vector<float>()[0], -0.6f, 1e-6f);
  EXPECT_NEAR(x.to_vector<float>()[1], 0.8f, 1e-6f);
  x = zeros({2});
  update(state, x, tensor({3e-30f, 0.f}));
  EXPECT_EQ(x.to_vector<float>()[0], -3e-30f);
}

TEST(Rules, ClipNormThrowsOnWhatIsNotFinite) {
  struct Net {
    Tensor a = ones({2}), b = ones({2});
    SLUICE_FIELDS(a, b)
  } net, grads;
  const Net before = net;
  OptimiserState state = setup(OptimiserChain(ClipNorm{1}, Momentum{}), net);
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    grads.b = tensor({1.f, bad});
    try {
      update(state, net, grads);
      FAIL() << "no error";
    } catch (const ArgumentError& error) {
      EXPECT_NE(std::string(error.what()).find("\"b\""), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("ClipNorm"), std::string::npos);
    }
    EXPECT_TRUE(net.a.same_handle(before.a));
    EXPECT_TRUE(net.b.same_handle(before.b));
    EXPECT_EQ(state.at("a").step_count(), 0);
  }
  OptimiserState quiet = setup(OptimiserChain(ClipNorm{.omega = 1, .throws = false}, Descent{}), net);
  update(quiet, net, grads);
  EXPECT_TRUE(std::isnan(net.b.to_vector<float>()[1]));
}

TEST(Rules, AZeroGradientMovesNothing) {
  const Rule rules[] = {Descent{},
                        Momentum{},
                        Nesterov{},
                        RMSProp{},
                        RMSProp{.centred = true},
                        Adam{},
                        AdamW{},
                        Adam{.epsilon = 0},
                        RMSProp{.epsilon = 1e-300},
                        OptimiserChain(ClipGrad{}, ClipNorm{}, Adam{.epsilon = 1e-60}),
                        OptimiserChain(ClipNorm{.p = std::numeric_limits<double>::infinity()}, Descent{})};
  for (const Rule& rule : rules) {
    for (const DType dtype : {f64, f32, f16, bf16}) {
      std::ostringstream name;
      name << rule << ' ' << dtype;
      SCOPED_TRACE(name.str());
      Tensor x = make(kStart, dtype);
      OptimiserState state = setup(rule, x);
      for (int t = 0; t < 3; ++t) update(state, x, zeros_like(x));
      EXPECT_TRUE(equal(x, make(kStart, dtype)));
    }
  }
}

TEST(Rules, SmallGradientsOfHalvesAreNotLost) {
  // The square of 1e-4 is 0 in f16; with f32 states Adam's first step is eta whatever the size of the gradient.
  for (const DType dtype : {f16, bf16}) {
    Tensor x = zeros({4}, dtype);
    OptimiserState state = setup(Adam{.eta = 0.5}, x);
    EXPECT_EQ(state.leaves()[0].tensors[0].dtype(), f32);
    update(state, x, full({4}, 1e-4, dtype));
    for (const double value : values_of(x)) EXPECT_NEAR(value, -0.5, 4e-3);
  }
}

TEST(Rules, EpsilonNeverUnderflows) {
  EXPECT_EQ((StepInfo{.dtype = f16}.epsilon(1e-8)), 1e-7);
  EXPECT_EQ((StepInfo{.dtype = f16}.epsilon(1e-3)), 1e-3);
  EXPECT_EQ((StepInfo{.dtype = f32}.epsilon(1e-8)), 1e-8);
  EXPECT_GT(static_cast<float>(StepInfo{.dtype = bf16}.epsilon(0)), 0.f);
  EXPECT_GT((StepInfo{.dtype = f64}.epsilon(0)), 0.0);
}

TEST(Rules, DefaultsAreThoseOfTheReference) {
  const auto text = [](const Rule& rule) {
    std::ostringstream out;
    out << rule;
    return out.str();
  };
  EXPECT_EQ(text(Descent{}), "Descent(eta = 0.1)");
  EXPECT_EQ(text(Momentum{}), "Momentum(eta = 0.01, rho = 0.9)");
  EXPECT_EQ(text(Nesterov{}), "Nesterov(eta = 0.001, rho = 0.9)");
  EXPECT_EQ(text(RMSProp{}), "RMSProp(eta = 0.001, rho = 0.9, epsilon = 1e-08)");
  EXPECT_EQ(text(Adam{}), "Adam(eta = 0.001, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-08)");
  EXPECT_EQ(text(AdamW{}), "AdamW(eta = 0.001, beta1 = 0.9, beta2 = 0.999, lambda = 0, epsilon = 1e-08)");
  EXPECT_EQ(text(OptimiserChain(WeightDecay{}, ClipGrad{}, ClipNorm{})),
            "OptimiserChain(WeightDecay(lambda = 0.0005), ClipGrad(delta = 10), ClipNorm(omega = 10, p = 2))");
  EXPECT_FALSE(RMSProp{}.centred);
  EXPECT_TRUE(AdamW{}.couple);
  EXPECT_TRUE(ClipNorm{}.throws);
}

TEST(Rules, NumbersWithoutSenseThrow) {
  const Tensor x = ones({2});
  try {
    setup(Adam{.eta = -1}, x);
    FAIL() << "no error";
  } catch (const ArgumentError& error) {
    EXPECT_NE(std::string(error.what()).find("the learning rate cannot be negative"), std::string::npos);
  }
  EXPECT_THROW(setup(OptimiserChain(ClipGrad{}, Descent{std::nan("")}), x), ArgumentError);
  EXPECT_THROW(setup(Adam{.beta1 = 1}, x), ArgumentError);
  EXPECT_THROW(setup(AdamW{.beta2 = -0.1}, x), ArgumentError);
  EXPECT_THROW(setup(ClipNorm{.omega = 0}, x), ArgumentError);
  EXPECT_THROW(setup(ClipNorm{.p = -1}, x), ArgumentError);
  EXPECT_NO_THROW(setup(Descent{.eta = 0}, x));
}

/// A user's rule: AdaGrad, whose sum of squares starts at epsilon.
struct AdaGrad {
  double eta = 0.1;
  double epsilon = 1e-8;
  static constexpr int states = 1;
  double initial(int) const { return epsilon; }
  Expr step(Expr, Expr g, std::array<Expr, 1>& s, const StepInfo& t) const {
    s[0] = s[0] + g * g;
    return eta * g / (sqrt(s[0]) + t.epsilon(epsilon));
  }
  SLUICE_FIELDS(eta, epsilon)
};

TEST(Rules, AUsersOwn) {
  expect_follows(AdaGrad{.eta = 0.3, .epsilon = 0.5}, [] {
    auto total = std::make_shared<Vector>(kStart.size(), 0.5);
    return [total](const Vector&, const Vector& g, int) {
      Vector dx;
      for (std::size_t i = 0; i < g.size(); ++i) {
        (*total)[i] += g[i] * g[i];
        dx.push_back(0.3 * g[i] / (std::sqrt((*total)[i]) + 0.5));
      }
      return dx;
    };
  });
}

}  // namespace
}  // namespace sluice
