#include "src/device/component_verdicts.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <utility>

#include "src/device/private_file.hpp"

namespace sluice::detail {
namespace {

using End = ProbeVerdict::End;

constexpr std::size_t kMaxBytes = 16384;

constexpr std::array<std::pair<End, std::string_view>, 4> kWords = {
    {{End::works, "works"}, {End::aborted, "aborted"}, {End::timed_out, "timed-out"}, {End::failed, "failed"}}};

/// The same in every process, unlike std::hash.
std::uint64_t hash(std::string_view text) {
  std::uint64_t result = 0xcbf29ce484222325U;
  for (const char c : text) result = (result ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return result;
}

std::string folder_of(const std::string& file) { return std::filesystem::path(file).parent_path().string(); }

/// The key, then "verdict <word> <number> <text>".
std::string head(const std::string& key) { return key + "\nverdict "; }

std::optional<ProbeVerdict> parse(std::string_view text) {
  if (!text.ends_with('\n')) return std::nullopt;
  text.remove_suffix(1);
  const std::size_t first = text.find(' ');
  const std::size_t second = first == std::string_view::npos ? first : text.find(' ', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  ProbeVerdict verdict;
  const char* const end = text.data() + second;
  const auto number = std::from_chars(text.data() + first + 1, end, verdict.number);
  if (number.ec != std::errc() || number.ptr != end) return std::nullopt;
  verdict.text = printable(std::string(text.substr(second + 1)));
  for (const auto& [value, word] : kWords) {
    if (text.substr(0, first) == word) verdict.end = value;
  }
  if (verdict.end == End::untried) return std::nullopt;
  return verdict;
}

}  // namespace

std::string verdict_file(const std::string& key) {
  const std::string folder = user_cache_folder();
  return folder.empty() ? folder : fmt::format("{}/sluice/probe/{:016x}", folder, hash(key));
}

std::optional<ProbeVerdict> load_verdict(const std::string& file, const std::string& key) {
  if (file.empty() || !private_folder_problem(folder_of(file)).empty()) return std::nullopt;
  const std::optional<std::string> text = read_private_file(file, kMaxBytes);
  const std::string start = head(key);
  if (!text || !text->starts_with(start)) return std::nullopt;
  return parse(std::string_view(*text).substr(start.size()));
}

bool keep_verdict(const std::string& file, const std::string& key, const ProbeVerdict& verdict) {
  if (file.empty() || !make_private_folder(folder_of(file)).empty()) return false;
  std::string_view word;
  for (const auto& [value, name] : kWords) {
    if (verdict.end == value) word = name;
  }
  if (word.empty()) return false;
  const std::string text = fmt::format("{}{} {} {}\n", head(key), word, verdict.number, printable(verdict.text));
  return text.size() <= kMaxBytes && write_private_file(file, text).empty();
}

}  // namespace sluice::detail
