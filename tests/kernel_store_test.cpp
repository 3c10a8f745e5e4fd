// The files of compiled kernels: what is kept comes back for its own key only, and nothing that is wrong with a file or
// its folder is more than a kernel that is not there.
#include "src/device/kernel_store.hpp"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "processes.hpp"
#include "sluice/log.hpp"
#include "temporary_folder.hpp"

namespace sluice::detail {
namespace {

namespace fs = std::filesystem;
using tests::content_of;
using tests::TemporaryFolder;

constexpr uid_t kNobody = 65534;

KernelKey key_of(const std::string& text) {
  KernelKey key;
  key.add("backend", "Virtual");
  key.add("text", text);
  return key;
}

const std::string kBinary = std::string(500, 'b') + std::string(3, '\0') + "end";

class KernelStore : public ::testing::Test {
 protected:
  KernelStore() { use(folder_ / "kernels"); }
  void use(const std::string& folder) {
    kernels_ = folder;
    setenv("SLUICE_KERNEL_CACHE", folder.c_str(), 1);
  }
  /// As a device does it; whether it is there then.
  static bool keep(const KernelKey& key) {
    if (has_kernel_folder()) keep_kernel(key, kBinary);
    return load_kernel(key) == kBinary;
  }
  std::string path(const KernelKey& key) const { return kernel_file_path(kernels_, key); }

  TemporaryFolder folder_;
  std::string kernels_;
  const KernelKey key_ = key_of("a kernel");
};

// ---- Where.

TEST(KernelFolder, FollowsTheEnvironment) {
  std::string problem;
  unsetenv("SLUICE_KERNEL_CACHE");
  setenv("HOME", "/home/somebody", 1);
  setenv("XDG_CACHE_HOME", "/cache", 1);
  EXPECT_EQ(kernel_folder(problem), "/cache/sluice/kernels");
  setenv("SLUICE_KERNEL_CACHE", "", 1);
  EXPECT_EQ(kernel_folder(problem), "/cache/sluice/kernels");
  setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(kernel_folder(problem), "/home/somebody/.cache/sluice/kernels");
  EXPECT_EQ(problem, "");
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  EXPECT_EQ(kernel_folder(problem), "");
  EXPECT_NE(problem.find("$HOME"), std::string::npos) << problem;
  setenv("SLUICE_KERNEL_CACHE", "off", 1);
  EXPECT_EQ(kernel_folder(problem), "");
  EXPECT_NE(problem.find("off"), std::string::npos) << problem;
  setenv("SLUICE_KERNEL_CACHE", "here", 1);
  EXPECT_EQ(kernel_folder(problem), "");
  EXPECT_NE(problem.find("absolute"), std::string::npos) << problem;
  setenv("SLUICE_KERNEL_CACHE", "/there", 1);
  EXPECT_EQ(kernel_folder(problem), "/there");
}

// ---- What comes back.

TEST_F(KernelStore, GivesBackWhatItWasGivenForTheSameKeyOnly) {
  EXPECT_EQ(load_kernel(key_), std::nullopt);
  EXPECT_TRUE(keep(key_));
  EXPECT_EQ(load_kernel(key_of("another kernel")), std::nullopt);
  EXPECT_EQ(kernel_store_use(kernels_).files, 1u);
  EXPECT_EQ(kernel_store_use(kernels_).bytes, fs::file_size(path(key_)));
}

TEST_F(KernelStore, KeysAreNotMixedUpByWhatTheyHold) {
  KernelKey one, other;
  one.add("a", "x\nb 1 y");
  other.add("a", "x");
  other.add("b", "y");
  EXPECT_NE(one.text(), other.text());
}

TEST_F(KernelStore, IsForThisUserOnly) {
  umask(0);
  use(folder_ / "above/kernels");
  EXPECT_TRUE(keep(key_));
  EXPECT_EQ(fs::status(kernels_).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(folder_ / "above").permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(path(key_)).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

// ---- Files with something wrong.

TEST_F(KernelStore, ADamagedFileIsNotTaken) {
  EXPECT_TRUE(keep(key_));
  const std::string whole = content_of(path(key_));
  const auto expect_refused = [&](const std::string& content, const std::string& what) {
    std::ofstream(path(key_), std::ios::binary) << content;
    EXPECT_EQ(load_kernel(key_), std::nullopt) << what;
  };
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << (i % 8)));
    expect_refused(damaged, "byte " + std::to_string(i));
    expect_refused(whole.substr(0, i), "cut at " + std::to_string(i));
  }
  expect_refused(whole + '\0', "longer");
  expect_refused("#!/bin/sh\necho foreign\n", "foreign");
  expect_refused(std::string(100000, '\xff'), "all ones");
  std::ofstream(path(key_), std::ios::binary) << whole;
  EXPECT_EQ(load_kernel(key_), kBinary);
}

TEST_F(KernelStore, TheFileOfAnotherKeyUnderThisNameIsNotTaken) {
  EXPECT_TRUE(keep(key_of("another kernel")));
  fs::copy_file(path(key_of("another kernel")), path(key_));
  EXPECT_EQ(load_kernel(key_), std::nullopt);
  EXPECT_TRUE(keep(key_)) << "and is replaced";
}

TEST_F(KernelStore, WhatIsNoFileIsNotTaken) {
  ASSERT_TRUE(has_kernel_folder());
  fs::create_directory(path(key_));
  EXPECT_FALSE(keep(key_));
  fs::remove(path(key_));
  ASSERT_EQ(mkfifo(path(key_).c_str(), 0600), 0);
  EXPECT_EQ(load_kernel(key_), std::nullopt) << "and it does not wait for a writer";
  fs::remove(path(key_));
  EXPECT_TRUE(keep(key_of("another kernel")));
  const std::string moved = folder_ / "moved";
  fs::rename(path(key_of("another kernel")), moved);
  fs::create_symlink(moved, path(key_of("another kernel")));
  EXPECT_EQ(load_kernel(key_of("another kernel")), std::nullopt) << "a link";
  EXPECT_TRUE(keep(key_of("another kernel")));
}

TEST_F(KernelStore, AFileThatOthersMayWriteIsNotTaken) {
  EXPECT_TRUE(keep(key_));
  fs::permissions(path(key_), fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(load_kernel(key_), std::nullopt);
}

// ---- Folders with something wrong.

TEST_F(KernelStore, AFolderThatOthersMayWriteIsNotUsed) {
  EXPECT_TRUE(keep(key_));
  fs::permissions(kernels_, fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(load_kernel(key_), std::nullopt);
  EXPECT_FALSE(has_kernel_folder());
}

TEST_F(KernelStore, AFolderOfAnotherUserIsNotUsed) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  EXPECT_TRUE(keep(key_));
  ASSERT_EQ(chown(kernels_.c_str(), kNobody, kNobody), 0);
  EXPECT_EQ(load_kernel(key_), std::nullopt);
  EXPECT_FALSE(has_kernel_folder());
  use(kernels_ + "/below");
  EXPECT_FALSE(has_kernel_folder()) << "nothing is made in it either";
  EXPECT_FALSE(fs::exists(kernels_));
}

TEST_F(KernelStore, AFileInTheFoldersPlaceIsNotUsed) {
  folder_.write("kernels", "a file");
  EXPECT_FALSE(keep(key_));
  use(folder_ / "kernels/below");
  EXPECT_FALSE(keep(key_));
  EXPECT_EQ(content_of(folder_ / "kernels"), "a file");
}

TEST_F(KernelStore, AReadOnlyFolderIsReadOnly) {
  const std::string folder = kernels_;
  const int code = testing::exit_code_of_child([&] {
    // Root may write everywhere.
    if (geteuid() == 0 && (chown(folder_.path().c_str(), kNobody, kNobody) != 0 || setuid(kNobody) != 0)) return false;
    if (!keep(key_)) return false;
    fs::permissions(folder, fs::perms::owner_read | fs::perms::owner_exec);
    const bool is_right = load_kernel(key_) == kBinary && !keep(key_of("another kernel")) && load_kernel(key_);
    fs::permissions(folder, fs::perms::owner_all);
    return is_right;
  });
  EXPECT_EQ(code, 0);
}

TEST_F(KernelStore, WhatDoesNotFitOnTheDiskIsLeftOut) {
  ASSERT_TRUE(has_kernel_folder());
  const int code = testing::exit_code_of_child([&] {
    const rlimit limit{200, 200};
    std::signal(SIGXFSZ, SIG_IGN);
    return setrlimit(RLIMIT_FSIZE, &limit) == 0 && !keep(key_);
  });
  EXPECT_EQ(code, 0);
  EXPECT_TRUE(fs::is_empty(kernels_)) << "no part of it is left";
}

#if defined(__linux__)
TEST_F(KernelStore, AFullDiskIsFull) {
  fs::create_directory(kernels_);
  if (mount("none", kernels_.c_str(), "tmpfs", 0, "size=16k,mode=700") != 0) GTEST_SKIP() << "no right to mount";
  std::string text(20000, 't');
  EXPECT_FALSE(keep(key_of(text)));
  EXPECT_TRUE(fs::is_empty(kernels_));
  EXPECT_TRUE(keep(key_)) << "a smaller one fits";
  EXPECT_EQ(umount(kernels_.c_str()), 0);
}
#endif

TEST_F(KernelStore, SaysWhyOnceToThoseWhoAsk) {
  use("not-absolute");
  int lines = 0;
  const LogSink former = set_log_sink([&](LogLevel, const std::string& text) {
    EXPECT_NE(text.find("not-absolute"), std::string::npos) << text;
    ++lines;
  });
  EXPECT_FALSE(keep(key_));
  EXPECT_EQ(lines, 0);
  setenv("SLUICE_LOG", "debug", 1);
  EXPECT_FALSE(keep(key_));
  EXPECT_FALSE(keep(key_));
  EXPECT_EQ(lines, 1);
  set_log_sink(former);
}

// ---- The bound.

void set_age(const std::string& path, int hours) {
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(hours));
}

TEST_F(KernelStore, TheLeastUsedGoWhenThereAreTooMany) {
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(keep(key_of(std::to_string(i))));
  // Number 0 is the oldest, but it is used again.
  for (int i = 0; i < 8; ++i) set_age(path(key_of(std::to_string(i))), 100 - i);
  EXPECT_NE(load_kernel(key_of("0")), std::nullopt);
  const std::string stranger = kernels_ + "/notes.txt";
  std::ofstream(stranger) << std::string(100000, 'n');
  set_age(stranger, 1000);
  const std::uint64_t each = fs::file_size(path(key_of("0")));

  trim_kernels(kernels_, 8 * each);
  EXPECT_EQ(kernel_store_use(kernels_).files, 8u);
  trim_kernels(kernels_, 4 * each + each / 2);
  EXPECT_EQ(kernel_store_use(kernels_).files, 3u) << "seven eighths of what is allowed";
  for (const char* kept : {"0", "7", "6"}) EXPECT_NE(load_kernel(key_of(kept)), std::nullopt) << kept;
  EXPECT_TRUE(fs::exists(stranger));
}

TEST_F(KernelStore, WhatKilledWritersLeftGoes) {
  EXPECT_TRUE(keep(key_));
  const std::string old = path(key_) + ".abcdef", fresh = path(key_) + ".ghijkl";
  std::ofstream(old) << "part";
  std::ofstream(fresh) << "part";
  set_age(old, 2);
  trim_kernels(kernels_, 0);
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(fresh)) << "it may be being written";
  EXPECT_FALSE(fs::exists(path(key_)));
}

}  // namespace
}  // namespace sluice::detail
