// Which device get_device() gives, and what is said on the way. Each case runs in a process of its own.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <thread>

#include "sluice/sluice.hpp"
#include "temporary_folder.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;

/// An empty working folder and home, virtual plug-ins by name, and what the library says.
class Selection : public ::testing::Test {
 protected:
  Selection() {
    fs::current_path(folder_.path());
    setenv("HOME", (folder_ / "home").c_str(), 1);
    unsetenv("XDG_CONFIG_HOME");
    unsetenv("SLUICE_GPU_BACKEND");
    plug_in({});
    set_log_sink([this](LogLevel level, const std::string& text) {
      const std::lock_guard lock(mutex_);
      (level == LogLevel::warning ? warnings : infos).push_back(text);
    });
  }
  ~Selection() override { set_log_sink({}); }

  static void plug_in(const std::vector<std::string>& names) {
    std::string path;
    for (const std::string& name : names) path += (path.empty() ? "" : ":") + (SLUICE_TEST_PLUGINS "/" + name);
    if (names.empty()) path = "/nonexistent";
    setenv("SLUICE_BACKEND_PATH", path.c_str(), 1);
  }
  void prefer(const std::string& value) {
    folder_.write("LocalPreferences.toml", "[Sluice]\ngpu_backend = \"" + value + "\"\n");
  }
  std::string chosen() { return std::string(get_device({.verbose = true}).backend()); }

  std::vector<std::string> warnings, infos;

 private:
  tests::TemporaryFolder folder_;
  std::mutex mutex_;
};

using Lines = std::vector<std::string>;

// ---- No wish.

TEST_F(Selection, NothingIsThereAndNothingIsSaid) {
  EXPECT_EQ(get_device(), cpu_device());
  EXPECT_EQ(infos, Lines{});
  EXPECT_EQ(chosen(), "CPU");
  EXPECT_EQ(infos, Lines{"Using backend: CPU."});
  EXPECT_EQ(warnings, Lines{});
  for (const char* name : {"CUDA", "AMDGPU", "Metal", "OpenCL"}) {
    EXPECT_FALSE(loaded(name) || available(name) || functional(name));
    EXPECT_NE(why(name).find("libsluice-"), std::string::npos) << why(name);
  }
  EXPECT_TRUE(loaded("CPU") && available("CPU") && functional("CPU"));
  EXPECT_EQ(devices(), std::vector<Device>{cpu_device()});
  const Tensor x = ones({2});
  EXPECT_TRUE(gpu(x).same_handle(x));
  EXPECT_THROW(cu(x), DeviceError);
}

TEST_F(Selection, TheNamesAreKnownInTheirOrder) {
  EXPECT_EQ(std::vector<std::string_view>(supported_devices().begin(), supported_devices().end()),
            (std::vector<std::string_view>{"CUDA", "AMDGPU", "Metal", "OpenCL", "CPU"}));
}

TEST_F(Selection, TheFirstFunctionalBackendWins) {
  plug_in({"opencl", "metal", "cuda", "amdgpu"});
  EXPECT_EQ(chosen(), "CUDA");
  EXPECT_EQ(infos, Lines{"Using backend: CUDA."});
  EXPECT_EQ(warnings, Lines{});
  for (const char* name : {"CUDA", "AMDGPU", "Metal", "OpenCL"}) EXPECT_TRUE(functional(name)) << why(name);
}

TEST_F(Selection, AnotherPluginComesAfterTheKnownOnes) {
  plug_in({"virtual"});
  EXPECT_EQ(chosen(), "Virtual");
  EXPECT_EQ(to_string(get_device("Virtual", 1)).substr(0, 18), "Virtual device 1: ");
  EXPECT_EQ(get_device("Virtual:1"), get_device("Virtual", 1));
  EXPECT_THROW(get_device("Virtual:9"), IndexError);
  EXPECT_THROW(get_device("Virtual:1", 1), ArgumentError);
  for (const char* const wrong : {"Virtual:", "Virtual:x", "Virtual:1x", "Virtual:-1", "Virtual:99999999999"}) {
    EXPECT_THROW(get_device(wrong), ArgumentError) << wrong;
  }
  EXPECT_EQ(get_device("CPU:0"), cpu_device());
}

struct Broken {
  const char* name;
  const char* fault;
  bool is_hardware;  // whether it is news to the user
  const char* reason;
};

class BrokenBackend : public Selection, public ::testing::WithParamInterface<Broken> {};

TEST_P(BrokenBackend, IsPassedOverWithItsReason) {
  setenv("VIRTUAL_CUDA_COUNT", "1", 1);
  setenv("VIRTUAL_CUDA_FAULTS", GetParam().fault, 1);
  plug_in({"cuda", "opencl"});
  EXPECT_EQ(chosen(), "OpenCL");
  EXPECT_TRUE(loaded("CUDA"));
  EXPECT_FALSE(functional("CUDA"));
  EXPECT_NE(why("CUDA").find(GetParam().reason), std::string::npos) << why("CUDA");
  EXPECT_EQ(warnings.size(), GetParam().is_hardware ? 1U : 0U);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(get_device().backend(), "OpenCL");
  EXPECT_EQ(warnings.size(), GetParam().is_hardware ? 1U : 0U) << "once per process";
  EXPECT_THROW(require_device("CUDA"), DeviceError);
  EXPECT_THROW(get_device("CUDA"), DeviceError);
}

INSTANTIATE_TEST_SUITE_P(Selection, BrokenBackend,
                         ::testing::Values(Broken{"NoDriver", "no-driver", false, "libvirtualgpu"},
                                           Broken{"NoDevice", "no-device", false, "no device"},
                                           Broken{"OldDriver", "old-driver", true, "old"},
                                           Broken{"WrongNumbers", "launch:1", true, "wrong numbers"},
                                           Broken{"NotCompiled", "compile:1", true, "compile"},
                                           Broken{"NotOpened", "open:1", true, "open"}),
                         [](const auto& broken) { return std::string(broken.param.name); });

TEST_F(Selection, ABrokenDeviceIsPassedOverForTheNextOfItsBackend) {
  setenv("VIRTUAL_CUDA_FAULTS", "launch:1", 1);
  plug_in({"cuda", "opencl"});
  const Device first = get_device();
  EXPECT_EQ(first, get_device("CUDA", 1));
  EXPECT_EQ(devices("CUDA").size(), 2U);
  EXPECT_THROW(get_device("CUDA", 0), DeviceError);
  EXPECT_EQ(warnings, Lines{});
}

TEST_F(Selection, APluginOfAnOlderLibraryIsLoadedAndSaysWhatItLacks) {
  plug_in({"odd/small", "cuda"});
  EXPECT_TRUE(loaded("Odd"));
  EXPECT_TRUE(available("Odd"));
  EXPECT_FALSE(functional("Odd"));
  EXPECT_NE(why("Odd").find("no such function"), std::string::npos) << why("Odd");
  EXPECT_EQ(get_device().backend(), "CUDA");
}

TEST_F(Selection, APluginWithoutANameIsRefused) {
  plug_in({"odd/null-name"});
  EXPECT_EQ(get_device(), cpu_device());
  ASSERT_EQ(get_device_report().refused.size(), 1U);
  EXPECT_NE(get_device_report().refused.front().reason.find("no name"), std::string::npos);
}

// ---- A wish.

TEST_F(Selection, AWishThatWorksSaysOneLine) {
  plug_in({"cuda", "opencl"});
  prefer("OpenCL");
  EXPECT_EQ(chosen(), "OpenCL");
  EXPECT_EQ(infos, Lines{"Using backend set in preferences: OpenCL."});
  EXPECT_EQ(warnings, Lines{});
  EXPECT_EQ(gpu_backend(), "OpenCL");
}

TEST_F(Selection, CpuIsALegalWishAndOpensNothing) {
  plug_in({"cuda"});
  prefer("CPU");
  EXPECT_EQ(chosen(), "CPU");
  EXPECT_EQ(infos, Lines{"Using backend set in preferences: CPU."});
  EXPECT_EQ(warnings, Lines{});
}

TEST_F(Selection, AWishThatIsNotLoadedIsWarnedOfOnce) {
  plug_in({"cuda"});
  prefer("Metal");
  EXPECT_EQ(chosen(), "CUDA");
  EXPECT_EQ(infos, (Lines{"Using backend set in preferences: Metal.", "Using backend: CUDA."}));
  ASSERT_EQ(warnings.size(), 1U);
  for (const char* words : {"Metal", "its plug-in is not loaded", "LocalPreferences.toml:2", "libsluice-metal.so"}) {
    EXPECT_NE(warnings[0].find(words), std::string::npos) << warnings[0];
  }
  for (int i = 0; i < 10; ++i) get_device();
  EXPECT_EQ(warnings.size(), 1U);
}

TEST_F(Selection, AWishThatIsNotFunctionalIsWarnedOfOnce) {
  setenv("VIRTUAL_CUDA_COUNT", "1", 1);
  setenv("VIRTUAL_CUDA_FAULTS", "launch:1", 1);
  plug_in({"cuda", "amdgpu"});
  prefer("CUDA");
  EXPECT_EQ(chosen(), "AMDGPU");
  ASSERT_EQ(warnings.size(), 1U);
  for (const char* words : {"Backend: CUDA from the set preferences", "is not functional", "wrong numbers",
                            "Defaulting to automatic device selection."}) {
    EXPECT_NE(warnings[0].find(words), std::string::npos) << warnings[0];
  }
}

TEST_F(Selection, AnUnknownWishIsWarnedOfOnce) {
  plug_in({"cuda"});
  for (const char* name : {"foo", "cuda", "Cuda "}) {
    prefer(name);
    warnings.clear();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(chosen(), "CUDA");
    ASSERT_EQ(warnings.size(), 1U) << name;
    EXPECT_NE(warnings[0].find("`gpu_backend` preference is set to"), std::string::npos) << warnings[0];
    EXPECT_NE(warnings[0].find("which is not allowed"), std::string::npos) << warnings[0];
  }
}

TEST_F(Selection, TheOldNameOfAmdgpuWorksWithAWarning) {
  plug_in({"cuda", "amdgpu"});
  prefer("AMD");
  EXPECT_EQ(chosen(), "AMDGPU");
  EXPECT_EQ(get_device("AMD", 1).id(), 1);
  EXPECT_EQ(warnings, Lines{"\"AMD\" backend is deprecated. Please use \"AMDGPU\" instead."});
  EXPECT_EQ(gpu_backend(), "AMDGPU");
}

TEST_F(Selection, AChangeTakesEffectAtTheNextQuestion) {
  plug_in({"cuda", "opencl"});
  EXPECT_EQ(chosen(), "CUDA");
  set_gpu_backend("OpenCL");
  EXPECT_EQ(chosen(), "OpenCL");
  EXPECT_EQ(gpu(ones({2})).device().backend(), "OpenCL") << "also for gpu";
  set_gpu_backend("CPU");
  EXPECT_EQ(chosen(), "CPU");
  clear_gpu_backend();
  EXPECT_EQ(chosen(), "CUDA");
  setenv("SLUICE_GPU_BACKEND", "OpenCL", 1);
  EXPECT_EQ(chosen(), "OpenCL");
  prefer("CPU");
  EXPECT_EQ(chosen(), "OpenCL") << "the environment comes before the file";
  unsetenv("SLUICE_GPU_BACKEND");
  EXPECT_EQ(chosen(), "CPU");
  EXPECT_EQ(warnings, Lines{});
}

TEST_F(Selection, SettingAnUnknownBackendThrowsAndWritesNothing) {
  try {
    set_gpu_backend("foo");
    FAIL() << "an unknown backend was accepted";
  } catch (const ArgumentError& error) {
    EXPECT_EQ(std::string(error.what()),
              "Unsupported GPU backend: foo. Supported backends are: (\"CUDA\", \"AMDGPU\", \"Metal\", \"OpenCL\", "
              "\"CPU\").");
  }
  EXPECT_FALSE(fs::exists("LocalPreferences.toml"));
  EXPECT_EQ(gpu_backend(), std::nullopt);
}

// ---- By name and number.

TEST_F(Selection, DevicesAreTakenByNumberFromZero) {
  setenv("VIRTUAL_CUDA_COUNT", "3", 1);
  plug_in({"cuda"});
  for (int n = 0; n < 3; ++n) {
    EXPECT_EQ(get_device("CUDA", n).id(), n);
    EXPECT_EQ(get_device("CUDA", n), get_device("CUDA", n));
    EXPECT_EQ(ones({2}, f32, get_device("CUDA", n)).device().id(), n);
  }
  for (const int n : {-1, 3, 1000}) {
    try {
      get_device("CUDA", n);
      FAIL() << n;
    } catch (const IndexError& error) {
      EXPECT_NE(std::string(error.what()).find("3 devices"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find(std::to_string(n)), std::string::npos) << error.what();
    }
  }
  EXPECT_EQ(get_device("CPU", 17), cpu_device());
  EXPECT_EQ(devices("CUDA").size(), 3U);
  EXPECT_EQ(gpu_device(2), get_device("CUDA", 2));
  EXPECT_EQ(to_string(get_device("CUDA", 2)), "CUDA device 2: " + get_device("CUDA", 2).name());
  EXPECT_NE(get_device("CUDA", 1).native_handle(), get_device("CUDA", 2).native_handle());
}

TEST_F(Selection, UnknownAndUnloadedBackendsAreErrors) {
  plug_in({});
  EXPECT_THROW(get_device("foo"), ArgumentError);
  EXPECT_THROW(get_device("cuda"), ArgumentError) << "names are matched exactly";
  EXPECT_THROW(get_device(""), ArgumentError);
  try {
    require_device("CUDA");
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("Unavailable backend: CUDA"), std::string::npos) << error.what();
  }
  try {
    require_device();
    FAIL();
  } catch (const DeviceError& error) {
    for (const char* name : {"CUDA", "AMDGPU", "Metal", "OpenCL"}) {
      EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
    }
  }
}

TEST_F(Selection, DiscreteComesBeforeIntegratedThenTheLowestNumber) {
  setenv("VIRTUAL_CUDA_KIND", "integrated,discrete,discrete", 1);
  plug_in({"cuda"});
  EXPECT_EQ(get_device().id(), 1);
  setenv("VIRTUAL_CUDA_KIND", "", 1);
}

TEST_F(Selection, ProcessorsAreChosenOnlyIfAskedFor) {
  setenv("VIRTUAL_OPENCL_KIND", "cpu,cpu,cpu", 1);
  plug_in({"opencl"});
  EXPECT_EQ(get_device(), cpu_device());
  EXPECT_EQ(warnings, Lines{});
  EXPECT_EQ(get_device("OpenCL", 1).id(), 1);
  EXPECT_EQ(devices(), std::vector<Device>{cpu_device()});
  EXPECT_EQ(devices("OpenCL").size(), 3U);
  prefer("OpenCL");
  EXPECT_EQ(chosen(), "OpenCL");
}

TEST_F(Selection, ACardThatTwoBackendsSeeIsListedOnce) {
  setenv("VIRTUAL_GPU_CARD", "0000:41:00.", 1);
  setenv("VIRTUAL_CUDA_COUNT", "4", 1);
  setenv("VIRTUAL_OPENCL_COUNT", "5", 1);
  plug_in({"cuda", "opencl"});
  const std::vector<Device> all = devices();
  ASSERT_EQ(all.size(), 6U) << "four cards, the fifth that only OpenCL sees, the CPU";
  for (int n = 0; n < 4; ++n) EXPECT_EQ(all[static_cast<std::size_t>(n)], get_device("CUDA", n));
  EXPECT_EQ(all[4], get_device("OpenCL", 4));
  EXPECT_EQ(all[5], cpu_device());
}

// ---- Visible devices, repetition, threads.

TEST_F(Selection, VisibleDevicesAreTheDriversAffair) {
  setenv("VIRTUAL_CUDA_VISIBLE", "-1", 1);
  plug_in({"cuda"});
  EXPECT_EQ(get_device(), cpu_device());
  EXPECT_EQ(warnings, Lines{});
  EXPECT_TRUE(loaded("CUDA"));
  EXPECT_FALSE(available("CUDA"));
}

TEST_F(Selection, VisibleDevicesAreRenumbered) {
  setenv("VIRTUAL_CUDA_VISIBLE", "2,0", 1);
  plug_in({"cuda"});
  EXPECT_EQ(devices("CUDA").size(), 2U);
  EXPECT_EQ(get_device("CUDA", 0).id(), 0);
  EXPECT_NE(get_device("CUDA", 0).name().find('2'), std::string::npos) << get_device("CUDA", 0).name();
}

TEST_F(Selection, JunkInVisibleDevicesIsHarmless) {
  setenv("VIRTUAL_CUDA_VISIBLE", std::string(10000, 'x').c_str(), 1);
  plug_in({"cuda"});
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(get_device(), cpu_device());
}

TEST_F(Selection, ManyThreadsAtTheFirstQuestionGetOneAnswer) {
  setenv("VIRTUAL_CUDA_FAULTS", "slow-open:20", 1);
  plug_in({"cuda", "opencl"});
  std::vector<Device> answers(64);
  std::vector<std::thread> threads;
  for (Device& answer : answers) threads.emplace_back([&answer] { answer = get_device(); });
  for (std::thread& thread : threads) thread.join();
  for (const Device& answer : answers) EXPECT_EQ(answer, get_device("CUDA", 0));
  EXPECT_EQ(warnings, Lines{});
}

TEST_F(Selection, ALogSinkMayAskForDevicesItself) {
  setenv("VIRTUAL_CUDA_FAULTS", "old-driver", 1);
  plug_in({"cuda", "opencl"});
  int calls = 0;
  set_log_sink([&](LogLevel, const std::string&) {
    ++calls;
    EXPECT_EQ(get_device().backend(), "OpenCL");
  });
  EXPECT_EQ(get_device().backend(), "OpenCL");
  EXPECT_EQ(calls, 1);
}

TEST_F(Selection, TheReportHasAReasonForEveryBackend) {
  setenv("VIRTUAL_AMDGPU_FAULTS", "old-driver", 1);
  plug_in({"cuda", "amdgpu", "virtual"});
  prefer("CUDA");
  const SelectionReport report = get_device_report();
  ASSERT_EQ(report.backends.size(), 6U);
  EXPECT_EQ(report.chosen, to_string(get_device("CUDA", 0)));
  EXPECT_EQ(report.preference, "CUDA");
  EXPECT_NE(report.preference_source.find("LocalPreferences.toml:2"), std::string::npos);
  for (const BackendReport& backend : report.backends) {
    EXPECT_FALSE(backend.reason.empty()) << backend.name;
    EXPECT_EQ(backend.chosen, backend.name == "CUDA");
  }
  EXPECT_EQ(report.backends[0].devices.size(), 3U);
  EXPECT_EQ(report.backends[4].name, "Virtual");
  EXPECT_EQ(report.backends[5].name, "CPU");
  const std::string text = to_string(report);
  for (const BackendReport& backend : report.backends) {
    EXPECT_NE(text.find(backend.name), std::string::npos) << text;
    EXPECT_NE(text.find(backend.reason), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace sluice
