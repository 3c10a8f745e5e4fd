// How a helper program that tries a vendor's library may end, and what is said of it. Shell scripts stand for the
// helper.
#include "src/device/component_probe.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <ostream>

namespace sluice::detail {
namespace {

using End = ProbeVerdict::End;

constexpr int kPatient = 20;

ProbeVerdict run_script(const std::string& script, int seconds = kPatient) {
  return run_probe("/bin/sh", {"-c", script}, seconds);
}

/// No child is left, neither running nor waiting to be asked for.
void expect_no_child() {
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

struct Ending {
  const char* name;
  const char* script;
  ProbeVerdict verdict;
  const char* text;
};

void PrintTo(const Ending& ending, std::ostream* out) { *out << ending.name; }

class ProbeEnding : public ::testing::TestWithParam<Ending> {};

TEST_P(ProbeEnding, IsToldApart) {
  const ProbeVerdict verdict = run_script(GetParam().script);
  EXPECT_EQ(verdict, GetParam().verdict) << verdict.text;
  EXPECT_EQ(to_string(verdict), GetParam().text);
  expect_no_child();
}

const Ending kEndings[] = {
    {"Works", "exit 0", {End::works, 0, ""}, "works"},
    {"Silent", "echo hello", {End::works, 0, ""}, "works"},
    {"Failed", "echo noise; echo bad handle; exit 1", {End::failed, 0, "bad handle"}, "failed: bad handle"},
    {"FailedOnStandardError", "echo bad handle >&2; exit 1", {End::failed, 0, "bad handle"}, "failed: bad handle"},
    {"FailedWithoutAWord",
     "exit 3",
     {End::failed, 0, "the helper program ended with code 3"},
     "failed: the helper program ended with code 3"},
    {"NothingButSpace",
     "printf ' \\n\\t\\n'; exit 1",
     {End::failed, 0, "the helper program ended with code 1"},
     "failed: the helper program ended with code 1"},
    {"Escapes", "printf '\\033[31mred\\a\\n\\n'; exit 1", {End::failed, 0, " [31mred "}, "failed:  [31mred "},
    {"Aborted", "kill -ABRT $$", {End::aborted, 6, ""}, "aborted (signal 6)"},
    {"AbortedWithALine",
     "echo no kernels >&2; kill -SEGV $$",
     {End::aborted, 11, "no kernels"},
     "aborted (signal 11): no kernels"},
    {"EndedByTheUser",
     "kill -INT $$",
     {End::untried, 0, "the helper program was ended by signal 2"},
     "could not be tried: the helper program was ended by signal 2"},
    {"EndedForMemory",
     "kill -KILL $$",
     {End::untried, 0, "the helper program was ended by signal 9"},
     "could not be tried: the helper program was ended by signal 9"},
    {"Untried", "echo no device; exit 75", {End::untried, 0, "no device"}, "could not be tried: no device"},
    {"NotStarted",
     "exit 127",
     {End::untried, 0, "the helper program ended with code 127"},
     "could not be tried: the helper program ended with code 127"},
};

INSTANTIATE_TEST_SUITE_P(ComponentProbe, ProbeEnding, ::testing::ValuesIn(kEndings),
                         [](const auto& ending) { return std::string(ending.param.name); });

TEST(ComponentProbe, AMissingProgramIsUntried) {
  const ProbeVerdict verdict = run_probe("/nowhere/sluice-probe", {"a", "0", "0"}, kPatient);
  EXPECT_EQ(verdict.end, End::untried);
  EXPECT_NE(verdict.text.find("/nowhere/sluice-probe cannot be started: "), std::string::npos) << verdict.text;
}

TEST(ComponentProbe, ArgumentsArriveAsTheyAre) {
  const ProbeVerdict verdict = run_probe("/bin/sh", {"-c", "echo \"$0|$1|$#\"; exit 1", "a b", "$HOME"}, kPatient);
  EXPECT_EQ(verdict.text, "a b|$HOME|1");
}

// ---- Time.

TEST(ComponentProbe, AHangIsEnded) {
  EXPECT_EQ(run_script("echo started; exec sleep 600", 1), (ProbeVerdict{End::timed_out, 1, "started"}));
  expect_no_child();
}

TEST(ComponentProbe, AHangWithClosedOutputIsEnded) {
  EXPECT_EQ(run_script("exec >&- 2>&-; exec sleep 600", 1), (ProbeVerdict{End::timed_out, 1, ""}));
  expect_no_child();
}

TEST(ComponentProbe, AHangThatNeverStopsTalkingIsEnded) {
  const ProbeVerdict verdict = run_script("exec yes again", 1);
  EXPECT_EQ(verdict.end, End::timed_out);
  EXPECT_EQ(verdict.number, 1);
  EXPECT_TRUE(std::string_view("again").starts_with(verdict.text)) << verdict.text << ": the last line may be cut";
  expect_no_child();
}

TEST(ComponentProbe, AHangThatIgnoresSignalsIsEnded) {
  const ProbeVerdict verdict = run_script("trap '' TERM INT HUP; while :; do sleep 1; done", 1);
  EXPECT_EQ(to_string(verdict), "did not answer within 1 s");
  expect_no_child();
}

// The helper's own children may outlive it with its output in their hands.
TEST(ComponentProbe, AnOutputThatStaysOpenIsNotWaitedFor) {
  EXPECT_EQ(run_script("sleep 30 & echo done; exit 1", 10), (ProbeVerdict{End::failed, 0, "done"}));
}

TEST(ComponentProbe, SecondsComeFromTheEnvironment) {
  unsetenv("SLUICE_PROBE_SECONDS");
  EXPECT_EQ(probe_seconds(), 20);
  const std::pair<const char*, int> cases[] = {{"1", 1},  {"7", 7}, {"20", 20}, {"21", 20},         {"0", 1},
                                               {"-5", 1}, {"", 20}, {"x", 20},  {"99999999999", 20}};
  for (const auto& [text, seconds] : cases) {
    setenv("SLUICE_PROBE_SECONDS", text, 1);
    EXPECT_EQ(probe_seconds(), seconds) << text;
  }
}

// ---- Output.

TEST(ComponentProbe, OnlyTheEndOfALongOutputIsKept) {
  EXPECT_EQ(run_script("yes | head -c 1000000; echo; echo the end; exit 1").text, "the end");
  const std::string line = run_script("head -c 100000 /dev/zero | tr '\\0' x; exit 1").text;
  EXPECT_EQ(line, std::string(4096, 'x'));
}

// ---- What of this process the helper sees, and what it leaves alone.

TEST(ComponentProbe, ThereIsNoInput) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "hello\n", 6), 6);
  ASSERT_EQ(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
  EXPECT_EQ(run_script("if read line; then echo \"$line\"; exit 1; fi").end, End::works);
}

TEST(ComponentProbe, NoInputOrOutputOfItsOwnIsNeeded) {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) close(descriptor);
  EXPECT_EQ(run_script("if read line; then exit 2; fi; echo reason; exit 1"), (ProbeVerdict{End::failed, 0, "reason"}));
  EXPECT_EQ(run_script("echo reason >&2; exit 1"), (ProbeVerdict{End::failed, 0, "reason"}));
}

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
TEST(ComponentProbe, OpenFilesStayHere) {
  ASSERT_EQ(dup2(STDERR_FILENO, 77), 77);
  EXPECT_EQ(run_script("[ -e /proc/self/fd/77 ] && exit 1; exit 0").end, End::works);
}
#endif

TEST(ComponentProbe, BlockedAndIgnoredSignalsAreNotInherited) {
  std::signal(SIGTERM, SIG_IGN);
  EXPECT_EQ(run_script("kill -TERM $$; exit 0").end, End::untried);
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGHUP);
  ASSERT_EQ(sigprocmask(SIG_BLOCK, &blocked, nullptr), 0);
  EXPECT_EQ(run_script("kill -HUP $$; exit 0").end, End::untried);
}

TEST(ComponentProbe, AProgramThatIgnoresItsChildrenIsTold) {
  std::signal(SIGCHLD, SIG_IGN);
  const ProbeVerdict verdict = run_script("exit 0");
  EXPECT_EQ(verdict.end, End::untried);
  EXPECT_NE(verdict.text.find("SIGCHLD"), std::string::npos) << verdict.text;
}

TEST(ComponentProbe, OtherChildrenAreLeftAlone) {
  const pid_t other = fork();
  if (other == 0) _exit(7);
  EXPECT_EQ(run_script("exit 0").end, End::works);
  int status = 0;
  ASSERT_EQ(waitpid(other, &status, 0), other);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST(ComponentProbe, InterruptionsDoNoHarm) {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  ASSERT_EQ(sigaction(SIGALRM, &action, nullptr), 0);
  const itimerval often{{0, 500}, {0, 500}};
  ASSERT_EQ(setitimer(ITIMER_REAL, &often, nullptr), 0);
  EXPECT_EQ(run_script("sleep 1; echo reason; exit 1"), (ProbeVerdict{End::failed, 0, "reason"}));
  const itimerval never{};
  setitimer(ITIMER_REAL, &never, nullptr);
}

TEST(ComponentProbe, TheHelperOfThisBuildIsFound) {
  std::string problem;
  const std::string program = probe_program(problem);
  EXPECT_EQ(problem, "");
  EXPECT_EQ(std::filesystem::path(program).filename(), "sluice-probe");
  const ProbeVerdict verdict = run_probe(program, {"/nowhere/libsluice-x.so", "0", "0"}, kPatient);
  EXPECT_EQ(verdict.end, End::untried);
  EXPECT_NE(verdict.text.find("/nowhere/libsluice-x.so: does not exist"), std::string::npos) << verdict.text;
  EXPECT_EQ(run_probe(program, {}, kPatient).text.substr(0, 6), "usage:");
}

}  // namespace
}  // namespace sluice::detail
