// What the digit examples share: accuracy, a training curve in the terminal, and the proof that a saved model is the
// model: a fresh process loads it and predicts again.
#pragma once

#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <sluice/sluice.hpp>

#if defined(__APPLE__)
#include <mach-o/dyld.h>
#endif

extern char** environ;

namespace example {

/// Part of the columns of `x` whose greatest score is at the label.
template <class Model>
double accuracy(const Model& model, const sluice::Tensor& x, const sluice::Tensor& labels) {
  using namespace sluice;
  const Tensor predicted = reshape(argmax(model(x), 0), {-1});
  return mean(cast(predicted == cast(labels, i64), f32)).template item<float>();
}

/// One character per epoch, the lower the better.
inline std::string curve(const std::vector<double>& losses) {
  static const char* const kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const double top = *std::max_element(losses.begin(), losses.end());
  std::string line;
  for (const double loss : losses) line += kBars[static_cast<int>(7.0 * std::max(loss, 0.0) / std::max(top, 1e-30))];
  return line;
}

/// The file of this program.
inline std::string program_file() {
#if defined(__APPLE__)
  std::uint32_t size = 0;
  _NSGetExecutablePath(nullptr, &size);
  std::string file(size, '\0');
  return _NSGetExecutablePath(file.data(), &size) == 0 ? file : std::string();
#else
  return "/proc/self/exe";
#endif
}

/// Runs this program again with `arguments`; returns its exit code.
inline int run_again(std::vector<std::string> arguments) {
  const std::string program = program_file();
  arguments.insert(arguments.begin(), program);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  std::fflush(stdout);
  pid_t child = 0;
  int status = 0;
  if (posix_spawn(&child, program.c_str(), nullptr, nullptr, pointers.data(), environ) != 0) return 127;
  if (waitpid(child, &status, 0) != child) return 127;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 127;
}

}  // namespace example
