// Which files are opened as backends: none that others could have put there, none that would crash the loader, none of
// another ABI; and every refusal has its reason. Each case runs in a process of its own.
#include "src/device/plugin_file.hpp"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "sluice/backends.hpp"
#include "src/device/elf_file.hpp"
#include "temporary_folder.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;

const fs::path kPlugins = SLUICE_TEST_PLUGINS;
const fs::path kGood = kPlugins / "cuda" / "libsluice-cuda.so";

void write_file(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
  fs::permissions(path, fs::perms::owner_all);
}

/// A folder of plug-ins that the search finds first.
class PluginFolderTest : public ::testing::Test {
 protected:
  PluginFolderTest() { setenv("SLUICE_BACKEND_PATH", folder().c_str(), 1); }
  std::string folder() const { return fs::canonical(folder_.path()).string(); }
  fs::path file(const std::string& name) const { return fs::path(folder()) / name; }

  std::string refusal(const std::string& path) {
    for (const RefusedFile& refused : get_device_report().refused) {
      if (refused.path == path) return refused.reason;
    }
    return "not refused";
  }

 private:
  tests::TemporaryFolder folder_;
};

TEST_F(PluginFolderTest, OneGoodFileAmongBadOnesIsLoaded) {
  fs::copy(kGood, file("libsluice-cuda.so"));
  write_file(file("libsluice-text.so"), "#!/bin/sh\necho hello\n");
  write_file(file("libsluice-empty.so"), "");
  write_file(file("libsluice-cut.so"), tests::content_of(kGood).substr(0, 5000));
  fs::create_symlink("/nowhere/at/all", file("libsluice-dangling.so"));
  fs::create_symlink(file("libsluice-loop.so"), file("libsluice-loop.so"));
  fs::create_directory(file("libsluice-folder.so"));
  write_file(file("unrelated.so"), "x");
  EXPECT_TRUE(loaded("CUDA"));
  EXPECT_EQ(get_device_report().backends.front().file, file("libsluice-cuda.so"));
  EXPECT_NE(refusal(file("libsluice-text.so")).find("not a shared library"), std::string::npos);
  EXPECT_NE(refusal(file("libsluice-empty.so")).find("too short"), std::string::npos);
  EXPECT_NE(refusal(file("libsluice-cut.so")).find("truncated"), std::string::npos);
  EXPECT_NE(refusal(file("libsluice-dangling.so")).find("link to nowhere"), std::string::npos);
  EXPECT_NE(refusal(file("libsluice-loop.so")).find("link to nowhere"), std::string::npos);
  EXPECT_NE(refusal(file("libsluice-folder.so")).find("not a regular file"), std::string::npos);
  EXPECT_EQ(refusal(file("unrelated.so")), "not refused");
}

/// Where the last segment of a library ends.
std::size_t end_of_segments(const std::string& library) {
  Elf64_Ehdr header;
  std::memcpy(&header, library.data(), sizeof header);
  std::size_t end = 0;
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, library.data() + header.e_phoff + i * sizeof segment, sizeof segment);
    end = std::max<std::size_t>(end, segment.p_offset + segment.p_filesz);
  }
  return end;
}

// A cut file either is refused, or its segments are whole and the loader opens it.
TEST_F(PluginFolderTest, NoLengthOfATruncatedFileCrashes) {
  const std::string whole = tests::content_of(kGood);
  const std::size_t needed = end_of_segments(whole);
  ASSERT_GT(needed, 1000U);
  const fs::path path = file("libsluice-cuda.so");
  int refused = 0;
  for (std::size_t length = 0; length < whole.size(); length += 1 + whole.size() / 97) {
    write_file(path, whole.substr(0, length));
    EXPECT_EQ(detail::library_problem(path.string()).empty(), length >= needed) << length << " of " << needed;
    const detail::OpenedPlugin plugin = detail::open_plugin(path.string());
    if (plugin.table == nullptr) {
      ++refused;
      EXPECT_FALSE(plugin.problem.empty());
    }
    fs::remove(path);
  }
  EXPECT_GT(refused, 10);
}

TEST_F(PluginFolderTest, LibrariesForOtherMachinesAreRefused) {
  const std::string whole = tests::content_of(kGood);
  const auto with = [&](std::size_t at, char byte) {
    std::string changed = whole;
    changed[at] = byte;
    write_file(file("x.so"), changed);
    return detail::library_problem(file("x.so").string());
  };
  EXPECT_EQ(detail::library_problem(kGood.string()), "");
  EXPECT_NE(with(4, 1).find("word size"), std::string::npos);      // EI_CLASS: 32 bits
  EXPECT_NE(with(5, 2).find("byte order"), std::string::npos);     // EI_DATA: big-endian
  EXPECT_NE(with(16, 2).find("not a shared"), std::string::npos);  // e_type: a program
  EXPECT_NE(with(18, 8).find("another processor"), std::string::npos);
}

TEST_F(PluginFolderTest, HeadersThatPromiseTooMuchAreRefused) {
  const std::string whole = tests::content_of(kGood);
  for (const std::size_t at : {35U, 38U, 54U, 56U, 57U}) {  // e_phoff, e_phentsize, e_phnum
    std::string changed = whole;
    changed[at] = static_cast<char>(0xff);
    write_file(file("x.so"), changed);
    EXPECT_NE(detail::library_problem(file("x.so").string()), "") << "byte " << at;
  }
}

TEST_F(PluginFolderTest, AnotherAbiIsRefusedWithBothNumbersBeforeAnythingRuns) {
  for (const char* kind : {"abi", "no-abi", "null-open", "dependency", "null-name"}) {
    const fs::path odd = kPlugins / "odd" / kind / "libsluice-odd.so";
    ASSERT_TRUE(fs::exists(odd)) << odd;
    const detail::OpenedPlugin plugin = detail::open_plugin(odd.string());
    if (std::string(kind) == "null-name") continue;  // its table is looked at later
    EXPECT_EQ(plugin.table, nullptr) << kind;
    EXPECT_FALSE(plugin.problem.empty()) << kind;
    if (std::string(kind) == "abi") {
      EXPECT_NE(plugin.problem.find("ABI " + std::to_string(SLUICE_BACKEND_ABI)), std::string::npos) << plugin.problem;
    }
  }
}

TEST_F(PluginFolderTest, WhatOthersMayWriteIsRefused) {
  fs::copy(kGood, file("libsluice-cuda.so"));
  chmod(file("libsluice-cuda.so").c_str(), 0777);
  EXPECT_NE(detail::open_plugin(file("libsluice-cuda.so").string()).problem.find("others may write"),
            std::string::npos);
  chmod(file("libsluice-cuda.so").c_str(), 0755);
  chmod(folder().c_str(), 0777);
  EXPECT_NE(detail::open_plugin(file("libsluice-cuda.so").string()).problem.find("others may write"),
            std::string::npos);
  EXPECT_FALSE(loaded("CUDA"));
  EXPECT_NE(refusal(folder()).find("others may write"), std::string::npos);
}

TEST_F(PluginFolderTest, TheWorkingFolderTheHomeFolderAndRelativePathsAreRefused) {
  fs::copy(kGood, file("libsluice-cuda.so"));
  const auto problem_of = [&](const std::string& entry) {
    setenv("SLUICE_BACKEND_PATH", entry.c_str(), 1);
    return detail::plugin_folders().front().problem;
  };
  EXPECT_EQ(problem_of(folder()), "");
  fs::current_path(folder());
  EXPECT_NE(problem_of(folder()).find("working folder"), std::string::npos);
  EXPECT_NE(problem_of(".").find("absolute"), std::string::npos);
  EXPECT_NE(problem_of(":" + folder()).find("absolute"), std::string::npos) << "an empty entry is the working folder";
  fs::current_path("/");
  setenv("HOME", folder().c_str(), 1);
  EXPECT_NE(problem_of(folder()).find("home folder"), std::string::npos);
  EXPECT_NE(problem_of("/does/not/exist").find("does not exist"), std::string::npos);
}

TEST_F(PluginFolderTest, AnEnvironmentOfJunkIsHarmless) {
  for (const std::string& junk : {std::string(10000, ':'), std::string(10000, 'x'), std::string("/dev/null:/proc"),
                                  std::string("\xff\xfe\x01")}) {
    setenv("SLUICE_BACKEND_PATH", junk.c_str(), 1);
    EXPECT_FALSE(detail::plugin_folders().empty());
  }
  setenv("SLUICE_BACKENDS", std::string(10000, ',').c_str(), 1);
  EXPECT_EQ(get_device(), cpu_device());
}

TEST_F(PluginFolderTest, AListOfNamesLeavesTheOthersOut) {
  fs::copy(kGood, file("libsluice-cuda.so"));
  setenv("SLUICE_BACKENDS", "opencl,metal", 1);
  EXPECT_FALSE(loaded("CUDA"));
  EXPECT_NE(why("CUDA").find("SLUICE_BACKENDS"), std::string::npos);
}

TEST_F(PluginFolderTest, LoadingIsExplicitByAbsolutePathOrByName) {
  EXPECT_FALSE(loaded("CUDA"));
  EXPECT_NE(why("CUDA").find("no file libsluice-cuda.so"), std::string::npos);
  EXPECT_THROW(load_backend("cuda"), DeviceError);
  EXPECT_THROW(load_backend("./libsluice-cuda.so"), DeviceError);
  EXPECT_THROW(load_backend("/nowhere/libsluice-cuda.so"), DeviceError);
  EXPECT_EQ(load_backend(kGood.string()), "CUDA");
  EXPECT_TRUE(loaded("CUDA"));
  EXPECT_EQ(load_backend(kGood.string()), "CUDA") << "twice is once";
  EXPECT_EQ(load_backend("cuda"), "CUDA");
  EXPECT_TRUE(functional("CUDA")) << why("CUDA");
}

TEST_F(PluginFolderTest, AFileThatAppearsLaterIsFoundByName) {
  EXPECT_FALSE(loaded("CUDA"));
  fs::copy(kGood, file("libsluice-cuda.so"));
  EXPECT_EQ(load_backend("CUDA"), "CUDA");
}

TEST_F(PluginFolderTest, TheFirstOfTwoFilesOfOneBackendIsUsed) {
  tests::TemporaryFolder second;
  fs::copy(kGood, file("libsluice-cuda.so"));
  const fs::path other = fs::canonical(second.path()) / "libsluice-cuda.so";
  fs::copy(kGood, other);
  setenv("SLUICE_BACKEND_PATH", (folder() + ":" + other.parent_path().string()).c_str(), 1);
  EXPECT_EQ(get_device_report().backends.front().file, file("libsluice-cuda.so"));
  EXPECT_NE(refusal(other).find("loaded already"), std::string::npos);
}

}  // namespace
}  // namespace sluice
