// Medians, taken in blocks that alternate between the contestants, so that a machine whose speed drifts is fair to
// both.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

namespace bench {

inline double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

inline double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

/// Median seconds of each contestant.
inline std::vector<double> compare(const std::vector<std::function<void()>>& contestants, double budget = 1.0) {
  std::vector<std::vector<double>> times(contestants.size());
  std::vector<int> repeats;
  for (const auto& work : contestants) {
    work();  // warm-up: caches, pools, first-call set-up
    repeats.push_back(std::clamp(static_cast<int>(budget / 5 / std::max(seconds(work), 1e-6)), 3, 2000));
  }
  for (int block = 0; block < 5; ++block) {
    for (std::size_t c = 0; c < contestants.size(); ++c) {
      // OpenMP threads spin for a while after their last loop; they must not run into the other's measurement.
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      contestants[c]();
      for (int i = 0; i < repeats[c]; ++i) times[c].push_back(seconds(contestants[c]));
    }
  }
  std::vector<double> medians;
  for (auto& each : times) medians.push_back(median(each));
  return medians;
}

}  // namespace bench
