#include "src/data/zip.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>

#include "sluice/error.hpp"

namespace sluice::detail {
namespace {

constexpr std::uint64_t kMost32 = 0xFFFFFFFF;
constexpr std::uint64_t kBuffer = std::uint64_t{64} << 10;
constexpr int kRawWindow = -15;  // the largest window, no header

std::uint32_t checksum_of(std::uint32_t before, std::span<const std::byte> bytes) {
  constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
  uLong sum = before;
  while (!bytes.empty()) {
    const std::size_t count = std::min(bytes.size(), kMost);
    sum = crc32(sum, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(count));
    bytes = bytes.subspan(count);
  }
  return static_cast<std::uint32_t>(sum);
}

void put(std::string& to, std::uint64_t value, int bytes) {
  for (; bytes > 0; --bytes, value >>= 8) to += static_cast<char>(value & 0xFF);
}

}  // namespace

struct ZipContent::Inflater {
  z_stream stream{};
  std::vector<std::byte> buffer = std::vector<std::byte>(kBuffer);
  bool ended = false;
};

ZipContent::ZipContent(const StoredFile& file, const ZipEntry& entry) : file_(file), entry_(entry) {
  if (!entry.is_deflated) return;
  auto inflater = std::make_unique<Inflater>();
  if (inflateInit2(&inflater->stream, kRawWindow) != Z_OK) fail("no memory for decompression");
  inflater_ = inflater.release();
}

ZipContent::~ZipContent() {
  if (inflater_ != nullptr) inflateEnd(&inflater_->stream);
  delete inflater_;
}

void ZipContent::fail(const std::string& message) const {
  throw FileError(fmt::format("{}: \"{}\": {}", file_.name(), entry_.name, message));
}

void ZipContent::read(std::span<std::byte> to) {
  if (to.size() > entry_.size - position_) fail(fmt::format("the content ends after {} bytes", entry_.size));
  if (inflater_ != nullptr) inflate_into(to);
  else file_.read(entry_.begin + position_, to, "\"" + entry_.name + "\"");
  position_ += to.size();
  checksum_ = checksum_of(checksum_, to);
}

void ZipContent::inflate_into(std::span<std::byte> to) {
  constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
  z_stream& stream = inflater_->stream;
  while (!to.empty()) {
    if (inflater_->ended) fail("the compressed data end early");
    if (stream.avail_in == 0) {
      const auto count = static_cast<std::size_t>(std::min(kBuffer, entry_.stored - used_));
      if (count == 0) fail("the compressed data are cut off");
      const std::span<std::byte> piece = std::span(inflater_->buffer).first(count);
      file_.read(entry_.begin + used_, piece, "\"" + entry_.name + "\"");
      used_ += count;
      stream.next_in = reinterpret_cast<Bytef*>(piece.data());
      stream.avail_in = static_cast<uInt>(count);
    }
    const auto room = static_cast<uInt>(std::min(to.size(), kMost));
    stream.next_out = reinterpret_cast<Bytef*>(to.data());
    stream.avail_out = room;
    const int status = inflate(&stream, Z_NO_FLUSH);
    if (status != Z_OK && status != Z_STREAM_END) {
      fail(fmt::format("the compressed data are damaged: {}", stream.msg != nullptr ? stream.msg : "invalid data"));
    }
    inflater_->ended = status == Z_STREAM_END;
    to = to.subspan(room - stream.avail_out);
  }
}

void ZipContent::finish() {
  if (position_ != entry_.size) fail(fmt::format("{} bytes follow the array", entry_.size - position_));
  if (checksum_ != entry_.checksum) {
    fail(fmt::format("the checksum is {:08x}, the directory says {:08x}; the file is damaged", checksum_,
                     entry_.checksum));
  }
}

void ZipWriter::write(const std::string& bytes) {
  file_.write(std::as_bytes(std::span(bytes)));
  position_ += bytes.size();
}

namespace {

/// What local header and directory have in common: versions aside, all between flags and the length of the extra field.
std::string entry_fields(std::uint32_t checksum, std::uint64_t size, const std::string& name) {
  constexpr std::uint32_t kUtf8Names = 0x0800, kStored = 0, kMidnight = 0, kFirstDay = 0x21;  // of 1980
  std::string fields;
  put(fields, kUtf8Names, 2);
  put(fields, kStored, 2);
  put(fields, kMidnight, 2);
  put(fields, kFirstDay, 2);
  put(fields, checksum, 4);
  put(fields, size, 4);
  put(fields, size, 4);
  put(fields, name.size(), 2);
  put(fields, 0, 2);
  return fields;
}

}  // namespace

void ZipWriter::add(const std::string& name, std::span<const std::span<const std::byte>> parts) {
  std::uint64_t size = 0;
  std::uint32_t checksum = 0;
  for (const auto& part : parts) {
    size += part.size();
    checksum = checksum_of(checksum, part);
  }
  if (position_ + size >= kMost32 || name.size() >= 0xFFFF || entries_.size() >= 0xFFFE) {
    throw ArgumentError("save: an .npz file holds less than 4 GiB and 65535 arrays; write .safetensors");
  }
  entries_.push_back({name, checksum, size, position_});
  std::string header = "PK\3\4";
  put(header, 20, 2);
  write(header + entry_fields(checksum, size, name) + name);
  for (const auto& part : parts) {
    file_.write(part);
    position_ += part.size();
  }
}

void ZipWriter::commit() {
  const std::uint64_t begin = position_;
  for (const Written& each : entries_) {
    std::string record = "PK\1\2";
    put(record, 20, 2);
    put(record, 20, 2);
    record += entry_fields(each.checksum, each.size, each.name);
    put(record, 0, 10);  // comment, disk, attributes
    put(record, each.offset, 4);
    write(record + each.name);
  }
  std::string end = "PK\5\6";
  put(end, 0, 4);
  put(end, entries_.size(), 2);
  put(end, entries_.size(), 2);
  put(end, position_ - begin, 4);
  put(end, begin, 4);
  put(end, 0, 2);
  write(end);
  file_.commit();
}

}  // namespace sluice::detail
