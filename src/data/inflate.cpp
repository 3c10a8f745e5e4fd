#include "src/data/inflate.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>
#include <utility>
#include <vector>

namespace sluice::detail {
namespace {

constexpr std::uint64_t kBuffer = std::uint64_t{64} << 10;
constexpr int kLargestWindow = 15;  // negated: without the header and checksum of zlib

}  // namespace

struct Inflater::Stream {
  Stream(int window, std::uint64_t stored) : buffer(static_cast<std::size_t>(std::min(kBuffer, stored))) {
    if (inflateInit2(&zlib, window) != Z_OK) throw std::bad_alloc();
  }
  ~Stream() { inflateEnd(&zlib); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  z_stream zlib{};
  std::vector<std::byte> buffer;
  bool ended = false;
};

Inflater::Inflater(Wrapping wrapping, std::uint64_t stored, Fetch fetch)
    : fetch_(std::move(fetch)),
      stored_(stored),
      stream_(std::make_unique<Stream>(wrapping == Wrapping::none ? -kLargestWindow : kLargestWindow, stored)) {}

Inflater::~Inflater() = default;

void Inflater::refill() {
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(stream_->buffer.size(), stored_ - used_));
  const std::span<std::byte> piece = std::span(stream_->buffer).first(count);
  fetch_(used_, piece);
  used_ += count;
  stream_->zlib.next_in = reinterpret_cast<Bytef*>(piece.data());
  stream_->zlib.avail_in = static_cast<uInt>(count);
}

/// Goes on until some of `to` is filled, which it then no longer has, or some compressed bytes are used.
std::string Inflater::step(std::span<std::byte>& to) {
  constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
  z_stream& zlib = stream_->zlib;
  if (stream_->ended) return "the compressed data end early";
  if (zlib.avail_in == 0 && used_ < stored_) refill();
  const auto room = static_cast<uInt>(std::min(to.size(), kMost));
  zlib.next_out = reinterpret_cast<Bytef*>(to.data());
  zlib.avail_out = room;
  const int status = inflate(&zlib, Z_NO_FLUSH);
  // Only now: what is left of the content may be in zlib already when there is no more to put in.
  if (status == Z_BUF_ERROR) return "the compressed data are cut off";
  if (status != Z_OK && status != Z_STREAM_END) {
    return fmt::format("the compressed data are damaged: {}", zlib.msg != nullptr ? zlib.msg : "invalid data");
  }
  stream_->ended = status == Z_STREAM_END;
  to = to.subspan(room - zlib.avail_out);
  return {};
}

std::string Inflater::read(std::span<std::byte> to) {
  std::string wrong;
  while (!to.empty() && wrong.empty()) wrong = step(to);
  return wrong;
}

std::string Inflater::finish() {
  // The end of the data may come a few bytes behind the last one of the content.
  std::byte beyond{};
  while (!stream_->ended) {
    std::span<std::byte> room(&beyond, 1);
    if (std::string wrong = step(room); !wrong.empty()) return wrong;
    if (room.empty()) return "the compressed data hold more than they should";
  }
  const std::uint64_t left = stored_ - used_ + stream_->zlib.avail_in;
  return left == 0 ? std::string{} : fmt::format("{} bytes follow the compressed data", left);
}

}  // namespace sluice::detail
