#include "src/device/preference_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <toml++/toml.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <vector>

#include "sluice/error.hpp"

namespace sluice::detail {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr std::string_view kTable = "Sluice";
constexpr std::string_view kReferenceTable = "Flux";
constexpr std::string_view kKey = "gpu_backend";

// ---- Reading.

[[noreturn]] void fail(const std::string& path, std::string_view cause) {
  throw FileError(fmt::format("{}: {}", path, cause));
}

[[noreturn]] void fail(const std::string& path, std::size_t line, std::string_view cause) {
  fail(fmt::format("{}:{}", path, line), cause);
}

[[noreturn]] void fail_to_read(const std::string& path, int error) {
  fail(path, "it cannot be read: " + std::generic_category().message(error));
}

void require_small_file(const std::string& path, const struct stat& facts) {
  if (S_ISDIR(facts.st_mode)) fail(path, "it is a folder");
  if (!S_ISREG(facts.st_mode)) fail(path, "it is not an ordinary file");
  if (facts.st_size > static_cast<off_t>(kMostBytes)) {
    fail(path, fmt::format("it has {} bytes; a preference file has at most {}", facts.st_size, kMostBytes));
  }
}

class Descriptor {
 public:
  explicit Descriptor(const std::string& path)
      : number_(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) {
    if (number_ < 0) fail_to_read(path, errno);
  }
  ~Descriptor() { close(number_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

/// To the end of the file, but no more than one byte too much: the size of some files is not what it says.
std::string read_bounded(const std::string& path, int descriptor) {
  std::string text;
  while (text.size() <= kMostBytes) {
    char piece[4096];
    const ssize_t count = ::read(descriptor, piece, sizeof piece);
    if (count == 0) return text;
    if (count > 0) text.append(piece, static_cast<std::size_t>(count));
    else if (errno != EINTR) fail_to_read(path, errno);
  }
  fail(path, fmt::format("it has more than {} bytes", kMostBytes));
}

// ---- Parsing.

/// The index of the last character of the string that begins at `begin`.
std::size_t end_of_string(std::string_view text, std::size_t begin) {
  const char quote = text[begin];
  const std::string three(3, quote);
  const bool has_lines = text.substr(begin).starts_with(three);
  for (std::size_t i = begin + (has_lines ? 3 : 1); i < text.size(); ++i) {
    if (text[i] == '\\' && quote == '"') ++i;
    else if (text[i] == '\n' && !has_lines) return i - 1;  // an error, which the parser reports
    else if (text[i] == quote && !has_lines) return i;
    else if (text[i] == quote && text.substr(i).starts_with(three)) {
      i += 2;
      // The string itself may end with one or two quotes.
      for (int more = 0; more < 2 && text.substr(i + 1).starts_with(quote); ++more) ++i;
      return i;
    }
  }
  return text.size() - 1;
}

/// toml++ recurses once for each part of a dotted key and limits only the nesting of values, so a long key would
/// overflow the stack.
void require_short_keys(const std::string& path, std::string_view text) {
  constexpr int kMostParts = 32;
  std::size_t line = 1;
  int parts = 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' || c == '\'') {
      const std::size_t end = end_of_string(text, i);
      line += static_cast<std::size_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(i),
                                                  text.begin() + static_cast<std::ptrdiff_t>(end) + 1, '\n'));
      i = end;
    } else if (c == '#') {
      i = std::min(text.find('\n', i), text.size()) - 1;
    } else if (c == '.') {
      if (++parts > kMostParts) fail(path, line, fmt::format("a key of more than {} parts", kMostParts));
    } else if (std::string_view("\n=,[]{}").find(c) != std::string_view::npos) {
      parts = 1;
      if (c == '\n') ++line;
    }
  }
}

std::string_view byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  return text.starts_with(kMark) ? kMark : std::string_view();
}

/// `body` is the text after its byte order mark.
toml::table parse(const std::string& path, std::string_view body) {
  require_short_keys(path, body);
  try {
    return toml::parse(body);
  } catch (const toml::parse_error& error) {
    fail(path, error.source().begin.line, error.description());
  }
}

std::size_t line_of(const toml::node& node) { return node.source().begin.line; }

/// Null if there is no such table. Throws if something else has its name.
const toml::table* find_table(const std::string& path, const toml::table& root, std::string_view name) {
  const toml::node* const node = root.get(name);
  if (node == nullptr) return nullptr;
  if (!node->is_table()) fail(path, line_of(*node), fmt::format("{} is not a table; write [{}]", name, name));
  return node->as_table();
}

// ---- Editing.

/// toml++ counts code points, from 1.
std::size_t offset_of(std::string_view body, toml::source_position position) {
  std::size_t offset = 0;
  for (std::size_t line = 1; line < position.line && offset < body.size(); ++line) {
    offset = std::min(body.find('\n', offset), body.size() - 1) + 1;
  }
  for (std::size_t column = 1; column < position.column && offset < body.size(); ++column) {
    do ++offset;
    while (offset < body.size() && (static_cast<unsigned char>(body[offset]) & 0xc0U) == 0x80U);
  }
  return offset;
}

/// The beginning of the line after the one that holds `offset`, or the end of the text.
std::size_t next_line(std::string_view body, std::size_t offset) {
  const std::size_t end = body.find('\n', offset);
  return end == std::string_view::npos ? body.size() : end + 1;
}

std::string_view line_end(std::string_view body) {
  const std::size_t end = body.find('\n');
  return end != std::string_view::npos && end > 0 && body[end - 1] == '\r' ? "\r\n" : "\n";
}

std::string quoted(std::string_view name) {
  std::string result = "\"";
  for (const char c : name) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') result.append({'\\', c});
    else if (code < 0x20 || code == 0x7f) result += fmt::format("\\u{:04x}", code);
    else result += c;
  }
  return result + '"';
}

std::string assignment(std::string_view name) { return fmt::format("{} = {}", kKey, quoted(name)); }

std::string replaced(std::string_view body, std::size_t begin, std::size_t end, std::string_view text) {
  return std::string(body.substr(0, begin)).append(text).append(body.substr(end));
}

/// `body` with a line more, inserted at the beginning of a line or at the end of the text.
std::string with_line(std::string_view body, std::size_t at, std::string_view line) {
  const std::string_view end = line_end(body);
  const bool is_complete = at == 0 || body[at - 1] == '\n';
  return replaced(body, at, at, fmt::format("{}{}{}", is_complete ? std::string_view() : end, line, end));
}

/// The texts that may be meant, the least change first. Which of them is right shows when they are parsed: a table can
/// be a header, dotted keys, written inline, or only implied.
std::vector<std::string> candidates(std::string_view body, const toml::table* table, std::string_view name) {
  if (const toml::node* const value = table == nullptr ? nullptr : table->get(kKey)) {
    const toml::source_region& region = value->source();
    return {replaced(body, offset_of(body, region.begin), offset_of(body, region.end), quoted(name))};
  }
  std::vector<std::string> result;
  if (table != nullptr) {
    result.push_back(with_line(body, next_line(body, offset_of(body, table->source().begin)), assignment(name)));
  }
  const std::string_view end = line_end(body);
  const bool has_gap = body.empty() || body.ends_with("\n\n") || body.ends_with("\n\r\n");
  const std::string header =
      fmt::format("{}[{}]{}{}", has_gap ? std::string_view() : end, kTable, end, assignment(name));
  result.push_back(with_line(body, body.size(), header));
  return result;
}

bool is_parsed_as(const std::string& path, std::string_view body, const toml::table& wanted) {
  try {
    return parse(path, body) == wanted;
  } catch (const FileError&) {
    return false;
  }
}

}  // namespace

std::optional<std::string> read_preference_file(const std::string& path) {
  struct stat facts {};
  // Looked at before it is opened: opening a device may act on it.
  if (stat(path.c_str(), &facts) != 0) {
    const int error = errno;
    if (lstat(path.c_str(), &facts) != 0) return std::nullopt;
    if (error == ENOENT || error == ELOOP) fail(path, "it is a link that leads nowhere");
    fail_to_read(path, error);
  }
  require_small_file(path, facts);
  const Descriptor file(path);
  if (fstat(file.number(), &facts) != 0) fail_to_read(path, errno);
  require_small_file(path, facts);
  return read_bounded(path, file.number());
}

std::optional<Preference> find_gpu_backend(const std::string& path, std::string_view text) {
  const toml::table root = parse(path, text.substr(byte_order_mark(text).size()));
  for (const std::string_view name : {kTable, kReferenceTable}) {
    const toml::table* const table = find_table(path, root, name);
    const toml::node* const value = table == nullptr ? nullptr : table->get(kKey);
    if (value == nullptr) continue;
    if (!value->is_string()) {
      fail(path, line_of(*value), fmt::format("{} is not a string; write {} = \"CUDA\", for example", kKey, kKey));
    }
    const std::string& wish = value->as_string()->get();
    if (wish.empty()) fail(path, line_of(*value), fmt::format("{} is empty; remove the line or name a backend", kKey));
    return Preference{wish, fmt::format("{}:{}", path, line_of(*value))};
  }
  return std::nullopt;
}

std::string with_gpu_backend(const std::string& path, std::string_view text, std::string_view name) {
  const std::string_view mark = byte_order_mark(text);
  const std::string_view body = text.substr(mark.size());
  const toml::table root = parse(path, body);
  const toml::table* const table = find_table(path, root, kTable);
  if (!is_parsed_as(path, assignment(name), toml::table{{kKey, name}})) fail(path, "TOML cannot hold this name");

  toml::table wanted = root;
  if (table == nullptr) wanted.insert(kTable, toml::table());
  wanted.get(kTable)->as_table()->insert_or_assign(kKey, name);
  for (const std::string& candidate : candidates(body, table, name)) {
    if (is_parsed_as(path, candidate, wanted)) return std::string(mark) + candidate;
  }
  const std::size_t line = table == nullptr ? 1 : line_of(*table);
  fail(path, line,
       fmt::format("no line can be added here without changing something else; write {} into the table {} by hand",
                   assignment(name), kTable));
}

std::string without_gpu_backend(const std::string& path, std::string_view text) {
  const std::string_view mark = byte_order_mark(text);
  const std::string_view body = text.substr(mark.size());
  const toml::table root = parse(path, body);
  const toml::node* const node = root.get(kTable);
  const toml::table* const table = node == nullptr ? nullptr : node->as_table();
  if (table == nullptr || !table->contains(kKey)) return std::string(text);

  toml::table wanted = root;
  wanted.get(kTable)->as_table()->erase(kKey);
  const toml::source_region& value = table->get(kKey)->source();
  const std::size_t before = body.substr(0, offset_of(body, value.begin)).rfind('\n');
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  const std::string edited = replaced(body, begin, next_line(body, offset_of(body, value.end)), "");
  bool is_right = is_parsed_as(path, edited, wanted);
  if (!is_right && wanted.get(kTable)->as_table()->empty()) {
    wanted.erase(kTable);  // written without a header of its own, it goes with its only key
    is_right = is_parsed_as(path, edited, wanted);
  }
  if (!is_right) {
    fail(path, value.begin.line,
         fmt::format("the line cannot be removed without changing something else; remove {} by hand", kKey));
  }
  return std::string(mark) + edited;
}

}  // namespace sluice::detail
