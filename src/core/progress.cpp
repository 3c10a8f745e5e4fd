// The progress bar.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "sluice/train.hpp"

#if !defined(_WIN32)
#include <sys/ioctl.h>
#include <unistd.h>
#endif

namespace sluice::inline v0 {
namespace {

constexpr std::chrono::milliseconds kBetweenDraws{50};
constexpr int kUsualWidth = 80;
constexpr int kLeastBar = 5;

bool is_terminal() {
#if defined(_WIN32)
  return false;
#else
  return isatty(STDERR_FILENO) == 1;
#endif
}

int terminal_width() {
#if !defined(_WIN32)
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
#endif
  return kUsualWidth;
}

/// "0:07", "12:30" or "3:00:00"
std::string clock_text(double seconds) {
  constexpr double kLongest = 1e7;
  const auto s = static_cast<std::int64_t>(std::clamp(seconds, 0.0, kLongest));
  if (s >= 3600) return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
  return fmt::format("{}:{:02}", s / 60, s % 60);
}

}  // namespace

ProgressBar::ProgressBar(std::int64_t total, std::string label)
    : total_(total),
      label_(std::move(label)),
      out_(is_terminal() ? &std::cerr : nullptr),
      width_(0),
      start_(Clock::now()),
      drawn_(start_ - kBetweenDraws) {}

ProgressBar::ProgressBar(std::int64_t total, std::string label, std::ostream& out, int width)
    : total_(total),
      label_(std::move(label)),
      out_(&out),
      width_(std::max(width, 1)),
      start_(Clock::now()),
      drawn_(start_ - kBetweenDraws) {}

ProgressBar::~ProgressBar() { finish(); }

void ProgressBar::step(const std::string& note) noexcept {
  ++done_;
  if (out_ == nullptr) return;
  try {
    note_ = note;
  } catch (...) {  // no memory for a note
  }
  if (Clock::now() - drawn_ >= kBetweenDraws) draw();
}

void ProgressBar::finish() noexcept {
  if (out_ == nullptr) return;
  draw();
  try {
    *out_ << std::endl;
  } catch (...) {  // nothing to be done about a stream that fails
  }
  out_ = nullptr;
}

void ProgressBar::draw() noexcept {
  try {
    drawn_ = Clock::now();
    // A full last column would wrap on some terminals.
    const int width = (width_ > 0 ? width_ : terminal_width()) - 1;
    std::string text = line(width);
    text.resize(static_cast<std::size_t>(std::max(width, 0)), ' ');  // covers what was longer before
    *out_ << '\r' << text << std::flush;
  } catch (...) {  // shown or not, the work goes on
  }
}

std::string ProgressBar::line(int width) const {
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  const double rate = seconds > 0 ? static_cast<double>(done_) / seconds : 0;
  std::string left = label_.empty() ? "" : label_ + "  ";
  std::string right;
  const bool known = total_ > 0;
  const double part = known ? std::min(1.0, static_cast<double>(done_) / static_cast<double>(total_)) : 0;
  if (known) {
    left += fmt::format("{:3.0f}% ", std::floor(part * 100));
    right = fmt::format("  {}/{}  {:.1f}/s", done_, total_, rate);
    if (rate > 0) right += "  ETA " + clock_text(static_cast<double>(std::max<std::int64_t>(total_ - done_, 0)) / rate);
  } else {
    right = fmt::format("{}  {:.1f}/s", done_, rate);
  }
  if (!note_.empty()) right += "  " + note_;
  std::string bar;
  const int room = width - static_cast<int>(left.size() + right.size()) - 2;
  if (known && room >= kLeastBar) {
    const auto filled = static_cast<std::size_t>(part * room);
    bar = "[" + std::string(filled, '#') + std::string(static_cast<std::size_t>(room) - filled, '-') + "]";
  }
  return left + bar + right;
}

}  // namespace sluice::inline v0
