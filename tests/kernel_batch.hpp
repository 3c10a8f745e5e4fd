// Many kernels as one text for one run of a compiler. All have the same beginning; behind it, what a kernel declares
// gets a number behind its name, and what it defines is forgotten at its end.
#pragma once

#include <regex>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace sluice::tests {

/// The names that the pattern's first group finds in a text.
inline std::set<std::string> find_names(const std::string& text, const char* pattern) {
  const std::regex expression(pattern);
  std::set<std::string> names;
  for (std::sregex_iterator match(text.begin(), text.end(), expression), end; match != end; ++match) {
    names.insert((*match)[1]);
  }
  return names;
}

/// One kernel without the prelude, with names of its own.
inline std::string numbered_part(const std::string& text, std::size_t number) {
  std::set<std::string> names = find_names(text, R"(KFN [\w ]+ (\w+)\()");
  names.merge(find_names(text, R"(typedef [\w ]+ (\w+);)"));
  names.merge(find_names(text, R"(\n\} (\w+);)"));
  names.merge(find_names(text, R"(K_KERNEL\((\w+)\))"));
  std::string begin = "// ---- kernel " + std::to_string(number) + "\n", end;
  for (const std::string& name : names) {
    begin += "#define " + name + " " + name + "_" + std::to_string(number) + "\n";
    end += "#undef " + name + "\n";
  }
  for (const std::string& macro : find_names(text, R"(#define (\w+))")) end += "#undef " + macro + "\n";
  return begin + text + end;
}

/// All texts as one.
inline std::string kernel_batch(const std::string& prelude, const std::vector<std::string>& texts) {
  std::string batch = prelude;
  for (std::size_t k = 0; k < texts.size(); ++k) {
    if (!texts[k].starts_with(prelude)) throw std::invalid_argument("a kernel has another prelude: " + texts[k]);
    batch += numbered_part(texts[k].substr(prelude.size()), k);
  }
  return batch;
}

}  // namespace sluice::tests
