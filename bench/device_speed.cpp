// What a device does in a second: training steps, products, copies, a fused chain beside the plainest pass over memory,
// launches, and the first step of a process with and without kernels that are kept. One run, medians.
//
//   device_speed [--device CUDA:0] [--budget SECONDS] [--scale N] [--against FILE]
//
// --budget is the time for each case. --scale divides the sizes, to try the program itself. FILE has lines
// "case<TAB>seconds" of another library on the same device, which become a column.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>

#include "bench/measure.hpp"
#include "sluice/sluice.hpp"

namespace {

using namespace sluice;

struct Options {
  std::string device;
  double budget = 1;
  std::int64_t scale = 1;
  std::string against;
};

/// One line of the table. `work` is what a run does, in `unit`s of 1e9.
struct Line {
  std::string name;
  double seconds;
  double work = 0;
  const char* unit = "";
};

class Speed {
 public:
  Speed(const Options& options, const Device& device) : options_(options), device_(device) { read_others(); }

  /// Median seconds of one run among `runs` that are queued together and waited for at their end.
  double time(std::int64_t runs, const std::function<Tensor()>& run) const {
    runs = scaled(runs);
    const auto all = [&] {
      Tensor last;
      for (std::int64_t i = 0; i < runs; ++i) last = run();
      wait_for(last);
    };
    return bench::compare({all}, options_.budget)[0] / static_cast<double>(runs);
  }
  void print(const Line& line) const {
    std::string rate;
    if (line.work > 0) rate = std::to_string(std::lround(1e-9 * line.work / line.seconds)) + " " + line.unit;
    std::string against;
    if (const auto other = others_.find(line.name); other != others_.end()) {
      std::array<char, 64> text{};
      std::snprintf(text.data(), text.size(), "%10.4f ms, ratio %.2f", 1e3 * other->second,
                    other->second / line.seconds);
      against = text.data();
    }
    std::printf("%-44s %10.4f ms  %12s  %s\n", line.name.c_str(), 1e3 * line.seconds, rate.c_str(), against.c_str());
    std::fflush(stdout);
  }
  const Device& device() const { return device_; }
  std::int64_t scaled(std::int64_t size) const { return std::max<std::int64_t>(size / options_.scale, 1); }

 private:
  static void wait_for(const Tensor& x) { (void)cpu(slice(reshape(x, {-1}), 0, 0, 1)); }
  void read_others() {
    std::ifstream file(options_.against);
    std::string line;
    while (std::getline(file, line)) {
      const std::size_t tab = line.find('\t');
      if (tab != std::string::npos) others_[line.substr(0, tab)] = std::strtod(line.c_str() + tab, nullptr);
    }
  }

  const Options& options_;
  Device device_;
  std::map<std::string, double> others_;
};

Sequential stack(const std::vector<std::int64_t>& sizes) {
  Sequential layers;
  for (std::size_t i = 0; i + 2 < sizes.size(); ++i) layers.push_back(Dense(sizes[i], sizes[i + 1], relu));
  layers.push_back(Dense(sizes[sizes.size() - 2], sizes.back()));
  return layers;
}

void training_step(const Speed& speed, const char* name, std::vector<std::int64_t> sizes, std::int64_t batch) {
  for (std::int64_t& size : sizes) size = speed.scaled(size);
  batch = speed.scaled(batch);
  auto model = stack(sizes) | speed.device();
  auto state = setup(Adam{}, model);
  const Tensor x = randn({sizes.front(), batch}) | speed.device(), y = randn({sizes.back(), batch}) | speed.device();
  const auto step = [&] {
    auto [loss, grads] = withgradient([&](const Sequential& m) { return mse(m(x), y); }, model);
    update(state, model, grads);
    return loss;
  };
  speed.print({name, speed.time(20, step)});
}

void product(const Speed& speed, const std::string& name, DType dtype) {
  const std::int64_t n = speed.scaled(4096);
  const Tensor a = cast(rand({n, n}), dtype) | speed.device(), b = cast(rand({n, n}), dtype) | speed.device();
  const double seconds = speed.time(5, [&] { return matmul(a, b); });
  speed.print(
      {name, seconds, 2.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n), "GFLOP/s"});
}

void memory(const Speed& speed) {
  const std::int64_t n = speed.scaled(std::int64_t{64} << 20);
  const double bytes = 4 * static_cast<double>(n);
  const Tensor here = rand({n}), x = here | speed.device(), y = (here + 1) | speed.device();
  speed.print({"copy to the device, 256 MiB", speed.time(1, [&] { return here | speed.device(); }), bytes, "GB/s"});
  speed.print({"copy to the host, 256 MiB", speed.time(1, [&] { return cpu(x); }), bytes, "GB/s"});
  speed.print({"x + 1, 64M floats", speed.time(5, [&] { return x + 1; }), 2 * bytes, "GB/s"});
  const auto chain = [&] { return map([](auto p, auto q) { return tanh(p * 2 + 1) * p - q; }, x, y); };
  speed.print({"tanh(x*a+b)*x-y, 64M floats", speed.time(5, chain), 3 * bytes, "GB/s"});
  speed.print({"sum, 64M floats", speed.time(5, [&] { return sum(x); }), bytes, "GB/s"});
}

void launches(const Speed& speed) {
  const Tensor x = rand({1024}) | speed.device();
  speed.print({"x + 1, 1024 floats, per launch", speed.time(1000, [&] { return x + 1; })});
}

/// Seconds of the program first_step, which lies beside this one; nothing if it fails.
std::optional<double> first_step(const std::string& program, const std::string& device) {
  bool is_good = false;
  const double seconds = bench::seconds([&] {
    const pid_t child = fork();
    if (child == 0) {
      (void)!std::freopen("/dev/null", "w", stdout);
      execl(program.c_str(), program.c_str(), device.c_str(), nullptr);
      _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    is_good = status == 0;
  });
  return is_good ? std::optional(seconds) : std::nullopt;
}

void first_steps(const Speed& speed, const std::string& program) {
  const std::string device = std::string(speed.device().backend()) + ":" + std::to_string(speed.device().id());
  std::string folder = (std::filesystem::temp_directory_path() / "sluice-first-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return;
  setenv("SLUICE_KERNEL_CACHE", folder.c_str(), 1);
  for (const char* name : {"first step of a process, no kernels kept", "first step of a process, kernels kept"}) {
    if (const auto seconds = first_step(program, device)) speed.print({name, *seconds});
    else std::printf("%-44s failed\n", name);
  }
  std::filesystem::remove_all(folder);
}

std::optional<Options> parse(int argc, char** argv) {
  Options options;
  if (argc % 2 == 0) return std::nullopt;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i], value = argv[i + 1];
    if (option == "--device") options.device = value;
    else if (option == "--budget") options.budget = std::atof(value.c_str());
    else if (option == "--scale") options.scale = std::max(1, std::atoi(value.c_str()));
    else if (option == "--against") options.against = value;
    else return std::nullopt;
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::optional<Options> options = parse(argc, argv);
  if (!options) {
    std::fprintf(stderr, "usage: device_speed [--device NAME:N] [--budget SECONDS] [--scale N] [--against FILE]\n");
    return 2;
  }
  const Speed speed(*options, options->device.empty() ? get_device() : get_device(options->device));
  std::printf("%s\n", to_string(speed.device()).c_str());
  // First, because a child of a process that has used a device cannot use it.
  first_steps(speed, (std::filesystem::path(argv[0]).parent_path() / "first_step").string());
  launches(speed);
  memory(speed);
  training_step(speed, "training step, MLP 784-512-256-10, batch 128", {784, 512, 256, 10}, 128);
  training_step(speed, "training step, MLP 2-16-1, batch 32", {2, 16, 1}, 32);
  product(speed, "product of 4096 x 4096, f32", f32);
  product(speed, "product of 4096 x 4096, f16", f16);
  product(speed, "product of 4096 x 4096, bf16", bf16);
} catch (const std::exception& error) {
  std::fprintf(stderr, "device_speed: %s\n", error.what());
  return 1;
}
