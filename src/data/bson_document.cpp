// The container of BSON files: its elements, and the check of a whole file before anything is made of it.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "src/core/utf8.hpp"
#include "src/data/bson.hpp"

namespace sluice::detail {
namespace {

constexpr std::uint64_t kSmallest = 5;  // a length and the byte that ends a document
constexpr std::uint64_t kMostNames = std::uint64_t{8} << 20;
constexpr std::size_t kMostDepth = 512;

/// The names of the documents that are being read, to find two that are equal.
class OpenNames {
 public:
  explicit OpenNames(const ByteSource& source) : source_(source) {}

  void open() { starts_.push_back(places_.size()); }
  void add(const std::string& name) {
    if (text_.size() + name.size() > kMostNames) source_.fail("the names in it take more than 8 MiB");
    places_.push_back({static_cast<std::uint32_t>(text_.size()), static_cast<std::uint32_t>(name.size())});
    text_ += name;
  }
  /// Throws FileError if two names of the innermost document are equal.
  void close(std::uint64_t at) {
    const auto first = places_.begin() + static_cast<std::ptrdiff_t>(starts_.back());
    const std::size_t text_size = first == places_.end() ? text_.size() : first->at;
    std::sort(first, places_.end(), [this](Place a, Place b) { return name(a) < name(b); });
    const auto twice =
        std::adjacent_find(first, places_.end(), [this](Place a, Place b) { return name(a) == name(b); });
    if (twice != places_.end())
      source_.fail(at, fmt::format("two elements are named \"{}\"", name(*twice).substr(0, 200)));
    places_.erase(first, places_.end());
    text_.resize(text_size);
    starts_.pop_back();
  }

 private:
  struct Place {
    std::uint32_t at, size;
  };
  std::string_view name(Place place) const { return std::string_view(text_).substr(place.at, place.size); }

  const ByteSource& source_;
  std::string text_;
  std::vector<Place> places_;
  std::vector<std::size_t> starts_;
};

}  // namespace

BsonDocument::BsonDocument(ByteSource& source, std::uint64_t at, std::uint64_t limit) : source_(&source), at_(at) {
  if (limit - at < kSmallest) source.fail(at, fmt::format("a document of {} bytes; the smallest has 5", limit - at));
  const auto length = source.number<std::int32_t>(at);
  if (length < static_cast<std::int32_t>(kSmallest) || static_cast<std::uint64_t>(length) > limit - at) {
    source.fail(at, fmt::format("a document of {} bytes; it has 5 at least, and {} are left", length, limit - at));
  }
  at_ = at + sizeof(length);
  end_ = at + static_cast<std::uint64_t>(length);
  if (source.number<char>(end_ - 1) != 0) source.fail(end_ - 1, "the document does not end with 0");
}

std::optional<BsonElement> BsonDocument::next() {
  const std::uint64_t last = end_ - 1;
  if (at_ == last) return std::nullopt;
  BsonElement element;
  element.type = source_->number<std::uint8_t>(at_);
  if (element.type == 0) source_->fail(at_, fmt::format("the document ends here, its length says {}", end_));
  element.key = source_->text_to_nul(at_ + 1, last, kMostBsonKey);
  element.at = at_ + 1 + element.key.size() + 1;
  measure(element);
  at_ = element.next;
  return element;
}

void BsonDocument::measure(BsonElement& element) {
  const std::uint64_t left = end_ - 1 - element.at;
  std::uint64_t size = 0;
  switch (element.type) {
    case BsonElement::kText: return measure_text(element);
    case BsonElement::kBinary: return measure_binary(element);
    case BsonElement::kDocument:
    case BsonElement::kList: size = BsonDocument(*source_, element.at, end_ - 1).end() - element.at; break;
    case BsonElement::kDouble:
    case BsonElement::kInt64: size = 8; break;
    case BsonElement::kInt32: size = 4; break;
    case BsonElement::kBool: size = 1; break;
    case BsonElement::kNothing: break;
    default:
      source_->fail(element.at,
                    fmt::format("\"{}\" has the element type 0x{:02x}; Julia writes 01 to 05, 08, 0a, 10, 12",
                                element.key.substr(0, 200), element.type));
  }
  if (size > left) source_->fail(element.at, "the value goes beyond its document");
  if (element.type == BsonElement::kBool && source_->number<std::uint8_t>(element.at) > 1) {
    source_->fail(element.at, "a Bool that is neither 0 nor 1");
  }
  element.end = element.next = element.at + size;
}

void BsonDocument::measure_text(BsonElement& element) {
  const std::uint64_t left = end_ - 1 - element.at;
  const std::int32_t length = left < 4 ? 0 : source_->number<std::int32_t>(element.at);
  if (length < 1 || static_cast<std::uint64_t>(length) > left - 4) {
    source_->fail(element.at, fmt::format("a text of {} bytes, where {} are left", length, left));
  }
  element.at += 4;
  element.next = element.at + static_cast<std::uint64_t>(length);
  element.end = element.next - 1;
  if (source_->number<char>(element.end) != 0) source_->fail(element.end, "the text does not end with 0");
}

void BsonDocument::measure_binary(BsonElement& element) {
  const std::uint64_t left = end_ - 1 - element.at;
  const std::int32_t length = left < 5 ? -1 : source_->number<std::int32_t>(element.at);
  if (length < 0 || static_cast<std::uint64_t>(length) > left - 5) {
    source_->fail(element.at, fmt::format("binary data of {} bytes, where {} are left", length, left));
  }
  const auto subtype = source_->number<std::uint8_t>(element.at + 4);
  if (subtype != 0) source_->fail(element.at + 4, fmt::format("binary data of subtype {}; only 0 is known", subtype));
  element.at += 5;
  element.end = element.next = element.at + static_cast<std::uint64_t>(length);
}

void check_bson(ByteSource& source) {
  struct Open {
    BsonDocument document;
    bool is_list;
  };
  std::vector<Open> open{{BsonDocument(source, 0, source.size()), false}};
  if (open.back().document.end() != source.size()) {
    source.fail(0, fmt::format("the document has {} bytes, the file {}", open.back().document.end(), source.size()));
  }
  OpenNames names(source);
  names.open();
  std::uint64_t count = 0;
  while (!open.empty()) {
    const std::optional<BsonElement> element = open.back().document.next();
    if (!element) {
      names.close(open.back().document.end());
      open.pop_back();
      continue;
    }
    if (++count > kMostBsonElements) source.fail(element->at, fmt::format("more than {} elements", kMostBsonElements));
    if (!is_utf8_name(element->key)) source.fail(element->at, "a name that is not UTF-8");
    // The keys of a list are its numbers, which nobody reads.
    if (!open.back().is_list) names.add(element->key);
    if (element->type != BsonElement::kDocument && element->type != BsonElement::kList) continue;
    if (open.size() == kMostDepth) source.fail(element->at, "documents lie within one another more than 512 deep");
    open.push_back({BsonDocument(source, element->at, element->next), element->type == BsonElement::kList});
    names.open();
  }
}

}  // namespace sluice::detail
