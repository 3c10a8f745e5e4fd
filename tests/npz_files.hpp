// NumPy's files, byte by byte, and such as NumPy would not write.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "gzip.hpp"

namespace sluice::tests {

inline std::string little(std::uint64_t value, int bytes) {
  std::string text;
  for (; bytes > 0; --bytes, value >>= 8) text += static_cast<char>(value & 0xFF);
  return text;
}

inline std::string npy(const std::string& dictionary, const std::string& data, int version = 1) {
  return std::string("\x93NUMPY") + static_cast<char>(version) + '\0' +
         little(dictionary.size(), version == 1 ? 2 : 4) + dictionary + data;
}

inline std::string dictionary(const std::string& descr, const std::string& order, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }    \n";
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  std::string text(values.size() * sizeof(T), '\0');
  std::memcpy(text.data(), values.data(), text.size());
  return text;
}

/// One entry of an archive whose numbers may lie.
struct Entry {
  std::string name, content;
  bool deflated = false;
  std::optional<std::uint64_t> size = {};  // said by the directory
  std::optional<std::uint32_t> checksum = {};
  std::optional<std::uint32_t> offset = {};
  std::string extra = {};
};

inline std::string zip(const std::vector<Entry>& entries) {
  std::string file, directory;
  for (const Entry& each : entries) {
    const std::string stored = each.deflated ? raw_deflated(each.content) : each.content;
    const auto sum =
        crc32(0, reinterpret_cast<const Bytef*>(each.content.data()), static_cast<uInt>(each.content.size()));
    const std::uint64_t offset = file.size();
    // NumPy's own local headers have no sizes either: it announces them as too large and puts them in a field behind.
    file += "PK\3\4" + little(45, 2) + little(0, 2) + little(each.deflated ? 8 : 0, 2) + little(0, 8) +
            little(0xFFFFFFFF, 4) + little(0xFFFFFFFF, 4) + little(each.name.size(), 2) + little(20, 2) + each.name +
            little(1, 2) + little(16, 2) + little(each.content.size(), 8) + little(stored.size(), 8) + stored;
    directory += "PK\1\2" + little(45, 2) + little(45, 2) + little(0, 2) + little(each.deflated ? 8 : 0, 2) +
                 little(0, 4) + little(each.checksum.value_or(static_cast<std::uint32_t>(sum)), 4) +
                 little(stored.size(), 4) + little(each.size.value_or(each.content.size()), 4) +
                 little(each.name.size(), 2) + little(each.extra.size(), 2) + little(0, 10) +
                 little(each.offset.value_or(static_cast<std::uint32_t>(offset)), 4) + each.name + each.extra;
  }
  const std::uint64_t begin = file.size();
  return file + directory + "PK\5\6" + little(0, 4) + little(entries.size(), 2) + little(entries.size(), 2) +
         little(directory.size(), 4) + little(begin, 4) + little(0, 2);
}

/// Numbers, text, objects and structs of NumPy, beside what is no array.
inline std::string mixed_archive() {
  return zip({{"w.npy", npy(dictionary("<f4", "True", "(2,)"), bytes_of<float>({1, 2}))},
              {"labels.npy", npy(dictionary("<u2", "False", "(3,)"), bytes_of<std::uint16_t>({1, 2, 3})), true},
              {"names.npy", npy(dictionary("<U4", "False", "(1,)"), std::string(16, '\0'))},
              {"objects.npy", npy(dictionary("|O", "False", "(2,)"), "a pickle")},
              {"rows.npy", npy("{'descr': [('a', '<f4'), ('b]', '<i4', (2,))], 'fortran_order': False, 'shape': (1,)}",
                               std::string(12, '\0'))},
              {"notes.txt", "hello"},
              {"folder/", ""}});
}

}  // namespace sluice::tests
