// BSON documents written by hand, and in them what BSON.jl writes, for tests of the reader.
#pragma once

#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace sluice::tests::bson {

/// An element without its key.
struct Value {
  char type;
  std::string bytes;
};
using Members = std::vector<std::pair<std::string, Value>>;

template <class T>
std::string bytes_of(T number) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &number, sizeof(T));
  return bytes;
}

inline Value document(const Members& members) {
  std::string body;
  for (const auto& [key, value] : members) body += value.type + key + '\0' + value.bytes;
  return {'\x03', bytes_of(static_cast<std::int32_t>(body.size() + 5)) + body + '\0'};
}

inline Value list(const std::vector<Value>& values) {
  Members members;
  for (const Value& value : values) members.emplace_back(std::to_string(members.size()), value);
  return {'\x04', document(members).bytes};
}

inline Value text(const std::string& text) {
  return {'\x02', bytes_of(static_cast<std::int32_t>(text.size() + 1)) + text + '\0'};
}
inline Value binary(const std::string& data) {
  return {'\x05', bytes_of(static_cast<std::int32_t>(data.size())) + '\0' + data};
}
inline Value integer(std::int64_t value) { return {'\x12', bytes_of(value)}; }
inline Value small_integer(std::int32_t value) { return {'\x10', bytes_of(value)}; }
inline Value real(double value) { return {'\x01', bytes_of(value)}; }
inline Value truth(bool value) { return {'\x08', std::string(1, value ? '\x01' : '\0')}; }
inline Value nothing() { return {'\x0a', ""}; }

/// A type: the parts of its name, and its parameters.
inline Value datatype(const std::vector<std::string>& name, const std::vector<Value>& parameters = {}) {
  std::vector<Value> parts;
  for (const std::string& part : name) parts.push_back(text(part));
  return document({{"tag", text("datatype")}, {"params", list(parameters)}, {"name", list(parts)}});
}
inline Value tuple(const std::vector<Value>& values) {
  return document({{"tag", text("tuple")}, {"data", list(values)}});
}
inline Value symbol(const std::string& name) { return document({{"tag", text("symbol")}, {"name", text(name)}}); }
inline Value structure(const Value& type, const std::vector<Value>& fields) {
  return document({{"tag", text("struct")}, {"type", type}, {"data", list(fields)}});
}
inline Value primitive(const std::vector<std::string>& type, const std::string& data) {
  return document({{"tag", text("struct")}, {"type", datatype(type)}, {"data", binary(data)}});
}
inline Value reference(std::int64_t number) { return document({{"tag", text("backref")}, {"ref", integer(number)}}); }
inline Value array(const std::vector<std::string>& type, const std::vector<std::int64_t>& sizes, const Value& data) {
  std::vector<Value> size;
  for (const std::int64_t each : sizes) size.push_back(integer(each));
  return document({{"type", datatype(type)}, {"size", list(size)}, {"tag", text("array")}, {"data", data}});
}
template <class T>
Value array_of(const std::vector<std::string>& type, const std::vector<std::int64_t>& sizes,
               const std::vector<T>& data) {
  std::string bytes;
  for (const T& each : data) bytes += bytes_of(each);
  return array(type, sizes, binary(bytes));
}
inline Value floats(const std::vector<std::int64_t>& sizes, const std::vector<float>& data) {
  return array_of({"Core", "Float32"}, sizes, data);
}
/// Its field types are Any here, which only a Julia that loads it would look at.
inline Value named_tuple(const std::vector<std::string>& names, const std::vector<Value>& values) {
  std::vector<Value> symbols;
  for (const std::string& name : names) symbols.push_back(symbol(name));
  return structure(datatype({"Core", "NamedTuple"}, {tuple(symbols), datatype({"Core", "Tuple"})}), values);
}

}  // namespace sluice::tests::bson
