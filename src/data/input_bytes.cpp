#include "src/data/input_bytes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>

#include "sluice/error.hpp"

namespace sluice::detail {
namespace {

constexpr std::size_t kBufferSize = std::size_t{64} << 10;
constexpr int kGzipWindow = 15 + 16;  // the largest window, gzip headers

}  // namespace

InputBytes::InputBytes(const std::string& path, std::int64_t limit) : name_(path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) fail("there is no such file");
  if (status.type() == std::filesystem::file_type::directory) fail("this is a folder; a file is needed");
  errno = 0;
  file_.open(path, std::ios::binary);
  if (!file_) fail(fmt::format("cannot be opened: {}", std::strerror(errno)));
  buffer_.resize(kBufferSize);
  start(limit);
}

InputBytes::InputBytes(std::span<const std::byte> content, const std::string& name, std::int64_t limit)
    : name_(name), pending_(content) {
  stored_ = content.size();
  start(limit);
}

InputBytes::~InputBytes() {
  if (compressed_) inflateEnd(&stream_);
}

void InputBytes::start(std::int64_t limit) {
  limit_ = static_cast<std::uint64_t>(std::max<std::int64_t>(limit, 0));
  if (pending_.empty()) refill();
  const bool is_gzip = pending_.size() >= 2 && pending_[0] == std::byte{0x1f} && pending_[1] == std::byte{0x8b};
  if (!is_gzip) return;
  if (inflateInit2(&stream_, kGzipWindow) != Z_OK) fail("no memory for decompression");
  compressed_ = true;
}

void InputBytes::fail(const std::string& message) const { throw FileError(name_ + ": " + message); }

bool InputBytes::refill() {
  if (!file_.is_open()) return false;
  file_.read(reinterpret_cast<char*>(buffer_.data()), static_cast<std::streamsize>(buffer_.size()));
  if (file_.bad()) fail(fmt::format("reading failed at byte {}", stored_));
  pending_ = std::span(buffer_).first(static_cast<std::size_t>(file_.gcount()));
  stored_ += pending_.size();
  return !pending_.empty();
}

std::size_t InputBytes::read(std::span<std::byte> to) {
  const std::size_t got = compressed_ ? read_inflated(to) : read_stored(to);
  position_ += got;
  if (position_ > limit_) {
    fail(fmt::format("the content has more than {} bytes, the limit; raise max_bytes if that is right", limit_));
  }
  return got;
}

std::size_t InputBytes::read_stored(std::span<std::byte> to) {
  std::size_t done = 0;
  while (done < to.size() && (!pending_.empty() || refill())) {
    const std::size_t count = std::min(pending_.size(), to.size() - done);
    std::memcpy(to.data() + done, pending_.data(), count);
    pending_ = pending_.subspan(count);
    done += count;
  }
  return done;
}

/// gzip files may be put one after the other; anything else behind the data is an error.
void InputBytes::next_member() {
  if (pending_.empty() && !refill()) {
    ended_ = true;
  } else if (inflateReset(&stream_) != Z_OK) {
    fail("decompression failed");
  }
}

std::size_t InputBytes::read_inflated(std::span<std::byte> to) {
  constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
  std::size_t done = 0;
  while (done < to.size() && !ended_) {
    if (pending_.empty() && !refill()) {
      fail(fmt::format("the gzip data are cut off after {} bytes, in the middle of the content", stored_));
    }
    const auto in = static_cast<uInt>(std::min(pending_.size(), kMost));
    const auto out = static_cast<uInt>(std::min(to.size() - done, kMost));
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(pending_.data()));
    stream_.avail_in = in;
    stream_.next_out = reinterpret_cast<Bytef*>(to.data() + done);
    stream_.avail_out = out;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    pending_ = pending_.subspan(in - stream_.avail_in);
    done += out - stream_.avail_out;
    if (status == Z_STREAM_END) {
      next_member();
    } else if (status != Z_OK) {
      fail(fmt::format("the gzip data are damaged before byte {} of the file: {}", stored_ - pending_.size(),
                       stream_.msg != nullptr ? stream_.msg : "invalid data"));
    }
  }
  return done;
}

}  // namespace sluice::detail
