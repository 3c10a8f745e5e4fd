// Checkpoints in several files, and readers on a small stack.
#include <gtest/gtest.h>
#include <pthread.h>

#include <functional>

#include "sluice/sluice.hpp"
#include "temporary_folder.hpp"

namespace sluice {
namespace {

using tests::TemporaryFolder;

/// Two files in a folder; the index is left to the test.
struct Shards {
  TemporaryFolder folder;
  Tensor a = rand({2, 3}), b = rand({4});

  Shards() {
    write_state(folder / "model-1.safetensors", State(State::Record{{"weight", a}}));
    write_state(folder / "model-2.safetensors", State(State::Record{{"bias", b}}));
  }
  std::string index(const std::string& text) const { return folder.write("model.safetensors.index.json", text); }
  std::string index_of(const std::string& map) const {
    return index(R"({"metadata": {"total_size": 40, "more": [1, {"x": null}]}, "weight_map": )" + map + "}");
  }
};

std::string verdict(const std::string& path) {
  try {
    read_tensors(path);
  } catch (const FileError& error) {
    EXPECT_LT(std::string(error.what()).size(), 1000u);
    return error.what();
  }
  return "";
}

TEST(SafetensorsIndex, LoadsAllFiles) {
  const Shards shards;
  const std::string path = shards.index_of(R"({"weight": "model-1.safetensors", "bias": "model-2.safetensors"})");
  struct Model {
    Tensor weight = zeros({2, 3}), bias = zeros({4});
    SLUICE_FIELDS(weight, bias)
  } model;
  load(path, model);
  EXPECT_TRUE(equal(model.weight, shards.a) && equal(model.bias, shards.b));
  EXPECT_TRUE(equal(read_state(path).at("bias").tensor(), shards.b));
  EXPECT_EQ(inspect(path).tensors.size(), 2u);
  EXPECT_EQ(read_tensors(path).size(), 2u);
}

TEST(SafetensorsIndex, HostileIndexFiles) {
  const Shards shards;
  const auto refused = [&](const std::string& map, const std::string& why) {
    const std::string found = verdict(shards.index_of(map));
    EXPECT_NE(found.find(why), std::string::npos) << "expected: " << why << "\nfound: " << found;
  };
  write_state(shards.folder / "../outside.safetensors", State(State::Record{{"weight", shards.a}}));
  refused(R"({"weight": "../outside.safetensors"})", "in the folder of the index");
  std::filesystem::remove(shards.folder / "../outside.safetensors");
  refused(R"({"weight": "/etc/passwd"})", "in the folder of the index");
  refused(R"({"weight": ".."})", "in the folder of the index");
  refused(R"({"weight": ""})", "in the folder of the index");
  refused(R"({"weight": "model-1.safetensors\u0000x"})", "in the folder of the index");
  refused(R"({"weight": "model-3.safetensors"})", "there is no file");
  refused(R"({"weight": "model-2.safetensors"})", "\"bias\" that the index does not list");
  refused(R"({"weight": "model-1.safetensors", "bias": "model-1.safetensors"})", "\"bias\" is not in");
  refused(R"({"weight": 1})", "weight_map has a number");
  refused(R"({"weight": {"x": "y"}})", "weight_map has an object");
  refused(R"({"weight": ["x"]})", "weight_map has a list");
  refused(R"({"weight": "model-1.safetensors", "weight": "model-2.safetensors"})", "twice");
  refused("3", "no \"weight_map\"");
  std::string deep = R"({"metadata": )";
  deep.append(100'000, '[');
  EXPECT_NE(verdict(shards.index(deep)).find("levels"), std::string::npos);
  EXPECT_NE(verdict(shards.index("[]")).find("the index is a list"), std::string::npos);
  EXPECT_NE(verdict(shards.index("")).find("not JSON"), std::string::npos);
  EXPECT_NE(verdict(shards.index("{\"weight_map\": {\"\xff\": \"\"}}")).find("not JSON"), std::string::npos);
}

/// Runs f on a stack of 256 KiB.
void on_small_stack(const std::function<void()>& f) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, std::size_t{256} << 10), 0);
  pthread_t thread{};
  const auto call = [](void* function) -> void* {
    (*static_cast<const std::function<void()>*>(function))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, call, const_cast<std::function<void()>*>(&f)), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

TEST(SmallStack, HostileFilesAreRefused) {
  const Shards shards;
  std::string header(8, '\0'), objects;
  for (int i = 0; i < 50'000; ++i) objects += R"({"a":)";
  header[0] = static_cast<char>(objects.size() & 0xFF);
  header[1] = static_cast<char>(objects.size() >> 8 & 0xFF);
  header[2] = static_cast<char>(objects.size() >> 16);
  const std::string deep = shards.folder.write("deep.safetensors", header + objects);
  std::string lists = R"({"metadata": )";
  lists.append(100'000, '[');
  const std::string index = shards.index(lists);
  on_small_stack([&] {
    EXPECT_NE(verdict(deep), "");
    EXPECT_NE(verdict(index), "");
    EXPECT_EQ(verdict(shards.folder / "model-1.safetensors"), "");
  });
}

TEST(SmallStack, TheCollectionOfMalformedFiles) {
  const auto manifest = tests::test_data("malformed/manifest.tsv");
  if (!manifest) GTEST_SKIP() << "SLUICE_TEST_DATA is not set";
  on_small_stack([&] {
    std::ifstream lines(*manifest);
    for (std::string name, expected, rest; lines >> name >> expected && std::getline(lines, rest);) {
      if (name.rfind("st_", 0) != 0) continue;
      EXPECT_EQ(verdict(*tests::test_data("malformed/" + name)).empty(), expected == "accept") << name;
    }
  });
}

}  // namespace
}  // namespace sluice
