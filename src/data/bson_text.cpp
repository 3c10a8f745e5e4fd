#include "src/data/bson_text.hpp"

#include <algorithm>

#include "src/core/atomic_file.hpp"
#include "src/data/bson.hpp"

namespace sluice::detail {

void BsonText::key(std::uint8_t type, std::string_view name) {
  ++count_;
  text_ += static_cast<char>(type);
  text_.append(name);
  text_ += '\0';
}

void BsonText::text(std::string_view key_name, std::string_view value) {
  key(BsonElement::kText, key_name);
  number(static_cast<std::int32_t>(value.size() + 1));
  text_.append(value);
  text_ += '\0';
}

void BsonText::elements(std::string_view key_name, const Tensor& tensor) {
  key(BsonElement::kBinary, key_name);
  const std::uint64_t bytes = static_cast<std::uint64_t>(tensor.numel()) * tensor.dtype().size();
  number(static_cast<std::int32_t>(bytes));  // too many are found when the document is closed
  text_ += '\0';
  gaps_.push_back({text_.size(), tensor});
  in_gaps_ += bytes;
}

void BsonText::close(std::size_t at, std::uint64_t start) {
  text_ += '\0';
  const auto length = static_cast<std::int32_t>(position() - start);
  std::copy_n(reinterpret_cast<const char*>(&length), sizeof(length), text_.begin() + static_cast<std::ptrdiff_t>(at));
}

void BsonText::write_to(AtomicFile& file) const {
  const auto bytes = std::as_bytes(std::span(text_));
  std::size_t done = 0;
  for (const Gap& gap : gaps_) {
    file.write(bytes.subspan(done, gap.at - done));
    done = gap.at;
    if (gap.tensor.numel() > 0) file.write(cpu_device()(gap.tensor).bytes());
  }
  file.write(bytes.subspan(done));
}

}  // namespace sluice::detail
