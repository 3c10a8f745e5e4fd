// Programs that look at what the library has written.
#pragma once

#include <stdio.h>
#include <sys/wait.h>

#include <string>

namespace sluice::tests {

struct ProgramOutput {
  int code;  ///< 127 if there is no such program
  std::string text;
};

/// Runs a line of the shell; both of its streams are taken.
inline ProgramOutput run_program(const std::string& line) {
  FILE* const pipe = popen((line + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return {127, "popen failed"};
  std::string text;
  char piece[4096];
  while (const std::size_t got = fread(piece, 1, sizeof(piece), pipe)) text.append(piece, got);
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), text};
}

}  // namespace sluice::tests
