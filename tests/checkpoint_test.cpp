#include "sluice/checkpoint.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <map>

#include "fake_device.hpp"
#include "messages.hpp"
#include "sluice/ops.hpp"
#include "src/data/safetensors.hpp"
#include "temporary_folder.hpp"

namespace sluice {
namespace {

using tests::expect_contains;
using tests::message_of;
using tests::TemporaryFolder;

struct Part {
  Tensor weight = randn({3, 2});
  Tensor bias;  // may be empty
  SLUICE_FIELDS(weight, bias)
};

struct Net {
  Part first{.bias = randn({3})};
  std::vector<Part> rest = std::vector<Part>(2);
  Buffer mean = Buffer(randn({4}, f64));
  Counter noise;
  int epochs = 3;
  SLUICE_FIELDS(first, rest, mean, noise, epochs)
};

struct Tied {
  Tensor encoder = randn({2, 3});
  Tensor decoder = encoder;
  Tensor other = randn({2, 3});
  SLUICE_FIELDS(encoder, decoder, other)
};

TEST(Checkpoint, EveryLeafComesBack) {
  const TemporaryFolder folder;
  const std::string path = folder / "net.safetensors";
  Net net;
  net.rest[1].weight = randn({3, 2});
  net.noise.next();
  save(path, net);
  Net other;
  other.rest[1].weight = randn({3, 2});
  other.epochs = 9;
  load(path, other);
  EXPECT_TRUE(equal(other.first.weight, net.first.weight));
  EXPECT_TRUE(equal(other.first.bias, net.first.bias));
  EXPECT_FALSE(other.rest[0].bias);
  EXPECT_TRUE(equal(other.rest[1].weight, net.rest[1].weight));
  EXPECT_TRUE(equal(other.mean.get(), net.mean.get()));
  EXPECT_EQ(other.noise.get(), net.noise.get());
  EXPECT_EQ(other.epochs, 9);  // no tensor
  // The same model, the same bytes; and again after loading.
  save(folder / "again.safetensors", other);
  EXPECT_EQ(tests::content_of(path), tests::content_of(folder / "again.safetensors"));
}

TEST(Checkpoint, NamesArePaths) {
  const TemporaryFolder folder;
  Net net;
  net.rest[1].weight = randn({3, 2});
  save(folder / "net.safetensors", net);
  std::vector<std::string> names;
  for (const auto& [name, tensor] : read_tensors(folder / "net.safetensors")) names.push_back(name);
  // Those of eight bytes first.
  EXPECT_EQ(names, (std::vector<std::string>{"mean", "noise", "first.weight", "first.bias", "rest.0.weight",
                                             "rest.1.weight"}));
}

TEST(Checkpoint, SameBytesFromAnyDeviceAndBackToIt) {
  const TemporaryFolder folder;
  tests::FakeDevice fake;
  const Device device(&fake);
  {
    const Tied model;
    save(folder / "cpu.safetensors", model);
    const Tied moved = device(model);
    save(folder / "device.safetensors", moved);
    EXPECT_EQ(tests::content_of(folder / "cpu.safetensors"), tests::content_of(folder / "device.safetensors"));
    Tied target = device(Tied{});
    load(folder / "cpu.safetensors", target);
    EXPECT_EQ(device_of(target), device);
    EXPECT_TRUE(equal(cpu(target).other, model.other));
    EXPECT_TRUE(target.encoder.same_handle(target.decoder));
    const Tensor part = slice(device(arange(6)), 0, 2, 5);
    save(folder / "part.safetensors", part);
    EXPECT_EQ(read_tensors(folder / "part.safetensors")[0].second.to_vector<std::int64_t>(),
              (std::vector<std::int64_t>{2, 3, 4}));
  }
  EXPECT_EQ(fake.blocks, 0);
}

TEST(Checkpoint, TiesAreStoredOnceAndComeBack) {
  const TemporaryFolder folder;
  const std::string path = folder / "tied.safetensors";
  const Tied model;
  save(path, model);
  EXPECT_EQ(read_tensors(path).size(), 2u);
  Tied tied;
  load(path, tied);
  EXPECT_TRUE(tied.encoder.same_handle(tied.decoder));
  EXPECT_FALSE(tied.encoder.same_handle(tied.other));
  EXPECT_TRUE(equal(tied.encoder, model.encoder));
  Tied untied;
  untied.decoder = randn({2, 3});
  load(path, untied);
  EXPECT_TRUE(untied.encoder.same_handle(untied.decoder));
}

TEST(Checkpoint, TiedPlacesTakeEqualTensorsOnly) {
  const TemporaryFolder folder;
  const std::string path = folder / "untied.safetensors";
  Tied model;
  model.decoder = model.encoder + 0.0f;
  save(path, model);
  EXPECT_EQ(read_tensors(path).size(), 3u);
  Tied tied;
  load(path, tied);
  EXPECT_TRUE(tied.encoder.same_handle(tied.decoder));
  EXPECT_TRUE(equal(tied.encoder, model.encoder));
  model.decoder = model.encoder + 1.0f;
  save(path, model);
  const Tied before = tied;
  expect_contains(message_of([&] { load(path, tied); }), {"\"encoder\" and \"decoder\" are one tensor in the model"});
  EXPECT_TRUE(tied.encoder.same_handle(before.encoder));
}

TEST(Checkpoint, ATieCanComeFromOneName) {
  const TemporaryFolder folder;
  const std::string path = folder / "one.safetensors";
  const Tensor weight = randn({2, 3});
  detail::write_safetensors(path, "save", {{"decoder", weight}, {"other", weight}}, {});
  Tied tied;
  load(path, tied);
  EXPECT_TRUE(equal(tied.encoder, weight));
  EXPECT_TRUE(tied.encoder.same_handle(tied.decoder));
}

TEST(Checkpoint, BadAliases) {
  const TemporaryFolder folder;
  const std::string path = folder / "alias.safetensors";
  const Tensor weight = randn({2, 3});
  Tied model;
  const std::vector<std::map<std::string, std::string>> all{{{"sluice.alias.decoder", "nobody"}},
                                                            {{"sluice.alias.other", "encoder"}},
                                                            {{"sluice.alias.decoder", "decoder"}},
                                                            {{"sluice.order", "row-major"}}};
  for (const auto& metadata : all) {
    detail::write_safetensors(path, "save", {{"encoder", weight}, {"other", weight}}, metadata);
    EXPECT_THROW(load(path, model), FileError);
  }
}

TEST(Checkpoint, OneErrorNamesEverythingAndNothingChanges) {
  const TemporaryFolder folder;
  const std::string path = folder / "other.safetensors";
  detail::write_safetensors(path, "save",
                            {{"first.weight", zeros({2, 3})},
                             {"first.bias", zeros({3}, f64)},
                             {"surplus", zeros({1})},
                             {"rest.0.bias", zeros({3})},
                             {"rest.1.weight", zeros({3, 2})},
                             {"mean", zeros({4}, f64)}},
                            {});
  Net net;
  const Net before = net;
  const Tensor mean = net.mean.get();
  const std::string message = message_of([&] { load(path, net); });
  expect_contains(message, {path, "unchanged", "missing \"noise\"",
                            "\"first.weight\" is f32 (3, 2) in the model, f32 (2, 3) in the file",
                            "\"first.bias\" is f32 (3) in the model, f64 (3) in the file", "unexpected \"surplus\"",
                            "unexpected \"rest.0.bias\""});
  EXPECT_EQ(message.find("\"mean\""), std::string::npos);
  EXPECT_EQ(message.find("\"rest.1.weight\""), std::string::npos);
  EXPECT_TRUE(net.first.weight.same_handle(before.first.weight));
  EXPECT_TRUE(net.rest[1].weight.same_handle(before.rest[1].weight));
  EXPECT_TRUE(net.mean.get().same_handle(mean));
}

TEST(Checkpoint, OtherModels) {
  const TemporaryFolder folder;
  const std::string path = folder / "x.safetensors";
  const auto shared = std::make_shared<Part>();
  const auto model = std::tuple(shared, shared, std::optional<Tensor>(randn({2})), randn({}));
  save(path, model);
  EXPECT_EQ(read_tensors(path).size(), 3u);
  auto other =
      std::tuple(std::make_shared<Part>(), std::shared_ptr<Part>(), std::optional<Tensor>(zeros({2})), randn({}));
  load(path, other);
  EXPECT_TRUE(equal(std::get<0>(other)->weight, shared->weight));
  EXPECT_TRUE(equal(*std::get<2>(other), *std::get<2>(model)));
  Tensor single = randn({3});
  save(path, single);
  EXPECT_EQ(read_tensors(path)[0].first, "tensor");
  const std::tuple<> nothing;
  save(path, nothing);
  EXPECT_TRUE(read_tensors(path).empty());
  std::map<std::string, std::map<std::string, Tensor>> same{{"a.b", {{"c", zeros({1})}}}, {"a", {{"b.c", zeros({1})}}}};
  EXPECT_THROW(save(path, same), ArgumentError);
  EXPECT_THROW(save(path, std::map<std::string, Tensor>{{"\xff", zeros({1})}}), ArgumentError);
  EXPECT_THROW(save(path, std::map<std::string, Tensor>{{std::string("a\0b", 3), zeros({1})}}), ArgumentError);
  EXPECT_THROW(save(path, std::map<std::string, Tensor>{{"__metadata__", zeros({1})}}), ArgumentError);
  EXPECT_TRUE(read_tensors(path).empty());  // the old file
}

TEST(Checkpoint, Paths) {
  const TemporaryFolder folder;
  const Tensor x = arange(3);
  Tensor y = arange(3);
  EXPECT_THROW(save(folder / "x.bin", x), ArgumentError);
  EXPECT_THROW(load(folder / "x.bin", y), ArgumentError);
  std::ofstream(folder / "x") << "x";
  EXPECT_THROW(load(folder / "x", y), ArgumentError);
  std::filesystem::remove(folder / "x");
  EXPECT_THROW(save("", x), ArgumentError);
  EXPECT_THROW(load(folder / "none.safetensors", y), FileError);
  expect_contains(message_of([&] { save(folder / "no/such/x.safetensors", x); }), {"there is no folder", "no/such"});
  std::filesystem::create_directory(folder / "d.safetensors");
  EXPECT_THROW(save(folder / "d.safetensors", x), FileError);
  EXPECT_THROW(load(folder / "d.safetensors", y), FileError);
  ASSERT_EQ(mkfifo((folder / "pipe.safetensors").c_str(), 0600), 0);
  EXPECT_THROW(save(folder / "pipe.safetensors", x), FileError);
  EXPECT_THROW(load(folder / "pipe.safetensors", y), FileError);  // and does not hang
  EXPECT_EQ(folder.files(), 2u);
}

TEST(Checkpoint, ReplacesWhatALinkPointsAtAndKeepsPermissions) {
  const TemporaryFolder folder;
  save(folder / "a.safetensors", arange(2));
  ASSERT_EQ(chmod((folder / "a.safetensors").c_str(), 0640), 0);
  std::filesystem::create_symlink("a.safetensors", folder / "b.safetensors");
  save(folder / "b.safetensors", arange(5));
  EXPECT_EQ(read_tensors(folder / "a.safetensors")[0].second.numel(), 5);
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "b.safetensors"));
  struct stat status {};
  ASSERT_EQ(stat((folder / "a.safetensors").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
  EXPECT_EQ(folder.files(), 2u);
}

TEST(Checkpoint, LinksLeadToFilesThatAreNotThereYet) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "sub");
  std::filesystem::create_symlink("sub/later.safetensors", folder / "x.safetensors");
  save(folder / "x.safetensors", arange(5));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "x.safetensors"));
  EXPECT_EQ(read_tensors(folder / "sub/later.safetensors")[0].second.numel(), 5);
  std::filesystem::create_symlink("absent/y.safetensors", folder / "y.safetensors");
  expect_contains(message_of([&] { save(folder / "y.safetensors", arange(5)); }), {"there is no folder", "absent"});
  std::filesystem::create_symlink("loop.safetensors", folder / "loop.safetensors");
  expect_contains(message_of([&] { save(folder / "loop.safetensors", arange(5)); }), {"leads nowhere"});
}

TEST(Checkpoint, NamesOfFiles) {
  const TemporaryFolder folder;
  const std::string longest = folder / (std::string(243, 'x') + ".safetensors");
  save(longest, arange(5));
  EXPECT_EQ(read_tensors(longest)[0].second.numel(), 5);
  std::string cut = folder / "a";
  cut += std::string("\0b.safetensors", 14);
  Tensor x = arange(5);
  expect_contains(message_of([&] { save(cut, x); }), {"NUL"});
  expect_contains(message_of([&] { load(cut, x); }), {"NUL"});
  EXPECT_EQ(folder.files(), 1u);
}

TEST(Checkpoint, AFullDiskLeavesTheOldFile) {
  const TemporaryFolder folder;
  const std::string path = folder / "x.safetensors";
  save(path, arange(2));
  const std::string old = tests::content_of(path);
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{4096, 4096};
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(2);
    try {
      save(path, zeros({100000}));
    } catch (const FileError& error) {
      _exit(std::string(error.what()).find(path) == std::string::npos ? 3 : 0);
    }
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(tests::content_of(path), old);
  EXPECT_EQ(folder.files(), 1u);
}

TEST(Checkpoint, LoadSaveToTheSamePathAndLoad) {
  const TemporaryFolder folder;
  const std::string path = folder / "x.safetensors";
  const Tied model;
  save(path, model);
  const std::string bytes = tests::content_of(path);
  Tied other;
  load(path, other);
  save(path, other);
  EXPECT_EQ(tests::content_of(path), bytes);
}

TEST(Checkpoint, AFileThatChangesWhileItIsRead) {
  const TemporaryFolder folder;
  const std::string path = folder / "x.safetensors";
  save(path, zeros({1000000}));
  detail::SafetensorsFile file(path);
  std::filesystem::resize_file(path, 1000);
  EXPECT_THROW(file.read(file.header().tensors[0]), FileError);
}

}  // namespace
}  // namespace sluice
