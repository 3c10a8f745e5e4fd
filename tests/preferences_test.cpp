// Where a wish for a backend may be written, which one is in force, and what becomes of a file that cannot be read or
// edited. Each case runs in a process of its own.
#include "src/device/preferences.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <thread>
#include <vector>

#include "messages.hpp"
#include "processes.hpp"
#include "sluice/error.hpp"
#include "sluice/log.hpp"
#include "temporary_folder.hpp"

namespace sluice {
namespace {

using tests::message_of;

namespace fs = std::filesystem;
using detail::clear_stored_gpu_backend;
using detail::gpu_backend_preference;
using detail::store_gpu_backend;

/// A working folder two levels below an empty one, a home, and what the library says.
class Preferences : public ::testing::Test {
 protected:
  Preferences() {
    fs::create_directories(inner());
    fs::create_directories(folder_ / "home/.config/sluice");
    fs::create_directories(folder_ / "xdg/sluice");
    fs::current_path(inner());
    setenv("HOME", (folder_ / "home").c_str(), 1);
    for (const char* name : {"XDG_CONFIG_HOME", "SLUICE_GPU_BACKEND", "SLUICE_LOG"}) unsetenv(name);
    set_log_sink([this](LogLevel, const std::string& text) { said.push_back(text); });
  }
  ~Preferences() override { set_log_sink({}); }

  fs::path inner() const { return folder_ / "project/inner"; }
  std::string near() const { return folder_ / "project/inner/LocalPreferences.toml"; }
  std::string above() const { return folder_ / "project/LocalPreferences.toml"; }
  std::string of_user() const { return folder_ / "home/.config/sluice/preferences.toml"; }
  static void write(const std::string& path, const std::string& text) {
    fs::remove_all(path);
    std::ofstream(path, std::ios::binary) << text;
  }

  std::vector<std::string> said;
  tests::TemporaryFolder folder_;
};

std::string value_now() {
  const auto wish = gpu_backend_preference();
  return wish ? wish->value : "-";
}

std::string where_now() {
  const auto wish = gpu_backend_preference();
  return wish ? wish->where : "-";
}

#define EXPECT_CONTAINS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

// ---- Where it is written.

/// All places, the strongest first; the wish of the process stands before them.
enum Place { kEnvironment, kNear, kNearFlux, kAbove, kAboveFlux, kUser, kUserFlux, kPlaces };
constexpr const char* kNames[] = {"environment", "near", "near Flux", "above", "above Flux", "user", "user Flux"};

class Places : public Preferences {
 protected:
  static bool is_flux(int place) { return place == kNearFlux || place == kAboveFlux || place == kUserFlux; }
  std::string file(int place) const { return place <= kNearFlux ? near() : place <= kAboveFlux ? above() : of_user(); }

  /// Writes exactly these; a value is TOML, or for the environment the value without its quotes.
  void put(const std::map<int, std::string>& values) const {
    unsetenv("SLUICE_GPU_BACKEND");
    for (const std::string& path : {near(), above(), of_user()}) fs::remove(path);
    for (const auto& [place, value] : values) {
      if (place == kEnvironment) {
        setenv("SLUICE_GPU_BACKEND", value.substr(1, value.size() - 2).c_str(), 1);
        continue;
      }
      const char* const header = is_flux(place) ? "# of the reference\n[Flux]" : "[Sluice]";
      std::ofstream(file(place), std::ios::app) << header << "\n# a comment\ngpu_backend = " << value << "\n";
    }
  }
  std::string where(int place) const {
    return place == kEnvironment ? "$SLUICE_GPU_BACKEND" : file(place) + (is_flux(place) ? ":4" : ":3");
  }
};

TEST_F(Places, NothingIsWritten) {
  EXPECT_EQ(value_now(), "-");
  EXPECT_EQ(clear_stored_gpu_backend(), "");
  EXPECT_FALSE(fs::exists(near()));
  EXPECT_EQ(said, std::vector<std::string>{});
}

TEST_F(Places, EachPlaceIsReadAnewAtEveryQuestion) {
  for (int place = 0; place < kPlaces; ++place) {
    for (const char* value : {"CUDA", "CPU", "AMD", "foo", "cuda ", "größer"}) {  // the caller knows which are legal
      put({{place, '"' + std::string(value) + '"'}});
      EXPECT_EQ(value_now(), value) << kNames[place];
      EXPECT_EQ(where_now(), where(place)) << kNames[place];
    }
    put({});
    EXPECT_EQ(value_now(), "-") << kNames[place];
  }
  EXPECT_EQ(said, std::vector<std::string>{});
}

TEST_F(Places, AnIllegalValueIsWarnedOfOnceWithFileAndLine) {
  const std::pair<std::string, std::vector<const char*>> causes[] = {
      {"is empty", {"\"\"", "''"}},
      {"is not a string", {"3", "true", "[\"CUDA\"]", "{ name = \"CUDA\" }", "1979-05-27", "nan"}}};
  for (int place = 0; place < kPlaces; ++place) {
    for (const auto& [cause, values] : causes) {
      if (place == kEnvironment && cause != "is empty") continue;
      said.clear();
      for (const char* value : values) {
        put({{place, value}});
        for (int i = 0; i < 3; ++i) EXPECT_EQ(value_now(), "-") << kNames[place] << value;
        ASSERT_EQ(said.size(), 1U) << kNames[place] << value << ": once for the same cause";
        put({{place, "\"CUDA\""}});
        EXPECT_EQ(value_now(), "CUDA") << kNames[place];
      }
      EXPECT_CONTAINS(said[0], where(place));
      EXPECT_CONTAINS(said[0], cause);
    }
  }
}

TEST_F(Places, TheStrongerOneOfEachPairIsInForce) {
  for (int strong = 0; strong < kPlaces; ++strong) {
    for (int weak = strong + 1; weak < kPlaces; ++weak) {
      put({{strong, "\"Strong\""}, {weak, "\"Weak\""}});
      EXPECT_EQ(value_now(), "Strong") << kNames[strong] << " against " << kNames[weak];
      put({{weak, "\"Weak\""}});
      EXPECT_EQ(value_now(), "Weak");
    }
  }
  EXPECT_EQ(said, std::vector<std::string>{});
}

TEST_F(Places, TheWishOfTheProcessIsTheStrongest) {
  for (int weak = 0; weak < kPlaces; ++weak) {
    put({});
    EXPECT_EQ(store_gpu_backend("Process"), near());
    put({{weak, "\"Weak\""}});
    EXPECT_EQ(value_now(), "Process") << kNames[weak];
    EXPECT_EQ(where_now(), "set_gpu_backend");
    clear_stored_gpu_backend();
    put({{weak, "\"Weak\""}});
    EXPECT_EQ(value_now(), "Weak") << kNames[weak];
  }
}

TEST_F(Places, AnEmptyVariableIsPassedOverButABrokenFileDecides) {
  put({{kEnvironment, "\"\""}, {kNear, "\"CUDA\""}});
  EXPECT_EQ(value_now(), "CUDA");
  put({{kNear, "\"\""}, {kNearFlux, "\"A\""}, {kAbove, "\"B\""}, {kUser, "\"C\""}});
  EXPECT_EQ(value_now(), "-");
  EXPECT_EQ(said.size(), 2U);
}

TEST_F(Places, FilesWithoutTheKeyDoNotDecide) {
  write(of_user(), "[Sluice]\ngpu_backend = 'Metal'\n");
  for (const char* text :
       {"", "# gpu_backend = 'CUDA'\n", "[Sluice]\n", "[Flux]\nother = 1\n[Sluice]\nGPU_backend = 'A'\n",
        "gpu_backend = 'CUDA'\n", "[Other]\ngpu_backend = 'CUDA'\n", "[Sluice.gpu]\nbackend = 'A'\n"}) {
    write(near(), text);
    write(above(), text);
    EXPECT_EQ(value_now(), "Metal") << text;
  }
  EXPECT_EQ(said, std::vector<std::string>{});
}

TEST_F(Places, AllWaysToWriteAStringAreRead) {
  for (const char* text :
       {"[Sluice]\ngpu_backend = 'CUDA'", "Sluice.gpu_backend = \"CUDA\"", "Sluice = { gpu_backend = \"CUDA\" }\n",
        "[Sluice]\r\n\tgpu_backend=\"\"\"\r\nCUDA\"\"\"\r\n",
        "\xef\xbb\xbf[Sluice]\n'gpu_backend' = \"C\\u0055DA\" # AMD\n", "['Sluice']\ngpu_backend='''CUDA'''"}) {
    write(near(), text);
    EXPECT_EQ(value_now(), "CUDA") << text;
  }
  EXPECT_EQ(said, std::vector<std::string>{});
}

TEST_F(Places, TheUsersFileStandsWhereXdgSays) {
  write(of_user(), "[Sluice]\ngpu_backend = \"Home\"\n");
  write(folder_ / "xdg/sluice/preferences.toml", "[Sluice]\ngpu_backend = \"Xdg\"\n");
  EXPECT_EQ(value_now(), "Home");
  setenv("XDG_CONFIG_HOME", (folder_ / "xdg").c_str(), 1);
  EXPECT_EQ(value_now(), "Xdg");
  setenv("XDG_CONFIG_HOME", (folder_ / "nowhere").c_str(), 1);
  EXPECT_EQ(value_now(), "-");
  for (const char* relative : {"", "../../xdg"}) {
    setenv("XDG_CONFIG_HOME", relative, 1);
    EXPECT_EQ(value_now(), "Home") << relative;
  }
  for (const char* home : {"", "../../home"}) {
    setenv("HOME", home, 1);
    EXPECT_EQ(value_now(), "-") << home;
  }
  unsetenv("HOME");
  EXPECT_EQ(value_now(), "-");
  EXPECT_EQ(said, std::vector<std::string>{});
}

TEST_F(Places, AWorkingFolderThatIsGone) {
  write(of_user(), "[Sluice]\ngpu_backend = \"Home\"\n");
  fs::remove_all(inner());
  EXPECT_EQ(value_now(), "Home");
  EXPECT_CONTAINS(message_of<FileError>([] { store_gpu_backend("CUDA"); }), "working folder is gone");
  EXPECT_EQ(value_now(), "Home");
}

// ---- Files that cannot be read.

class Unreadable : public Preferences {
 protected:
  Unreadable() {
    write(above(), "[Sluice]\ngpu_backend = \"Above\"\n");
    write(of_user(), "[Sluice]\ngpu_backend = \"User\"\n");
  }

  /// The nearest file is broken: one warning that starts with `file`:`line` and names `cause`; automatic choice; and
  /// nothing can be stored.
  void expect_one_warning(const std::string& line, const std::string& cause) {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(value_now(), "-");
    ASSERT_EQ(said.size(), 1U);
    EXPECT_CONTAINS(said[0], near() + line + ": ");
    EXPECT_CONTAINS(said[0], cause);
    EXPECT_CONTAINS(said[0], "\nDefaulting to automatic device selection.");
    for (const auto& change : {+[] { store_gpu_backend("CUDA"); }, +[] { clear_stored_gpu_backend(); }}) {
      const std::string message = message_of<FileError>(change);
      EXPECT_CONTAINS(message, "_gpu_backend: " + near() + line + ": ");
      EXPECT_CONTAINS(message, cause);
    }
    EXPECT_EQ(value_now(), "-") << "the wish of the process has not changed";
    EXPECT_EQ(said.size(), 1U);
  }
  void expect_one_warning_of_text(const std::string& text, const std::string& line, const std::string& cause) {
    said.clear();
    write(near(), text);
    expect_one_warning(line, cause);
    EXPECT_EQ(tests::content_of(near()), text);
  }
};

TEST_F(Unreadable, BrokenText) {
  expect_one_warning_of_text("[Sluice]\ngpu_backend = \"CUDA\n", ":2", "string");
  expect_one_warning_of_text("[Sluice]\ngpu_backend = CUDA\n", ":2", "value");
  expect_one_warning_of_text("[Sluice]\ngpu_backend = 'A'\ngpu_backend = 'B'\n", ":3", "redefine");
  expect_one_warning_of_text("[Sluice]\n\n[Flux]\n[Sluice]\n", ":4", "redefine");
  expect_one_warning_of_text("[Sluice]\ngpu_backend = 'CUDA'\n\n\n<<<<<<< HEAD\n", ":5", "<");
  expect_one_warning_of_text("\xef\xbb\xbf# BOM\n[Sluice\n", ":2", "]");
  expect_one_warning_of_text("# \xff\xfe\n", ":1", "utf-8");
}

TEST_F(Unreadable, SomethingElseThatIsCalledSluice) {
  for (const char* text :
       {"Sluice = 3\n", "\n[[Sluice]]\ngpu_backend = 'CUDA'\n", "\n\nSluice = [{gpu_backend = 'A'}]\n"}) {
    said.clear();
    write(near(), text);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(value_now(), "-");
    ASSERT_EQ(said.size(), 1U) << text;
    EXPECT_CONTAINS(said[0], "Sluice is not a table; write [Sluice]");
    EXPECT_CONTAINS(message_of<FileError>([] { store_gpu_backend("CUDA"); }), "Sluice is not a table; write [Sluice]");
    EXPECT_EQ(clear_stored_gpu_backend(), "") << "there is nothing to remove";
    EXPECT_EQ(tests::content_of(near()), text);
  }
}

TEST_F(Unreadable, NulBytes) {
  expect_one_warning_of_text(std::string("[Sluice]\ngpu_backend = \"CU\0DA\"\n", 31), ":2", "control characters");
  expect_one_warning_of_text(std::string("[Sluice]\n# \0\ngpu_backend = \"CUDA\"\n", 35), ":2", "control characters");
  expect_one_warning_of_text(std::string(5000, '\0'), ":1", "saw");
}

TEST_F(Unreadable, DeepNesting) {
  const auto repeated = [](const std::string& text, int count) {
    std::string result;
    for (int i = 0; i < count; ++i) result += text;
    return result;
  };
  const std::pair<std::string, const char*> cells[] = {
      {"x = " + repeated("[", 100'000), "nested value depth"},
      {"x = " + repeated("[", 100'000) + repeated("]", 100'000), "nested value depth"},
      {"x = " + repeated("{a = ", 100'000), "nested value depth"},
      {"x" + repeated(".x", 500'000) + " = 1", "a key of more than 32 parts"},
      {"[x" + repeated(" . x", 100'000) + "]", "a key of more than 32 parts"},
      {"'#'" + repeated(".','", 100'000) + " = 1", "a key of more than 32 parts"},
      {"x = { s = \"\"\"quotes\"\"\"\"\", a" + repeated(".\"\\\"\"", 100'000) + " = 1 }",
       "a key of more than 32 parts"}};
  std::string before = "y = \"\"\"\n\\\"\"\"\"\"\"\nz = ''\n";
  for (const auto& [text, cause] : cells) {
    before += '\n';  // another line, another cause
    expect_one_warning_of_text(before + text, ":" + std::to_string(std::count(before.begin(), before.end(), '\n') + 1),
                               cause);
  }
}

TEST_F(Unreadable, ManyDotsAreNoDepth) {
  std::string numbers;
  for (int i = 0; i < 1000; ++i) numbers += "1.5, ";
  write(near(), "# ....................................................................\n[x]\n" + ("a = [" + numbers) +
                    "]\nb = \"...................................................................\"\n[Sluice]\n"
                    "gpu_backend = '...........................................................................'\n");
  EXPECT_EQ(value_now().size(), 75U);
  EXPECT_EQ(said, std::vector<std::string>{});
}

TEST_F(Unreadable, AFolder) {
  fs::create_directory(near());
  expect_one_warning("", "it is a folder");
}

TEST_F(Unreadable, AHugeFile) {
  write(near(), "[Sluice]\ngpu_backend = \"CUDA\"\n");
  fs::resize_file(near(), std::uintmax_t{1} << 30);
  expect_one_warning("", "it has 1073741824 bytes; a preference file has at most 1048576");
}

TEST_F(Unreadable, TheLargestFileIsRead) {
  std::string text = "[Sluice]\ngpu_backend = \"CUDA\"\n";
  text += "#" + std::string((1U << 20) - text.size() - 1, 'x');
  write(near(), text);
  EXPECT_EQ(value_now(), "CUDA");
  expect_one_warning_of_text(text + "x", "", "1048577 bytes");
}

TEST_F(Unreadable, APipeIsNotWaitedFor) {
  ASSERT_EQ(mkfifo(near().c_str(), 0600), 0);
  expect_one_warning("", "it is not an ordinary file");
}

TEST_F(Unreadable, ADeviceIsNotReadForEver) {
  fs::create_symlink("/dev/zero", near());
  expect_one_warning("", "it is not an ordinary file");
}

TEST_F(Unreadable, ALinkThatDangles) {
  fs::create_symlink("nowhere.toml", near());
  expect_one_warning("", "it is a link that leads nowhere");
  EXPECT_TRUE(fs::is_symlink(near()));
  EXPECT_FALSE(fs::exists(inner() / "nowhere.toml"));
}

TEST_F(Unreadable, ALinkThatLoops) {
  fs::create_symlink("LocalPreferences.toml", near());
  expect_one_warning("", "it is a link that leads nowhere");
}

TEST_F(Unreadable, TheUsersFileToo) {
  fs::remove(above());
  write(of_user(), "[Sluice\n");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(value_now(), "-");
  ASSERT_EQ(said.size(), 1U);
  EXPECT_CONTAINS(said[0], of_user() + ":1: ");
  EXPECT_EQ(store_gpu_backend("CUDA"), near()) << "it is not the one that is written";
}

/// Runs `body` in a child without the rights of root; the exit code.
template <class Body>
int exit_code_of_nobody(Body body) {
  return testing::exit_code_of_child([&] {
    if (geteuid() == 0 && (setegid(65534) != 0 || seteuid(65534) != 0)) return false;
    return body();
  });
}

TEST_F(Unreadable, WithoutThePermission) {
  write(near(), "[Sluice]\ngpu_backend = \"CUDA\"\n");
  fs::permissions(folder_.path(), fs::perms(0755));
  fs::permissions(near(), fs::perms(0));
  EXPECT_EQ(exit_code_of_nobody([&] {
              for (int i = 0; i < 3; ++i) {
                if (value_now() != "-") return false;
              }
              return said.size() == 1 &&
                     said[0].find(near() + ": it cannot be read: Permission denied") != said[0].npos;
            }),
            0);
  fs::permissions(near(), fs::perms(0444));
  fs::permissions(inner(), fs::perms(0777));  // the file could be replaced
  EXPECT_EQ(exit_code_of_nobody([&] {
              return value_now() == "CUDA" &&
                     message_of<FileError>([] { store_gpu_backend("CPU"); }).find("it may not be written") !=
                         std::string::npos &&
                     value_now() == "CUDA";
            }),
            0);
  fs::permissions(near(), fs::perms(0666));
  fs::permissions(inner(), fs::perms(0755));  // the file cannot be replaced
  EXPECT_EQ(exit_code_of_nobody([&] {
              return message_of<FileError>([] { store_gpu_backend("CPU"); }).find("cannot write in") !=
                         std::string::npos &&
                     value_now() == "CUDA";
            }),
            0);
  fs::permissions(folder_ / "project", fs::perms(0700));  // nobody may look above the working folder
  fs::remove(near());
  EXPECT_EQ(exit_code_of_nobody([&] { return value_now() == "User"; }), 0);
}

// ---- Several at once.

bool is_one_of(const std::string& value, std::initializer_list<const char*> values) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

TEST_F(Preferences, TwoWritersLeaveAValidFile) {
  const std::string before = "# kept\n[Other]\nx = 1\n[Sluice]\ngpu_backend = \"", after = "\" # kept\n[Last]\ny = 2\n";
  write(near(), before + "CUDA" + after);
  std::vector<pid_t> writers;
  for (const std::string name : {"AMDGPU", "Metal"}) {
    writers.push_back(fork());
    if (writers.back() != 0) continue;
    alarm(250);
    for (int i = 0; i < 200; ++i) store_gpu_backend(i % 2 == 0 ? name : "CUDA");
    _exit(0);
  }
  for (std::size_t running = writers.size(); running > 0;) {
    const std::string text = tests::content_of(near());
    EXPECT_TRUE(is_one_of(value_now(), {"AMDGPU", "Metal", "CUDA"}));
    ASSERT_TRUE(text.starts_with(before) && text.ends_with(after)) << text;
    int status = 0;
    if (waitpid(-1, &status, WNOHANG) <= 0) continue;
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    --running;
  }
  EXPECT_EQ(tests::content_of(near()), before + "CUDA" + after);
  EXPECT_EQ(std::distance(fs::directory_iterator(inner()), fs::directory_iterator()), 1) << "nothing else is left";
  EXPECT_EQ(said, std::vector<std::string>{});
}

TEST_F(Preferences, ThreadsAndForkedChildrenAskWhileOneStores) {
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0};
  store_gpu_backend("CUDA");
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    for (int i = 0; !done; ++i) store_gpu_backend(i % 2 == 0 ? "CPU" : "CUDA");
  });
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (!done) wrong += is_one_of(value_now(), {"CUDA", "CPU"}) ? 0 : 1;
    });
  }
  for (int child = 0; child < 20; ++child) {
    EXPECT_EQ(testing::exit_code_of_child([] {
                const bool is_set = is_one_of(value_now(), {"CUDA", "CPU"});
                store_gpu_backend("Child");
                return is_set && value_now() == "Child";
              }),
              0);
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(said, std::vector<std::string>{});
}

}  // namespace
}  // namespace sluice
