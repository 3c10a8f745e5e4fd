#include "src/data/byte_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <filesystem>

namespace sluice::detail {
namespace {

static_assert(std::endian::native == std::endian::little, "the files are little-endian, and bytes are not turned");

constexpr std::size_t kWindow = 4096;

}  // namespace

ByteSource::ByteSource(const std::string& path, std::string name) : name_(std::move(name)) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) fail("there is no such file");
  if (!std::filesystem::is_regular_file(status)) fail("this is not an ordinary file");
  size_ = std::filesystem::file_size(path, error);
  file_.rdbuf()->pubsetbuf(nullptr, 0);  // the window is the buffer
  file_.open(path, std::ios::binary);
  if (error || !file_) fail(fmt::format("cannot be opened: {}", std::strerror(errno)));
}

ByteSource::ByteSource(std::span<const std::byte> content, std::string name)
    : name_(std::move(name)), window_(content), size_(content.size()) {}

void ByteSource::fail(const std::string& message) const { throw FileError(name_ + ": " + message); }

void ByteSource::fail(std::uint64_t at, const std::string& message) const {
  throw FileError(fmt::format("{}: byte {}: {}", name_, at, message));
}

void ByteSource::refill(std::uint64_t at) {
  buffer_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kWindow, size_ - at)));
  window_ = {};
  file_.seekg(static_cast<std::streamoff>(at));
  file_.read(reinterpret_cast<char*>(buffer_.data()), static_cast<std::streamsize>(buffer_.size()));
  if (!file_) fail(at, "reading failed; the file has changed");
  window_ = buffer_;
  window_at_ = at;
}

void ByteSource::read(std::uint64_t at, std::span<std::byte> to) {
  if (to.empty()) return;
  if (at > size_ || to.size() > size_ - at) {
    fail(at, fmt::format("the file ends at {}, where {} bytes are expected", size_, to.size()));
  }
  const bool is_far = at < window_at_ || at - window_at_ > window_.size() ||
                      window_.size() - static_cast<std::size_t>(at - window_at_) < to.size();
  if (is_far && to.size() >= kWindow) {
    file_.seekg(static_cast<std::streamoff>(at));
    file_.read(reinterpret_cast<char*>(to.data()), static_cast<std::streamsize>(to.size()));
    if (!file_) fail(at, "reading failed; the file has changed");
    return;
  }
  if (is_far) refill(at);
  std::memcpy(to.data(), window_.data() + (at - window_at_), to.size());
}

std::string ByteSource::text(std::uint64_t at, std::uint64_t count) {
  if (at > size_ || count > size_ - at) fail(at, fmt::format("a text of {} bytes goes beyond the file", count));
  std::string text(static_cast<std::size_t>(count), '\0');
  read(at, std::as_writable_bytes(std::span(text)));
  return text;
}

std::string ByteSource::text_to_nul(std::uint64_t at, std::uint64_t end, std::uint64_t most) {
  std::string text;
  for (std::uint64_t place = at; place < end; ++place) {
    const char letter = number<char>(place);
    if (letter == '\0') return text;
    if (text.size() == most) fail(at, fmt::format("a name of more than {} bytes", most));
    text += letter;
  }
  fail(at, "a name that does not end");
}

}  // namespace sluice::detail
