#include "sluice/fields.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "sluice/ops.hpp"

namespace sluice {
namespace {

using detail::LeafVisitor;
using detail::Names;
using Paths = std::vector<std::string>;

/// Lists what it is shown: "t:path" for a tensor, and so on.
class Lister final : public LeafVisitor {
 public:
  using LeafVisitor::LeafVisitor;
  void tensor(Tensor&) override { seen.push_back("t:" + path()); }
  void buffer(Buffer&) override { seen.push_back("b:" + path()); }
  void counter(Counter&) override { seen.push_back("c:" + path()); }
  void mode(Mode&) override { seen.push_back("m:" + path()); }
  void target(Target&) override { seen.push_back("d:" + path()); }
  Paths seen;
};

template <class M>
Paths list(M& model) {
  Lister lister;
  detail::visit(model, lister);
  return lister.seen;
}

struct Inner {
  Tensor weight, bias;
  SLUICE_FIELDS(weight, bias)
};

class Private {
  Tensor hidden_;
  Tensor unlisted_;  // so not visited

 public:
  Inner inner;
  Buffer running;
  Counter counter;
  Mode mode = Mode::automatic;
  Target target;
  SLUICE_FIELDS(hidden_, inner, running, counter, mode, this->target)
};

TEST(Fields, NamesGiveDottedPathsInOrder) {
  Private model;
  EXPECT_EQ(list(model),
            (Paths{"t:hidden_", "t:inner.weight", "t:inner.bias", "b:running", "c:counter", "m:mode", "d:target"}));
}

TEST(Fields, ContainersAreFollowed) {
  struct Model {
    std::vector<Inner> layers;
    std::array<Tensor, 2> pair;
    std::tuple<Tensor, int, Buffer> three;
    std::pair<std::string, Tensor> named;
    std::optional<Tensor> present, absent;
    std::map<std::string, Tensor> dictionary;
    std::unique_ptr<Inner> owned;
    SLUICE_FIELDS(layers, pair, three, named, present, absent, dictionary, owned)
  };
  Model model;
  model.layers.resize(2);
  model.present = Tensor();
  model.dictionary["b"] = Tensor();
  model.dictionary["a"] = Tensor();
  EXPECT_EQ(list(model), (Paths{"t:layers.0.weight", "t:layers.0.bias", "t:layers.1.weight", "t:layers.1.bias",
                                "t:pair.0", "t:pair.1", "t:three.0", "b:three.2", "t:named.1", "t:present",
                                "t:dictionary.a", "t:dictionary.b"}));
  model.owned = std::make_unique<Inner>();
  EXPECT_EQ(list(model).back(), "t:owned.bias");
}

TEST(Fields, WhatIsNotATensorIsKept) {
  enum class Kind { one };
  struct Model {
    int number = 1;
    bool flag = false;
    double real = 2;
    std::string text = "x";
    Kind kind = Kind::one;
    Generator generator;
    Tensor (*function)(const Tensor&) = nullptr;
    const char* label = "";
    DType dtype = f32;
    Shape shape;
    std::vector<int> sizes = {1, 2};
    std::vector<bool> flags = {true};
    std::nullptr_t nothing = nullptr;
    Pointwise<Expr (*)(Expr)> activation{nullptr, "f"};
    Tensor last;
  };
  Model model;
  EXPECT_EQ(list(model), Paths{"t:14"});
}

TEST(Fields, PlainAggregatesAreWalkedByNumber) {
  struct Flat {
    Tensor a;
    Inner b;
    std::array<Tensor, 2> c;
  };
  Flat model;
  EXPECT_EQ(list(model), (Paths{"t:0", "t:1.weight", "t:1.bias", "t:2.0", "t:2.1"}));
  struct One {
    Tensor only;
  };
  One one;
  EXPECT_EQ(list(one), Paths{"t:0"});
}

struct Big {
  Tensor a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x;
};

TEST(Fields, AggregatesHaveUpTo24Fields) {
  Big model;
  const Paths paths = list(model);
  ASSERT_EQ(paths.size(), 24U);
  EXPECT_EQ(paths.back(), "t:23");
  static_assert(detail::count_initialisers<Big>() == 24);
}

TEST(Fields, CArraysAreSeen) {
  struct WithArray {
    Tensor a;
    float numbers[3];
    Tensor b;
  };
  struct WithStdArray {
    Tensor a;
    std::array<float, 3> numbers;
    Tensor b;
  };
  static_assert(!detail::kHasNoCArray<WithArray>);
  static_assert(detail::kHasNoCArray<WithStdArray>);
  static_assert(detail::count_initialisers<WithStdArray>() == 3);
}

TEST(Fields, ADerivedClassMustListItsFields) {
  struct Derived : Inner {
    Tensor more;
  };
  static_assert(detail::kind_of<Derived>() == detail::FieldKind::derived);
  struct Listed : Inner {
    Tensor more;
    SLUICE_FIELDS(weight, bias, more)
  };
  Listed model;
  EXPECT_EQ(list(model), (Paths{"t:weight", "t:bias", "t:more"}));
}

TEST(Fields, ATensorIsAModelOfOneLeaf) {
  Tensor x;
  EXPECT_EQ(list(x), Paths{"t:"});
}

TEST(Fields, AConstModelCanBeVisited) {
  const Inner model;
  EXPECT_EQ(list(model), (Paths{"t:weight", "t:bias"}));
}

TEST(Fields, SharedPointersAreVisitedOnce) {
  struct Model {
    std::shared_ptr<Inner> first, second;
    std::shared_ptr<const Tensor> third;
    std::shared_ptr<Tensor> none;
    SLUICE_FIELDS(first, second, third, none)
  };
  Model model;
  model.first = std::make_shared<Inner>();
  model.second = model.first;
  model.third = std::make_shared<Tensor>();
  EXPECT_EQ(list(model), (Paths{"t:first.weight", "t:first.bias", "t:third"}));
}

TEST(Fields, ACloningVisitorLeavesTheOriginalAlone) {
  struct Model {
    std::shared_ptr<Inner> first, second;
    SLUICE_FIELDS(first, second)
  };
  class Setter final : public LeafVisitor {
   public:
    Setter() : LeafVisitor(Sharing::clone) {}
    void tensor(Tensor& x) override { x = scalar(1.0F); }
  };
  Model model;
  model.first = std::make_shared<Inner>();
  model.second = model.first;
  Model copy = model;
  Setter setter;
  detail::visit(copy, setter);
  EXPECT_FALSE(model.first->weight);
  EXPECT_TRUE(copy.first->weight);
  EXPECT_EQ(copy.first, copy.second);  // still shared, but not with the original
  EXPECT_NE(copy.first, model.first);
}

TEST(Fields, TypeNamesHaveNoNamespaceOrArguments) {
  EXPECT_EQ(detail::type_name<Inner>(), "Inner");
  EXPECT_EQ(detail::type_name<Tensor>(), "Tensor");
  EXPECT_EQ((detail::type_name<std::map<std::string, Tensor>>()), "map");
}

TEST(Buffer, CopiesHoldWhatWasHeldThen) {
  const Buffer buffer(scalar(1.0F));
  const Buffer copy = buffer;
  buffer.set(scalar(2.0F));
  EXPECT_EQ(copy.get().item<float>(), 1.0F);
  EXPECT_EQ(buffer.get().item<float>(), 2.0F);
}

TEST(Buffer, ForgetsThePlaceOnATape) {
  detail::Tape tape;
  Tensor x = scalar(1.0F);
  tape.track(x);
  const Buffer buffer(x);
  EXPECT_FALSE(tape.tracks(buffer.get()));
  buffer.set(x);
  EXPECT_FALSE(tape.tracks(buffer.get()));
}

TEST(Buffer, MayBeSetAndReadFromManyThreads) {
  const Buffer buffer(scalar(0.0F));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&buffer, t] {
      for (int i = 0; i < 200; ++i) {
        buffer.set(scalar(static_cast<float>(t)));
        const float value = buffer.get().item<float>();
        ASSERT_TRUE(value >= 0 && value < 4);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Counter, TheSeedDecidesItsStream) {
  seed(7);
  const Counter a, b;
  seed(7);
  const Counter again;
  EXPECT_EQ(a.get(), again.get());
  EXPECT_NE(a.get().peek().seed, b.get().peek().seed);
  EXPECT_EQ(a.next().call, 0U);
  EXPECT_EQ(a.next().call, 1U);
}

}  // namespace
}  // namespace sluice
