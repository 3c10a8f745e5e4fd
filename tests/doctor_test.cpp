// `sluice doctor`.
#ifdef SLUICE_TEST_COMMAND

#include "command.hpp"

namespace sluice::tests {
namespace {

namespace fs = std::filesystem;

// ---- Doctor.

TEST_F(Command, NamesEveryBackendWithItsReasonWhereNothingIsThere) {
  const json report = run_json({"doctor"});
  const Ended text = run({"doctor"});
  EXPECT_EQ(text.code, 0);
  EXPECT_EQ(text.err, "");
  EXPECT_EQ(fields(report), (std::set<std::string>{"ok", "version", "abi", "chosen", "chosen_reason", "preference",
                                                   "cards", "kernel_cache", "backends", "refused", "problems"}));
  EXPECT_EQ(report["ok"], true);
  EXPECT_EQ(report["preference"], nullptr);
  EXPECT_EQ(report["chosen"], "CPU");
  ASSERT_EQ(report["backends"].size(), 5U);
  const char* const names[] = {"CUDA", "AMDGPU", "Metal", "OpenCL", "CPU"};
  for (std::size_t i = 0; i < 5; ++i) {
    const json& backend = report["backends"][i];
    EXPECT_EQ(backend["name"], names[i]);
    EXPECT_TRUE(contains(text.out, std::string("\n") + names[i] + "\n")) << text.out;
    for (const char* field : {"reason", "remedy"}) {
      if (names[i] == std::string("CPU") && field == std::string("remedy")) continue;
      ASSERT_TRUE(backend[field].is_string()) << names[i] << ' ' << field;
      EXPECT_TRUE(contains(text.out, backend[field].get<std::string>())) << backend[field];
    }
    for (const char* step : {"loaded", "available", "functional", "chosen"}) EXPECT_EQ(backend[step], i == 4) << step;
  }
  EXPECT_TRUE(contains(text.out, "Everything that is there works."));
}

TEST_F(Command, ShowsWhatWorks) {
  plug_in({"cuda", "virtual"});
  const json cuda = examine("CUDA"), other = examine("Virtual");
  for (const char* step : {"found", "loaded", "available", "functional"}) {
    EXPECT_EQ(cuda[step], true) << step;
    EXPECT_EQ(other[step], true) << step;
  }
  EXPECT_EQ(cuda["chosen"], true);
  EXPECT_EQ(other["chosen"], false);
  EXPECT_EQ(cuda["file"], plugin_path("cuda"));
  ASSERT_EQ(cuda["devices"].size(), 2U);
  EXPECT_EQ(cuda["devices"][0]["driver"], "1.0");
  ASSERT_EQ(cuda["components"].size(), 2U);
  EXPECT_EQ(cuda["components"][0]["name"], "cuBLAS");
  EXPECT_EQ(cuda["components"][0]["functional"], true) << cuda["components"][0]["reason"];
  EXPECT_EQ(cuda["components"][1]["name"], "cuDNN");
  EXPECT_EQ(cuda["components"][1]["found"], false);
  EXPECT_TRUE(contains(cuda["components"][1]["reason"], "libcuDNN.so.1"));
}

#if !defined(__APPLE__)
TEST_F(Command, MetalIsNotMissedElsewhere) {
  setenv("SLUICE_BACKENDS", "Metal", 1);
  const json metal = examine("Metal");
  EXPECT_EQ(metal["loaded"], true) << metal;
  EXPECT_EQ(metal["remedy"], "none needed: Metal is a part of macOS only");
}
#endif

#ifdef SLUICE_TEST_SIMULATED
struct SimulatedDriver {
  const char *folder, *file, *backend, *blas;
  friend std::ostream& operator<<(std::ostream& out, const SimulatedDriver& driver) { return out << driver.backend; }
};

class OnASimulatedDriver : public Command, public ::testing::WithParamInterface<SimulatedDriver> {};
INSTANTIATE_TEST_SUITE_P(Of, OnASimulatedDriver,
                         ::testing::Values(SimulatedDriver{"cuda", "cuda", "CUDA", "cuBLAS"},
                                           SimulatedDriver{"hip", "amdgpu", "AMDGPU", "rocBLAS"}),
                         [](auto& info) { return std::string(info.param.backend); });

TEST_P(OnASimulatedDriver, ShowsTwoDevicesThatWork) {
  setenv("SLUICE_BACKEND_PATH", SLUICE_TEST_PLUGINS "/../..", 1);
  setenv("SLUICE_BACKENDS", GetParam().file, 1);
  setenv("LD_LIBRARY_PATH", (std::string(SLUICE_TEST_SIMULATED "/") + GetParam().folder).c_str(), 1);
  const json backend = examine(GetParam().backend);
  EXPECT_EQ(backend["functional"], true) << backend["reason"];
  EXPECT_EQ(backend["chosen"], true);
  ASSERT_EQ(backend["devices"].size(), 2U);
  for (const json& device : backend["devices"]) EXPECT_EQ(device["functional"], true) << device["reason"];
  ASSERT_EQ(backend["components"].size(), 1U);
  EXPECT_EQ(backend["components"][0]["name"], GetParam().blas);
  EXPECT_EQ(backend["components"][0]["functional"], true) << backend["components"][0]["reason"];
}
#endif

TEST_F(Command, ShowsTheCacheOfKernels) {
  plug_in({"virtual"});
  EXPECT_EQ(run_json({"doctor"})["kernel_cache"]["folder"], nullptr);
  setenv("SLUICE_KERNEL_CACHE", folder("kernels").c_str(), 1);
  const json cache = run_json({"doctor"})["kernel_cache"];
  EXPECT_EQ(cache["folder"], folder("kernels"));
  EXPECT_EQ(cache["kernels"], 2) << "the one that each device was tried with";
  EXPECT_GT(cache["bytes"], 100);
  EXPECT_EQ(cache["reason"], nullptr);
  EXPECT_TRUE(contains(run({"doctor"}).out, "kernel cache: " + folder("kernels") + ", 2 kernels, "));
}

struct Ill {
  const char* name;
  const char* faults;
  bool available;
  int code;
  const char* reason;
  const char* remedy;
};

void PrintTo(const Ill& ill, std::ostream* out) { *out << ill.name; }

class IllBackend : public Command, public ::testing::WithParamInterface<Ill> {};

TEST_P(IllBackend, IsDiagnosed) {
  plug_in({"cuda"});
  setenv("VIRTUAL_CUDA_COUNT", "1", 1);
  setenv("VIRTUAL_CUDA_FAULTS", GetParam().faults, 1);
  const json cuda = examine("CUDA", GetParam().code);
  EXPECT_EQ(cuda["loaded"], true);
  EXPECT_EQ(cuda["available"], GetParam().available);
  EXPECT_EQ(cuda["functional"], false);
  EXPECT_TRUE(contains(cuda["reason"], GetParam().reason)) << cuda["reason"];
  EXPECT_TRUE(contains(cuda["remedy"], GetParam().remedy)) << cuda["remedy"];
  const Ended text = run({"doctor"});
  EXPECT_EQ(text.code, GetParam().code);
  EXPECT_EQ(text.err, "") << "the report has it all";
  EXPECT_EQ(contains(text.out, "\nproblems\n"), GetParam().code == 1) << text.out;
  const std::string reason = cuda["reason"].get<std::string>();
  EXPECT_TRUE(contains(text.out, reason.substr(0, reason.find('\n')))) << text.out;
  EXPECT_EQ(run_json({"doctor"}, GetParam().code)["problems"].empty(), GetParam().code == 0);
}

INSTANTIATE_TEST_SUITE_P(
    Command, IllBackend,
    ::testing::Values(Ill{"NoDriver", "no-driver", false, 0, "libvirtualgpu", "install NVIDIA's driver"},
                      Ill{"NoDevice", "no-device", false, 0, "sees no device", "nvidia-smi"},
                      Ill{"OldDriver", "old-driver", false, 1, "too old", "update the driver"},
                      Ill{"WrongNumbers", "launch:1", true, 1, "wrong numbers", "sluice backend CPU"},
                      Ill{"NoCompiler", "compile:1", true, 1, "compile", "update the driver"},
                      Ill{"NotOpened", "open:1", true, 1, "open", "update the driver"}),
    [](const auto& ill) { return std::string(ill.param.name); });

TEST_F(Command, ADriverThatNeverAnswersIsFoundOut) {
  plug_in({"cuda", "opencl", "virtual"});
  setenv("SLUICE_DOCTOR_SECONDS", "2", 1);
  setenv("VIRTUAL_CUDA_FAULTS", "slow-open:600000", 1);
  const json report = run_json({"doctor"}, 1);
  const json& cuda = report["backends"][0];
  EXPECT_EQ(cuda["name"], "CUDA");
  EXPECT_EQ(cuda["reason"], "its driver did not answer within 2 s");
  EXPECT_EQ(cuda["available"], false);
  EXPECT_TRUE(contains(cuda["remedy"], "$SLUICE_BACKENDS")) << cuda["remedy"];
  ASSERT_EQ(report["problems"].size(), 1U) << report["problems"];
  EXPECT_EQ(report["problems"][0]["subject"], "CUDA");
  EXPECT_EQ(report["chosen"], "OpenCL device 0: Virtual GPU 0") << "the others are examined";
}

TEST_F(Command, APluginThatNeverAnswersIsFoundOutByItsFile) {
  plug_in({"virtual"});
  setenv("SLUICE_DOCTOR_SECONDS", "2", 1);
  setenv("VIRTUAL_GPU_FAULTS", "slow-open:600000", 1);
  const json report = run_json({"doctor"}, 1);
  ASSERT_EQ(report["problems"].size(), 1U) << report["problems"];
  EXPECT_EQ(report["problems"][0]["subject"], plugin_path("virtual"));
  EXPECT_TRUE(contains(run({"doctor"}).out, "did not answer within 2 s"));
}

TEST_F(Command, NamesTheVariableThatMayHideDevices) {
  plug_in({"cuda"});
  setenv("VIRTUAL_CUDA_FAULTS", "no-device", 1);
  setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
  const json cuda = examine("CUDA");
  EXPECT_TRUE(contains(cuda["remedy"], "CUDA_VISIBLE_DEVICES (now \"-1\")")) << cuda["remedy"];
}

TEST_F(Command, OneBadDeviceOfTwoIsAProblem) {
  plug_in({"cuda"});
  setenv("VIRTUAL_CUDA_FAULTS", "launch:1", 1);
  const json report = run_json({"doctor"}, 1);
  EXPECT_EQ(report["chosen"], "CUDA device 1: Virtual GPU 1");
  ASSERT_EQ(report["problems"].size(), 1U);
  EXPECT_EQ(report["problems"][0]["subject"], "CUDA device 0");
}

TEST_F(Command, AFolderThatIsNotThereIsNoProblemAndOneThatIsRefusedIs) {
  setenv("SLUICE_BACKEND_PATH", "/nowhere/at/all", 1);
  const json absent = run_json({"doctor"});
  EXPECT_EQ(absent["refused"].back()["path"], "/nowhere/at/all");
  const std::string open = folder("open");
  fs::create_directory(open);
  fs::permissions(open, fs::perms::all);
  setenv("SLUICE_BACKEND_PATH", open.c_str(), 1);
  const json report = run_json({"doctor"}, 1);
  EXPECT_EQ(report["problems"][0]["subject"], open);
  EXPECT_TRUE(contains(report["problems"][0]["remedy"], "chmod o-w"));
}

TEST_F(Command, AVendorLibraryThatDoesHarmIsNoProblem) {
  plug_in({"cuda"});
  // One that was slow once is tried again.
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"abort-probe", "aborted (signal 6)", "aborted (signal 6)"},
      {"hang-probe", "did not answer within 1 s", "/libcuBLAS.so.1, works"},
      {"probe:1", "failed: ", "failed: "}};
  setenv("SLUICE_PROBE_SECONDS", "1", 1);
  for (const auto& [faults, words, words_of_next] : cases) {
    fs::remove_all(folder("cache"));
    setenv("VIRTUAL_CUDA_FAULTS", faults, 1);
    const json cuda = examine("CUDA", 0);
    EXPECT_EQ(cuda["functional"], true);
    EXPECT_EQ(cuda["components"][0]["functional"], false);
    EXPECT_TRUE(contains(cuda["components"][0]["reason"], words)) << cuda["components"][0]["reason"];
    setenv("VIRTUAL_CUDA_FAULTS", "", 1);
    const std::string next = run({"doctor"}).out;
    EXPECT_TRUE(contains(next, words_of_next)) << next;
  }
}

// ---- The helper program, in a prefix.

/// A prefix with the command and its library; what it says about cuBLAS.
class Prefix : public Command {
 protected:
  Prefix() {
    plug_in({"cuda"});
    for (const char* part : {"bin", "lib", "libexec"}) fs::create_directories(path() / part);
    fs::copy(SLUICE_TEST_COMMAND, path() / "bin" / "sluice");
    const fs::path library = SLUICE_TEST_LIBRARY;
    for (const auto& entry : fs::directory_iterator(library.parent_path())) {
      if (entry.path().filename().string().starts_with("libsluice.")) fs::copy(entry.path(), path() / "lib");
    }
    setenv("LD_LIBRARY_PATH", (path() / "lib").c_str(), 1);
  }
  fs::path path() const { return folder("prefix"); }
  fs::path helper() const { return path() / "libexec" / "sluice-probe"; }
  void install_helper() {
    fs::copy(fs::path(SLUICE_TEST_LIBRARY).parent_path() / "libexec" / "sluice-probe", helper());
  }
  json report(int code = 0) {
    const Ended ended = run({"doctor", "--json"}, "", (path() / "bin" / "sluice").string());
    EXPECT_EQ(ended.code, code) << ended.err;
    return json::parse(ended.out, nullptr, false);
  }
  json first_component() { return report()["backends"][0]["components"][0]; }
};

TEST_F(Prefix, AMissingPluginIsToldItsPlace) {
  unsetenv("SLUICE_BACKENDS");
  unsetenv("SLUICE_BACKEND_PATH");
  const json all = report()["backends"];
  for (const std::size_t k : {0U, 1U, 3U}) {
    const std::string file = "libsluice-" + std::string(k == 0 ? "cuda" : k == 1 ? "amdgpu" : "opencl") + ".so";
    EXPECT_EQ(all[k]["found"], false);
    EXPECT_EQ(all[k]["reason"], "no file " + file + " in " + (path() / "lib").string());
    EXPECT_TRUE(contains(all[k]["remedy"], file + " into " + (path() / "lib" / "sluice").string())) << all[k]["remedy"];
  }
}

// Nothing beside this library takes the plug-in's place.
TEST_F(Prefix, ARefusedPluginIsAProblem) {
  const fs::path plugins = folder("plugins"), file = plugins / "libsluice-metal.so";
  fs::create_directory(plugins);
  std::ofstream(file) << "no library";
  setenv("SLUICE_BACKEND_PATH", plugins.c_str(), 1);
  setenv("SLUICE_BACKENDS", "metal", 1);
  const json all = report(1), metal = all["backends"][2];
  EXPECT_EQ(metal["name"], "Metal");
  EXPECT_EQ(metal["found"], true);
  EXPECT_EQ(metal["loaded"], false);
  bool is_listed = false;
  for (const json& refused : all["refused"]) is_listed |= refused["path"] == file.string();
  EXPECT_TRUE(is_listed) << all["refused"];
  setenv("SLUICE_BACKENDS", "none", 1);
  EXPECT_EQ(report()["backends"][2]["found"], true) << "what was left out on purpose is none";
}

TEST_F(Prefix, WithTheHelperTheLibraryIsUsed) {
  install_helper();
  EXPECT_EQ(first_component()["functional"], true) << first_component();
}

TEST_F(Prefix, WithoutTheHelperItIsNot) {
  const json component = first_component();
  EXPECT_EQ(component["functional"], false);
  EXPECT_TRUE(contains(component["reason"], "is not installed")) << component;
  EXPECT_TRUE(contains(component["reason"], helper().string())) << component;
}

TEST_F(Prefix, AHelperThatOthersMayWriteIsNotStarted) {
  install_helper();
  fs::permissions(helper(), fs::perms::others_write, fs::perm_options::add);
  EXPECT_TRUE(contains(first_component()["reason"], "others may write")) << first_component();
  fs::permissions(helper(), fs::perms::others_write, fs::perm_options::remove);
  fs::permissions(helper().parent_path(), fs::perms::others_write, fs::perm_options::add);
  EXPECT_TRUE(contains(first_component()["reason"], "others may write")) << first_component();
}

// ---- Preferences.

TEST_F(Command, APreferenceThatCanBeFollowedIsFine) {
  plug_in({"cuda", "opencl"});
  ASSERT_EQ(run({"backend", "OpenCL"}).code, 0);
  const json report = run_json({"doctor"});
  EXPECT_EQ(report["preference"]["value"], "OpenCL");
  EXPECT_EQ(report["preference"]["followed"], true);
  EXPECT_TRUE(contains(report["preference"]["source"], "LocalPreferences.toml:2"));
  EXPECT_EQ(report["chosen"], "OpenCL device 0: Virtual GPU 0");
}

TEST_F(Command, APreferenceThatCannotBeFollowedIsAProblem) {
  plug_in({"cuda"});
  for (const char* wish : {"OpenCL", "AMD", "Nonsense"}) {
    std::ofstream("LocalPreferences.toml") << "[Sluice]\ngpu_backend = \"" << wish << "\"\n";
    const json report = run_json({"doctor"}, 1);
    EXPECT_EQ(report["preference"]["followed"], false);
    EXPECT_EQ(report["chosen"], "CUDA device 0: Virtual GPU 0");
    ASSERT_EQ(report["problems"].size(), 1U) << report["problems"];
    EXPECT_TRUE(contains(report["problems"][0]["subject"], wish));
    EXPECT_TRUE(contains(report["problems"][0]["remedy"], "LocalPreferences.toml:2"));
  }
  fs::remove("LocalPreferences.toml");
  setenv("SLUICE_GPU_BACKEND", "OpenCL", 1);
  EXPECT_TRUE(contains(run({"doctor"}).out, "unset SLUICE_GPU_BACKEND"));
  setenv("SLUICE_GPU_BACKEND", "CPU", 1);
  EXPECT_EQ(run({"doctor"}).code, 0) << "the CPU is always there";
}

TEST_F(Command, ABrokenPreferenceFileIsAProblem) {
  std::ofstream("LocalPreferences.toml") << "[Sluice\n";
  const json report = run_json({"doctor"}, 1);
  EXPECT_EQ(report["preference"], nullptr);
  ASSERT_EQ(report["problems"].size(), 1U);
  EXPECT_TRUE(contains(report["problems"][0]["reason"], "LocalPreferences.toml:1")) << report["problems"];
  const Ended shown = run({"backend"});
  EXPECT_EQ(shown.code, 0);
  EXPECT_TRUE(contains(shown.err, "LocalPreferences.toml:1")) << shown.err;
}

}  // namespace
}  // namespace sluice::tests

#endif
