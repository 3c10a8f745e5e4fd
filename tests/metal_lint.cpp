#include "metal_lint.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

namespace sluice::tests {
namespace {

using Tokens = std::vector<std::string>;

bool is_word(const std::string& token) {
  return std::isalpha(static_cast<unsigned char>(token[0])) != 0 || token[0] == '_';
}

/// Words, numbers, "[[", "]]", "&&", and single characters. Lines of the preprocessor are left out.
Tokens tokens_of(const std::string& text) {
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  Tokens tokens;
  for (std::size_t i = 0; i < text.size();) {
    const bool begins_line = i == 0 || text[i - 1] == '\n';
    if (begins_line && text[i] == '#') {
      i = std::min(text.find('\n', i), text.size());
    } else if (is_part(text[i])) {
      const auto end = std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(i), text.end(), is_part);
      tokens.emplace_back(text.begin() + static_cast<std::ptrdiff_t>(i), end);
      i += tokens.back().size();
    } else if (std::isspace(static_cast<unsigned char>(text[i])) != 0) {
      ++i;
    } else {
      const std::string two = text.substr(i, 2);
      tokens.push_back(two == "[[" || two == "]]" || two == "&&" ? two : text.substr(i, 1));
      i += tokens.back().size();
    }
  }
  return tokens;
}

/// The place behind what closes the bracket at `open`.
std::size_t skip(const Tokens& tokens, std::size_t open) {
  static const std::map<std::string, std::string> kClosing = {{"(", ")"}, {"{", "}"}, {"[[", "]]"}, {"[", "]"}};
  const std::string& close = kClosing.at(tokens[open]);
  int depth = 0;
  for (std::size_t i = open; i < tokens.size(); ++i) {
    if (tokens[i] == tokens[open]) ++depth;
    if (tokens[i] == close && --depth == 0) return i + 1;
  }
  return tokens.size();
}

class Lint {
 public:
  explicit Lint(const std::string& text) : tokens_(tokens_of(text)) {}

  std::vector<std::string> run() {
    find_types();
    check_words();
    check_pointers();
    find_functions();
    check_recursion();
    return std::move(offences_);
  }

 private:
  struct Function {
    std::size_t parameters, body;  // the brackets that open them
    bool is_kernel;
  };

  void report(const std::string& what) { offences_.push_back(what); }

  void find_types() {
    for (std::size_t i = 0; i + 1 < tokens_.size(); ++i) {
      if (tokens_[i] != "typedef") continue;
      std::size_t end = i;
      while (end < tokens_.size() && tokens_[end] != ";") end = tokens_[end] == "{" ? skip(tokens_, end) : end + 1;
      types_.insert(tokens_[end - 1]);
    }
  }

  void check_words() {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const std::string& word = tokens_[i];
      if (word == "double") report("double does not exist");
      if (word.find("atomic") == std::string::npos) continue;
      const bool is_wide = word.find("long") != std::string::npos || word.find("64") != std::string::npos;
      const bool is_of_wide = i + 2 < tokens_.size() && tokens_[i + 1] == "<" && kWide.contains(tokens_[i + 2]);
      if (is_wide || is_of_wide) report(word + ": there are no atomics of 64 bits");
    }
  }

  // A type's name cannot be multiplied, so a star behind it makes a pointer.
  void check_pointers() {
    for (std::size_t i = 1; i < tokens_.size(); ++i) {
      if (tokens_[i] != "*" && tokens_[i] != "&" && tokens_[i] != "&&") continue;
      std::size_t type = i - 1;
      while (type > 0 && tokens_[type] == "const") --type;
      if (!types_.contains(tokens_[type])) continue;
      bool has_space = false;
      for (std::size_t k = type; k > 0 && is_word(tokens_[k - 1]) && !has_space; --k) {
        has_space = kSpaces.contains(tokens_[k - 1]);
      }
      const std::string name = i + 1 < tokens_.size() ? " " + tokens_[i + 1] : "";
      if (!has_space) report(tokens_[type] + tokens_[i] + name + ": no address space");
    }
  }

  void find_functions() {
    for (std::size_t i = 1; i < tokens_.size();) {
      if (tokens_[i] == "(" && is_word(tokens_[i - 1])) {
        const std::size_t behind = skip(tokens_, i);
        if (behind < tokens_.size() && tokens_[behind] == "{") {
          const bool is_kernel = i >= 3 && tokens_[i - 3] == "kernel";
          functions_[tokens_[i - 1]] = {i, behind, is_kernel};
          if (is_kernel) check_parameters(tokens_[i - 1], i, behind - 1);
        }
        i = behind;
      } else {
        i = tokens_[i] == "{" || tokens_[i] == "[[" ? skip(tokens_, i) : i + 1;
      }
    }
  }

  /// What stands in the brackets [[...]] of a parameter, as one word.
  std::string attribute(std::size_t begin, std::size_t end) const {
    std::string result;
    for (std::size_t i = begin; i < end; ++i) {
      if (tokens_[i] != "[[") continue;
      for (++i; i < end && tokens_[i] != "]]"; ++i) result += tokens_[i];
    }
    return result;
  }

  void check_parameters(const std::string& kernel, std::size_t open, std::size_t close) {
    int buffers = 0;
    for (std::size_t begin = open + 1; begin < close;) {
      std::size_t end = begin;
      while (end < close && tokens_[end] != ",") end = tokens_[end] == "[[" ? skip(tokens_, end) : end + 1;
      const std::string found = attribute(begin, end);
      if (found == "buffer(" + std::to_string(buffers) + ")") {
        ++buffers;
      } else if (!kIds.contains(found)) {
        report(kernel + ": a parameter has the attribute \"" + found + "\", not buffer(" + std::to_string(buffers) +
               ")");
      }
      begin = end + 1;
    }
    if (buffers > 31) report(kernel + ": " + std::to_string(buffers) + " buffers; there are 31");
  }

  void check_recursion() {
    enum class State : std::uint8_t { open, done };
    std::map<std::string, State> states;
    const auto visit = [&](const auto& self, const std::string& name) -> void {
      states[name] = State::open;
      const std::size_t body = functions_.at(name).body, end = skip(tokens_, body);
      for (std::size_t i = body; i + 1 < end; ++i) {
        const std::string& called = tokens_[i];
        if (tokens_[i + 1] != "(" || !functions_.contains(called)) continue;
        const auto known = states.find(called);
        if (known == states.end()) self(self, called);
        else if (known->second == State::open) report(called + ": calls itself");
      }
      states[name] = State::done;
    };
    for (const auto& [name, function] : functions_) {
      if (!states.contains(name)) visit(visit, name);
    }
  }

  inline static const std::set<std::string> kSpaces = {"device", "constant", "threadgroup", "thread"};
  inline static const std::set<std::string> kWide = {"long", "ulong", "k_i64", "k_u64"};
  inline static const std::set<std::string> kIds = {"thread_position_in_threadgroup", "threadgroup_position_in_grid",
                                                    "threadgroups_per_grid",          "thread_position_in_grid",
                                                    "threads_per_threadgroup",        "threads_per_grid"};

  const Tokens tokens_;
  std::set<std::string> types_ = {"void", "bool",  "char", "uchar", "short", "ushort", "int",
                                  "uint", "float", "half", "long",  "ulong", "size_t", "double"};
  std::map<std::string, Function> functions_;
  std::vector<std::string> offences_;
};

}  // namespace

std::vector<std::string> lint_metal(const std::string& text) { return Lint(text).run(); }

}  // namespace sluice::tests
