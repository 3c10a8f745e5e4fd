#include "backends/metal/metal_library.hpp"

#include <sstream>

#include "backends/common/failure.hpp"
#include "backends/common/text.hpp"

namespace sluice::metal {
namespace {

using plugin::Failure;

constexpr std::size_t kLongestLog = 3900;

Reference compile_library(id device, const std::string& text) {
  const Reference options(send().make(class_named("MTLCompileOptions")));
  // Fast maths takes NaN and infinity for impossible.
  send().set_fast_math(options.get(), BOOL{0});
  id error = nullptr;
  Reference library(send().new_library(device, string_of(text), options.get(), &error));
  if (library) return library;
  const bool is_text_wrong = error != nullptr && send().code(error) == kLibraryCompileFailure;
  throw Failure(is_text_wrong ? SLUICE_BAD_SOURCE : SLUICE_ERROR,
                std::string(plugin::cut("Metal's compiler: " + describe_error(error), kLongestLog)));
}

std::vector<Parameter> parameters_of(id reflection) {
  std::vector<Parameter> parameters;
  const id arguments = responds(reflection, send().arguments) ? send().arguments(reflection) : nullptr;
  for (NSUInteger k = 0; k < send().count(arguments); ++k) {
    const id argument = send().object_at(arguments, k);
    if (send().type(argument) != kArgumentBuffer) continue;
    parameters.push_back({send().index(argument), send().data_bytes(argument)});
  }
  return parameters;
}

}  // namespace

Reference make_pipeline(id device, const std::string& text, const char* entry, std::vector<Parameter>* parameters) {
  const Reference library = compile_library(device, text);
  const Reference function(send().new_function(library.get(), string_of(entry)));
  if (!function) throw Failure(SLUICE_BAD_SOURCE, std::string("the text has no kernel named ") + entry);
  id reflection = nullptr, error = nullptr;
  const NSUInteger wanted = parameters != nullptr ? kOptionArgumentInfo | kOptionBufferTypeInfo : 0;
  Reference pipeline(send().new_pipeline(device, function.get(), wanted, &reflection, &error));
  if (!pipeline) throw Failure(SLUICE_ERROR, std::string("kernel ") + entry + ": " + describe_error(error));
  if (parameters != nullptr) *parameters = parameters_of(reflection);
  return pipeline;
}

std::string with_options(const char* text, const char* options) {
  std::istringstream words(options);
  std::string result;
  for (std::string word; words >> word;) {
    if (!word.starts_with("-D") || word.size() == 2) {
      throw Failure(SLUICE_BAD_SOURCE, "Metal's compiler takes no option \"" + word + "\"; it takes -DNAME=VALUE");
    }
    const std::size_t equals = word.find('=');
    const bool has_value = equals != std::string::npos;
    result += "#define " + word.substr(2, has_value ? equals - 2 : equals) + " " +
              (has_value ? word.substr(equals + 1) : "1") + "\n";
  }
  return result + text;
}

}  // namespace sluice::metal
