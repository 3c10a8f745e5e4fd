// A writer of small JLD2 files, after the HDF5 file format specification, for tests of the reader.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/data/lookup3.hpp"

namespace sluice::tests {

class Jld2Writer {
 public:
  /// Of the format: 1 is 0.1.1, 2 is 0.2.0.
  explicit Jld2Writer(int generation = 1) : generation_(generation), content_(kHeap + kHeapSize, '\0') {
    core_ = kHeap + kHeapSize;  // where the first object will be
    const std::string layout = compound({{"name", kVariableText}, {"parameters", kVariableList}}, {0, 16}, 32);
    commit(layout, "Core.DataType", {}, {}, {});
  }

  template <class T>
  static std::string bytes(T number) {
    std::string text(sizeof(T), '\0');
    std::memcpy(text.data(), &number, sizeof(T));
    return text;
  }
  template <class T>
  static std::string bytes_of(const std::vector<T>& numbers) {
    std::string text;
    for (const T& each : numbers) text += bytes(each);
    return text;
  }

  // Datatypes.
  static const std::string kF64, kF32, kF16, kBF16, kI64, kI32, kI16, kI8, kU8, kU32, kBool, kReference, kVariableText,
      kVariableList;
  static std::string opaque(std::uint32_t size) { return std::string("\x35\0\0\0", 4) + bytes(size); }
  static std::string fixed_text(std::uint32_t size) { return std::string("\x33\x10\0\0", 4) + bytes(size); }
  static std::string compound(const std::vector<std::pair<std::string, std::string>>& members,
                              const std::vector<std::uint8_t>& offsets, std::uint8_t size) {
    std::string text = '\x36' + bytes(static_cast<std::uint16_t>(members.size())) + '\0' + bytes<std::uint32_t>(size);
    for (std::size_t i = 0; i < members.size(); ++i) {
      text += members[i].first + '\0' + static_cast<char>(offsets[i]) + members[i].second;
    }
    return text;
  }

  /// A value of variable length: 16 bytes that lead to the heap.
  std::string in_heap(const std::string& data, std::uint32_t count) {
    if (count == 0) return std::string(16, '\0');
    heap_.push_back(data);
    return bytes(count) + bytes(kHeap) + bytes(static_cast<std::uint32_t>(heap_.size()));
  }
  std::string text(const std::string& text) { return in_heap(text, static_cast<std::uint32_t>(text.size())); }
  std::string list(const std::vector<std::uint64_t>& addresses) {
    return in_heap(bytes_of(addresses), static_cast<std::uint32_t>(addresses.size()));
  }

  /// A message of an object header.
  static std::string message(std::uint8_t type, const std::string& content, std::uint8_t flags = 0) {
    return std::string(1, static_cast<char>(type)) + bytes(static_cast<std::uint16_t>(content.size())) +
           static_cast<char>(flags) + content;
  }
  /// Writes an object; returns its address.
  std::uint64_t object(const std::string& messages) {
    return checked("OHDR" + std::string("\x02\x02", 2) + bytes(static_cast<std::uint32_t>(messages.size())) + messages);
  }
  /// Writes an object whose last messages are in a chunk of their own.
  std::uint64_t object(const std::string& messages, const std::string& continued) {
    const std::uint64_t chunk = checked("OCHK" + continued);
    return object(messages + message(0x10, bytes(chunk) + bytes<std::uint64_t>(8 + continued.size())));
  }

  /// Commits a type: what Julia calls it, its parameters, and, by generation, its fields.
  std::uint64_t commit(const std::string& layout, const std::string& name, const std::vector<std::uint64_t>& parameters,
                       const std::vector<std::string>& field_names, const std::vector<std::uint64_t>& field_types) {
    std::string messages = message(0x03, layout, 0x40) +
                           attribute("julia_type", shared(core_), scalar_space(), text(name) + list(parameters));
    if (generation_ == 1 && !field_types.empty()) {
      messages += attribute("field_datatypes", kReference, space({field_types.size()}), bytes_of(field_types));
    } else if (generation_ == 2 && !field_names.empty()) {
      std::string names;
      for (const std::string& field : field_names) names += text(field);
      messages += attribute("field_names", kVariableText, space({field_names.size()}), names);
      messages += attribute("field_types", kReference, space({field_types.size()}), bytes_of(field_types));
    }
    return object(messages);
  }
  /// A type that is not committed, as a value of Core.DataType.
  std::uint64_t type(const std::string& name, const std::vector<std::uint64_t>& parameters = {}) {
    return scalar(committed(core_), text(name) + list(parameters));
  }

  static std::string scalar_space() { return std::string("\x02\0\0\0", 4); }
  static std::string null_space() { return std::string("\x02\0\0\x02", 4); }
  /// First dimension first, as Julia counts; the file has them the other way round.
  static std::string space(const std::vector<std::uint64_t>& sizes) {
    return std::string("\x02", 1) + static_cast<char>(sizes.size()) + std::string("\0\x01", 2) +
           reversed<std::uint64_t>(sizes);
  }

  static std::string inline_type(const std::string& datatype) { return message(0x03, datatype, 1); }
  static std::string committed(std::uint64_t address) { return message(0x03, shared(address), 3); }
  static std::string compact(const std::string& data) {
    return message(0x08, std::string("\x04\0", 2) + bytes(static_cast<std::uint16_t>(data.size())) + data);
  }
  std::string contiguous(const std::string& data) {
    return message(0x08, std::string("\x04\x01", 2) + bytes(append(data)) + bytes<std::uint64_t>(data.size()));
  }

  /// A filter of a pipeline; those from 256 on have a name.
  static std::string filter(std::uint16_t id, const std::vector<std::uint32_t>& values, const std::string& name = "") {
    const std::string name_size = id < 256 ? "" : bytes(static_cast<std::uint16_t>(name.size()));
    return bytes(id) + name_size + std::string(2, '\0') + bytes(static_cast<std::uint16_t>(values.size())) + name +
           bytes_of(values);
  }
  /// The filters in the order in which they were applied.
  static std::string filters(const std::vector<std::string>& filters) {
    std::string content = std::string("\x02", 1) + static_cast<char>(filters.size());
    for (const std::string& each : filters) content += each;
    return message(0x0b, content);
  }
  static std::string deflate() { return filter(1, {5}); }
  static std::string shuffle(std::uint32_t element) { return filter(2, {element}); }
  static std::string shuffled(const std::string& data, std::size_t element) {
    std::string result;
    for (std::size_t place = 0; place < element; ++place) {
      for (std::size_t i = place; i < data.size(); i += element) result += data[i];
    }
    return result;
  }
  /// The one chunk of an array that went through filters, as `compress = true` leaves it. `sizes` are of the chunk.
  std::string one_chunk(const std::vector<std::uint64_t>& sizes, std::uint64_t element, const std::string& stored,
                        std::uint32_t skipped = 0) {
    return message(0x08, std::string("\x04\x02\x02", 3) + static_cast<char>(sizes.size() + 1) + '\x08' +
                             reversed<std::uint64_t>(sizes) + bytes(element) + '\x01' +
                             bytes<std::uint64_t>(stored.size()) + bytes(skipped) + bytes(append(stored)));
  }
  /// The same without filters.
  std::string plain_chunk(const std::vector<std::uint64_t>& sizes, std::uint8_t element, const std::string& stored) {
    std::string dimensions = reversed<std::uint16_t>(sizes) + bytes<std::uint16_t>(element);
    return message(0x08, std::string("\x04\x02\0", 3) + static_cast<char>(sizes.size() + 1) + '\x02' + dimensions +
                             '\x01' + bytes(append(stored)));
  }
  /// The one chunk of an array in a B-tree, which is where JLD2 0.6 puts chunks when it is asked for some.
  std::string chunk_in_tree(const std::vector<std::uint64_t>& sizes, std::uint32_t element, const std::string& stored,
                            std::uint32_t skipped = 0, std::uint16_t entries = 1) {
    constexpr std::size_t kMostEntries = 64;  // libhdf5 reads a node with room for all
    const std::size_t rank = sizes.size() + 1, key = 8 + 8 * rank;
    std::string node = std::string("TREE\x01\0", 6) + bytes(entries) + std::string(16, '\xff') +
                       bytes(static_cast<std::uint32_t>(stored.size())) + bytes(skipped) + std::string(8 * rank, '\0') +
                       bytes(append(stored));
    node += std::string(8, '\0') + reversed<std::uint64_t>(sizes) + bytes<std::uint64_t>(element);
    node.resize(24 + kMostEntries * (key + 8) + key);
    return message(0x08, std::string("\x03\x02", 2) + static_cast<char>(rank) + bytes(append(node)) +
                             reversed<std::uint32_t>(sizes) + bytes(element));
  }

  std::uint64_t dataset(const std::string& type, const std::string& space, const std::string& layout) {
    return object(message(0x05, "\x03\x09") + message(0x01, space) + type + layout);
  }
  std::uint64_t scalar(const std::string& type, const std::string& data) {
    return dataset(type, scalar_space(), compact(data));
  }
  template <class T>
  std::uint64_t array(const std::string& type, const std::vector<std::uint64_t>& sizes, const std::vector<T>& data) {
    return dataset(inline_type(type), space(sizes), compact(bytes_of(data)));
  }

  static std::string link(const std::string& name, std::uint64_t address) {
    return message(0x06, std::string("\x01\x10\x01", 3) + static_cast<char>(name.size()) + name + bytes(address));
  }
  std::uint64_t group(const std::vector<std::pair<std::string, std::uint64_t>>& members) {
    std::string messages = message(0x02, std::string(2, '\0') + std::string(16, '\xff')) + message(0x0a, {2, '\0'});
    for (const auto& [name, address] : members) messages += link(name, address);
    return object(messages + message(0, std::string(20, '\0')));
  }
  /// The whole file, with these names at its root.
  std::string file(const std::vector<std::pair<std::string, std::uint64_t>>& members) { return file(group(members)); }
  std::string file(std::uint64_t root) {
    write_heap();
    std::string title = std::string("HDF5-based Julia Data Format, version 0.") + (generation_ == 1 ? "1.1" : "2.0");
    title += std::string("\0 (Julia 1.9.3 64-bit LE)", 26);
    title.resize(512);
    std::string block = std::string("\x89HDF\r\n\x1a\n\x02\x08\x08\0", 12) + bytes<std::uint64_t>(512) +
                        std::string(8, '\xff') + bytes<std::uint64_t>(512 + content_.size()) + bytes(root);
    block += bytes(sum_of(block));
    content_.replace(0, block.size(), block);
    return title + content_;
  }

  static std::uint32_t sum_of(const std::string& data) {
    detail::Lookup3 sum(data.size());
    sum.add(std::as_bytes(std::span(data)));
    return sum.value();
  }

 private:
  static constexpr std::uint64_t kHeap = 48, kHeapSize = 8192;

  template <class T>
  static std::string reversed(const std::vector<std::uint64_t>& sizes) {
    std::string text;
    for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) text += bytes(static_cast<T>(*size));
    return text;
  }
  std::uint64_t append(const std::string& data) {
    content_.resize((content_.size() + 7) / 8 * 8);
    const std::uint64_t address = content_.size();
    content_ += data;
    return address;
  }
  static std::string shared(std::uint64_t address) { return "\x03\x02" + bytes(address); }
  static std::string attribute(const std::string& name, const std::string& type, const std::string& space,
                               const std::string& data) {
    const bool is_shared = type.starts_with("\x03\x02");
    return message(0x0c, std::string("\x02", 1) + static_cast<char>(is_shared) +
                             bytes(static_cast<std::uint16_t>(name.size() + 1)) +
                             bytes(static_cast<std::uint16_t>(type.size())) +
                             bytes(static_cast<std::uint16_t>(space.size())) + name + '\0' + type + space + data);
  }
  std::uint64_t checked(const std::string& data) {
    const std::uint64_t address = content_.size();
    content_ += data + bytes(sum_of(data));
    return address;
  }
  void write_heap() {
    std::string heap = "GCOL" + std::string("\x01\0\0\0", 4) + bytes(kHeapSize);
    std::uint16_t index = 0;
    for (const std::string& each : heap_) {
      heap += bytes(++index) + std::string("\x01\0\0\0\0\0", 6) + bytes<std::uint64_t>(each.size()) + each;
      heap.resize((heap.size() + 7) / 8 * 8);
    }
    heap += std::string(8, '\0') + bytes<std::uint64_t>(kHeapSize - heap.size());
    content_.replace(kHeap, heap.size(), heap);
  }

  int generation_;
  std::string content_;
  std::vector<std::string> heap_;
  std::uint64_t core_ = 0;
};

// Class and version, bits, size, then where the parts of a number are.
inline const std::string Jld2Writer::kF64("\x31\x20\x3f\0\x08\0\0\0\0\0\x40\0\x34\x0b\0\x34\xff\x03\0\0", 20);
inline const std::string Jld2Writer::kF32("\x31\x20\x1f\0\x04\0\0\0\0\0\x20\0\x17\x08\0\x17\x7f\0\0\0", 20);
inline const std::string Jld2Writer::kF16("\x31\x20\x0f\0\x02\0\0\0\0\0\x10\0\x0a\x05\0\x0a\x0f\0\0\0", 20);
inline const std::string Jld2Writer::kBF16("\x31\x20\x0f\0\x02\0\0\0\0\0\x10\0\x07\x08\0\x07\x7f\0\0\0", 20);
inline const std::string Jld2Writer::kI64("\x30\x08\0\0\x08\0\0\0\0\0\x40\0", 12);
inline const std::string Jld2Writer::kI32("\x30\x08\0\0\x04\0\0\0\0\0\x20\0", 12);
inline const std::string Jld2Writer::kI16("\x30\x08\0\0\x02\0\0\0\0\0\x10\0", 12);
inline const std::string Jld2Writer::kI8("\x30\x08\0\0\x01\0\0\0\0\0\x08\0", 12);
inline const std::string Jld2Writer::kU8("\x30\0\0\0\x01\0\0\0\0\0\x08\0", 12);
inline const std::string Jld2Writer::kU32("\x30\0\0\0\x04\0\0\0\0\0\x20\0", 12);
inline const std::string Jld2Writer::kBool("\x34\0\0\0\x01\0\0\0\0\0\x08\0", 12);
inline const std::string Jld2Writer::kReference("\x37\0\0\0\x08\0\0\0", 8);
inline const std::string Jld2Writer::kVariableText("\x39\x11\x01\0\x10\0\0\0\x30\0\0\0\x01\0\0\0\0\0\x08\0", 20);
inline const std::string Jld2Writer::kVariableList("\x39\0\0\0\x10\0\0\0\x37\0\0\0\x08\0\0\0", 16);

}  // namespace sluice::tests
