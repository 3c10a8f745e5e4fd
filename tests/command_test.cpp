// `sluice` itself, `sluice devices` and `sluice backend`.
#ifdef SLUICE_TEST_COMMAND

#include "command.hpp"

namespace sluice::tests {
namespace {

namespace fs = std::filesystem;

// ---- Usage.

TEST_F(Command, SaysItsVersion) {
  const Ended ended = run({"--version"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.out.substr(0, 7), "sluice ");
  EXPECT_EQ(run_json({"doctor"})["version"], ended.out.substr(7, ended.out.size() - 8));
}

TEST_F(Command, TeachesEachCommand) {
  const Ended whole = run({"--help"});
  EXPECT_EQ(whole.code, 0);
  for (const char* command : {"devices", "doctor", "backend", "conformance", "inspect", "convert"}) {
    EXPECT_TRUE(contains(whole.out, command));
    const Ended ended = run({command, "--help"});
    EXPECT_EQ(ended.code, 0);
    const std::size_t examples = ended.out.find("Examples:");
    ASSERT_NE(examples, std::string::npos) << ended.out;
    const std::string call = std::string("\n  sluice ") + command;
    const std::size_t first = ended.out.find(call, examples);
    EXPECT_NE(ended.out.find(call, first + 1), std::string::npos) << "two examples: " << ended.out;
    EXPECT_TRUE(contains(ended.out, "Exit codes: ") && contains(ended.out, "JSON: ")) << ended.out;
  }
}

TEST_F(Command, RefusesWhatMakesNoSense) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{}, "`sluice --help`"},
      {{"doctr"},
       "there is no command doctr; there are devices, doctor, backend, conformance, inspect and "
       "convert"},
      {{"--nonsense"}, "`sluice --help`"},
      {{"devices", "--wrong"}, "`sluice devices --help`"},
      {{"devices", "extra"}, "`sluice devices --help`"},
      {{"doctor", "extra"}, "`sluice doctor --help`"},
      {{"conformance", "--quick", "--full"}, "`sluice conformance --help`"},
      {{"conformance", "--device", "Nonsense"}, "`sluice devices` lists"},
      {{"conformance", "--device", "OpenCL:x"}, "write for example OpenCL:0"},
      {{"conformance", "--device", "CPU", "--only", "nothing"}, "there is no kernel nothing; there are map, reduce"},
      {{"backend", "CPU", "--clear"}, "`sluice backend --help`"},
      {{"backend", "CPU", "CUDA"}, "`sluice backend --help`"},
      {{"backend", "cuda"}, "Names are exact: `sluice backend CUDA`"},
      {{"backend", "Nonsense"}, "Unsupported GPU backend: Nonsense"},
      {{"backend", ""}, "Unsupported GPU backend"},
  };
  for (const auto& [words, hint] : cases) {
    const Ended ended = run(words);
    EXPECT_EQ(ended.code, 2) << ended.err;
    EXPECT_TRUE(contains(ended.err, hint)) << ended.err;
    EXPECT_EQ(ended.out, "");
  }
  EXPECT_FALSE(fs::exists("LocalPreferences.toml"));
}

TEST_F(Command, ConformanceSaysTheSameInBothForms) {
  const Ended ended = run({"conformance", "--device", "CPU", "--only", "gather"});
  EXPECT_EQ(ended.code, 0) << ended.out;
  EXPECT_TRUE(contains(ended.out, "gather gradient")) << ended.out;
  const json report = run_json({"conformance", "--device", "CPU", "--only", "gather"});
  EXPECT_EQ(fields(report), (std::set<std::string>{"device", "mode", "passed", "failed", "kernels_compiled", "seconds",
                                                   "notes", "findings"}));
  const std::string last = std::to_string(report["passed"].get<int>()) + " passed, 0 failed\n";
  ASSERT_GE(ended.out.size(), last.size());
  EXPECT_EQ(ended.out.substr(ended.out.size() - last.size()), last);
  EXPECT_EQ(report["kernels_compiled"], 0);
}

TEST_F(Command, AReaderThatGoesAwayIsNoFailure) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  const std::string broken = "/dev/fd/" + std::to_string(ends[1]);
  for (const char* command : {"devices", "doctor", "backend"}) {
    const Ended ended = run({command}, broken);
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(ended.err, "");
  }
}

TEST_F(Command, OutputThatCannotBeWrittenIsAFailure) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  const Ended ended = run({"doctor"}, "/dev/full");
  EXPECT_EQ(ended.code, 1);
  EXPECT_TRUE(contains(ended.err, "standard output cannot be written")) << ended.err;
}

// ---- Devices.

TEST_F(Command, ListsTheCpuWhereThereIsNothingElse) {
  const json report = run_json({"devices"});
  EXPECT_EQ(report["chosen"], "CPU");
  ASSERT_EQ(report["devices"].size(), 1U);
  EXPECT_EQ(report["devices"][0]["backend"], "CPU");
  EXPECT_EQ(report["devices"][0]["functional"], true);
  const Ended text = run({"devices"});
  EXPECT_TRUE(contains(text.out, report["devices"][0]["name"].get<std::string>())) << text.out;
  EXPECT_EQ(run({"devices"}).err, "") << "no GPU is no news";
  EXPECT_EQ(run({"devices", "--require-gpu"}).code, 1);
  EXPECT_EQ(run_json({"devices", "--require-gpu"}, 1)["chosen"], "CPU");
}

TEST_F(Command, ListsAllDevicesAsTextAndJsonAlike) {
  plug_in({"cuda", "opencl"});
  setenv("VIRTUAL_CUDA_FAULTS", "launch:1", 1);
  setenv("VIRTUAL_CUDA_CARD", "0000:41:00.", 1);
  const json report = run_json({"devices"});
  const Ended text = run({"devices"});
  EXPECT_EQ(text.code, 0);
  ASSERT_EQ(report["devices"].size(), 5U);
  EXPECT_EQ(report["chosen"], "CUDA device 1: Virtual GPU 1");
  EXPECT_TRUE(contains(text.out, "get_device() gives CUDA device 1: Virtual GPU 1\n")) << text.out;
  std::istringstream lines(text.out);
  std::string line;
  std::getline(lines, line);
  for (const json& device : report["devices"]) {
    EXPECT_EQ(fields(device), (std::set<std::string>{"backend", "id", "name", "kind", "memory_bytes", "architecture",
                                                     "driver", "card", "functional", "reason"}));
    std::getline(lines, line);
    EXPECT_TRUE(line.starts_with(device["backend"].get<std::string>())) << line;
    EXPECT_TRUE(contains(line, "  " + std::to_string(device["id"].get<int>()) + "  ")) << line;
    EXPECT_TRUE(contains(line, device["name"].get<std::string>())) << line;
    EXPECT_TRUE(line.ends_with(device["functional"] ? "yes" : "no")) << line;
    EXPECT_EQ(device["functional"].get<bool>(), device["reason"].is_null());
  }
  EXPECT_EQ(report["devices"][0]["functional"], false);
  EXPECT_TRUE(contains(text.out, report["devices"][0]["reason"].get<std::string>())) << text.out;
  EXPECT_EQ(report["devices"][1]["memory_bytes"], 1 << 30);
  EXPECT_EQ(report["devices"][1]["card"], "0000:41:00.1");
  EXPECT_EQ(run({"devices", "--require-gpu"}).code, 0);
}

TEST_F(Command, AProcessorInTheDressOfADeviceIsNoGpu) {
  plug_in({"opencl"});
  setenv("VIRTUAL_OPENCL_KIND", "cpu,cpu", 1);
  EXPECT_EQ(run({"devices", "--require-gpu"}).code, 1);
  EXPECT_EQ(run({"doctor"}).code, 0);
}

// ---- Preferences.

TEST_F(Command, SetsShowsAndClearsThePreference) {
  const std::string file = (fs::current_path() / "LocalPreferences.toml").string();
  EXPECT_EQ(run_json({"backend"})["preference"], nullptr);

  const json set = run_json({"backend", "OpenCL"});
  EXPECT_EQ(set["preference"], "OpenCL");
  EXPECT_EQ(set["changed"], file);
  EXPECT_TRUE(contains(content_of(file), "[Sluice]\ngpu_backend = \"OpenCL\"\n")) << content_of(file);

  const json shown = run_json({"backend"});
  EXPECT_EQ(shown["preference"], "OpenCL");
  EXPECT_EQ(shown["source"], file + ":2");
  EXPECT_EQ(shown["changed"], nullptr);
  EXPECT_EQ(run({"backend"}).out, "OpenCL (" + file + ":2)\n");
  EXPECT_EQ(run_json({"backend", "OpenCL"})["changed"], nullptr) << "it is there already";

  fs::current_path("below");
  EXPECT_EQ(run_json({"backend"})["preference"], "OpenCL") << "in folders below as well";
  EXPECT_TRUE(contains(run({"backend", "CPU"}).out, "CPU")) << "text";
  EXPECT_EQ(run_json({"backend"})["preference"], "CPU");
  EXPECT_FALSE(fs::exists("LocalPreferences.toml")) << "the nearest file is written, no new one";

  const json cleared = run_json({"backend", "--clear"});
  EXPECT_EQ(cleared["preference"], nullptr);
  EXPECT_EQ(cleared["changed"], file);
  EXPECT_EQ(run_json({"backend", "--clear"})["changed"], nullptr);
  EXPECT_EQ(run({"backend"}).out, "no preference: get_device() chooses by itself\n");
}

TEST_F(Command, TakesTheNameOfAPluginThatIsThere) {
  EXPECT_EQ(run({"backend", "Virtual"}).code, 2);
  plug_in({"virtual"});
  EXPECT_EQ(run_json({"backend", "Virtual"})["preference"], "Virtual");
  EXPECT_EQ(run_json({"devices"})["chosen"], "Virtual device 0: Virtual GPU 0");
}

TEST_F(Command, SaysThatTheEnvironmentComesFirst) {
  setenv("SLUICE_GPU_BACKEND", "Metal", 1);
  const json set = run_json({"backend", "OpenCL"});
  EXPECT_EQ(set["preference"], "Metal");
  EXPECT_EQ(set["source"], "$SLUICE_GPU_BACKEND");
  EXPECT_TRUE(contains(run({"backend", "OpenCL"}).err, "$SLUICE_GPU_BACKEND is set to Metal"));
  EXPECT_EQ(run_json({"backend"})["preference"], "Metal");
  const Ended cleared = run({"backend", "--clear"});
  EXPECT_TRUE(contains(cleared.out, "Now in force: Metal ($SLUICE_GPU_BACKEND)")) << cleared.out;
}

TEST_F(Command, AnOldNameIsReplacedWithAWarning) {
  const Ended ended = run({"backend", "AMD"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_TRUE(contains(ended.err, "\"AMD\" backend is deprecated"));
  EXPECT_EQ(run_json({"backend"})["preference"], "AMDGPU");
}

TEST_F(Command, AFolderThatCannotBeWrittenIsAFailure) {
  fs::create_directory("LocalPreferences.toml");
  const Ended ended = run({"backend", "CPU"});
  EXPECT_EQ(ended.code, 1) << ended.out;
  EXPECT_TRUE(contains(ended.err, "LocalPreferences.toml")) << ended.err;
}

}  // namespace
}  // namespace sluice::tests

#endif
