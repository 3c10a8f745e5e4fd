// The BSON files that Flux users write with BSON.jl: a document of numbers, text, bytes and documents, in which a
// document with a "tag" is a Julia value: an array, a struct, a tuple, a symbol, a type, or a reference into the list
// "_backrefs".
//
// The container is read here rather than by libbson: nine kinds of elements are a hundred lines, lengths are held
// against what encloses them before anything else happens, and arrays go from the file into tensors without a copy of
// the whole. No type name chooses what is done, beyond a fixed list; code in a file (closures) is passed over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sluice/state.hpp"
#include "src/data/byte_source.hpp"

namespace sluice::detail {

/// The content of a file of BSON.jl, a record of what was saved under each name. NamedTuples and dictionaries are
/// records, tuples and lists are lists, layers of Flux are records with the type "Flux.Dense", other structs are lists
/// with their type; functions and `()` are nothing with their type. Arrays that Julia shares are one tensor. Throws
/// FileError for what is damaged or hostile.
///
///   State file = read_bson_state("mymodel.bson", "read_state");
///   Tensor w = file.at("model_state.layers.0.weight").tensor();
State read_bson_state(const std::string& path, const std::string& operation);
/// The same of bytes; `name` stands for the path.
State read_bson_state(std::span<const std::byte> content, const std::string& name);

/// Writes, atomically, a file that BSON.jl loads: the members of a record under their names, anything else under the
/// name model_state. Below that, records become NamedTuples, lists tuples, tensors arrays; one tensor in several places
/// stays one array. Throws ArgumentError for names that are not UTF-8 or not unique, for more than 2 GiB, the most that
/// BSON can hold, and for more values than are read.
void write_bson_state(const std::string& path, const std::string& operation, const State& state);

/// The name under which Flux's users keep a state.
inline constexpr std::string_view kModelState = "model_state";
// What is read, and so written: elements of a file, bytes of a key.
inline constexpr std::uint64_t kMostBsonElements = std::uint64_t{1} << 23, kMostBsonKey = 4096;

/// An element of a document.
struct BsonElement {
  enum Type : std::uint8_t {
    kDouble = 0x01,
    kText = 0x02,
    kDocument = 0x03,
    kList = 0x04,
    kBinary = 0x05,
    kBool = 0x08,
    kNothing = 0x0a,
    kInt32 = 0x10,
    kInt64 = 0x12
  };

  std::uint8_t type = 0;
  std::string key;
  std::uint64_t at = 0, end = 0;  ///< its value, without the lengths and terminators of text and binary data
  std::uint64_t next = 0;         ///< where the next one begins
};

/// Walks the elements of one document.
class BsonDocument {
 public:
  /// `at` is where its length is, which must fit before `limit`.
  BsonDocument(ByteSource& source, std::uint64_t at, std::uint64_t limit);

  /// The next element, its value within the document; nothing at the end.
  std::optional<BsonElement> next();
  std::uint64_t end() const { return end_; }

 private:
  void measure(BsonElement& element);
  void measure_text(BsonElement& element);
  void measure_binary(BsonElement& element);

  ByteSource* source_;
  std::uint64_t at_, end_;
};

/// Checks all that can be wrong with the container: lengths, kinds, terminators, names, depth. Throws FileError.
void check_bson(ByteSource& source);

}  // namespace sluice::detail
