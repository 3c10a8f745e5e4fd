// The directory at the end of a zip archive.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "sluice/error.hpp"
#include "src/data/zip.hpp"

namespace sluice::detail {
namespace {

constexpr std::uint64_t kMost16 = 0xFFFF, kMost32 = 0xFFFFFFFF;
constexpr std::uint64_t kEndSize = 22, kEntrySize = 46, kLocalSize = 30, kLocatorSize = 20, kEnd64Size = 56;

/// A little-endian number in text that is known to be long enough.
std::uint64_t number(std::string_view text, std::size_t at, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(text[at + i])) << (8 * i);
  }
  return value;
}

std::string bytes_at(const StoredFile& file, std::uint64_t offset, std::uint64_t count) {
  std::string text(static_cast<std::size_t>(count), '\0');
  file.read(offset, std::as_writable_bytes(std::span(text)), "the directory of the archive");
  return text;
}

[[noreturn]] void fail(const StoredFile& file, const std::string& message) {
  throw FileError(fmt::format("{}: {}", file.name(), message));
}

struct Directory {
  std::uint64_t entries, size, begin;
};

/// What the record for large archives says, which lies before the end record at `end`.
Directory large_directory(const StoredFile& file, std::uint64_t end) {
  const std::string locator = end < kLocatorSize ? "" : bytes_at(file, end - kLocatorSize, kLocatorSize);
  if (!locator.starts_with("PK\6\7")) fail(file, "the end record asks for a zip64 record, but there is none");
  const std::uint64_t at = number(locator, 8, 8);
  if (at > end || end - at < kEnd64Size) fail(file, "the zip64 record lies outside the file");
  const std::string record = bytes_at(file, at, kEnd64Size);
  if (!record.starts_with("PK\6\6")) fail(file, "the zip64 record is damaged");
  return {number(record, 32, 8), number(record, 40, 8), number(record, 48, 8)};
}

/// Finds the end record, which only a comment may follow.
Directory find_directory(const StoredFile& file) {
  if (file.size() < kEndSize) fail(file, fmt::format("has {} bytes; this is no zip archive", file.size()));
  const std::uint64_t begin = file.size() - std::min(file.size(), kEndSize + kMost16);
  const std::string tail = bytes_at(file, begin, file.size() - begin);
  for (std::size_t at = tail.size() - kEndSize + 1; at-- > 0;) {
    if (tail.compare(at, 4, "PK\5\6") != 0 || at + kEndSize + number(tail, at + 20, 2) != tail.size()) continue;
    if (number(tail, at + 4, 2) != 0 || number(tail, at + 6, 2) != 0)
      fail(file, "archives of several files are not read");
    Directory found{number(tail, at + 10, 2), number(tail, at + 12, 4), number(tail, at + 16, 4)};
    const bool is_large = found.entries == kMost16 || found.size == kMost32 || found.begin == kMost32;
    if (is_large) found = large_directory(file, begin + at);
    if (found.begin > begin + at || found.size > begin + at - found.begin)
      fail(file, "the directory lies outside the file");
    if (found.size > kMaxZipDirectory || found.entries > found.size / kEntrySize) {
      fail(file, fmt::format("a directory of {} entries in {} bytes", found.entries, found.size));
    }
    return found;
  }
  fail(file, "this is no zip archive, or it is cut off: it has no end record");
}

/// Puts in what stands in the extra field because it does not fit 32 bits.
void widen(const StoredFile& file, std::string_view extra, ZipEntry& entry, std::uint64_t& offset) {
  while (extra.size() >= 4) {
    const std::uint64_t id = number(extra, 0, 2), size = number(extra, 2, 2);
    if (size > extra.size() - 4) break;
    std::string_view fields = extra.substr(4, size);
    extra.remove_prefix(4 + size);
    if (id != 1) continue;
    for (std::uint64_t* const value : {&entry.size, &entry.stored, &offset}) {
      if (*value != kMost32) continue;
      if (fields.size() < 8) fail(file, "\"" + entry.name + "\": its zip64 field is too short");
      *value = number(fields, 0, 8);
      fields.remove_prefix(8);
    }
    return;
  }
}

/// Finds the bytes of an entry behind its local header. Its sizes are those of the directory: the header may have none.
void locate(const StoredFile& file, ZipEntry& entry, std::uint64_t offset, std::uint64_t limit) {
  if (offset > limit || limit - offset < kLocalSize) fail(file, "\"" + entry.name + "\" lies outside the file");
  const std::string local = bytes_at(file, offset, kLocalSize);
  if (!local.starts_with("PK\3\4")) fail(file, "\"" + entry.name + "\": its header is damaged");
  entry.begin = offset + kLocalSize + number(local, 26, 2) + number(local, 28, 2);
  if (entry.begin > limit || entry.stored > limit - entry.begin) {
    fail(file, "\"" + entry.name + "\" lies outside the file");
  }
  if (entry.is_deflated ? !can_inflate(entry.stored, entry.size) : entry.size != entry.stored) {
    fail(file, fmt::format("\"{}\": {} bytes cannot hold {}", entry.name, entry.stored, entry.size));
  }
}

void check_disjoint(const StoredFile& file, const std::vector<ZipEntry>& entries) {
  std::vector<const ZipEntry*> sorted;
  sorted.reserve(entries.size());
  for (const ZipEntry& entry : entries) sorted.push_back(&entry);
  std::sort(sorted.begin(), sorted.end(), [](const ZipEntry* a, const ZipEntry* b) { return a->begin < b->begin; });
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i]->begin - sorted[i - 1]->begin >= sorted[i - 1]->stored + kLocalSize) continue;
    fail(file, fmt::format("\"{}\" and \"{}\" overlap", sorted[i - 1]->name, sorted[i]->name));
  }
}

}  // namespace

std::vector<ZipEntry> read_zip_directory(const StoredFile& file) {
  const Directory directory = find_directory(file);
  const std::string text = bytes_at(file, directory.begin, directory.size);
  std::vector<ZipEntry> entries;
  std::size_t at = 0;
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    if (text.size() - at < kEntrySize || text.compare(at, 4, "PK\1\2") != 0)
      fail(file, "the directory is damaged, or something stands before the archive");
    const std::uint64_t flags = number(text, at + 8, 2), method = number(text, at + 10, 2);
    const std::uint64_t name = number(text, at + 28, 2), extra = number(text, at + 30, 2);
    const std::uint64_t rest = name + extra + number(text, at + 32, 2);
    if (rest > text.size() - at - kEntrySize) fail(file, "the directory is cut off");
    ZipEntry entry{text.substr(at + kEntrySize, name),
                   method == 8,
                   static_cast<std::uint32_t>(number(text, at + 16, 4)),
                   0,
                   number(text, at + 20, 4),
                   number(text, at + 24, 4)};
    if ((flags & 1) != 0) fail(file, "\"" + entry.name + "\" is encrypted");
    if (method != 0 && method != 8) {
      fail(file, fmt::format("\"{}\" is compressed by method {}; only deflate, that of np.savez_compressed, is read",
                             entry.name, method));
    }
    std::uint64_t offset = number(text, at + 42, 4);
    widen(file, std::string_view(text).substr(at + kEntrySize + name, extra), entry, offset);
    locate(file, entry, offset, directory.begin);
    entries.push_back(std::move(entry));
    at += kEntrySize + rest;
  }
  check_disjoint(file, entries);
  return entries;
}

}  // namespace sluice::detail
