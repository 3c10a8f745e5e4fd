// Sluice beside libtorch on the same cases, and beside the floor of the machine: medians and ratios of one run.
//
//   compare_libtorch [--markdown] [CASE ...]
#include <dlfcn.h>

#include <torch/torch.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "bench/measure.hpp"
#include "sluice/sluice.hpp"

namespace {

constexpr int kThreads = 2;

struct Case {
  std::string name;
  double target;  // libtorch time / Sluice time to reach
  std::function<void()> ours;
  std::function<void()> theirs;
  double floor = 0;  // seconds this machine needs at least, measured; 0 if none is meaningful
};

sluice::Tensor ours_of(const torch::Tensor& x) {
  // Row-major sizes reversed are column-major sizes: the same bytes, the same numbers.
  std::vector<std::int64_t> sizes(x.sizes().rbegin(), x.sizes().rend());
  return sluice::from(std::span<const float>(x.data_ptr<float>(), static_cast<std::size_t>(x.numel())),
                      sluice::Shape(sizes));
}

/// Seconds to copy `bytes` of memory with all threads: half of the traffic is reads, half writes.
double copy_seconds(std::size_t bytes) {
  std::vector<char> from(bytes, 1), to(bytes, 2);
  const std::size_t half = bytes / 2;
  return bench::compare({[&] {
    std::thread other([&] { std::memcpy(to.data(), from.data(), half); });
    std::memcpy(to.data() + half, from.data() + half, bytes - half);
    other.join();
  }})[0];
}

/// Seconds oneDNN itself needs for a product of n x n matrices, on its own threads; 0 where it is missing.
double onednn_seconds(std::int64_t n, int repeats = 1) {
  void* library = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) library = dlopen("libdnnl.so.3", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return 0;
  using Sgemm = int (*)(char, char, std::int64_t, std::int64_t, std::int64_t, float, const float*, std::int64_t,
                        const float*, std::int64_t, float, float*, std::int64_t);
  const auto sgemm = reinterpret_cast<Sgemm>(dlsym(library, "dnnl_sgemm"));
  if (sgemm == nullptr) return 0;
  const auto count = static_cast<std::size_t>(n * n);
  std::vector<float> a(count, 1), b(count, 1), c(count);
  return bench::compare({[&] {
    for (int i = 0; i < repeats; ++i) sgemm('N', 'N', n, n, n, 1, a.data(), n, b.data(), n, 0, c.data(), n);
  }})[0];
}

// ---- Training steps.

struct SluiceMlp {
  std::vector<std::int64_t> sizes;
  bool classify;
  sluice::Sequential model;
  sluice::OptimiserState state;
  sluice::Tensor x, y;

  SluiceMlp(std::vector<std::int64_t> list, std::int64_t batch, bool classifier)
      : sizes(std::move(list)), classify(classifier), model(stack(sizes)), state(sluice::setup(sluice::Adam{}, model)) {
    x = sluice::randn({sizes.front(), batch});
    y = classify ? sluice::cast(sluice::rand({batch}) * 10, sluice::i64) : sluice::randn({sizes.back(), batch});
  }
  static sluice::Sequential stack(const std::vector<std::int64_t>& sizes) {
    sluice::Sequential layers;
    for (std::size_t i = 0; i + 2 < sizes.size(); ++i)
      layers.push_back(sluice::Dense(sizes[i], sizes[i + 1], sluice::relu));
    layers.push_back(sluice::Dense(sizes[sizes.size() - 2], sizes.back()));
    return layers;
  }
  void step() {
    auto [loss, grads] = sluice::withgradient(
        [&](const sluice::Sequential& m) {
          return classify ? sluice::logitcrossentropy(m(x), y) : sluice::mse(m(x), y);
        },
        model);
    sluice::update(state, model, grads);
  }
};

struct TorchMlp {
  bool classify;
  torch::nn::Sequential model;
  torch::optim::Adam optimiser;
  torch::Tensor x, y;

  TorchMlp(const std::vector<std::int64_t>& sizes, std::int64_t batch, bool classifier)
      : classify(classifier), model(stack(sizes)), optimiser(model->parameters(), torch::optim::AdamOptions(1e-3)) {
    x = torch::randn({batch, sizes.front()});
    y = classify ? torch::randint(10, {batch}) : torch::randn({batch, sizes.back()});
  }
  static torch::nn::Sequential stack(const std::vector<std::int64_t>& sizes) {
    torch::nn::Sequential layers;
    for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
      layers->push_back(torch::nn::Linear(sizes[i], sizes[i + 1]));
      if (i + 2 < sizes.size()) layers->push_back(torch::nn::ReLU());
    }
    return layers;
  }
  void step() {
    optimiser.zero_grad();
    const torch::Tensor out = model->forward(x);
    const torch::Tensor loss = classify ? torch::nn::functional::cross_entropy(out, y) : torch::mse_loss(out, y);
    loss.backward();
    optimiser.step();
  }
};

Case mlp_case(const char* name, double target, std::vector<std::int64_t> sizes, std::int64_t batch, bool classify) {
  auto ours = std::make_shared<SluiceMlp>(sizes, batch, classify);
  auto theirs = std::make_shared<TorchMlp>(sizes, batch, classify);
  return {name, target, [ours] { ours->step(); }, [theirs] { theirs->step(); }};
}

Case adam_case() {
  constexpr int kTensors = 20;
  constexpr std::int64_t kSize = 500000;
  auto model = std::make_shared<std::vector<sluice::Tensor>>();
  auto grads = std::make_shared<std::vector<sluice::Tensor>>();
  auto parameters = std::make_shared<std::vector<torch::Tensor>>();
  for (int i = 0; i < kTensors; ++i) {
    model->push_back(sluice::randn({kSize}));
    grads->push_back(sluice::randn({kSize}));
    parameters->push_back(torch::randn({kSize}).requires_grad_());
    parameters->back().mutable_grad() = torch::randn({kSize});
  }
  auto state = std::make_shared<sluice::OptimiserState>(sluice::setup(sluice::Adam{}, *model));
  auto adam = std::make_shared<torch::optim::Adam>(*parameters, torch::optim::AdamOptions(1e-3));
  // Reads p, g, m, v and writes p, m, v: 7 streams against the copy's 2.
  return {"Adam, 10M parameters in 20 tensors", 1.2, [=] { sluice::update(*state, *model, *grads); },
          [=] { adam->step(); }, copy_seconds(kTensors * kSize * 4) * 3.5};
}

// ---- Elementwise, reductions, products.

Case fused_case() {
  const torch::Tensor x = torch::randn({8000000}), y = torch::randn({8000000});
  const sluice::Tensor p = ours_of(x), q = ours_of(y);
  return {"tanh(x*a+b)*x-y, 8M", 15,
          [=] { sluice::map([](auto u, auto v) { return tanh(u * 1.5 + 0.5) * u - v; }, p, q); },
          [=] { (torch::tanh(x * 1.5 + 0.5) * x - y).numel(); }, copy_seconds(32000000) * 1.5};
}

Case bias_case() {
  const torch::Tensor x = torch::randn({1024, 4096}), b = torch::randn({4096});
  const sluice::Tensor p = ours_of(x), c = ours_of(b);
  return {"bias + relu, 4096x1024", 2, [=] { sluice::map([](auto u, auto v) { return sluice::relu(u + v); }, p, c); },
          [=] { torch::relu(x + b).numel(); }, copy_seconds(16777216)};
}

Case softmax_case() {
  const torch::Tensor x = torch::randn({4096, 1024});
  const sluice::Tensor p = ours_of(x);
  return {"softmax, 1024 in 4096 columns", 1.5, [=] { sluice::softmax(p); }, [=] { torch::softmax(x, 1).numel(); },
          copy_seconds(16777216)};
}

std::function<void()> our_layer_norm(const sluice::Tensor& p, const sluice::Tensor& g, const sluice::Tensor& b) {
  return [=] {
    const auto [m, v] = sluice::mean_var(p, 0);
    sluice::map(
        [](auto x, auto mean, auto var, auto gain, auto bias) { return (x - mean) / sqrt(var + 1e-5) * gain + bias; },
        p, m, v, g, b);
  };
}

Case layer_norm_case(bool fused) {
  const torch::Tensor x = torch::randn({4096, 1024}), g = torch::ones({1024}), b = torch::zeros({1024});
  std::function<void()> theirs = [=] {
    const torch::Tensor m = x.mean(1, true);
    const torch::Tensor c = x - m;
    const torch::Tensor v = (c * c).mean(1, true);
    (c / torch::sqrt(v + 1e-5) * g + b).numel();
  };
  if (fused) theirs = [=] { torch::layer_norm(x, {1024}, g, b).numel(); };
  return {fused ? "layer norm: formula / their fused call" : "layer norm as a formula, the same", fused ? 0.0 : 1.0,
          our_layer_norm(ours_of(x), ours_of(g), ours_of(b)), theirs, copy_seconds(16777216)};
}

Case sum_case() {
  const torch::Tensor x = torch::randn({8000000});
  const sluice::Tensor p = ours_of(x);
  return {"sum of 8M", 1, [=] { sluice::sum(p); }, [=] { x.sum().numel(); }, copy_seconds(32000000) / 2};
}

Case small_case() {
  const torch::Tensor x = torch::randn({16}), y = torch::randn({16});
  const sluice::Tensor p = ours_of(x), q = ours_of(y);
  return {"1000 additions of 16 floats", 1.5,
          [=] {
            for (int i = 0; i < 1000; ++i) sluice::Tensor z = p + q;
          },
          [=] {
            for (int i = 0; i < 1000; ++i) torch::Tensor z = x + y;
          }};
}

Case matmul_case(std::int64_t n, int repeats) {
  const torch::Tensor x = torch::randn({n, n}), y = torch::randn({n, n});
  const sluice::Tensor p = ours_of(x), q = ours_of(y);
  const std::string name =
      repeats == 1 ? "matmul " + std::to_string(n) : std::to_string(repeats) + " matmuls of " + std::to_string(n);
  return {name, 1,
          [=] {
            for (int i = 0; i < repeats; ++i) sluice::matmul(p, q);
          },
          [=] {
            for (int i = 0; i < repeats; ++i) torch::mm(x, y);
          },
          onednn_seconds(n, repeats)};
}

std::vector<std::function<Case()>> all_cases() {
  return {[] {
            return mlp_case("MLP 784-512-256-10, batch 128, Adam", 1.5, {784, 512, 256, 10}, 128, true);
          },
          [] {
            return mlp_case("MLP 2-16-1, batch 32, Adam", 3, {2, 16, 1}, 32, false);
          },
          fused_case,
          bias_case,
          softmax_case,
          [] { return layer_norm_case(false); },
          [] { return layer_norm_case(true); },
          sum_case,
          adam_case,
          small_case,
          [] { return matmul_case(1024, 1); },
          [] { return matmul_case(64, 100); }};
}

}  // namespace

int main(int argc, char** argv) {
  torch::set_num_threads(kThreads);
  sluice::set_num_threads(kThreads);
  const bool markdown = argc > 1 && std::string(argv[1]) == "--markdown";
  std::printf(
      "%d threads; medians of one run; ratio = libtorch time / Sluice time; floor = a plain copy of the bytes, or "
      "oneDNN's own product\n",
      kThreads);
  if (markdown)
    std::printf("\n| case | Sluice ms | libtorch ms | ratio | target | of floor |\n|---|---|---|---|---|---|\n");
  else std::printf("%-42s %10s %12s %7s %7s %9s\n", "case", "Sluice ms", "libtorch ms", "ratio", "target", "of floor");
  for (const auto& make : all_cases()) {
    const Case c = make();
    bool wanted = argc <= 1 + static_cast<int>(markdown);
    for (int i = 1; i < argc; ++i) wanted = wanted || c.name.find(argv[i]) != std::string::npos;
    if (!wanted) continue;
    std::function<void()> theirs = [&c] {
      const torch::NoGradGuard guard;
      c.theirs();
    };
    if (c.name.starts_with("MLP")) theirs = c.theirs;
    const std::vector<double> t = bench::compare({c.ours, theirs});
    char part[32] = "";
    if (c.floor > 0) std::snprintf(part, sizeof part, "%.0f %%", 100 * c.floor / t[0]);
    const char* format =
        markdown ? "| %s | %.3f | %.3f | %.2f | %.1f | %s |\n" : "%-42s %10.3f %12.3f %7.2f %7.1f %9s\n";
    std::printf(format, c.name.c_str(), t[0] * 1e3, t[1] * 1e3, t[1] / t[0], c.target, part);
    std::fflush(stdout);
  }
}
