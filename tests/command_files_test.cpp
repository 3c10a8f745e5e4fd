// `sluice inspect` and `sluice convert` as their users run them.
#ifdef SLUICE_TEST_COMMAND

#include <limits>

#include "command.hpp"
#include "npz_files.hpp"
#include "sluice/sluice.hpp"
#include "src/data/zip.hpp"

namespace sluice::tests {
namespace {

TEST_F(Command, InspectListsTensors) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const State tree = State::Record{{"a", f16(from(std::vector<float>{1, infinity}))},
                                   {"b", from(std::vector<float>{nan, infinity})},
                                   {"c", bf16(from(std::vector<float>{nan, -1}))},
                                   {"d", zeros({2, 3}, f64)}};
  write_state("x.safetensors", tree);
  const json report = run_json({"inspect", "x.safetensors"});
  EXPECT_EQ(report["format"], "safetensors");
  EXPECT_EQ(report["elements"], 12);
  EXPECT_EQ(report["bytes"], 64);
  EXPECT_EQ(report["metadata"]["sluice.order"], "column-major");
  std::set<std::string> lines;
  for (const json& each : report["tensors"]) {
    lines.insert(each["name"].get<std::string>() + " " + each["type"].get<std::string>() + " " + each["shape"].dump() +
                 (each["nan"] ? " nan" : "") + (each["infinity"] ? " infinity" : ""));
  }
  EXPECT_EQ(lines,
            (std::set<std::string>{"a f16 [2] infinity", "b f32 [2] nan infinity", "c bf16 [2] nan", "d f64 [2,3]"}));
  EXPECT_EQ(run({"inspect", "x.safetensors"}).code, 0);
  EXPECT_EQ(run({"inspect", "x.safetensors", "--finite"}).code, 1);
  const Ended text = run({"inspect", "x.safetensors"});
  EXPECT_TRUE(contains(text.out, "safetensors, 4 tensors, 12 elements, 64 bytes")) << text.out;
  EXPECT_TRUE(contains(text.out, "NaN Inf")) << text.out;
}

TEST_F(Command, InspectListsTypesThatCannotBeRead) {
  const std::string header =
      R"({"w":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4]},"x":{"dtype":"F4","shape":[3,2],"data_offsets":[4,7]}})";
  std::string content(8, '\0');
  content[0] = static_cast<char>(header.size());
  std::ofstream("x.safetensors", std::ios::binary) << content + header + "1234567";
  const json report = run_json({"inspect", "x.safetensors"});
  EXPECT_EQ(report["tensors"][0]["type"], "F8_E4M3");
  EXPECT_EQ(report["tensors"][1]["type"], "F4");
  EXPECT_EQ(report["bytes"], 7);
  const Ended converted = run({"convert", "x.safetensors", "y.npz"});
  EXPECT_EQ(converted.code, 1);
  EXPECT_TRUE(contains(converted.err, "\"w\": element type \"F8_E4M3\"")) << converted.err;
}

TEST_F(Command, NamesCannotSpeakToTheTerminal) {
  write_state("x.safetensors", State(State::Record{{"a\x1b[2Jb\n\xC2\x9B\xE2\x80\xAE\\c\u00e9", ones({1})}}));
  const Ended ended = run({"inspect", "x.safetensors"});
  EXPECT_TRUE(contains(ended.out, R"(a\x1b[2Jb\n\xc2\x9b\xe2\x80\xae\\cé)")) << ended.out;
  for (const char c : ended.out) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n');
}

TEST_F(Command, InspectSaysWhatIsWrong) {
  std::ofstream("short.safetensors") << "123";
  std::ofstream("model.xyz") << "123";
  for (const auto& [path, words] : std::map<std::string, std::string>{{"none.npz", "there is no file"},
                                                                      {"short.safetensors", "has 3 bytes"},
                                                                      {"model.pt", "pickle"},
                                                                      {"model.xyz", ".safetensors"}}) {
    const Ended ended = run({"inspect", path});
    EXPECT_NE(ended.code, 0) << path;
    EXPECT_TRUE(contains(ended.err, words)) << ended.err;
    EXPECT_EQ(ended.out, "");
  }
}

TEST_F(Command, ConvertKeepsNamesAndBits) {
  const Tensor x = randn({2, 3}), shared = arange(3);
  write_state("x.safetensors", State(State::Record{{"w", x}, {"n", shared}, {"m", shared}}));
  EXPECT_EQ(run_json({"convert", "x.safetensors", "y.npz"})["tensors"], 3);
  EXPECT_EQ(run({"convert", "y.npz", "z.bin", "--to-format", "safetensors"}).code, 0);
  const State back = read_state("z.bin", "safetensors");
  EXPECT_TRUE(equal(back.at("w").tensor(), x));
  EXPECT_TRUE(equal(back.at("m").tensor(), shared));
  EXPECT_EQ(run({"convert", "y.npz", "z.unknown"}).code, 2);
  EXPECT_EQ(run({"convert", "y.npz"}).code, 2);
}

TEST_F(Command, ConvertMakesATreeForJuliaAndKeepsNames) {
  struct Wrapped {
    Dense h{2, 3};
    SLUICE_FIELDS(h)
  } wrapped, other;
  save("w.safetensors", wrapped);
  ASSERT_EQ(run({"convert", "w.safetensors", "w.bson"}).code, 0);
  EXPECT_TRUE(read_state("w.bson").at("h").is_record()) << "names with dots are a tree";
  load("w.bson", other);
  EXPECT_TRUE(equal(other.h.weight, wrapped.h.weight));
  ASSERT_EQ(run({"convert", "w.bson", "again.safetensors"}).code, 0);
  load("again.safetensors", other);

  Chain model(Dense(2, 3), Dense(3, 1)), loaded(Dense(2, 3), Dense(3, 1));
  save("x.bson", model);
  ASSERT_EQ(run({"convert", "x.bson", "y.bson"}).code, 0);
  EXPECT_EQ(content_of("x.bson"), content_of("y.bson"));
  load("y.bson", loaded);
  EXPECT_TRUE(equal(loaded.get<1>().weight, model.get<1>().weight));
}

TEST_F(Command, ConvertKeepsNamesThatMakeNoTree) {
  for (const std::vector<std::string>& names : std::vector<std::vector<std::string>>{
           {"0", "1"}, {"0.weight", "1.weight"}, {"weight", "weight.scale"}, {".a", "a"}, {"a.", "b..c"}}) {
    std::map<std::string, Tensor> model;
    for (const std::string& name : names) model.emplace(name, rand({2}));
    save("x.safetensors", model);
    ASSERT_EQ(run({"convert", "x.safetensors", "x.bson"}).code, 0) << names[0];
    ASSERT_EQ(run({"convert", "x.bson", "y.safetensors"}).code, 0) << names[0];
    EXPECT_EQ(content_of("x.safetensors"), content_of("y.safetensors")) << names[0];
  }
}

TEST_F(Command, ConvertTellsWhichFilesOfAnArchiveStayBehind) {
  detail::ZipWriter archive("x.npz", "save");
  const std::string array = npy(dictionary("<f4", "True", "(1,)"), bytes_of<float>({1})), notes = "hello";
  const std::span<const std::byte> content[] = {std::as_bytes(std::span(array)), std::as_bytes(std::span(notes))};
  archive.add("w.npy", std::span(content).first(1));
  archive.add("notes.txt", std::span(content).last(1));
  archive.commit();
  for (const char* const to : {"y.bson", "y.safetensors"}) {
    const Ended ended = run({"convert", "x.npz", to});
    EXPECT_EQ(ended.code, 0);
    EXPECT_TRUE(contains(ended.err, "notes.txt = a file of 5 bytes")) << ended.err;
  }
}

TEST_F(Command, ConvertRefusesWhatWouldLeaveNothing) {
  write_state("x.bson", State::Record{{"model_state", State::Record{{"epoch", 5}}}});
  const Ended ended = run({"convert", "x.bson", "x.npz"});
  EXPECT_NE(ended.code, 0);
  EXPECT_TRUE(contains(ended.err, "holds no tensor")) << ended.err;
  EXPECT_FALSE(std::filesystem::exists("x.npz"));
}

TEST_F(Command, FilesThatCannotBeReadOrWrittenAreCalledSo) {
  write_state("x.safetensors", State::Record{{"a", ones({1})}});
  std::filesystem::create_directory("folder");
  for (const auto& [arguments, words] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"inspect", "absent"}, "there is no file"},
           {{"inspect", "folder"}, "folder"},
           {{"convert", "x.safetensors", "x.pt"}, "is not written"},
           {{"convert", "x.safetensors", "x.jld2"}, "can only be read"}}) {
    const Ended ended = run(arguments);
    EXPECT_NE(ended.code, 0);
    EXPECT_TRUE(contains(ended.err, words)) << ended.err;
  }
  EXPECT_FALSE(contains(run({"convert", "x.safetensors", "x"}).err, "jld2")) << "which cannot be written";
}

TEST_F(Command, ConvertSplitsAndKeepsMetadata) {
  const std::map<std::string, Tensor> model{{"a", ones({8})}, {"b", ones({8})}, {"c", ones({8})}};
  save("x.safetensors", model, {.metadata = {{"format", "pt"}}});
  EXPECT_EQ(run({"convert", "x.safetensors", "parts.safetensors.index.json", "--shard-bytes", "64"}).code, 0);
  EXPECT_EQ(read_tensors("parts-00001-of-00002.safetensors").size(), 2U);
  EXPECT_EQ(read_metadata("parts.safetensors.index.json").at("format"), "pt");
  EXPECT_EQ(run({"convert", "parts.safetensors.index.json", "whole.safetensors"}).code, 0);
  EXPECT_EQ(content_of("whole.safetensors"), content_of("x.safetensors"));
  EXPECT_TRUE(contains(run({"convert", "x.safetensors", "x.npz"}).err, "metadata.format = pt"));
  for (const char* const wrong : {"0", "-5", "1e9", "many", "99999999999999999999999"}) {
    EXPECT_EQ(run({"convert", "x.safetensors", "y.safetensors.index.json", "--shard-bytes", wrong}).code, 2) << wrong;
  }
  EXPECT_FALSE(std::filesystem::exists("y.safetensors.index.json"));
}

TEST_F(Command, MessagesNameTheCommand) {
  write_npz("x.npz", {{"a", ones({1})}, {"b", ones({1})}});
  EXPECT_TRUE(contains(run({"convert", "x.npz", "y.npy"}).err, "sluice: convert: y.npy: a .npy file holds one"));
  std::filesystem::resize_file("x.npz", 60);
  EXPECT_TRUE(contains(run({"convert", "x.npz", "y.npz"}).err, "sluice: convert: x.npz: "));
  EXPECT_TRUE(contains(run({"inspect", "x.npz"}).err, "sluice: inspect: x.npz: "));
}

TEST_F(Command, ConformanceKnowsOneCpu) {
  EXPECT_EQ(run({"conformance", "--device", "CPU:9", "--only", "softmax"}).code, 2);
}

}  // namespace
}  // namespace sluice::tests

#endif
