// One run of a vendor's compiler of text, NVRTC or hipRTC, whose interfaces differ in the prefix of their names only.
#pragma once

#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

#include "backends/common/failure.hpp"
#include "backends/common/text.hpp"
#include "sluice/backend.h"

namespace sluice::streams {

// The compilers' results that are told apart; they share the numbers.
inline constexpr int kCompilerOutOfMemory = 1;
inline constexpr int kCompilerInvalidOption = 5;
inline constexpr int kCompilerCompilation = 6;

/// The words of a text, as options are given in sluice_source.
inline std::vector<std::string> words_of(const char* text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

/// Throws unless a function of a compiler gave success.
template <class Compiler>
void check_compiler(const Compiler& compiler, int code, const char* function) {
  if (code == 0) return;
  throw plugin::Failure(code == kCompilerOutOfMemory ? SLUICE_OUT_OF_MEMORY : SLUICE_ERROR,
                        std::string(function) + ": " + compiler.error_text(code) + " (" + std::to_string(code) + ")");
}

/// `Compiler` has the type Program and the functions create, destroy, compile, log_size, log and error_text.
template <class Compiler>
class TextProgram {
 public:
  TextProgram(const Compiler& compiler, const char* text, const char* file) : compiler_(compiler) {
    check(compiler_.create.raw(&program_, text, file, 0, nullptr, nullptr), compiler_.create.name);
  }
  ~TextProgram() { compiler_.destroy.raw(&program_); }
  TextProgram(const TextProgram&) = delete;
  TextProgram& operator=(const TextProgram&) = delete;

  /// Throws SLUICE_BAD_SOURCE with the log where the text or an option is at fault.
  void compile(const std::vector<std::string>& options) {
    std::vector<const char*> words;
    for (const std::string& option : options) words.push_back(option.c_str());
    const int code = compiler_.compile.raw(program_, static_cast<int>(words.size()), words.data());
    if (code == kCompilerCompilation || code == kCompilerInvalidOption) {
      throw plugin::Failure(SLUICE_BAD_SOURCE, std::string(compiler_.error_text(code)) + "\n" + log());
    }
    check(code, compiler_.compile.name);
  }

  /// What a pair of the compiler's functions says of the program: the number of bytes, and the bytes.
  template <class SizeOf, class Copy>
  std::string get(const SizeOf& size_of, const Copy& copy) {
    std::size_t bytes = 0;
    check(size_of.raw(program_, &bytes), size_of.name);
    std::string result(bytes, '\0');
    if (bytes > 0) check(copy.raw(program_, result.data()), copy.name);
    return result;
  }

 private:
  static constexpr std::size_t kLongestLog = 3900;

  void check(int code, const char* function) const { check_compiler(compiler_, code, function); }
  std::string log() {
    const std::string text = get(compiler_.log_size, compiler_.log);
    const std::string_view shown = std::string_view(text).substr(0, text.find('\0'));
    return shown.empty() ? "no log" : std::string(plugin::cut(shown, kLongestLog));
  }

  const Compiler& compiler_;
  typename Compiler::Program program_ = nullptr;
};

}  // namespace sluice::streams
