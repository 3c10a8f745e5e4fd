// The types of JLD2: HDF5 datatypes, and what Julia says of those that are committed under `_types`.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/data/jld2_file.hpp"

namespace sluice::detail {

struct H5Member;

/// How the bytes of a value are laid out.
struct H5Type {
  enum Kind : std::uint8_t { kNumber, kText, kOpaque, kCompound, kReference, kVariableText, kVariableList };

  Kind kind = kOpaque;
  std::uint64_t size = 0;
  std::string number;             ///< of a number: "Core.Float32"
  std::vector<H5Member> members;  ///< of a compound; of a list of variable length its element
  std::uint64_t committed = 0;    ///< the address of the object that gives it a meaning in Julia, or 0
};

struct H5Member {
  std::string name;
  std::uint64_t offset = 0;
  H5Type type;
};

/// A type of Julia as a file names it: Core.Array with the addresses of its parameters.
struct Jld2Name {
  std::string name;
  std::vector<std::uint64_t> parameters;
};

/// A committed type.
struct Jld2Type {
  Jld2Name julia;
  H5Type layout;
  std::vector<std::string> field_names;    ///< all fields in order, if the file says
  std::vector<std::uint64_t> field_types;  ///< of all fields, or of those that have bytes
};

/// Reads each committed type once.
class Jld2Types {
 public:
  Jld2Types(Jld2File& file, StateBudget& budget) : file_(file), source_(file.source()), budget_(budget) {}

  /// The type that a Datatype message holds or leads to. Valid as long as this is.
  const H5Type& of_message(const H5Message& message);
  /// The committed type at an address; null if there is another object. Valid as long as this is.
  const Jld2Type* committed(std::uint64_t address);
  /// A name and parameters as they lie in 32 bytes: the value of a Core.DataType.
  Jld2Name name_at(std::uint64_t at);
  std::string variable_text(std::uint64_t at);
  /// The elements of a list of variable length: where they are, and how many.
  FileRange variable_list(std::uint64_t at, std::uint64_t element_size);

 private:
  H5Type parse(std::uint64_t& at, std::uint64_t end, int depth);
  void parse_number(H5Type& type, std::uint32_t bits, std::uint64_t& at, std::uint64_t end);
  void parse_compound(H5Type& type, std::uint32_t bits, std::uint64_t& at, std::uint64_t end, int depth);
  void need(std::uint64_t at, std::uint64_t end, std::uint64_t size) const;
  std::unique_ptr<Jld2Type> read_committed(std::uint64_t address);
  std::vector<std::uint64_t> addresses(FileRange range);

  Jld2File& file_;
  ByteSource& source_;
  StateBudget& budget_;
  std::deque<H5Type> inline_;
  std::map<std::uint64_t, std::unique_ptr<Jld2Type>> committed_;
};

}  // namespace sluice::detail
