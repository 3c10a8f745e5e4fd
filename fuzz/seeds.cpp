// Writes the files that the fuzzers start from: <folder>/<target>/<name>. With $SLUICE_TEST_DATA, real ones as well.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "sluice/checkpoint.hpp"
#include "sluice/ops.hpp"
#include "src/data/bson.hpp"
#include "tests/bson_values.hpp"
#include "tests/gzip.hpp"
#include "tests/jld2_samples.hpp"
#include "tests/npz_files.hpp"

namespace {

namespace fs = std::filesystem;
using namespace sluice;  // NOLINT(google-build-using-namespace)

constexpr std::uintmax_t kLargest = 64 << 10;  // larger seeds make fuzzers slow

class Seeds {
 public:
  explicit Seeds(fs::path folder) : folder_(std::move(folder)) {}

  fs::path place(const std::string& target, const std::string& name) const {
    fs::create_directories(folder_ / target);
    return folder_ / target / name;
  }
  void write(const std::string& target, const std::string& name, const std::string& content) const {
    std::ofstream(place(target, name), std::ios::binary) << content;
  }
  /// The files of a folder whose names end so.
  void copy(const std::string& target, const fs::path& from, const std::string& ending) const {
    if (!fs::is_directory(from)) return;
    for (const auto& entry : fs::directory_iterator(from)) {
      const std::string name = entry.path().filename().string();
      if (!name.ends_with(ending) || entry.file_size() > kLargest) continue;
      fs::copy_file(entry.path(), place(target, name), fs::copy_options::overwrite_existing);
      fs::permissions(place(target, name), fs::perms::owner_write, fs::perm_options::add);
    }
  }

 private:
  fs::path folder_;
};

void write_bson(const Seeds& seeds) {
  using namespace tests::bson;  // NOLINT(google-build-using-namespace)
  const Value relu = structure(datatype({"NNlib", "#relu"}), {});
  const Value dense = structure(datatype({"Flux", "Dense"}), {reference(1), truth(false), relu});
  seeds.write("bson", "model",
              document({{"_backrefs", list({floats({1, 2}, {1, 2})})},
                        {"model", structure(datatype({"Flux", "Chain"}), {tuple({dense, dense})})}})
                  .bytes);
  seeds.write("bson", "values",
              document({{"d", real(2.5)},
                        {"n", nothing()},
                        {"u", binary("abc")},
                        {"s", primitive({"Core", "Float32"}, bytes_of(1.f))},
                        {"t", array({"Core", "String"}, {1}, list({text("π")}))},
                        {"x", structure(datatype({"Main", "Base", "Dict"}), {list({text("k")}), list({integer(1)})})},
                        {"y", named_tuple({"a", "b"}, {small_integer(1), symbol("c")})}})
                  .bytes);
  const Tensor shared = ones({2, 3});
  detail::write_bson_state(seeds.place("bson", "written").string(), "save",
                           State::Record{{"layers", State::List{shared, shared, State(), true, 2, "three"}}});
}

void write_numpy(const Seeds& seeds) {
  using namespace tests;  // NOLINT(google-build-using-namespace)
  const std::string plain = npy(dictionary("<f4", "False", "(2, 1)"), bytes_of(std::vector<float>{1, 2}));
  const std::string swapped = npy(dictionary(">i2", "True", "(2,)"), bytes_of(std::vector<std::int16_t>{1, 2}), 2);
  seeds.write("npy", "plain", plain);
  seeds.write("npy", "swapped", swapped);
  seeds.write("npz", "stored", zip({{.name = "x.npy", .content = plain}}));
  seeds.write("npz", "deflated",
              zip({{.name = "x.npy", .content = plain, .deflated = true}, {.name = "y.npy", .content = swapped}}));
  seeds.write("npz", "mixed", mixed_archive());
}

void write_all(const Seeds& seeds) {
  write_bson(seeds);
  write_numpy(seeds);
  seeds.write("index", "two",
              R"({"metadata": {"total_size": 8}, "weight_map": {"a": "m-1.safetensors", "b": "m-2.safetensors"}})");
  seeds.write("jld2", "generation_1", tests::jld2_model(1));
  seeds.write("jld2", "generation_2", tests::jld2_model(2));
  seeds.write("jld2", "values", tests::jld2_values());
  seeds.write("jld2", "compressed", tests::jld2_compressed());
  seeds.write("csv", "numbers", "a,b\n1,2.5\n-3,inf\n");
  seeds.write("csv", "words", "name;value\n\"x \"\"y\"\"\";1\n'z';nan\n");
  seeds.write("csv", "compressed", tests::gzip("1,2\n3,4\n"));
  seeds.write("idx", "bytes", std::string("\0\0\x08\x02\0\0\0\x02\0\0\0\x01\x07\x08", 14));
  seeds.write("idx", "floats", std::string("\0\0\x0d\x01\0\0\0\x01\x3f\x80\0\0", 12));
  seeds.write("idx", "compressed", tests::gzip(std::string("\0\0\x08\x01\0\0\0\x01\x07", 9)));
  seeds.write("preferences", "plain", "[Sluice]\ngpu_backend = \"CUDA\"  # why\n[Flux]\ngpu_backend = \"AMDGPU\"\n");
  seeds.write("preferences", "odd", "Sluice = {other = 1}\r\n[a.b]\r\nc = [1, 2]\r\n");
  std::map<std::string, Tensor> model{{"weight", ones({2, 3})}, {"steps", scalar(3)}};
  save(seeds.place("safetensors", "model.safetensors").string(), model);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: %s <folder>\n", arguments[0]);
    return 2;
  }
  const Seeds seeds(arguments[1]);
  write_all(seeds);
  if (const char* const data = std::getenv("SLUICE_TEST_DATA")) {
    const fs::path folder(data);
    for (const char* const kind : {"bson", "jld2", "safetensors"}) {
      seeds.copy(kind, folder / "checkpoints", std::string(".") + kind);
      seeds.copy(kind, folder / "malformed", std::string(".") + kind);
    }
    seeds.copy("csv", folder, ".csv");
  }
  return 0;
}
