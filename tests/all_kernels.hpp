// Every kernel of a dialect as text for a compiler.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernel_batch.hpp"
#include "recording_device.hpp"
#include "src/device/kernel_text.hpp"

namespace sluice::tests {

inline std::string prelude_of(std::uint32_t dialect, bool has_f64) {
  return detail::kernel_prelude({dialect, has_f64});
}

/// The text of the kernel that every device is tried with.
inline std::string probe_text(std::uint32_t dialect, bool has_f64) {
  const Device device = recording_device(dialect, has_f64);
  recorded_texts.clear();
  detail::probe_device(dynamic_cast<detail::PluginDevice&>(*device.impl()));
  EXPECT_EQ(recorded_texts.size(), 1U);
  return recorded_texts.at(0);
}

/// Every kernel of a dialect as one text, or every k-th one from `first` on, and the probe's.
inline std::string all_kernels(std::uint32_t dialect, bool has_f64, std::size_t first = 0, std::size_t every = 1) {
  const std::vector<std::string> texts = texts_of_everything(dialect, has_f64);
  EXPECT_GT(texts.size(), 300U);
  std::vector<std::string> chosen;
  for (std::size_t k = first; k < texts.size(); k += every) chosen.push_back(texts[k]);
  return kernel_batch(prelude_of(dialect, has_f64), chosen) + probe_text(dialect, has_f64);
}

}  // namespace sluice::tests
