#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <thread>

#include "sluice/train.hpp"

namespace sluice {
namespace {

/// What a terminal shows in the end: the text after the last carriage return.
std::string last_line(const std::string& text) {
  std::string line = text.substr(text.rfind('\r') + 1);
  EXPECT_EQ(line.back(), '\n');
  line.pop_back();
  return line;
}

TEST(ProgressBar, ShowsPartCountRateAndNote) {
  std::ostringstream out;
  {
    ProgressBar bar(4, "epoch 1/2", out, 80);
    for (int i = 0; i < 3; ++i) bar.step("loss " + std::to_string(i));
  }
  const std::string line = last_line(out.str());
  EXPECT_EQ(line.size(), 79u);  // one less than the width, so that no terminal wraps
  EXPECT_EQ(line.find("epoch 1/2   75% [####"), 0u) << line;
  for (const char* part : {"-]", "  3/4  ", "/s  ETA 0:00", "  loss 2"}) {
    EXPECT_NE(line.find(part), std::string::npos) << part << " in: " << line;
  }
  const auto filled = std::ranges::count(line, '#');
  const auto open = line.find(']') - line.find('[') - 1;
  EXPECT_EQ(filled, static_cast<std::ptrdiff_t>(open * 3 / 4));
}

TEST(ProgressBar, IsFullAtTheEnd) {
  std::ostringstream out;
  ProgressBar bar(2, "", out, 60);
  bar.step();
  bar.step();
  bar.finish();
  bar.finish();  // the line has ended already
  const std::string line = last_line(out.str());
  EXPECT_EQ(line.find("100% ["), 0u) << line;
  EXPECT_EQ(line.find("-]"), std::string::npos);
  EXPECT_EQ(std::ranges::count(out.str(), '\n'), 1);
  EXPECT_FALSE(bar.visible());
}

TEST(ProgressBar, RedrawsAtMostTwentyTimesASecond) {
  std::ostringstream out;
  const auto start = std::chrono::steady_clock::now();
  ProgressBar bar(100000, "", out, 80);
  for (int i = 0; i < 100000; ++i) bar.step();
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  bar.step();
  bar.finish();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const auto draws = std::ranges::count(out.str(), '\r');
  EXPECT_LE(static_cast<double>(draws), seconds * 20 + 2);
  EXPECT_GE(draws, 3);  // the first, the one after the pause, the last
}

TEST(ProgressBar, GoesWithoutATotalAndOnNarrowTerminals) {
  std::ostringstream unknown;
  {
    ProgressBar bar(-1, "read", unknown, 60);
    bar.step("x");
  }
  const std::string line = last_line(unknown.str());
  EXPECT_EQ(line.find("read  1  "), 0u) << line;
  EXPECT_EQ(line.find('%'), std::string::npos);

  for (const int width : {1, 2, 10, 25}) {
    std::ostringstream out;
    {
      ProgressBar bar(3, "a long label", out, width);
      bar.step();
    }
    EXPECT_EQ(last_line(out.str()).size(), static_cast<std::size_t>(width - 1));
  }
}

TEST(ProgressBar, SurvivesAStreamThatFails) {
  std::ostringstream out;
  out.exceptions(std::ios::badbit);
  out.setstate(std::ios::goodbit);
  ProgressBar bar(2, "", out, 40);
  try {
    out.setstate(std::ios::badbit);
  } catch (const std::ios::failure&) {  // what every write does from now on
  }
  bar.step();
  bar.finish();
}

TEST(ProgressBar, IsSilentWhereStandardErrorIsNoTerminal) {
  testing::internal::CaptureStderr();
  {
    ProgressBar bar(2, "silent");
    EXPECT_FALSE(bar.visible());
    bar.step();
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace sluice
