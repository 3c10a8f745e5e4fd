#include "src/data/zip.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>

#include "sluice/error.hpp"

namespace sluice::detail {
namespace {

constexpr std::uint64_t kMost32 = 0xFFFFFFFF;

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
