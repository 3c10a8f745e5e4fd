// What an error says.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sluice/error.hpp"

namespace sluice::tests {

/// The message of the error that f throws, which is an E.
template <class E = Error, class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "an exception of another type: " << error.what();
    return "";
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

inline void expect_contains(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
}

}  // namespace sluice::tests
