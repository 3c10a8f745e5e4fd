// What the library adds to OpenCL: launches, an epoch of training and moves beside the same commands from a bare loop
// (opencl_layer/recorder.cpp notes and repeats them), and the rate of matrix products.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include <sluice/sluice.hpp>

#include "bench/measure.hpp"

using namespace sluice;

namespace {

struct Recorder {
  void (*start)() = nullptr;
  long (*stop)() = nullptr;
  bool (*replay)(int) = nullptr;
};

Recorder find_recorder() {
  void* const layer = dlopen(SLUICE_BENCH_LAYER, RTLD_NOW | RTLD_NOLOAD);
  if (layer == nullptr) return {};
  return {reinterpret_cast<void (*)()>(dlsym(layer, "recorder_start")),
          reinterpret_cast<long (*)()>(dlsym(layer, "recorder_stop")),
          reinterpret_cast<bool (*)(int)>(dlsym(layer, "recorder_replay"))};
}

void finish(const Tensor& x) { (void)slice(reshape(x, {-1}), 0, 0, 1).to_vector<float>(); }

void launches(const Device& device, const Recorder& recorder) {
  const Tensor x = rand({1024}) | device, y = rand({1024}) | device;
  Tensor z = x * y;
  constexpr int kCount = 2000;
  const auto ours = [&] {
    for (int i = 0; i < kCount; ++i) z = x * y;
    finish(z);
  };
  recorder.start();
  z = x * y;
  recorder.stop();
  const auto times = bench::compare({ours, [&] { recorder.replay(kCount); }});
  std::printf("elementwise launch:   ours %6.2f us  bare %6.2f us  difference %5.2f us (target 2)\n",
              1e6 * times[0] / kCount, 1e6 * times[1] / kCount, 1e6 * (times[0] - times[1]) / kCount);
}

void fused_chain(const Device& device, const Recorder& recorder) {
  const Tensor x = rand({1 << 22}) | device, y = rand({1 << 22}) | device;
  const auto chain = [](auto a, auto b) { return tanh(a * 2.0 + 0.5) * a - b; };
  Tensor z = map(chain, x, y);
  recorder.start();
  z = map(chain, x, y);
  const long count = recorder.stop();
  const auto times = bench::compare({[&] { finish(map(chain, x, y)); }, [&] { finish(x + y); }});
  std::printf("tanh(x*a+b)*x-y:      %ld kernel; 16 MiB take %.2f ms, x + y of them %.2f ms\n", count, 1e3 * times[0],
              1e3 * times[1]);
}

struct Net {
  Dense hidden{64, 128, relu};
  Dropout dropout{0.3};
  Dense out{128, 10};
  Tensor operator()(const Tensor& x) const { return out(dropout(hidden(x))); }
  SLUICE_FIELDS(hidden, dropout, out)
};

void epoch(const Device& device, const Recorder& recorder) {
  seed(1);
  const Tensor images = rand({64, 1437});
  std::vector<std::int64_t> classes;
  for (std::int64_t i = 0; i < 1437; ++i) classes.push_back(i % 10);
  Net model = Net{} | device;
  auto loader = DataLoader({images, from(classes)}, {.batchsize = 32, .shuffle = true}) | device;
  auto state = setup(Adam{.eta = 1e-3}, model);
  const auto loss = [](const auto& m, const Tensor& x, const Tensor& y) { return logitcrossentropy(m(x), y); };
  const auto ours = [&] {
    train(loss, model, loader, state, {.epochs = 1, .progress = Progress::none});
    finish(model.out.bias);
  };
  ours();
  recorder.start();
  ours();
  const long count = recorder.stop();
  const auto times = bench::compare({ours, [&] { recorder.replay(1); }});
  std::printf("epoch of the digits:  ours %6.1f ms  bare %6.1f ms  ratio %.2f (target 1.3), %ld launches\n",
              1e3 * times[0], 1e3 * times[1], times[0] / times[1], count);
}

void moves(const Device& device, const Recorder& recorder) {
  std::vector<Tensor> model;
  for (int i = 0; i < 200; ++i) model.push_back(full({1 << 19}, 0.5));
  std::vector<Tensor> there;
  const auto ours = [&] {
    there = device(model);
    finish(there.back());
  };
  ours();
  recorder.start();
  ours();
  recorder.stop();
  const auto times = bench::compare({ours, [&] { recorder.replay(1); }});
  const double bytes = 200.0 * 4 * (1 << 19);
  std::printf("device(model), 420 MB: ours %5.1f GB/s  bare %5.1f GB/s  %.0f %% (target 80)\n", bytes / times[0] / 1e9,
              bytes / times[1] / 1e9, 100 * times[1] / times[0]);
}

void products(const Device& device) {
  for (const std::int64_t n : {128, 512, 1024}) {
    const Tensor a = rand({n, n}), b = rand({n, n});
    const Tensor a_there = a | device, b_there = b | device;
    const auto times = bench::compare({[&] { finish(matmul(a_there, b_there)); }, [&] { finish(matmul(a, b)); }}, 0.5);
    const double operations = 2.0 * static_cast<double>(n * n * n);
    std::printf("matmul %4lld:          %6.1f GFLOP/s (at 1024 target 80)  CPU device %6.1f\n",
                static_cast<long long>(n), operations / times[0] / 1e9, operations / times[1] / 1e9);
  }
}

}  // namespace

int main() {
  setenv("OPENCL_LAYERS", SLUICE_BENCH_LAYER, 1);
  if (!functional("OpenCL")) return std::printf("no OpenCL device: %s\n", why("OpenCL").c_str()), 0;
  const Device device = get_device("OpenCL");
  const Recorder recorder = find_recorder();
  if (recorder.replay == nullptr) return std::printf("OpenCL's loader takes no layers here\n"), 1;
  std::printf("%s\n", to_string(device).c_str());
  launches(device, recorder);
  fused_chain(device, recorder);
  epoch(device, recorder);
  moves(device, recorder);
  products(device);
}
