#include "src/data/zip.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>

#include "sluice/error.hpp"

namespace sluice::detail {
namespace {

constexpr std::uint64_t kMost16 = 0xFFFF, kMost32 = 0xFFFFFFFF;

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

ZipContent::ZipContent(const StoredFile& file, const ZipEntry& entry) : file_(file), entry_(entry) {
  if (!entry.is_deflated) return;
  inflater_.emplace(Inflater::Wrapping::none, entry.stored, [this](std::uint64_t at, std::span<std::byte> to) {
    file_.read(entry_.begin + at, to, "\"" + entry_.name + "\"");
  });
}

void ZipContent::fail(const std::string& message) const {
  throw FileError(fmt::format("{}: \"{}\": {}", file_.name(), entry_.name, message));
}

void ZipContent::read(std::span<std::byte> to) {
  if (to.size() > entry_.size - position_) fail(fmt::format("the content ends after {} bytes", entry_.size));
  if (!inflater_) file_.read(entry_.begin + position_, to, "\"" + entry_.name + "\"");
  else if (const std::string wrong = inflater_->read(to); !wrong.empty()) fail(wrong);
  position_ += to.size();
  checksum_ = checksum_of(checksum_, to);
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

constexpr int kPlain = 20, kZip64 = 45;  // versions that an entry needs

/// What local header and directory have in common: from the version on, up to the length of the extra field.
std::string entry_fields(std::uint32_t checksum, std::uint64_t size, const std::string& name, std::size_t extra) {
  constexpr std::uint32_t kUtf8Names = 0x0800, kStored = 0, kMidnight = 0, kFirstDay = 0x21;  // of 1980
  std::string fields;
  put(fields, extra > 0 ? kZip64 : kPlain, 2);
  put(fields, kUtf8Names, 2);
  put(fields, kStored, 2);
  put(fields, kMidnight, 2);
  put(fields, kFirstDay, 2);
  put(fields, checksum, 4);
  put(fields, size, 4);
  put(fields, size, 4);
  put(fields, name.size(), 2);
  put(fields, extra, 2);
  return fields;
}

/// The extra field that holds what does not fit 32 bits; empty where all does.
std::string zip64_field(const std::vector<std::uint64_t>& values) {
  std::string field;
  if (values.empty()) return field;
  put(field, 1, 2);
  put(field, 8 * values.size(), 2);
  for (const std::uint64_t value : values) put(field, value, 8);
  return field;
}

/// The end record that has room for large numbers, and where it lies.
std::string zip64_end(std::uint64_t count, std::uint64_t size, std::uint64_t begin) {
  constexpr std::uint64_t kRest = 44;  // bytes of the record after this number
  std::string end = "PK\6\6";
  put(end, kRest, 8);
  put(end, kZip64, 2);
  put(end, kZip64, 2);
  put(end, 0, 8);  // disks
  put(end, count, 8);
  put(end, count, 8);
  put(end, size, 8);
  put(end, begin, 8);
  end += "PK\6\7";
  put(end, 0, 4);
  put(end, begin + size, 8);
  put(end, 1, 4);  // disks
  return end;
}

}  // namespace

void ZipWriter::add(const std::string& name, std::span<const std::span<const std::byte>> parts) {
  constexpr std::size_t kMostName = 0xFFFF;
  if (name.size() > kMostName) {
    throw ArgumentError(fmt::format("a name of {} bytes; .npz files take {}", name.size(), kMostName));
  }
  std::uint64_t size = 0;
  std::uint32_t checksum = 0;
  for (const auto& part : parts) {
    size += part.size();
    checksum = checksum_of(checksum, part);
  }
  const bool is_large = size >= large_;
  const std::string extra = is_large ? zip64_field({size, size}) : "";
  entries_.push_back({name, checksum, size, position_});
  write("PK\3\4" + entry_fields(checksum, is_large ? kMost32 : size, name, extra.size()) + name + extra);
  for (const auto& part : parts) {
    file_.write(part);
    position_ += part.size();
  }
}

/// Its record in the directory.
std::string ZipWriter::entry_record(const Written& entry) const {
  const bool is_large = entry.size >= large_, is_far = entry.offset >= large_;
  std::vector<std::uint64_t> wide;
  if (is_large) wide.assign(2, entry.size);
  if (is_far) wide.push_back(entry.offset);
  const std::string extra = zip64_field(wide);
  std::string record = "PK\1\2";
  put(record, extra.empty() ? kPlain : kZip64, 2);
  record += entry_fields(entry.checksum, is_large ? kMost32 : entry.size, entry.name, extra.size());
  put(record, 0, 10);  // comment, disk, attributes
  put(record, is_far ? kMost32 : entry.offset, 4);
  return record + entry.name + extra;
}

void ZipWriter::commit() {
  const std::uint64_t begin = position_;
  for (const Written& each : entries_) write(entry_record(each));
  const std::uint64_t size = position_ - begin, count = entries_.size();
  if (size > kMaxZipDirectory) {
    throw ArgumentError(
        fmt::format("the names take {} bytes of the archive; at most {} are read", size, kMaxZipDirectory));
  }
  const bool is_large = count >= std::min(large_, kMost16) || begin >= large_ || size >= large_;
  if (is_large) write(zip64_end(count, size, begin));
  std::string end = "PK\5\6";
  put(end, 0, 4);
  put(end, is_large ? kMost16 : count, 2);
  put(end, is_large ? kMost16 : count, 2);
  put(end, is_large ? kMost32 : size, 4);
  put(end, is_large ? kMost32 : begin, 4);
  put(end, 0, 2);
  write(end);
  file_.commit();
}

}  // namespace sluice::detail
