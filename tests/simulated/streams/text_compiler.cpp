#include "tests/simulated/streams/text_compiler.hpp"

#include <cstring>
#include <map>
#include <mutex>

#include "tests/simulated/streams/settings.hpp"
#include "tests/simulated/virtual_backend.hpp"
#include "tests/simulated/virtual_compiler.hpp"

namespace simulated {
namespace {

std::mutex& lock() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}

bool take_definition(const std::string& option, std::string& defines) {
  if (!option.starts_with("-D")) return false;
  std::string define = option.substr(2);
  if (const std::size_t equals = define.find('='); equals != std::string::npos) define[equals] = ' ';
  defines += "#define " + define + "\n";
  return true;
}

}  // namespace

int compile_program(const char* function, Program& program, int count, const char* const* options,
                    bool (*take)(const std::string& option, Image& image)) {
  const std::lock_guard guard(lock());
  if (const int fault = planned_fault(function)) return fault;
  std::string defines;
  for (int k = 0; k < count; ++k) {
    if (take_definition(options[k], defines) || take(options[k], program.image)) continue;
    program.log = std::string("error: invalid value for or unrecognized option ") + options[k];
    return kInvalidOption;
  }
  program.image.text = defines + program.text;
  for (const std::string& kernel : kernels_of(program.image.text)) {
    virtual_gpu::CompiledKernel compiled;
    if (is_probe(kernel)) continue;
    program.log = virtual_gpu::compile_text(program.image.text, kernel, virtual_gpu::identity.dialect, compiled);
    if (!program.log.empty()) return kCompilation;
  }
  return 0;
}

const char* compiler_result(const char* prefix, int code) {
  static auto* const names = new std::map<int, std::string>;
  const std::lock_guard guard(lock());
  std::string& name = (*names)[code];
  switch (code) {
    case 0: name = "SUCCESS"; break;
    case kInvalidInput: name = "ERROR_INVALID_INPUT"; break;
    case kInvalidOption: name = "ERROR_INVALID_OPTION"; break;
    case kCompilation: name = "ERROR_COMPILATION"; break;
    default: name = "ERROR unknown";
  }
  name = std::string(prefix) + "_" + name;
  return name.c_str();
}

int size_of(const std::string& text, std::size_t* bytes) {
  *bytes = text.size() + 1;
  return 0;
}

int give(const std::string& text, char* to) {
  std::memcpy(to, text.c_str(), text.size() + 1);
  return 0;
}

}  // namespace simulated
