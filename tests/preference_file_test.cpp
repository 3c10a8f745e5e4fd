// Storing a wish changes one line of the file and nothing else; where that cannot be, nothing is written.
#include "src/device/preference_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <random>
#include <vector>

#include "messages.hpp"
#include "sluice/error.hpp"
#include "src/device/preferences.hpp"
#include "temporary_folder.hpp"

namespace sluice {
namespace {

using tests::message_of;

namespace fs = std::filesystem;
using detail::clear_stored_gpu_backend;
using detail::find_gpu_backend;
using detail::gpu_backend_preference;
using detail::store_gpu_backend;
using detail::with_gpu_backend;
using detail::without_gpu_backend;

std::string stored(const std::string& text, const std::string& name = "Metal") {
  return with_gpu_backend("file", text, name);
}

std::string cleared(const std::string& text) { return without_gpu_backend("file", text); }

#define EXPECT_CONTAINS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

// ---- One text.

struct Cell {
  std::string before, after;
};

TEST(Storing, ReplacesTheValueAlone) {
  const Cell cells[] = {
      {"[Sluice]\ngpu_backend = \"CUDA\"\n", "[Sluice]\ngpu_backend = \"Metal\"\n"},
      {"[Sluice]\n  gpu_backend='CUDA'# why", "[Sluice]\n  gpu_backend=\"Metal\"# why"},
      {"\xef\xbb\xbf[Sluice] # ä\r\n'gpu_backend'\t=  \"ä\\\"\" \t# ä\r\n",
       "\xef\xbb\xbf[Sluice] # ä\r\n'gpu_backend'\t=  \"Metal\" \t# ä\r\n"},
      {"[Sluice]\ngpu_backend = 12", "[Sluice]\ngpu_backend = \"Metal\""},
      {"[Sluice]\ngpu_backend = [ 1, # x\n 2 ] # y\n", "[Sluice]\ngpu_backend = \"Metal\" # y\n"},
      {"[Sluice]\ngpu_backend = \"\"\"\nA\nB\"\"\"\nx = 1\n", "[Sluice]\ngpu_backend = \"Metal\"\nx = 1\n"},
      {"[Sluice]\ngpu_backend = ''''A'''''\nx = nan\n", "[Sluice]\ngpu_backend = \"Metal\"\nx = nan\n"},
      {"Sluice.gpu_backend = \"\" # why\nSluice.x = 1\n", "Sluice.gpu_backend = \"Metal\" # why\nSluice.x = 1\n"},
      {"'Sluice' = { 'ä' = 1, gpu_backend = \"\", z = 2 } # why\n",
       "'Sluice' = { 'ä' = 1, gpu_backend = \"Metal\", z = 2 } # why\n"},
      {"Sluice = {gpu_backend=1}", "Sluice = {gpu_backend=\"Metal\"}"},
      {"[Flux]\ngpu_backend = 'A'\n[Sluice]\ngpu_backend = 'B'\n",
       "[Flux]\ngpu_backend = 'A'\n[Sluice]\ngpu_backend = \"Metal\"\n"},
      {"[Sluice]\ngpu_backend = { a = 1 }\n", "[Sluice]\ngpu_backend = \"Metal\"\n"}};
  for (const auto& [before, after] : cells) EXPECT_EQ(stored(before), after) << before;
}

TEST(Storing, AddsTheLineBelowTheHeader) {
  const Cell cells[] = {
      {"[Sluice]\n", "[Sluice]\ngpu_backend = \"Metal\"\n"},
      {"[Sluice]", "[Sluice]\ngpu_backend = \"Metal\"\n"},
      {"x = 1\r\n[ 'Sluice' ] # why\r\n# gpu_backend = 'A'\r\ny = 2",
       "x = 1\r\n[ 'Sluice' ] # why\r\ngpu_backend = \"Metal\"\r\n# gpu_backend = 'A'\r\ny = 2"},
      {"[Sluice.sub]\nx = 1\n[Sluice]\ny = 1\n", "[Sluice.sub]\nx = 1\n[Sluice]\ngpu_backend = \"Metal\"\ny = 1\n"},
      {"[Sluice]\ny = 1\n[Sluice.sub]\nx = 1\n", "[Sluice]\ngpu_backend = \"Metal\"\ny = 1\n[Sluice.sub]\nx = 1\n"},
      {"\xef\xbb\xbf[Sluice]\n", "\xef\xbb\xbf[Sluice]\ngpu_backend = \"Metal\"\n"}};
  for (const auto& [before, after] : cells) EXPECT_EQ(stored(before), after) << before;
}

TEST(Storing, AddsTheTableAtTheEnd) {
  const std::string table = "[Sluice]\ngpu_backend = \"Metal\"\n";
  const Cell cells[] = {
      {"", table},
      {"\xef\xbb\xbf", "\xef\xbb\xbf" + table},
      {"x = 1", "x = 1\n\n" + table},
      {"x = 1\n", "x = 1\n\n" + table},
      {"x = 1\n\n", "x = 1\n\n" + table},
      {"# [Sluice]", "# [Sluice]\n\n" + table},
      {"\r\n[Flux]\r\ngpu_backend = 'A'\r\n",
       "\r\n[Flux]\r\ngpu_backend = 'A'\r\n\r\n[Sluice]\r\ngpu_backend = \"Metal\"\r\n"},
      {"[Sluice.sub]\nx = 1\n", "[Sluice.sub]\nx = 1\n\n" + table},
      {"s = '''\n[Sluice]\ngpu_backend = 'A' '''\n", "s = '''\n[Sluice]\ngpu_backend = 'A' '''\n\n" + table}};
  for (const auto& [before, after] : cells) EXPECT_EQ(stored(before), after) << before;
}

TEST(Storing, RefusesWhereOneLineIsNotEnough) {
  const Cell cells[] = {{"Sluice.x = 1\n", "file:1: "},
                        {"\nSluice = { x = 1 }\n", "file:2: "},
                        {"a = 1\n[Sluice.gpu_backend]\nx = 1\n", "file:2: "},
                        {"[[Sluice.gpu_backend]]\nx = 1\n", "file:1: "}};
  for (const auto& [before, where] : cells) {
    const std::string message = message_of<FileError>([&] { stored(before); });
    EXPECT_TRUE(message.starts_with(where)) << message;
    EXPECT_CONTAINS(message, "write gpu_backend = \"Metal\" into the table Sluice by hand");
  }
}

TEST(Storing, EscapesTheName) {
  for (const std::string& name : {std::string("a\"b\\c"), std::string("two\nlines\r\n# x\t\x7f\x01"),
                                  std::string("größer →"), std::string("'''\"\"\""), std::string("x\0y", 3)}) {
    const std::string text = stored("[Sluice]\n# kept\n", name);
    EXPECT_EQ(find_gpu_backend("file", text)->value, name) << text;
    EXPECT_EQ(cleared(text), "[Sluice]\n# kept\n");
  }
  EXPECT_CONTAINS(message_of<FileError>([] { stored("", "\xff"); }), "TOML cannot hold this name");
}

TEST(Clearing, RemovesTheLine) {
  const Cell cells[] = {
      {"[Sluice]\ngpu_backend = \"CUDA\" # why\nx = 1\n", "[Sluice]\nx = 1\n"},
      {"[Sluice]\r\n\tgpu_backend = \"CUDA\"", "[Sluice]\r\n"},
      {"\xef\xbb\xbfSluice.gpu_backend = 'A'\nx = 1", "\xef\xbb\xbfx = 1"},
      {"Sluice.x = 1\nSluice.gpu_backend = 'A'\n", "Sluice.x = 1\n"},
      {"Sluice = { gpu_backend = 'A' }\n", ""},
      {"[Sluice]\ngpu_backend = '''\n\nA'''\n# x\n", "[Sluice]\n# x\n"},
      {"[Sluice]\ngpu_backend = 3\n", "[Sluice]\n"},
      {"[Flux]\ngpu_backend = 'A'\n[Sluice]\ngpu_backend = 'B'\n", "[Flux]\ngpu_backend = 'A'\n[Sluice]\n"}};
  for (const auto& [before, after] : cells) EXPECT_EQ(cleared(before), after) << before;
  for (const char* text :
       {"", "# x", "[Sluice]\nx = 1", "[Flux]\ngpu_backend = 'A'\n", "Sluice = 3\n", "[[Sluice]]\ngpu_backend = 'A'"}) {
    EXPECT_EQ(cleared(text), text) << "there is no such line";
  }
}

TEST(Clearing, RefusesWhereOneLineIsNotEnough) {
  for (const char* text : {"\nSluice = { gpu_backend = 'A', x = 1 }\n", "\n[Sluice.gpu_backend]\nx = 1\n"}) {
    const std::string message = message_of<FileError>([&] { cleared(text); });
    EXPECT_TRUE(message.starts_with("file:2: ")) << message;
    EXPECT_CONTAINS(message, "remove gpu_backend by hand");
  }
}

// ---- Generated texts.

/// Makes texts of which it is known, line by line, what they hold.
class Generator {
 public:
  struct Text {
    std::vector<std::string> lines;
    std::string mark, end;
    int header = -1, wish = -1;  // index of the lines of [Sluice] and of its gpu_backend
    std::string left, right;     // of the value in that line
    bool is_last_line_open = false;

    std::string joined(const std::vector<std::string>& all) const {
      std::string text = mark;
      for (const std::string& line : all) text += line + end;
      if (is_last_line_open && !all.empty()) text.resize(text.size() - end.size());
      return text;
    }
    std::string text() const { return joined(lines); }
  };

  Text make(unsigned seed) {
    random_.seed(seed);
    Text text;
    text.end = one_in(2) ? "\r\n" : "\n";
    text.mark = one_in(4) ? "\xef\xbb\xbf" : "";
    text.is_last_line_open = one_in(3);
    const int tables = pick(5), ours = one_in(4) ? -1 : pick(tables + 1);
    add_lines(text);
    for (int table = 0; table <= tables; ++table) {
      if (table == ours) add_ours(text);
      else
        text.lines.push_back(one_in(4) ? "[Flux.t" + std::to_string(table) + "]"
                                       : "[t" + std::to_string(table) + "] # [Sluice]");
      add_lines(text);
    }
    return text;
  }

 private:
  int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  bool one_in(int count) { return pick(count) == 0; }
  std::string spaces() { return std::string(static_cast<std::size_t>(pick(3)), one_in(3) ? '\t' : ' '); }

  void add_lines(Text& text) {
    static const std::vector<std::string> kValues[] = {{"1"},
                                                       {"-2.5e3 # gpu_backend = 'x'"},
                                                       {"nan"},
                                                       {"1979-05-27T07:32:00Z"},
                                                       {"\"gpu_backend = \\\"x\\\" → #\""},
                                                       {"'[Sluice]'"},
                                                       {"'''", "[Sluice]", "gpu_backend = \"x\"", "'''"},
                                                       {"\"\"\"a \\", "  b\"\"\"\"\""},
                                                       {"[ 1, # ä", "", "  [ 2 ] ]"},
                                                       {"{ gpu_backend = 'x', a.b = 1 }"}};
    for (int count = pick(6); count > 0; --count) {
      if (one_in(3)) text.lines.push_back(spaces() + "# größer [Sluice] \" ''' gpu_backend = 'x'");
      else if (one_in(3)) text.lines.push_back(spaces());
      else {
        std::vector<std::string> value = kValues[pick(std::size(kValues))];
        value.front() = spaces() + "k" + std::to_string(text.lines.size()) + spaces() + "=" + spaces() + value.front();
        text.lines.insert(text.lines.end(), value.begin(), value.end());
      }
    }
  }

  void add_ours(Text& text) {
    text.header = static_cast<int>(text.lines.size());
    text.lines.push_back(spaces() + "[" + spaces() + (one_in(3) ? "\"Sluice\"" : "Sluice") + spaces() + "]" + spaces() +
                         (one_in(3) ? "# → ours" : ""));
    add_lines(text);
    if (one_in(3)) return;
    static constexpr const char* kWishes[] = {"\"CUDA\"", "'ä'", "\"\"", "17", "[ 'x' ]", "\"\\u0041\""};
    text.wish = static_cast<int>(text.lines.size());
    text.left = spaces() + (one_in(3) ? "\"gpu_backend\"" : "gpu_backend") + spaces() + "=" + spaces();
    text.right = spaces() + (one_in(2) ? "# why → 'ä'" : "");
    text.lines.push_back(text.left + kWishes[pick(std::size(kWishes))] + text.right);
  }

  std::mt19937 random_;
};

TEST(Generated, EverythingButTheLineStays) {
  Generator generator;
  int replaced = 0, added = 0, appended = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    const Generator::Text made = generator.make(seed);
    const std::string text = made.text(), line = "gpu_backend = \"OpenCL\"";
    std::vector<std::string> lines = made.lines;
    std::string expected;
    if (made.wish >= 0) {
      ++replaced;
      lines[static_cast<std::size_t>(made.wish)] = made.left + "\"OpenCL\"" + made.right;
      expected = made.joined(lines);
    } else if (made.header >= 0) {
      ++added;
      const bool is_last = static_cast<std::size_t>(made.header) + 1 == lines.size();
      lines.insert(lines.begin() + made.header + 1, line);
      expected = made.joined(lines) + (is_last && made.is_last_line_open ? made.end : "");
    } else {
      ++appended;
      expected = text;
    }
    const std::string after = stored(text, "OpenCL");
    if (made.header < 0) {
      ASSERT_TRUE(after.starts_with(text)) << text << "\n----\n" << after;
      const std::string end = text.find('\n') == std::string::npos ? "\n" : made.end;
      const std::string rest = after.substr(text.size()), table = "[Sluice]" + end + line + end;
      ASSERT_TRUE(rest.ends_with(table)) << rest;
      ASSERT_EQ(rest.substr(0, rest.size() - table.size()).find_first_not_of("\r\n"), std::string::npos) << rest;
    } else {
      ASSERT_EQ(after, expected) << text;
    }
    ASSERT_EQ(find_gpu_backend("file", after)->value, "OpenCL");
    ASSERT_EQ(stored(after, "OpenCL"), after) << "once more changes nothing";
  }
  EXPECT_GT(replaced, 500);
  EXPECT_GT(added, 200);
  EXPECT_GT(appended, 200);
}

TEST(Generated, ClearingTakesTheLineAway) {
  Generator generator;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    Generator::Text made = generator.make(seed);
    const std::string text = made.text();
    const std::string after = cleared(text);
    if (made.wish < 0) {
      ASSERT_EQ(after, text);
      continue;
    }
    const bool is_last = static_cast<std::size_t>(made.wish) + 1 == made.lines.size();
    made.lines.erase(made.lines.begin() + made.wish);
    if (is_last) made.is_last_line_open = false;  // the end of the line before belongs to that one
    ASSERT_EQ(after, made.text()) << text;
  }
}

/// Reads, stores and clears, whatever the text is; whether it is TOML.
bool survives(const std::string& text) {
  try {
    const std::string after = stored(text, "OpenCL");
    EXPECT_EQ(find_gpu_backend("file", after)->value, "OpenCL") << text;
    const std::string without = cleared(after);
    EXPECT_EQ(cleared(without), without) << text;
    return true;
  } catch (const FileError& error) {
    EXPECT_TRUE(std::string_view(error.what()).starts_with("file:")) << error.what();
    return false;
  }
}

TEST(Generated, DamagedTextsAreReadOrRefused) {
  Generator generator;
  std::mt19937 random(7);
  int read = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    std::string text = generator.make(seed).text();
    for (int damage = 0; damage < 3 && !text.empty(); ++damage) {
      const std::size_t at = random() % text.size();
      if (random() % 2 == 0) text.erase(at, random() % 4);
      else text[at] = static_cast<char>(random() % 256);
    }
    read += survives(text) ? 1 : 0;
  }
  EXPECT_GT(read, 100);
  EXPECT_LT(read, 2900);
}

TEST(Generated, PiecesInAnyOrderAreReadOrRefused) {
  constexpr const char* kPieces[] = {"[",
                                     "[[",
                                     "]",
                                     "]]",
                                     "{",
                                     "}",
                                     "=",
                                     ",",
                                     ".",
                                     "\"",
                                     "'",
                                     "\"\"\"",
                                     "'''",
                                     "#",
                                     "\n",
                                     "\r\n",
                                     "\r",
                                     " ",
                                     "\t",
                                     "a",
                                     "1",
                                     "0x",
                                     "0b1",
                                     "-",
                                     "_",
                                     "e5",
                                     "1.5",
                                     "inf",
                                     "nan",
                                     "true",
                                     "1979-05-27",
                                     "T07:32:00Z",
                                     ":",
                                     "\\",
                                     "\\u0041",
                                     "ä",
                                     "→",
                                     "\xff",
                                     "\x01",
                                     "\x7f",
                                     "\xef\xbb\xbf",
                                     "Sluice",
                                     "[Sluice]\n",
                                     "gpu_backend",
                                     "gpu_backend = 'CUDA'\n",
                                     "x = 1\n",
                                     "\xc2\xa0",
                                     "\u3000"};
  std::mt19937 random(11);
  int read = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (auto count = 1 + random() % 12; count > 0; --count) text += kPieces[random() % std::size(kPieces)];
    read += survives(text) ? 1 : 0;
  }
  EXPECT_GT(read, 200);
}

// ---- In the file system.

class Stored : public ::testing::Test {
 protected:
  Stored() {
    fs::create_directories(folder_ / "project/inner");
    fs::current_path(folder_ / "project/inner");
    setenv("HOME", (folder_ / "home").c_str(), 1);
    for (const char* name : {"XDG_CONFIG_HOME", "SLUICE_GPU_BACKEND"}) unsetenv(name);
  }
  std::string near() const { return folder_ / "project/inner/LocalPreferences.toml"; }
  std::string above() const { return folder_ / "project/LocalPreferences.toml"; }
  static std::string value_now() {
    const auto wish = gpu_backend_preference();
    return wish ? wish->value : "-";
  }

  tests::TemporaryFolder folder_;
};

TEST_F(Stored, ANewFileIsMadeInTheWorkingFolder) {
  EXPECT_EQ(store_gpu_backend("CUDA"), near());
  EXPECT_EQ(tests::content_of(near()), "[Sluice]\ngpu_backend = \"CUDA\"\n");
  EXPECT_EQ(value_now(), "CUDA");
  EXPECT_EQ(clear_stored_gpu_backend(), near());
  EXPECT_EQ(tests::content_of(near()), "[Sluice]\n");
  EXPECT_EQ(value_now(), "-");
  EXPECT_EQ(clear_stored_gpu_backend(), "");
}

TEST_F(Stored, TheNearestFileIsTheOneThatIsEdited) {
  std::ofstream(above()) << "[Other]\nx = 1\n";
  EXPECT_EQ(store_gpu_backend("CUDA"), above());
  EXPECT_EQ(tests::content_of(above()), "[Other]\nx = 1\n\n[Sluice]\ngpu_backend = \"CUDA\"\n");
  EXPECT_FALSE(fs::exists(near()));
  std::ofstream(near()) << "";
  EXPECT_EQ(clear_stored_gpu_backend(), "") << "the nearest one does not have it";
  EXPECT_EQ(value_now(), "CUDA") << "the one above still does";
  EXPECT_EQ(store_gpu_backend("CPU"), near());
}

TEST_F(Stored, TheSameWishAgainWritesNothing) {
  store_gpu_backend("CUDA");
  struct stat before {
  }, after{};
  ASSERT_EQ(stat(near().c_str(), &before), 0);
  EXPECT_EQ(store_gpu_backend("CUDA"), near());
  ASSERT_EQ(stat(near().c_str(), &after), 0);
  EXPECT_EQ(after.st_ino, before.st_ino);
  store_gpu_backend("CPU");
  ASSERT_EQ(stat(near().c_str(), &after), 0);
  EXPECT_NE(after.st_ino, before.st_ino) << "another file took its place";
}

TEST_F(Stored, ALinkAndThePermissionsStay) {
  const std::string real = folder_ / "real.toml";
  std::ofstream(real) << "[Sluice]\n";
  fs::permissions(real, fs::perms(0640));
  fs::create_symlink(real, near());
  EXPECT_EQ(store_gpu_backend("CUDA"), near());
  EXPECT_TRUE(fs::is_symlink(near()));
  EXPECT_EQ(tests::content_of(real), "[Sluice]\ngpu_backend = \"CUDA\"\n");
  EXPECT_EQ(fs::status(real).permissions(), fs::perms(0640));
}

TEST_F(Stored, WhatCannotBeStoredChangesNothing) {
  store_gpu_backend("CUDA");
  const std::string text = "Sluice = { x = 1 } # mine\n";
  std::ofstream(near()) << text;
  const std::string message = message_of<FileError>([] { store_gpu_backend("CPU"); });
  EXPECT_TRUE(message.starts_with("set_gpu_backend: " + near() + ":1: ")) << message;
  EXPECT_CONTAINS(message, "write gpu_backend = \"CPU\" into the table Sluice by hand");
  EXPECT_EQ(tests::content_of(near()), text);
  EXPECT_EQ(value_now(), "CUDA") << "the wish of the process";
  std::ofstream(near()) << "Sluice = { gpu_backend = 'Metal', x = 1 }\n";
  EXPECT_TRUE(
      message_of<FileError>([] { clear_stored_gpu_backend(); }).starts_with("clear_gpu_backend: " + near() + ":1: "));
  EXPECT_EQ(value_now(), "CUDA") << "the wish of the process";
  EXPECT_EQ(std::distance(fs::directory_iterator("."), fs::directory_iterator()), 1);
}

}  // namespace
}  // namespace sluice
