// Verdicts on disk: kept for this user alone, and never believed if anything about the file is odd.
#include "src/device/component_verdicts.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "processes.hpp"
#include "temporary_folder.hpp"

namespace sluice::detail {
namespace {

namespace fs = std::filesystem;
using End = ProbeVerdict::End;

const std::string kKey = "sluice probe\nbackend CUDA\ndevice NVIDIA H200";
const ProbeVerdict kVerdict{End::failed, 0, "no such kernel"};

class Verdicts : public ::testing::Test {
 protected:
  Verdicts() {
    setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
    setenv("HOME", "/nonexistent", 1);
  }
  std::string cache() const { return folder_ / "sluice/probe"; }
  /// The file of the key, with a good verdict in it.
  std::string keep() {
    const std::string file = verdict_file(kKey);
    EXPECT_TRUE(keep_verdict(file, kKey, kVerdict));
    EXPECT_EQ(load_verdict(file, kKey), kVerdict);
    return file;
  }
  void expect_unknown(const std::string& file) { EXPECT_EQ(load_verdict(file, kKey), std::nullopt); }

  tests::TemporaryFolder folder_;
};

fs::perms rights(const std::string& path) { return fs::status(path).permissions(); }

TEST_F(Verdicts, ComeBackAsTheyWere) {
  const ProbeVerdict verdicts[] = {{End::works, 0, ""},
                                   {End::aborted, 6, ""},
                                   {End::aborted, 11, "rocBLAS error: no kernels"},
                                   {End::timed_out, 20, ""},
                                   {End::failed, 0, "verdict works 0 "}};
  const std::string file = verdict_file(kKey);
  EXPECT_EQ(load_verdict(file, kKey), std::nullopt);
  for (const ProbeVerdict& verdict : verdicts) {
    EXPECT_TRUE(keep_verdict(file, kKey, verdict));
    EXPECT_EQ(load_verdict(file, kKey), verdict) << to_string(verdict);
  }
}

TEST_F(Verdicts, AreForThisUserOnly) {
  umask(0);
  const std::string file = keep();
  EXPECT_EQ(fs::path(file).parent_path(), cache());
  EXPECT_EQ(rights(cache()), fs::perms::owner_all);
  EXPECT_EQ(rights(fs::path(cache()).parent_path()), fs::perms::owner_all);
  EXPECT_EQ(rights(file), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(std::distance(fs::directory_iterator(cache()), fs::directory_iterator()), 1) << "nothing temporary is left";
}

TEST_F(Verdicts, ATextOfSeveralLinesIsKeptAsOne) {
  const std::string file = verdict_file(kKey);
  EXPECT_TRUE(keep_verdict(file, kKey, {End::failed, 0, "a\nverdict works 0 \n"}));
  EXPECT_EQ(load_verdict(file, kKey), (ProbeVerdict{End::failed, 0, "a verdict works 0  "}));
}

TEST_F(Verdicts, ARunThatProvedNothingIsNotKept) {
  EXPECT_FALSE(keep_verdict(verdict_file(kKey), kKey, {End::untried, 0, "no memory"}));
  expect_unknown(verdict_file(kKey));
}

TEST_F(Verdicts, AreOfOneKey) {
  const std::string file = keep();
  for (const std::string& other : {kKey + "0", kKey + "\narchitecture sm_90", kKey.substr(0, kKey.size() - 1),
                                   std::string("sluice probe"), std::string()}) {
    EXPECT_NE(verdict_file(other), file);
    EXPECT_EQ(load_verdict(file, other), std::nullopt) << other << ": the hash alone decides nothing";
  }
}

// ---- Where.

TEST_F(Verdicts, LieUnderTheHomeFolderOtherwise) {
  setenv("HOME", folder_.path().c_str(), 1);
  for (const char* useless : {"", "relative/folder"}) {
    setenv("XDG_CACHE_HOME", useless, 1);
    EXPECT_EQ(fs::path(verdict_file(kKey)).parent_path(), folder_ / ".cache/sluice/probe");
  }
  keep();
}

TEST_F(Verdicts, AreNotKeptWithoutAHome) {
  unsetenv("XDG_CACHE_HOME");
  for (const char* useless : {"", "relative"}) {
    setenv("HOME", useless, 1);
    EXPECT_EQ(verdict_file(kKey), "");
  }
  unsetenv("HOME");
  EXPECT_EQ(verdict_file(kKey), "");
  EXPECT_FALSE(keep_verdict("", kKey, kVerdict));
  expect_unknown("");
}

// ---- Damage.

TEST_F(Verdicts, APartOfAFileIsNoVerdict) {
  const std::string file = keep();
  const std::string whole = tests::content_of(file);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    std::ofstream(file, std::ios::binary) << whole.substr(0, size);
    expect_unknown(file);
  }
}

TEST_F(Verdicts, NonsenseIsNoVerdict) {
  const std::string file = keep();
  const std::string start = kKey + "\nverdict ";
  for (const std::string& content :
       {std::string("\0\0\0\0", 4), std::string(1 << 20, 'x'), start + "works 0 " + std::string(1 << 20, 'x') + "\n",
        start + "\n", start + "works\n", start + "works 0\n", start + "works x \n", start + "works 1x \n",
        start + "works 99999999999999 \n", start + "perhaps 0 \n", start + " 0 \n", start + "untried 0 \n",
        "\n" + start + "works 0 \n"}) {
    std::ofstream(file, std::ios::binary) << content;
    expect_unknown(file);
    EXPECT_TRUE(keep_verdict(file, kKey, kVerdict)) << "it is replaced";
    EXPECT_EQ(load_verdict(file, kKey), kVerdict);
  }
}

TEST_F(Verdicts, WhatIsNoFileIsNoVerdict) {
  const std::string file = keep();
  const std::string elsewhere = folder_ / "elsewhere";
  fs::rename(file, elsewhere);
  fs::create_symlink(elsewhere, file);
  expect_unknown(file);
  fs::remove(file);
  fs::create_symlink("/nowhere", file);
  expect_unknown(file);
  fs::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  expect_unknown(file);
  EXPECT_TRUE(keep_verdict(file, kKey, kVerdict)) << "a pipe is replaced";
  fs::remove(file);
  fs::create_directory(file);
  expect_unknown(file);
  EXPECT_FALSE(keep_verdict(file, kKey, kVerdict));
  EXPECT_EQ(std::distance(fs::directory_iterator(cache()), fs::directory_iterator()), 1) << "nothing temporary is left";
}

// ---- Other people.

TEST_F(Verdicts, WhatOthersMayWriteIsNotBelieved) {
  const std::string file = keep();
  for (const fs::perms others : {fs::perms::group_write, fs::perms::others_write}) {
    fs::permissions(file, others, fs::perm_options::add);
    expect_unknown(file);
    fs::permissions(file, others, fs::perm_options::remove);
    fs::permissions(cache(), others, fs::perm_options::add);
    expect_unknown(file);
    EXPECT_FALSE(keep_verdict(file, kKey, kVerdict));
    fs::permissions(cache(), others, fs::perm_options::remove);
    EXPECT_EQ(load_verdict(file, kKey), kVerdict);
  }
}

TEST_F(Verdicts, WhatBelongsToOthersIsNotBelieved) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const std::string file = keep();
  ASSERT_EQ(chown(file.c_str(), 65534, 65534), 0);
  expect_unknown(file);
  ASSERT_EQ(chown(file.c_str(), 0, 0), 0);
  ASSERT_EQ(chown(cache().c_str(), 65534, 65534), 0);
  expect_unknown(file);
  EXPECT_FALSE(keep_verdict(file, kKey, kVerdict));
}

// ---- No place.

TEST_F(Verdicts, AFolderThatCannotBeMadeIsNoFailure) {
  folder_.write("sluice", "a file in the way");
  EXPECT_FALSE(keep_verdict(verdict_file(kKey), kKey, kVerdict));
  setenv("XDG_CACHE_HOME", "/proc/nothing/here", 1);
  EXPECT_FALSE(keep_verdict(verdict_file(kKey), kKey, kVerdict));
  expect_unknown(verdict_file(kKey));
}

TEST_F(Verdicts, AFullDiskIsNoFailure) {
  fs::create_directories(cache());
  fs::permissions(cache(), fs::perms::owner_all);
  EXPECT_EQ(testing::exit_code_of_child([&] {
              std::signal(SIGXFSZ, SIG_IGN);
              const rlimit nothing{0, 0};
              return setrlimit(RLIMIT_FSIZE, &nothing) == 0 && !keep_verdict(verdict_file(kKey), kKey, kVerdict);
            }),
            0);
  EXPECT_TRUE(fs::is_empty(cache())) << "nothing temporary is left";
}

}  // namespace
}  // namespace sluice::detail
