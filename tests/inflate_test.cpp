// Deflated data: read in any pieces, and held to their end.
#include "src/data/inflate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string>

#include "gzip.hpp"

namespace sluice {
namespace {

using detail::Inflater;

Inflater inflater_of(const std::string& stored, Inflater::Wrapping wrapping) {
  return {wrapping, stored.size(), [&stored](std::uint64_t at, std::span<std::byte> to) {
            ASSERT_LE(at + to.size(), stored.size());
            std::memcpy(to.data(), stored.data() + at, to.size());
          }};
}

/// What `stored` holds, which is `size` bytes, read in pieces; the last line is what was wrong.
std::string inflated(const std::string& stored, std::size_t size, std::size_t piece, Inflater::Wrapping wrapping) {
  Inflater inflater = inflater_of(stored, wrapping);
  std::string content(size, '\0');
  std::string wrong;
  for (std::size_t at = 0; at < size && wrong.empty(); at += piece) {
    wrong = inflater.read(std::as_writable_bytes(std::span(content)).subspan(at, std::min(piece, size - at)));
  }
  if (wrong.empty()) wrong = inflater.finish();
  return wrong.empty() ? content : wrong;
}

TEST(Inflate, InAnyPieces) {
  // All compressed bytes of a run may be used before its content is: what is left comes from within zlib.
  for (std::size_t size = 0; size < 600; size += 7) {
    const std::string content = std::string(size, 'x') + std::to_string(size);
    for (const std::size_t piece : {1, 3, 1000}) {
      ASSERT_EQ(inflated(tests::raw_deflated(content), content.size(), piece, Inflater::Wrapping::none), content);
      ASSERT_EQ(inflated(tests::zlib_deflated(content), content.size(), piece, Inflater::Wrapping::zlib), content);
    }
  }
  for (std::size_t size = 1; size < 600; ++size) {
    const std::string content(size, 'x');
    ASSERT_EQ(inflated(tests::raw_deflated(content), size, 1, Inflater::Wrapping::none), content);
  }
}

TEST(Inflate, WhatIsWrong) {
  const std::string content = "some content", stored = tests::zlib_deflated(content);
  const auto wrong = [&](const std::string& bytes, std::size_t size) {
    return inflated(bytes, size, 5, Inflater::Wrapping::zlib);
  };
  EXPECT_EQ(wrong(stored, content.size() - 1), "the compressed data hold more than they should");
  EXPECT_EQ(wrong(stored, content.size() + 1), "the compressed data end early");
  EXPECT_EQ(wrong(stored + "ab", content.size()), "2 bytes follow the compressed data");
  EXPECT_EQ(wrong("", content.size()), "the compressed data are cut off");
  EXPECT_EQ(wrong(stored.substr(0, stored.size() - 1), content.size()), "the compressed data are cut off");
  EXPECT_EQ(wrong(tests::raw_deflated(content), content.size()).find("the compressed data are damaged: "), 0u);
}

TEST(Inflate, MostThatDeflateCanDo) {
  EXPECT_TRUE(detail::can_inflate(1, 1032));
  EXPECT_FALSE(detail::can_inflate(1, 2 * 1032));
  EXPECT_FALSE(detail::can_inflate(0, 1032));
  EXPECT_FALSE(detail::can_inflate(1 << 20, ~std::uint64_t{0}));
  EXPECT_TRUE(detail::can_inflate(tests::raw_deflated(std::string(10 << 20, '\0')).size(), 10 << 20));
}

}  // namespace
}  // namespace sluice
