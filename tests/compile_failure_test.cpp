// What is said about kernel text that does not compile.
#include "src/device/compile_failure.hpp"

#include <gtest/gtest.h>

namespace sluice::detail {
namespace {

TEST(CompileFailure, FindsThePlaceInEveryCompilersLog) {
  const std::pair<const char*, TextPlace> kLogs[] = {
      {"<source>:12:3: error: use of undeclared identifier", {12, 3}},
      {"error: /tmp/cache/tempfile_91.cl:12:3: use of undeclared identifier", {12, 3}},
      {"input.cl:12:3", {12, 3}},
      {"12:3: error: expected ';'", {12, 3}},
      {"kernel.cu(12): error: identifier \"absent\" is undefined", {12, 0}},
      {"kernel.cu(12,3): error", {12, 3}},
      {"program_source:7:21: error: unknown type name", {7, 21}},
      {"<kernel>:8:1: warning: unused\n<kernel>:12:3: error: bad\n<kernel>:13:1: error: worse", {12, 3}},
      {"<kernel>:8:1: warning: unused\nfailed", {8, 1}},
      {"version 3.1 of 2022\r\n\tinput.cl:12:3: error\r\n", {12, 3}},
  };
  for (const auto& [log, place] : kLogs) EXPECT_EQ(place_in_log(log), place) << log;
}

TEST(CompileFailure, ALogWithoutAPlaceHasNone) {
  for (const char* log : {"", "no log", "error", "version 15.0.6", "a(b): error", "x:12: error", "12", "(12",
                          "0:0: error", "99999999999999999999999:1: error", "f(0): error"}) {
    EXPECT_EQ(place_in_log(log), std::nullopt) << log;
  }
}

const char* const kText = "first\nsecond\nthird\n\tx = absent;\nfifth\nsixth\nseventh";

TEST(CompileFailure, ShowsTheTextAroundThePlace) {
  EXPECT_EQ(describe_compile_failure("sluice_map", "input.cl:4:6: error: 'absent'", kText),
            "kernel sluice_map does not compile:\n"
            "input.cl:4:6: error: 'absent'\n"
            "the text around line 4:\n"
            "      2 | second\n"
            "      3 | third\n"
            ">     4 | \tx = absent;\n"
            "        | \t    ^\n"
            "      5 | fifth\n"
            "      6 | sixth");
  EXPECT_EQ(describe_compile_failure("k", "k.cu(1): error", kText),
            "kernel k does not compile:\nk.cu(1): error\nthe text around line 1:\n"
            ">     1 | first\n      2 | second\n      3 | third");
  EXPECT_EQ(describe_compile_failure("k", "7:8: error", kText),
            "kernel k does not compile:\n7:8: error\nthe text around line 7:\n"
            "      5 | fifth\n      6 | sixth\n>     7 | seventh\n        |        ^");
}

TEST(CompileFailure, PlacesOutsideOfTheTextAreNotShown) {
  EXPECT_EQ(describe_compile_failure("k", "8:1: error", kText), "kernel k does not compile:\n8:1: error");
  EXPECT_EQ(describe_compile_failure("k", "1:1: error", ""), "kernel k does not compile:\n1:1: error");
  EXPECT_EQ(describe_compile_failure("k", "2:100: error", kText),
            "kernel k does not compile:\n2:100: error\nthe text around line 2:\n"
            "      1 | first\n>     2 | second\n      3 | third\n      4 | \tx = absent;");
}

TEST(CompileFailure, IsBounded) {
  std::string log;
  for (int i = 1; i <= 1000; ++i) log += std::to_string(i) + ":1: error\n";
  const std::string text(100000, 'x');
  const std::string said = describe_compile_failure("k", log, text);
  EXPECT_NE(said.find("\n20:1: error\n(980 more lines)\n"), std::string::npos) << said;
  EXPECT_LT(said.size(), 2000u);
}

}  // namespace
}  // namespace sluice::detail
