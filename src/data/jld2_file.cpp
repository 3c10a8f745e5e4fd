#include "src/data/jld2_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/data/lookup3.hpp"

namespace sluice::detail {
namespace {

constexpr std::uint64_t kBase = 512;  // where JLD2 puts the superblock
constexpr std::uint64_t kSuperblock = 48;
constexpr std::string_view kTitle = "HDF5-based Julia Data Format, version ";
constexpr std::uint64_t kSum = 4;
constexpr std::uint64_t kMostStructure = std::uint64_t{64} << 20;  // bytes of headers and heaps
constexpr std::uint64_t kMostName = 4096;

}  // namespace

Jld2File::Jld2File(ByteSource& source, StateBudget& budget, Checksums checksums)
    : source_(source), budget_(budget), checksums_(checksums) {
  if (source_.size() < kBase + kSuperblock) {
    source_.fail(fmt::format("has {} bytes; a JLD2 file begins with 560 (is this one?)", source_.size()));
  }
  if (source_.text(0, kTitle.size()) != kTitle) source_.fail(0, "does not begin as JLD2 files do");
  read_superblock();
}

void Jld2File::read_superblock() {
  check_signature(kBase, "\x89HDF\r\n\x1a\n");
  const auto version = source_.number<std::uint8_t>(kBase + 8);
  const auto sizes = source_.number<std::uint16_t>(kBase + 9);
  if ((version != 2 && version != 3) || sizes != 0x0808) {
    source_.fail(kBase + 8, fmt::format("a superblock of version {} with sizes {:#06x}; JLD2 writes version 2 with 8 "
                                        "bytes for addresses and lengths",
                                        version, sizes));
  }
  const auto base = source_.number<std::uint64_t>(kBase + 12), end = source_.number<std::uint64_t>(kBase + 28);
  if (base != kBase) source_.fail(kBase + 12, fmt::format("addresses count from {}; expected 512", base));
  if (end > source_.size() || end < kBase + kSuperblock) {
    source_.fail(kBase + 28,
                 fmt::format("the content ends at {}, the file at {} (is it cut off?)", end, source_.size()));
  }
  end_ = end;
  root_ = source_.number<std::uint64_t>(kBase + 36);
  check_sum({kBase, kSuperblock});
}

void Jld2File::check_signature(std::uint64_t at, std::string_view signature) {
  if (source_.text(at, signature.size()) != signature) {
    source_.fail(at, fmt::format("expected the signature \"{}\"", signature[0] > ' ' ? signature : "HDF"));
  }
}

/// The last four bytes are the checksum of those before.
void Jld2File::check_sum(FileRange range) {
  if (checksums_ == Checksums::ignored) return;
  std::array<std::byte, 1200> piece;  // a multiple of 12
  const std::uint64_t end = range.end() - kSum;
  Lookup3 sum(end - range.at);
  for (std::uint64_t at = range.at; at < end; at += piece.size()) {
    const auto part = std::span(piece).first(std::min<std::uint64_t>(piece.size(), end - at));
    source_.read(at, part);
    sum.add(part);
  }
  if (sum.value() != source_.number<std::uint32_t>(end)) source_.fail(range.at, "the checksum is wrong: damaged data");
}

FileRange Jld2File::place(std::uint64_t address, std::uint64_t size) const {
  const std::uint64_t most = end_ - kBase;
  if (address > most || size > most - address) {
    source_.fail(fmt::format("{} bytes at address {} go beyond the content, which ends at {}", size, address, most));
  }
  return {kBase + address, size};
}

void Jld2File::claim(FileRange range) {
  if (range.size > end_ - claimed_) source_.fail(range.at, "parts of the file overlap");
  claimed_ += range.size;
}

const std::vector<H5Message>& Jld2File::header(std::uint64_t address) {
  auto found = headers_.find(address);
  if (found == headers_.end()) found = headers_.emplace(address, read_header(address)).first;
  return found->second;
}

std::vector<H5Message> Jld2File::read_header(std::uint64_t address) {
  const std::uint64_t at = place(address, 16).at;
  check_signature(at, "OHDR");
  const auto version = source_.number<std::uint8_t>(at + 4), flags = source_.number<std::uint8_t>(at + 5);
  if (version != 2) source_.fail(at + 4, fmt::format("an object header of version {}; JLD2 writes 2", version));
  // Times, and limits of the storage of attributes, may come before the size.
  const std::uint64_t size_at = at + 6 + ((flags & 0x20) != 0 ? 16 : 0) + ((flags & 0x10) != 0 ? 4 : 0);
  const unsigned width = 1u << (flags & 3);
  std::uint64_t size = 0;
  source_.read(size_at, std::as_writable_bytes(std::span(&size, 1)).first(width));
  const std::uint64_t start = size_at + width;
  if (size > kMostStructure) source_.fail(size_at, fmt::format("an object header of {} bytes", size));
  const FileRange whole = place(address, start + size + kSum - at);
  claim(whole);
  if (whole.size > kMostStructure - structure_) source_.fail(at, "the object headers take more than 64 MiB");
  structure_ += whole.size;
  check_sum(whole);
  std::vector<H5Message> messages;
  const bool has_order = (flags & 4) != 0;
  read_messages({start, size}, has_order, messages);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].type == H5Message::kContinuation) continue_header(H5Message(messages[i]), has_order, messages);
  }
  return messages;
}

void Jld2File::read_messages(FileRange range, bool has_order, std::vector<H5Message>& messages) {
  const std::uint64_t head = has_order ? 6 : 4;
  std::uint64_t at = range.at;
  while (range.end() - at >= head) {
    H5Message message;
    message.type = source_.number<std::uint8_t>(at);
    message.is_shared = (source_.number<std::uint8_t>(at + 3) & 2) != 0;
    message.content = {at + head, source_.number<std::uint16_t>(at + 1)};
    if (message.content.size > range.end() - message.content.at) {
      source_.fail(at, fmt::format("a message of {} bytes goes beyond its header", message.content.size));
    }
    at = message.content.end();
    budget_.spend(1);
    messages.push_back(message);
  }
}

/// Reads the chunk that a continuation message leads to.
void Jld2File::continue_header(const H5Message& message, bool has_order, std::vector<H5Message>& messages) {
  if (message.content.size < 16) source_.fail(message.content.at, "a continuation without address and length");
  const auto address = source_.number<std::uint64_t>(message.content.at);
  const auto size = source_.number<std::uint64_t>(message.content.at + 8);
  if (size < 4 + kSum || size > kMostStructure - structure_) {
    source_.fail(message.content.at + 8, fmt::format("a continuation of {} bytes", size));
  }
  structure_ += size;
  const FileRange whole = place(address, size);
  claim(whole);
  check_signature(whole.at, "OCHK");
  check_sum(whole);
  read_messages({whole.at + 4, size - 4 - kSum}, has_order, messages);
}

/// The objects of a collection by their numbers.
std::map<std::uint32_t, FileRange> Jld2File::read_heap(std::uint64_t address) {
  const std::uint64_t at = place(address, 16).at;
  check_signature(at, "GCOL");
  const auto size = source_.number<std::uint64_t>(at + 8);
  if (size < 16) source_.fail(at + 8, fmt::format("a global heap of {} bytes", size));
  const FileRange heap = place(address, size);
  claim(heap);
  std::map<std::uint32_t, FileRange> objects;
  std::uint64_t next = heap.at + 16;
  while (heap.end() - next >= 16) {
    const auto index = source_.number<std::uint16_t>(next);
    if (index == 0) break;  // the rest is free
    const FileRange object{next + 16, source_.number<std::uint64_t>(next + 8)};
    if (object.size > heap.end() - object.at) {
      source_.fail(next, fmt::format("an object of {} bytes goes beyond its heap", object.size));
    }
    budget_.spend(1);
    objects.emplace(index, object);
    next = std::min(heap.end(), object.at + (object.size + 7) / 8 * 8);
  }
  return objects;
}

FileRange Jld2File::heap_object(std::uint64_t address, std::uint32_t index) {
  auto found = heaps_.find(address);
  if (found == heaps_.end()) found = heaps_.emplace(address, read_heap(address)).first;
  const auto object = found->second.find(index);
  if (object == found->second.end()) {
    source_.fail(fmt::format("the global heap at address {} has no object {}", address, index));
  }
  return object->second;
}

H5Attribute Jld2File::attribute(const H5Message& message) {
  const FileRange content = message.content;
  const auto version = content.size < 9 ? std::uint8_t{0} : source_.number<std::uint8_t>(content.at);
  if (version != 2 && version != 3) source_.fail(content.at, fmt::format("an attribute of version {}", version));
  const auto name_size = source_.number<std::uint16_t>(content.at + 2);
  const std::uint64_t type_size = source_.number<std::uint16_t>(content.at + 4);
  const std::uint64_t space_size = source_.number<std::uint16_t>(content.at + 6);
  const std::uint64_t name_at = content.at + (version == 3 ? 9 : 8);
  const std::uint64_t before = name_at - content.at + name_size + type_size + space_size;
  if (name_size == 0 || name_size > kMostName || before > content.size) {
    source_.fail(content.at, "an attribute whose parts go beyond it");
  }
  std::string name = source_.text_to_nul(name_at, name_at + name_size, kMostName);
  return {std::move(name), {content.at + before, content.size - before}};
}

}  // namespace sluice::detail
