// A process that is killed while it saves: the old or the new checkpoint is there, whole.
//
// The writer is traced and killed at each of its system calls in turn, before it and after it: between two of them
// nothing on the disk changes, so these are all the moments that there are.
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>

#include "sluice/sluice.hpp"
#include "temporary_folder.hpp"

namespace sluice {
namespace {

using tests::TemporaryFolder;

enum class Ended { killed, by_itself, untraceable };

/// Does `work` in a child that is killed at its stop number `stops`, counting entries to and returns from system calls.
Ended kill_at(int stops, const std::function<void()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(3);
    raise(SIGSTOP);
    work();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFSTOPPED(status)) return Ended::untraceable;
  for (int stop = 0; stop < stops; ++stop) {
    ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    waitpid(child, &status, 0);
    if (!WIFSTOPPED(status)) return Ended::by_itself;
  }
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return Ended::killed;
}

struct Model {
  Tensor a = zeros({1000}), b = zeros({500}), c = zeros({700});
  SLUICE_FIELDS(a, b, c)
};

Model filled(double value) { return {.a = full({1000}, value), .b = full({500}, value), .c = full({700}, value)}; }

class Kill : public testing::TestWithParam<const char*> {};

TEST_P(Kill, AtEverySystemCallLeavesAWholeCheckpoint) {
  const TemporaryFolder folder;
  const std::string path = folder / GetParam();
  const Model old = filled(1), fresh = filled(2);
  SaveOptions options;
  if (path.ends_with(".index.json")) options.shard_bytes = 3000;
  const auto save_to = [&](const Model& model) { save(path, model, options); };
  int kept_old = 0, has_new = 0, shards = 0;
  Ended ended = Ended::killed;
  for (int stops = 0; ended == Ended::killed; ++stops) {
    ASSERT_LT(stops, 1000);
    save_to(old);
    ended = kill_at(stops, [&] { save_to(fresh); });
    if (ended == Ended::untraceable) GTEST_SKIP() << "processes may not be traced here";
    Model found;
    load(path, found);
    const double value = found.a.span<float>()[0];
    const Model expected = filled(value);
    ASSERT_TRUE(value == 1 || value == 2);
    ASSERT_TRUE(equal(found.a, expected.a) && equal(found.b, expected.b) && equal(found.c, expected.c)) << stops;
    ++(value == 1 ? kept_old : has_new);
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder / "")) {
    shards += entry.path().filename().string().starts_with("x-") && entry.path().extension() == ".safetensors";
  }
  EXPECT_LE(shards, 6) << "shards that no index lists are used again";
  EXPECT_GE(kept_old, 10) << "killed before the new one was in place";
  EXPECT_GE(has_new, 2) << "and after";
}

INSTANTIATE_TEST_SUITE_P(Formats, Kill, testing::Values("x.safetensors", "x.safetensors.index.json", "x.npz", "x.bson"),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name) c = c == '.' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace sluice
