// A BSON document under construction, with the lengths of its parts filled in as they are closed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/tensor.hpp"

namespace sluice::detail {

class AtomicFile;

/// Everything but the elements of tensors, which are fetched when the file is written.
class BsonText {
 public:
  static constexpr std::uint64_t kMost = 0x7fffffff;

  /// A document; `write` writes what is in it. The whole file is one without a name.
  template <class Write>
  void document(Write write) {
    const std::size_t at = text_.size();
    const std::uint64_t start = position();
    number<std::int32_t>(0);
    write();
    close(at, start);
  }
  template <class Write>
  void document(std::uint8_t type, std::string_view name, Write write) {
    key(type, name);
    document(write);
  }
  /// The beginning of an element; its value comes next.
  void key(std::uint8_t type, std::string_view name);
  template <class T>
  void number(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  void text(std::string_view key_name, std::string_view value);
  /// The elements of a tensor as binary data.
  void elements(std::string_view key_name, const Tensor& tensor);
  /// How long it is by now. BSON holds up to kMost.
  std::uint64_t position() const { return text_.size() + in_gaps_; }
  /// How many elements it has.
  std::uint64_t count() const { return count_; }
  void write_to(AtomicFile& file) const;

 private:
  void close(std::size_t at, std::uint64_t start);

  struct Gap {
    std::size_t at;  ///< in the text
    Tensor tensor;   ///< whose elements belong there
  };

  std::string text_;
  std::vector<Gap> gaps_;
  std::uint64_t in_gaps_ = 0, count_ = 0;
};

}  // namespace sluice::detail
