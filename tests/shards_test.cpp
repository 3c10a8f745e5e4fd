// Writing a checkpoint in several files.
#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "messages.hpp"
#include "sluice/sluice.hpp"
#include "temporary_folder.hpp"

namespace sluice {
namespace {

using tests::content_of;
using tests::expect_contains;
using tests::message_of;
using tests::TemporaryFolder;

constexpr const char* kIndex = "net.safetensors.index.json";

/// 24, 8, 80, 24 and 12 bytes, the last but one tied to the first.
struct Model {
  Tensor a = rand({2, 3}), b = rand({2}), c = rand({20}), tied = a, d = rand({3});
  SLUICE_FIELDS(a, b, c, tied, d)
};

std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.insert(entry.path().filename().string());
  return names;
}

TEST(Shards, EachHoldsWhatFits) {
  const TemporaryFolder folder;
  const Model model;
  save(folder / kIndex, model, {.metadata = {{"epoch", "7"}}, .shard_bytes = 32});
  EXPECT_EQ(names_in(folder / ""),
            (std::set<std::string>{kIndex, "net-00001-of-00003.safetensors", "net-00002-of-00003.safetensors",
                                   "net-00003-of-00003.safetensors"}));
  EXPECT_EQ(read_tensors(folder / "net-00001-of-00003.safetensors").size(), 2U) << "24 + 8 bytes";
  EXPECT_EQ(read_tensors(folder / "net-00002-of-00003.safetensors").size(), 1U) << "80 bytes have a file of their own";
  const auto index = nlohmann::json::parse(content_of(folder / kIndex));
  EXPECT_EQ(index["metadata"]["total_size"], 124);
  EXPECT_EQ(index["weight_map"].size(), 4U);
  EXPECT_EQ(index["weight_map"]["d"], "net-00003-of-00003.safetensors");
  EXPECT_EQ(read_metadata(folder / kIndex).at("epoch"), "7");

  Model other;
  other.tied = rand({2, 3});
  load(folder / kIndex, other);
  EXPECT_TRUE(equal(other.a, model.a) && equal(other.b, model.b) && equal(other.c, model.c) && equal(other.d, model.d));
  EXPECT_TRUE(other.tied.same_handle(other.a));
  EXPECT_TRUE(equal(read_state(folder / kIndex).at("tied").tensor(), model.a));
}

TEST(Shards, ManySizesComeBack) {
  const TemporaryFolder folder;
  for (std::uint64_t shard = 0; shard < 300; shard += 7) {
    std::map<std::string, Tensor> model, other;
    for (int i = 0; i < 12; ++i) {
      const Shape shape{static_cast<std::int64_t>((shard * 5 + static_cast<unsigned>(i) * 11) % 23)};
      model.emplace("x" + std::to_string(i), rand(shape));
      other.emplace("x" + std::to_string(i), zeros(shape));
    }
    save(folder / kIndex, model, {.shard_bytes = shard});
    load(folder / kIndex, other);
    for (const auto& [name, tensor] : model) EXPECT_TRUE(equal(other.at(name), tensor)) << name << " of " << shard;
    for (const std::string& name : names_in(folder / "")) {
      if (name == kIndex) continue;
      std::uint64_t bytes = 0;
      const auto tensors = read_tensors(folder / name);
      for (const auto& each : tensors) bytes += static_cast<std::uint64_t>(each.second.numel()) * 4;
      EXPECT_TRUE(bytes <= shard || tensors.size() == 1) << name << " of " << shard;
    }
  }
}

TEST(Shards, SavingAgainLeavesOnlyTheNew) {
  const TemporaryFolder folder;
  save(folder / kIndex, Model(), {.shard_bytes = 32});
  folder.write("net-mine.safetensors", "not ours");
  const Model second;
  save(folder / kIndex, second, {.shard_bytes = 100});
  EXPECT_EQ(names_in(folder / ""), (std::set<std::string>{kIndex, "net-00001-of-00002.safetensors",
                                                          "net-00002-of-00002.safetensors", "net-mine.safetensors"}));
  const Model third;
  save(folder / kIndex, third, {.shard_bytes = 100});
  EXPECT_EQ(names_in(folder / ""), (std::set<std::string>{kIndex, "net-00001-of-00002.2.safetensors",
                                                          "net-00002-of-00002.2.safetensors", "net-mine.safetensors"}))
      << "never written over files that the index names";
  Model loaded;
  load(folder / kIndex, loaded);
  EXPECT_TRUE(equal(loaded.c, third.c));
  folder.write("net-00001-of-00002.safetensors", "not ours either");
  save(folder / kIndex, second, {.shard_bytes = 100});
  load(folder / kIndex, loaded);
  EXPECT_TRUE(equal(loaded.c, second.c));
  EXPECT_EQ(folder.files(), 5U);
}

TEST(Shards, WhatAnOldIndexNamesOtherwiseStays) {
  const TemporaryFolder folder;
  for (const std::string name : {"other.safetensors", "net-1.safetensors", "net-x-00001-of-00001.safetensors"}) {
    folder.write(name, "a file");
    folder.write(kIndex, R"({"weight_map": {"a": ")" + name + R"(", "b": "../net-00001-of-00001.safetensors"}})");
    save(folder / kIndex, Model());
    EXPECT_TRUE(std::filesystem::exists(folder / name)) << name;
  }
  folder.write(kIndex, "[[[");
  save(folder / kIndex, Model());
  EXPECT_EQ(read_tensors(folder / kIndex).size(), 4U) << "an index that cannot be read is replaced";
}

TEST(Shards, AnIndexThatIsALink) {
  const TemporaryFolder folder;
  for (const char* name : {"store", "view"}) std::filesystem::create_directory(folder / name);
  const std::string store = folder / "store/net.safetensors.index.json",
                    view = folder / "view/net.safetensors.index.json";
  const Model old, fresh;
  save(store, old, {.shard_bytes = 32});
  std::filesystem::create_symlink("../store/net.safetensors.index.json", view);
  Model loaded;
  load(view, loaded);
  EXPECT_TRUE(equal(loaded.c, old.c)) << "the files lie beside what it leads to";
  std::filesystem::create_symlink("../store/net-00001-of-00003.safetensors",
                                  folder / "view/net-2-00001-of-00003.safetensors");
  save(view, fresh, {.shard_bytes = 32});
  load(view, loaded);
  EXPECT_TRUE(equal(loaded.a, fresh.a) && equal(loaded.c, fresh.c));
  load(store, loaded);
  EXPECT_TRUE(equal(loaded.a, old.a) && equal(loaded.c, old.c)) << "and stay as they were";
  EXPECT_FALSE(std::filesystem::is_symlink(view));
}

TEST(Shards, AFailureLeavesTheOld) {
  const TemporaryFolder folder;
  const Model model;
  save(folder / kIndex, model, {.shard_bytes = 32});
  const auto before = names_in(folder / "");
  const std::string index = content_of(folder / kIndex);
  std::map<std::string, Tensor> wrong = {{"a", zeros({4})}, {"z\xff", zeros({4})}};
  EXPECT_THROW(save(folder / kIndex, wrong, {.shard_bytes = 1}), ArgumentError) << "the second name is not UTF-8";
  EXPECT_EQ(names_in(folder / ""), before);
  EXPECT_EQ(content_of(folder / kIndex), index);
}

TEST(Shards, WhatCannotBeWritten) {
  const TemporaryFolder folder;
  const std::map<std::string, Tensor> none;
  expect_contains(message_of<ArgumentError>([&] {
                    save(folder / kIndex, none, {.metadata = {{"epoch", "7"}}});
                  }),
                  {"no tensor"});
  std::map<std::string, Tensor> many;
  for (int i = 0; i < 513; ++i) many.emplace(std::to_string(i), zeros({1}));
  expect_contains(message_of<ArgumentError>([&] { save(folder / kIndex, many, {.shard_bytes = 4}); }),
                  {"shard_bytes of 4", "513 files"});
  EXPECT_EQ(folder.files(), 0U);
  many.erase("0");
  save(folder / kIndex, many, {.shard_bytes = 4});
  EXPECT_EQ(load(folder / kIndex, many).loaded.size(), 512U);
}

TEST(Shards, NewFilesHaveThePermissionsOfTheIndex) {
  namespace fs = std::filesystem;
  const TemporaryFolder folder;
  save(folder / kIndex, Model(), {.shard_bytes = 32});
  fs::permissions(folder / kIndex, fs::perms::owner_read | fs::perms::owner_write);
  save(folder / kIndex, Model(), {.shard_bytes = 100});
  for (const auto& entry : fs::directory_iterator(folder / "")) {
    EXPECT_EQ(entry.status().permissions(), fs::perms::owner_read | fs::perms::owner_write) << entry.path();
  }
}

/// The number that is in all tensors of a checkpoint.
float number_at(const std::string& index) {
  std::set<float> seen;
  for (const auto& [name, tensor] : read_tensors(index)) seen.insert(tensor.to_vector<float>()[0]);
  EXPECT_EQ(seen.size(), 1U) << index;
  return *seen.begin();
}

TEST(Shards, NoIndexTouchesTheFilesOfAnother) {
  namespace fs = std::filesystem;
  const TemporaryFolder folder;
  std::map<std::string, float> expected;
  const auto save_as = [&](const std::string& name, float number) {
    const std::map<std::string, Tensor> model{{"a", full({8}, number)}, {"b", full({8}, number)}};
    save(folder / name, model, {.shard_bytes = 32});
    expected[name] = number;
    for (const auto& [each, value] : expected) EXPECT_EQ(number_at(folder / each), value) << each << " after " << name;
  };
  const std::string kEnds = ".safetensors.index.json";
  for (int round = 0; round < 3; ++round) {
    for (const char* const stem : {"net-2", "net", "net.2", "net-00001-of-00002", "net-2-00001-of-00002"}) {
      save_as(stem + kEnds, static_cast<float>(10 * round + static_cast<int>(expected.size())));
    }
    save_as("net.SAFETENSORS.INDEX.JSON", static_cast<float>(-round));
  }
  fs::copy(folder / ("net" + kEnds), folder / ("copied" + kEnds));
  expected["copied" + kEnds] = expected["net" + kEnds];
  save_as("net" + kEnds, 100);
  fs::rename(folder / ("net" + kEnds), folder / ("moved" + kEnds));
  expected["moved" + kEnds] = 100;
  for (const float number : {101.0F, 102.0F, 103.0F}) save_as("net" + kEnds, number);
  EXPECT_EQ(folder.files(), 3 * expected.size()) << "an index and two files each";
}

TEST(Shards, AFileThatNobodyListsStaysUnlessASaveHasLeftIt) {
  const TemporaryFolder folder;
  const std::map<std::string, Tensor> own{{"x", ones({3})}}, model{{"a", ones({8})}};
  save(folder / "net-00001-of-00001.safetensors", own);
  const std::string before = content_of(folder / "net-00001-of-00001.safetensors");
  save(folder / kIndex, model);
  EXPECT_EQ(content_of(folder / "net-00001-of-00001.safetensors"), before);
  EXPECT_EQ(names_in(folder / ""),
            (std::set<std::string>{kIndex, "net-00001-of-00001.safetensors", "net-00001-of-00001.2.safetensors"}));
  // What a save has written, and no index lists, goes with the next save, whatever its number of files.
  save(folder / kIndex, Model(), {.shard_bytes = 32});
  const std::string index = content_of(folder / kIndex);
  std::filesystem::remove(folder / kIndex);
  save(folder / kIndex, model);
  EXPECT_EQ(folder.files(), 3U);
  EXPECT_EQ(content_of(folder / "net-00001-of-00001.safetensors"), before);
}

TEST(Shards, AModelWithoutTensors) {
  const TemporaryFolder folder;
  save(folder / kIndex, Model(), {.shard_bytes = 32});
  std::map<std::string, Tensor> none;
  save(folder / kIndex, none);
  EXPECT_EQ(names_in(folder / ""), std::set<std::string>{kIndex});
  EXPECT_TRUE(load(folder / kIndex, none).loaded.empty());
}

constexpr std::size_t kMany = 100;  // so many files that they are replaced while they are opened

/// Tensors of one number.
std::map<std::string, Tensor> all_of(float number) {
  std::map<std::string, Tensor> model;
  for (std::size_t i = 0; i < kMany; ++i) model.emplace("x" + std::to_string(i), full({2}, number));
  return model;
}

/// The number that is everywhere in the model.
float number_in(const std::map<std::string, Tensor>& model) {
  const float first = model.at("x0").to_vector<float>()[0];
  for (const auto& [name, tensor] : model) {
    for (const float each : tensor.to_vector<float>()) EXPECT_EQ(each, first) << name << ": tensors of two saves";
  }
  return first;
}

TEST(Shards, LoadingWhileOthersSaveGivesOneOfTheSaves) {
  const TemporaryFolder folder;
  const auto save_all = [&](float number) { save(folder / kIndex, all_of(number), {.shard_bytes = 8}); };
  save_all(0);
  std::atomic<bool> is_done = false;
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 2; ++writer) {
    writers.emplace_back([&, writer] {
      for (int i = 1; !is_done; ++i) save_all(static_cast<float>(2 * i + writer));
    });
  }
  auto model = all_of(-1);
  std::set<float> seen;
  for (int i = 0; seen.size() < 20; ++i) {
    EXPECT_NO_THROW(load(folder / kIndex, model)) << "the " << i << "th time";
    seen.insert(number_in(model));
  }
  is_done = true;
  for (std::thread& writer : writers) writer.join();
  load(folder / kIndex, model);
  number_in(model);
  EXPECT_EQ(names_in(folder / "").size(), 1 + kMany) << "an index and its files";
}

}  // namespace
}  // namespace sluice
