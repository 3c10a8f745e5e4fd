// Small JLD2 files with a bit of everything.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gzip.hpp"
#include "jld2_writer.hpp"

namespace sluice::tests {

/// A state as Flux has it, {layers: ({weight, bias, σ: ()}, ())}, with the weight once more under the name "tied".
inline std::string jld2_model(int generation) {
  Jld2Writer writer(generation);
  const std::uint64_t weight = writer.array<float>(Jld2Writer::kF32, {2, 3}, {1, 2, 3, 4, 5, 6});
  const std::uint64_t bias = writer.dataset(Jld2Writer::inline_type(Jld2Writer::kF32), Jld2Writer::space({2}),
                                            writer.contiguous(Jld2Writer::bytes_of<float>({7, 8})));
  const std::uint64_t symbol = writer.commit(Jld2Writer::kVariableText, "Core.Symbol", {}, {}, {});
  const std::uint64_t matrix = writer.type("Core.Array"), empty = writer.type("Tuple");
  const std::uint64_t three =
      writer.scalar(Jld2Writer::inline_type(Jld2Writer::kI64), Jld2Writer::bytes<std::int64_t>(3));
  const std::uint64_t names_type = writer.commit(
      Jld2Writer::compound(
          {{"1", Jld2Writer::kVariableText}, {"2", Jld2Writer::kVariableText}, {"3", Jld2Writer::kVariableText}},
          {0, 16, 32}, 48),
      "NTuple", {three, symbol}, {"1", "2", "3"}, {symbol, symbol, symbol});
  const std::uint64_t names =
      writer.scalar(Jld2Writer::committed(names_type), writer.text("weight") + writer.text("bias") + writer.text("σ"));
  const std::string two =
      Jld2Writer::compound({{"weight", Jld2Writer::kReference}, {"bias", Jld2Writer::kReference}}, {0, 8}, 16);
  const std::uint64_t tuple =
      writer.commit(Jld2Writer::compound({{"1", Jld2Writer::kReference}, {"2", Jld2Writer::kReference}}, {0, 8}, 16),
                    "Core.Tuple", {matrix, matrix, empty}, {"1", "2", "3"},
                    generation == 1 ? std::vector<std::uint64_t>{} : std::vector<std::uint64_t>{matrix, matrix, empty});
  const std::uint64_t dense =
      writer.commit(two, "Core.NamedTuple", {names, tuple}, {"weight", "bias", "σ"},
                    generation == 1 ? std::vector<std::uint64_t>{} : std::vector<std::uint64_t>{matrix, matrix, empty});
  const std::string one_dense = Jld2Writer::compound({{"1", two}}, {0}, 16);
  const std::uint64_t layers =
      writer.commit(one_dense, "Core.Tuple", {dense, empty}, {"1", "2"},
                    generation == 1 ? std::vector<std::uint64_t>{dense} : std::vector<std::uint64_t>{dense, empty});
  const std::uint64_t layers_name_type = writer.commit(
      Jld2Writer::compound({{"1", Jld2Writer::kVariableText}}, {0}, 16), "Tuple", {symbol}, {"1"}, {symbol});
  const std::uint64_t layers_name = writer.scalar(Jld2Writer::committed(layers_name_type), writer.text("layers"));
  const std::uint64_t state_tuple =
      writer.commit(Jld2Writer::compound({{"1", one_dense}}, {0}, 16), "Tuple", {layers}, {"1"}, {layers});
  const std::uint64_t state = writer.commit(Jld2Writer::compound({{"layers", one_dense}}, {0}, 16), "Core.NamedTuple",
                                            {layers_name, state_tuple}, {"layers"}, {layers});
  const std::uint64_t model =
      writer.scalar(Jld2Writer::committed(state), Jld2Writer::bytes(weight) + Jld2Writer::bytes(bias));
  return writer.file({{"model_state", model}, {"tied", weight}, {"_types", writer.group({{"00000001", state}})}});
}

/// Scalars, texts, nothing, and lists of what is no number.
inline std::string jld2_values() {
  Jld2Writer writer;
  const std::uint64_t symbol = writer.commit(Jld2Writer::kVariableText, "Core.Symbol", {}, {}, {});
  const std::uint64_t nothing = writer.commit(Jld2Writer::opaque(1), "Core.Nothing", {}, {}, {});
  const std::uint64_t none = writer.dataset(Jld2Writer::committed(nothing), Jld2Writer::null_space(), "");
  const auto scalar = [&](const std::string& type, const std::string& data) {
    return writer.scalar(Jld2Writer::inline_type(type), data);
  };
  return writer.file(
      {{"f32", scalar(Jld2Writer::kF32, Jld2Writer::bytes(0.1f))},
       {"i64", scalar(Jld2Writer::kI64, Jld2Writer::bytes<std::int64_t>(-7))},
       {"u32", scalar(Jld2Writer::kU32, Jld2Writer::bytes<std::uint32_t>(0xffffffff))},
       {"bool", scalar(Jld2Writer::kBool, "\x01")},
       {"text", scalar(Jld2Writer::fixed_text(3), "\xcf\x80!")},
       {"variable", scalar(Jld2Writer::kVariableText, writer.text("longer"))},
       {"symbol", writer.scalar(Jld2Writer::committed(symbol), writer.text("same"))},
       {"nothing", none},
       {"texts", writer.dataset(Jld2Writer::inline_type(Jld2Writer::kVariableText), Jld2Writer::space({2}),
                                Jld2Writer::compact(writer.text("a") + writer.text("")))},
       {"any", writer.dataset(Jld2Writer::inline_type(Jld2Writer::kReference), Jld2Writer::space({2}),
                              Jld2Writer::compact(Jld2Writer::bytes<std::uint64_t>(0) + Jld2Writer::bytes(none)))}});
}

/// Compressed arrays: "deflated" as `compress = true` leaves it, "shuffled" before that, "tree" with its chunk in a
/// B-tree.
inline std::string jld2_compressed() {
  Jld2Writer writer(2);
  const std::vector<std::uint64_t> sizes{5, 3};
  std::vector<float> numbers;
  for (int i = 0; i < 15; ++i) numbers.push_back(static_cast<float>(i) / 4);
  const std::string data = Jld2Writer::bytes_of(numbers), deflated = zlib_deflated(data);
  const std::string shuffled = zlib_deflated(Jld2Writer::shuffled(data, 4));
  const auto dataset = [&](const std::string& filters_and_layout) {
    return writer.dataset(Jld2Writer::inline_type(Jld2Writer::kF32), Jld2Writer::space(sizes), filters_and_layout);
  };
  const std::string deflate = Jld2Writer::filters({Jld2Writer::deflate()});
  const std::string both = Jld2Writer::filters({Jld2Writer::shuffle(4), Jld2Writer::deflate()});
  return writer.file({{"deflated", dataset(deflate + writer.one_chunk(sizes, 4, deflated))},
                      {"shuffled", dataset(both + writer.one_chunk(sizes, 4, shuffled))},
                      {"tree", dataset(both + writer.chunk_in_tree(sizes, 4, shuffled))}});
}

}  // namespace sluice::tests
