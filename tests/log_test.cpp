// What the library says of its own accord, and who hears it. Each case runs in a process of its own.
#include "sluice/log.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "processes.hpp"
#include "src/core/warn.hpp"

namespace sluice {
namespace {

using detail::log_message;
using detail::warn;
using detail::warn_once;
using Lines = std::vector<std::string>;

template <class Body>
std::string standard_error_of(Body body) {
  ::testing::internal::CaptureStderr();
  body();
  return ::testing::internal::GetCapturedStderr();
}

std::string printed(LogLevel level, const std::string& text) {
  return standard_error_of([&] { log_message(level, text); });
}

class Log : public ::testing::Test {
 protected:
  Log() { unsetenv("SLUICE_LOG"); }
};

// ---- Standard error.

TEST_F(Log, OneLineStandsInABracket) {
  EXPECT_EQ(printed(LogLevel::info, "Using backend: CPU."), "[ Info: Using backend: CPU.\n");
  EXPECT_EQ(printed(LogLevel::warning, "careful"), "[ Warning: careful\n");
  EXPECT_EQ(standard_error_of([] { warn("careful"); }), "[ Warning: careful\n");
  EXPECT_EQ(printed(LogLevel::info, ""), "[ Info: \n");
}

TEST_F(Log, SeveralLinesStandInAFrame) {
  EXPECT_EQ(printed(LogLevel::info, "GPU backend is already set to: CUDA.\nNo need to do anything else."),
            "┌ Info: GPU backend is already set to: CUDA.\n└ No need to do anything else.\n");
  EXPECT_EQ(printed(LogLevel::warning, "first\nmiddle\n\nlast"), "┌ Warning: first\n│ middle\n│ \n└ last\n");
}

TEST_F(Log, ALineEndAtTheEndMakesNoLine) {
  EXPECT_EQ(printed(LogLevel::info, "one\n"), "[ Info: one\n");
  EXPECT_EQ(printed(LogLevel::info, "one\ntwo\n\n"), "┌ Info: one\n└ two\n");
}

TEST_F(Log, ControlCharactersAreSpeltOut) {
  EXPECT_EQ(printed(LogLevel::warning, std::string("a\x1b[2Jb\r\x7f\0c\td", 12)),
            "[ Warning: a\\x1b[2Jb\\x0d\\x7f\\x00c\td\n");
  EXPECT_EQ(printed(LogLevel::warning, "größer 32 → ok"), "[ Warning: größer 32 → ok\n");
}

TEST_F(Log, TheEnvironmentIsReadAtEachMessage) {
  const auto both = [] {
    return standard_error_of([] {
      log_message(LogLevel::info, "i");
      log_message(LogLevel::warning, "w");
    });
  };
  const std::string all = "[ Info: i\n[ Warning: w\n";
  const std::pair<const char*, std::string> cells[] = {
      {"off", ""}, {"warning", "[ Warning: w\n"}, {"info", all}, {"junk", all}, {"", all}, {"OFF", all}, {"off", ""}};
  for (const auto& [value, expected] : cells) {
    setenv("SLUICE_LOG", value, 1);
    EXPECT_EQ(both(), expected) << value;
  }
  unsetenv("SLUICE_LOG");
  EXPECT_EQ(both(), all);
}

TEST_F(Log, LinesOfSeveralThreadsDoNotMix) {
  constexpr int kThreads = 8, kMessages = 100;
  const std::string text = standard_error_of([] {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([t] {
        for (int i = 0; i < kMessages; ++i) warn(std::string(60, static_cast<char>('a' + t)) + "\nend");
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  std::istringstream lines(text);
  std::vector<int> counts(kThreads);
  for (std::string first, last; std::getline(lines, first) && std::getline(lines, last);) {
    const std::size_t letter = static_cast<std::size_t>(first.back() - 'a');
    ASSERT_LT(letter, counts.size()) << first;
    ASSERT_EQ(first, "┌ Warning: " + std::string(60, first.back()));
    ASSERT_EQ(last, "└ end");
    ++counts[letter];
  }
  EXPECT_EQ(counts, std::vector<int>(kThreads, kMessages));
}

// ---- A sink.

TEST_F(Log, ASinkTakesEverythingOver) {
  Lines heard;
  LogSink former = set_log_sink([&](LogLevel level, const std::string& text) {
    heard.push_back((level == LogLevel::warning ? "w:" : "i:") + text);
  });
  EXPECT_FALSE(former) << "standard error";
  setenv("SLUICE_LOG", "off", 1);
  EXPECT_EQ(printed(LogLevel::info, "a\nb\n"), "");
  EXPECT_EQ(standard_error_of([] { warn("c"); }), "");
  EXPECT_EQ(heard, (Lines{"i:a\nb\n", "w:c"})) << "one call each, the text as it is";

  unsetenv("SLUICE_LOG");
  former = set_log_sink({});
  ASSERT_TRUE(former);
  EXPECT_EQ(standard_error_of([] { warn("d"); }), "[ Warning: d\n");
  former(LogLevel::info, "e");
  EXPECT_EQ(heard.back(), "i:e") << "the former sink is returned whole";
  EXPECT_FALSE(set_log_sink(former));
  EXPECT_TRUE(set_log_sink({}));
}

TEST_F(Log, WhatASinkThrowsIsDropped) {
  int calls = 0;
  set_log_sink([&](LogLevel, const std::string& text) {
    ++calls;
    if (text == "number") throw 7;
    throw std::runtime_error("the sink is broken");
  });
  for (const char* text : {"number", "error", "number"}) warn(text);
  warn_once("key", "error");
  EXPECT_EQ(calls, 4);
  set_log_sink({});
}

TEST_F(Log, ASinkThatLogsIsNotCalledForIt) {
  int calls = 0;
  set_log_sink([&](LogLevel, const std::string& text) {
    ++calls;
    warn("inside " + text);
    warn_once("once", "inside once");
    if (calls == 2) throw std::runtime_error("the sink is broken");
  });
  EXPECT_EQ(standard_error_of([] { warn("one"); }), "[ Warning: inside one\n[ Warning: inside once\n");
  EXPECT_EQ(standard_error_of([] { warn("two"); }), "[ Warning: inside two\n");
  EXPECT_EQ(standard_error_of([] { warn("three"); }), "[ Warning: inside three\n") << "also after it has thrown";
  EXPECT_EQ(calls, 3);
  set_log_sink({});
}

TEST_F(Log, ASinkMayReplaceItself) {
  Lines heard;
  set_log_sink([&heard](LogLevel, const std::string& text) {
    set_log_sink([&heard](LogLevel, const std::string& later) { heard.push_back("second " + later); });
    heard.push_back("first " + text);  // the captures live until the call has ended
  });
  warn("a");
  warn("b");
  set_log_sink({});
  EXPECT_EQ(heard, (Lines{"first a", "second b"}));
}

TEST_F(Log, SinksMayChangeWhileOthersLog) {
  std::atomic<int> heard{0};
  std::atomic<bool> done{false};
  const LogSink count = [&](LogLevel, const std::string&) { ++heard; };
  set_log_sink(count);
  std::thread changer([&] {
    while (!done) set_log_sink(count);
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 200; ++i) warn("x");
    });
  }
  for (std::thread& thread : threads) thread.join();
  done = true;
  changer.join();
  set_log_sink({});
  EXPECT_EQ(heard, 800);
}

// ---- Once.

TEST_F(Log, AKeyIsWarnedOfOnce) {
  Lines heard;
  set_log_sink([&](LogLevel level, const std::string& text) {
    EXPECT_EQ(level, LogLevel::warning);
    heard.push_back(text);
  });
  warn_once("a", "text");
  warn_once("a", "another text");
  warn_once("b", "text");
  warn_once("", "no key");
  warn_once("", "no key");
  set_log_sink({});
  EXPECT_EQ(heard, (Lines{"text", "text", "no key"}));
  EXPECT_EQ(standard_error_of([] { warn_once("a", "text"); }), "") << "whoever listened";
}

TEST_F(Log, ManyThreadsWarnOnce) {
  std::atomic<int> heard{0};
  set_log_sink([&](LogLevel, const std::string&) { ++heard; });
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([] {
      for (int key = 0; key < 50; ++key) warn_once("key " + std::to_string(key), "text");
    });
  }
  for (std::thread& thread : threads) thread.join();
  set_log_sink({});
  EXPECT_EQ(heard, 50);
}

// ---- The edges of a process.

struct Last {
  ~Last() {
    warn_once("last", "from a static destructor");
    warn_once("last", "from a static destructor, again");
    set_log_sink([](LogLevel, const std::string&) { std::fputs("by a late sink\n", stderr); });
    warn("");
  }
};

TEST_F(Log, StaticDestructorsMayLog) {
  EXPECT_EXIT(
      {
        static const Last kLast;
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "^\\[ Warning: from a static destructor\nby a late sink\n$");
}

TEST_F(Log, AForkedChildMayLog) {
  std::atomic<bool> done{false};
  set_log_sink([](LogLevel, const std::string&) {});
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; !done; ++i) {
        warn_once(std::to_string(t * 1'000'000 + i % 5000), "from the parent");
        set_log_sink([](LogLevel, const std::string&) {});
      }
    });
  }
  for (int child = 0; child < 30; ++child) {
    EXPECT_EQ(testing::exit_code_of_child([] {
                int heard = 0;
                set_log_sink([&](LogLevel, const std::string&) { ++heard; });
                warn_once("child", "from the child");
                warn_once("child", "from the child");
                warn("from the child");
                set_log_sink({});
                return heard == 2;
              }),
              0);
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  set_log_sink({});
}

}  // namespace
}  // namespace sluice
