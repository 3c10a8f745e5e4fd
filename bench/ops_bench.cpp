// Single operations, at sizes where the call itself, the cache and the memory decide.
#include <benchmark/benchmark.h>

#include "sluice/sluice.hpp"

namespace {

using namespace sluice;

void bytes_per_second(benchmark::State& state, std::int64_t streams, std::int64_t elements) {
  state.SetBytesProcessed(state.iterations() * streams * elements * 4);
}

void add(benchmark::State& state) {
  const std::int64_t n = state.range(0);
  const Tensor x = rand({n}), y = rand({n});
  for (auto _ : state) benchmark::DoNotOptimize(x + y);
  bytes_per_second(state, 3, n);
}
BENCHMARK(add)->Arg(16)->Arg(4096)->Arg(1 << 20)->Arg(1 << 23)->UseRealTime();

void fused_tanh(benchmark::State& state) {
  const std::int64_t n = state.range(0);
  const Tensor x = rand({n}), y = rand({n});
  for (auto _ : state) {
    benchmark::DoNotOptimize(map([](auto u, auto v) { return tanh(u * 1.5 + 0.5) * u - v; }, x, y));
  }
  bytes_per_second(state, 3, n);
}
BENCHMARK(fused_tanh)->Arg(16)->Arg(4096)->Arg(1 << 23)->UseRealTime();

void bias_relu(benchmark::State& state) {
  const Tensor x = rand({state.range(0), state.range(1)}), b = rand({state.range(0)});
  for (auto _ : state) benchmark::DoNotOptimize(map([](auto u, auto v) { return relu(u + v); }, x, b));
  bytes_per_second(state, 2, x.numel());
}
BENCHMARK(bias_relu)->Args({10, 64})->Args({4096, 1024})->Args({10, 1 << 19})->UseRealTime();

void sum_all(benchmark::State& state) {
  const Tensor x = rand({state.range(0)});
  for (auto _ : state) benchmark::DoNotOptimize(sum(x));
  bytes_per_second(state, 1, x.numel());
}
BENCHMARK(sum_all)->Arg(16)->Arg(1 << 23)->UseRealTime();

void sum_batch(benchmark::State& state) {
  const Tensor x = rand({state.range(0), state.range(1)});
  for (auto _ : state) benchmark::DoNotOptimize(sum(x, 1));
  bytes_per_second(state, 1, x.numel());
}
BENCHMARK(sum_batch)->Args({10, 64})->Args({512, 128})->Args({4096, 1024})->UseRealTime();

void softmax_columns(benchmark::State& state) {
  const Tensor x = rand({state.range(0), state.range(1)});
  for (auto _ : state) benchmark::DoNotOptimize(softmax(x));
  bytes_per_second(state, 2, x.numel());
}
BENCHMARK(softmax_columns)->Args({10, 64})->Args({1024, 4096})->UseRealTime();

void product(benchmark::State& state) {
  const std::int64_t n = state.range(0);
  const Tensor a = rand({n, n}), b = rand({n, n});
  for (auto _ : state) benchmark::DoNotOptimize(matmul(a, b));
  state.counters["GFLOP/s"] =
      benchmark::Counter(2e-9 * double(n * n * n) * double(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(product)->Arg(16)->Arg(64)->Arg(256)->Arg(1024)->UseRealTime();

void training_step(benchmark::State& state) {
  Chain model(Dense(2, 16, relu), Dense(16, 1));
  auto optimiser = setup(Adam{}, model);
  const Tensor x = randn({2, 32}), y = randn({1, 32});
  for (auto _ : state) {
    auto [loss, grads] = withgradient([&](const auto& m) { return mse(m(x), y); }, model);
    update(optimiser, model, grads);
  }
}
BENCHMARK(training_step)->UseRealTime();

}  // namespace
