// What the tests of JLD2 ask of the reader, and of h5dump.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "hostile_file.hpp"
#include "program_output.hpp"
#include "src/data/jld2.hpp"

namespace sluice::tests::jld2 {

inline State read(const std::string& content, detail::Checksums checksums = detail::Checksums::verified) {
  return detail::read_jld2_state(std::as_bytes(std::span(content)), "x.jld2", checksums);
}
inline std::string verdict_on(const std::string& content, detail::Checksums checksums = detail::Checksums::verified) {
  return tests::verdict_on([&] { read(content, checksums); });
}
inline void expect_refused(const std::string& content, const std::string& why) {
  const std::string verdict = verdict_on(content);
  EXPECT_NE(verdict.find(why), std::string::npos) << "expected: " << why << "\nfound: " << verdict;
  EXPECT_LT(verdict.size(), 1000u);
}

/// The numbers that h5dump prints of a dataset at a path; nothing if there is no h5dump.
inline std::optional<std::vector<double>> dumped(const std::string& options, const std::string& path) {
  const ProgramOutput output = run_program("h5dump -y -w 1 -m %.9g " + options + " " + path);
  if (output.code == 127) return std::nullopt;
  EXPECT_EQ(output.code, 0) << output.text;
  std::vector<double> numbers;
  std::istringstream lines(output.text.substr(output.text.find("DATA {") + 6));
  for (std::string word; lines >> word && word != "}";) numbers.push_back(std::strtod(word.c_str(), nullptr));
  return numbers;
}

}  // namespace sluice::tests::jld2
