// What a checkpoint of 1 GB costs: loading beside reading the file through a small buffer and copying its bytes once,
// saving beside writing the same bytes and waiting for the disk, and the memory that both take beyond the tensors.
//
//   checkpoint_speed [folder]      on the disk to be measured; the working folder if none is given
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <sluice/sluice.hpp>

#include "bench/measure.hpp"

using namespace sluice;

static constexpr int kTensors = 32;
static constexpr std::int64_t kElements = std::int64_t{8} << 20;
static constexpr std::size_t kBytes = kTensors * static_cast<std::size_t>(kElements) * sizeof(float);

struct Net {
  std::vector<Tensor> weights;
  SLUICE_FIELDS(weights)
};

static Net net() {
  Net made;
  for (int i = 0; i < kTensors; ++i) made.weights.push_back(full({kElements}, 0.5 + i, f32));
  return made;
}

/// As `cat file > /dev/null` reads.
static void read_through(const std::string& path) {
  std::vector<char> buffer(std::size_t{128} << 10);
  const int file = open(path.c_str(), O_RDONLY);
  while (read(file, buffer.data(), buffer.size()) > 0) {
  }
  close(file);
}

/// As `dd bs=16M conv=fsync` writes.
static void write_plainly(const std::string& path, const std::vector<char>& bytes) {
  constexpr std::size_t kPiece = std::size_t{16} << 20;
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  for (std::size_t done = 0; done < bytes.size(); done += kPiece) {
    if (write(file, bytes.data() + done, kPiece) < 0) std::perror("write");
  }
  fsync(file);
  close(file);
}

/// The greatest memory of this process since the last call, in MiB.
static double peak_since(bool reset) {
  double peak = 0;
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == "VmHWM:") status >> peak;
  }
  if (reset) std::ofstream("/proc/self/clear_refs") << 5;
  return peak / 1024;
}

static void report_memory(const char* what, double model, const std::function<void()>& work) {
  peak_since(true);
  const double before = peak_since(false);
  work();
  std::printf("%s: %.1f MiB beyond its tensors (target 64)\n", what, peak_since(false) - before - model);
}

int main(int count, char** words) {
  const std::string folder = count > 1 ? words[1] : ".";
  const std::string path = folder + "/checkpoint_speed.safetensors", plain = folder + "/checkpoint_speed.plain";
  constexpr double kModel = static_cast<double>(kBytes) / (1 << 20);
  Net model = net();
  save(path, model);
  report_memory("read_tensors", kModel, [&] { read_tensors(path); });
  report_memory("save", 0, [&] { save(path, model); });

  std::vector<char> source(kBytes, 1), target(kBytes, 2);
  const auto reading =
      bench::compare({[&] { read_through(path); }, [&] { std::memcpy(target.data(), source.data(), kBytes); },
                      [&] { load(path, model); }},
                     5);
  std::printf("load: %.0f ms; reading %.0f ms, one copy %.0f ms: %.2f times their sum (target 1.2 times the reading)\n",
              1e3 * reading[2], 1e3 * reading[0], 1e3 * reading[1], reading[2] / (reading[0] + reading[1]));
  target = {};
  const auto writing = bench::compare({[&] { write_plainly(plain, source); }, [&] { save(path, model); }}, 5);
  std::printf("save: %.0f ms; plain writing with fsync %.0f ms: %.2f times (target 1.3)\n", 1e3 * writing[1],
              1e3 * writing[0], writing[1] / writing[0]);
  std::remove(path.c_str());
  std::remove(plain.c_str());
}
