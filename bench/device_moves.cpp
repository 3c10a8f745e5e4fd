// What moving costs, on the virtual devices of the tests (memory of this machine behind the plug-in interface): the
// first get_device() of a process, a model of 400 MB there and back beside a plain copy of its bytes, and a move of a
// model that is there already.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include <sluice/sluice.hpp>

#include "bench/measure.hpp"

using namespace sluice;

static std::atomic<long> allocations{0};
void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

struct Net {
  std::vector<Tensor> weights;
  SLUICE_FIELDS(weights)
};

struct Small {
  Dense a{8, 8}, b{8, 8}, c{8, 8}, d{8, 8}, e{8, 8};
  SLUICE_FIELDS(a, b, c, d, e)
};

/// Milliseconds of the first get_device() in a fresh process that finds no plug-in.
static double first_get_device() {
  int ends[2];
  if (pipe(ends) != 0) return 0;
  const pid_t child = fork();
  if (child == 0) {
    setenv("SLUICE_BACKEND_PATH", "/nonexistent", 1);
    const double seconds = bench::seconds([] { get_device(); });
    _exit(write(ends[1], &seconds, sizeof seconds) == sizeof seconds ? 0 : 1);
  }
  double seconds = 0;
  if (read(ends[0], &seconds, sizeof seconds) != sizeof seconds) seconds = 0;
  waitpid(child, nullptr, 0);
  return 1e3 * seconds;
}

int main() {
  std::printf("first get_device() without GPU software: %.2f ms (target 5)\n", first_get_device());
  setenv("VIRTUAL_GPU_POISON", "0", 0);
  setenv("VIRTUAL_GPU_PROMPT", "1", 0);
  setenv("SLUICE_BACKEND_PATH", SLUICE_BENCH_PLUGINS, 1);
  const Device device = get_device();
  if (device == cpu_device()) return std::printf("no virtual device: %s\n", why("CUDA").c_str()), 1;

  constexpr std::int64_t kTensors = 200, kElements = 500'000;
  constexpr std::size_t kBytes = kElements * 4;
  Net model;
  for (std::int64_t i = 0; i < kTensors; ++i) model.weights.push_back(rand({kElements}));
  std::vector<std::vector<char>> copies(kTensors, std::vector<char>(kBytes, 1));
  const auto copy_each = [&] {
    for (std::size_t i = 0; i < copies.size(); ++i) {
      std::memcpy(copies[i].data(), model.weights[i].bytes().data(), kBytes);
    }
  };
  const Net moved = device(model);
  const std::vector<double> medians = bench::compare({copy_each, [&] { device(model); }, [&] { cpu(moved); }});
  const double copy = medians[0], there = medians[1], back = medians[2];
  std::printf("400 MB in 200 tensors: there %.0f %%, back %.0f %% of memcpy's rate (%.1f GB/s; target 80 %%)\n",
              100 * copy / there, 100 * copy / back, 1e-9 * static_cast<double>(kTensors * kBytes) / copy);

  Small small = device(Small());
  constexpr double kLeaves = 10;
  const long before = allocations;
  small = device(std::move(small));
  const long made = allocations - before;
  const double in_place = bench::compare({[&] { small = device(std::move(small)); }}).front();
  std::printf("a move in place: %.0f ns per tensor, %ld allocations (target 1000 ns, 0)\n", 1e9 * in_place / kLeaves,
              made);
}
