// What saving and loading say when something does not fit: the operation, the file, the place, and what to do.
#include <gtest/gtest.h>

#include "messages.hpp"
#include "sluice/sluice.hpp"
#include "temporary_folder.hpp"

namespace sluice {
namespace {

using tests::expect_contains;
using tests::message_of;
using tests::TemporaryFolder;

using Tensors = std::map<std::string, Tensor>;

struct Pair {
  Tensor weight = ones({2, 3}), bias = ones({2});
  SLUICE_FIELDS(weight, bias)
};
struct Nested {
  Pair hidden, out;
  SLUICE_FIELDS(hidden, out)
};

constexpr const char* kEndings[] = {"x.safetensors", "x.safetensors.index.json", "x.npz", "x.npy", "x.bson"};

TEST(SaveErrors, NameOperationAndFile) {
  const TemporaryFolder folder;
  const Tensors latin{{"caf\xE9", ones({2})}};
  for (const char* const name : kEndings) {
    const std::string path = folder / name;
    if (std::string_view(name) == "x.npy") continue;  // has no names
    expect_contains(message_of<ArgumentError>([&] { save(path, latin); }), {"save: " + path + ": ", "\"caf\\xe9\""});
    expect_contains(message_of<ArgumentError>([&] {
                      write_state(path, State(State::Record{{"caf\xE9", ones({2})}}));
                    }),
                    {"write_state: " + path + ": ", "\"caf\\xe9\""});
  }
  EXPECT_EQ(folder.files(), 0U);
  expect_contains(message_of<ArgumentError>([&] { save(folder / "x.npy", Pair()); }),
                  {"save: " + (folder / "x.npy"), "one array, not 2"});
  expect_contains(message_of<TypeError>([&] {
                    save(folder / "x.npz", Tensors{{"w", cast(ones({2}), bf16)}});
                  }),
                  {"save: " + (folder / "x.npz"), "\"w\" is bf16"});
  expect_contains(message_of<TypeError>([&] { write_npy(folder / "x.npy", cast(ones({2}), bf16)); }),
                  {"write_npy: " + (folder / "x.npy")});
}

TEST(SaveErrors, MetadataThatAreNotText) {
  const TemporaryFolder folder;
  const std::string path = folder / "x.safetensors";
  expect_contains(message_of<ArgumentError>([&] {
                    save(path, Pair(), {.metadata = {{"by\xFF", "me"}}});
                  }),
                  {path, "metadata key \"by\\xff\""});
  expect_contains(message_of<ArgumentError>([&] {
                    save(path, Pair(), {.metadata = {{"by", "\xFF"}}});
                  }),
                  {path, "metadata value \"\\xff\""});
}

TEST(SaveErrors, ANameThatZipHasNoRoomFor) {
  const TemporaryFolder folder;
  expect_contains(message_of<ArgumentError>([&] {
                    save(folder / "x.npz", Tensors{{std::string(70'000, 'x'), ones({1})}});
                  }),
                  {"a name of 70004 bytes"});
}

TEST(Naming, RenamesAreOfFieldsThatAreThere) {
  const TemporaryFolder folder;
  Nested model;
  const std::string path = folder / "x.safetensors";
  save(path, model, {.rename = {{"hidden", "fc1"}, {"out.bias", "b"}}});
  load(path, model, {.rename = {{"hidden", "fc1"}, {"out.bias", "b"}}});
  for (const char* const wrong : {"hiden", "hidden.weights", "hidden.", "", "fc1"}) {
    const Renames rename{{wrong, "fc1"}};
    const std::string named = "\"" + std::string(wrong) + "\"";
    expect_contains(message_of<ArgumentError>([&] { save(folder / "y.safetensors", model, {.rename = rename}); }),
                    {"save: ", named});
    expect_contains(message_of<ArgumentError>([&] { load(path, model, {.strict = false, .rename = rename}); }),
                    {"load: " + path, named});
    expect_contains(message_of<ArgumentError>([&] { from_torch(path, model, {.rename = rename}); }),
                    {"from_torch: " + path, named});
    expect_contains(message_of<ArgumentError>([&] { load_state(model, state(model), {.rename = rename}); }),
                    {"load_state", named});
    expect_contains(message_of<ArgumentError>([&] { write_state(folder / "y.npz", state(model), {.rename = rename}); }),
                    {"write_state: ", named});
  }
  EXPECT_EQ(folder.files(), 1U);
}

TEST(Naming, APrefixHasNoDotAtItsEnds) {
  const TemporaryFolder folder;
  Pair model;
  for (const char* const prefix : {"encoder.", ".encoder", "."}) {
    expect_contains(message_of<ArgumentError>([&] { save(folder / "x.safetensors", model, {.prefix = prefix}); }),
                    {"\"" + std::string(prefix) + "\"", "without"});
  }
  save(folder / "x.safetensors", model, {.prefix = "a.encoder"});
  EXPECT_EQ(load(folder / "x.safetensors", model, {.prefix = "a.encoder"}).loaded.size(), 2U);
  expect_contains(message_of<FileError>([&] { load(folder / "x.safetensors", model, {.prefix = "a.enc"}); }),
                  {"no name in it begins with \"a.enc.\""});
  expect_contains(message_of<FileError>([&] { load(folder / "x.safetensors", model); }), {"missing \"weight\""});
}

TEST(LoadErrors, TellTheNameThatWasSought) {
  const TemporaryFolder folder;
  Nested model;
  save(folder / "x.safetensors", model);
  expect_contains(message_of<FileError>([&] { load(folder / "x.safetensors", model, {.prefix = "hidden"}); }),
                  {"missing \"hidden.hidden.weight\" for \"hidden.weight\"", "unexpected \"hidden.weight\""});
}

TEST(SaveErrors, PartsAreOfAnIndex) {
  const TemporaryFolder folder;
  for (const char* const name : {"x.safetensors", "x.npz", "x.bson"}) {
    expect_contains(message_of<ArgumentError>([&] { save(folder / name, Pair(), {.shard_bytes = 100}); }),
                    {folder / name, ".safetensors.index.json"});
  }
}

TEST(SaveErrors, AnIndexIsNamedInUtf8) {
  const TemporaryFolder folder;
  expect_contains(message_of<ArgumentError>([&] { save(folder / "\xFF.safetensors.index.json", Pair()); }), {"UTF-8"});
  EXPECT_EQ(folder.files(), 0U);
}

TEST(LoadErrors, SayUnderWhichNameItWouldFit) {
  const TemporaryFolder folder;
  Pair model;
  write_state(folder / "x.npz", State(State::Record{{"epoch", ones({1})}, {"net.weight", ones({2, 3})}}));
  expect_contains(message_of<FileError>([&] { load(folder / "x.npz", model); }), {".prefix = \"net\""});
}

TEST(LoadErrors, OfThousandsOfPlacesAFewAreTold) {
  const TemporaryFolder folder;
  Tensors model, other;
  for (int i = 0; i < 3000; ++i) {
    model.emplace("m" + std::to_string(i), ones({1}));
    other.emplace("o" + std::to_string(i), ones({1}));
  }
  save(folder / "x.safetensors", other);
  const std::string message = message_of<FileError>([&] { load(folder / "x.safetensors", model); });
  expect_contains(message, {"missing \"m0\"", "and 5980 more"});
  EXPECT_LT(message.size(), 2000U);
  EXPECT_EQ(load(folder / "x.safetensors", model, {.strict = false}).missing.size(), 3000U);
}

TEST(LoadErrors, CastIsAdvisedWhereItHelps) {
  const TemporaryFolder folder;
  const std::string path = folder / "x.safetensors";
  const auto message_for = [&](const Tensor& stored, const Tensor& place) {
    save(path, Tensors{{"w", stored}});
    Tensors model{{"w", place}};
    return message_of<FileError>([&] { load(path, model); });
  };
  expect_contains(message_for(ones({2}, f64), ones({2})), {".cast = true"});
  EXPECT_EQ(message_for(ones({2}, i32), ones({2})).find(".cast"), std::string::npos);
  EXPECT_EQ(message_for(ones({2}), ones({2}, i32)).find(".cast"), std::string::npos);
}

TEST(LoadErrors, MemoryThatDoesNotSufficeNamesFileAndTensor) {
  const TemporaryFolder folder;
  Tensors model{{"small", ones({4})}, {"large", ones({1 << 20})}};
  for (const char* const name : {"x.safetensors", "x.npz", "x.bson"}) {
    save(folder / name, model);
    set_memory_limit(Device(), memory_stats().in_use + (1 << 20));
    const std::string message = message_of<OutOfMemory>([&] { load(folder / name, model); });
    set_memory_limit(Device(), std::nullopt);
    expect_contains(message, {"load: " + (folder / name)});
    if (!std::string_view(name).ends_with(".bson")) expect_contains(message, {"\"large\""});
  }
}

TEST(ReadErrors, NameTheCallThatWasMade) {
  const TemporaryFolder folder;
  Pair model;
  for (const char* const name : kEndings) {
    const std::string path = folder.write(name, "no checkpoint");
    expect_contains(message_of<FileError>([&] { read_state(path); }), {"read_state: " + path});
    expect_contains(message_of<FileError>([&] { inspect(path); }), {"inspect: " + path});
    expect_contains(message_of<FileError>([&] { load(path, model); }), {"load: " + path});
  }
  write_npz(folder / "x.npz", {{"w", ones({1})}});
  expect_contains(message_of<FileError>([&] { read_metadata(folder / "x.npz"); }), {"read_metadata: ", "npz"});
  expect_contains(message_of<FileError>([&] { read_tensors(folder / "x.npz"); }), {"read_tensors: ", "npz"});
}

TEST(Formats, EndingsMayBeInUpperCase) {
  const TemporaryFolder folder;
  for (const char* const name : {"A.SAFETENSORS", "B.Safetensors.Index.JSON", "C.NPZ", "D.BSON"}) {
    Pair model, other;
    model.weight = rand({2, 3});
    save(folder / name, model);
    load(folder / name, other);
    EXPECT_TRUE(equal(other.weight, model.weight)) << name;
  }
  expect_contains(message_of<ArgumentError>([&] { save(folder / "E.PT", Pair()); }), {"pickle"});
  expect_contains(message_of<ArgumentError>([&] { save(folder / "E.txt", Pair()); }), {".safetensors.index.json"});
}

}  // namespace
}  // namespace sluice
