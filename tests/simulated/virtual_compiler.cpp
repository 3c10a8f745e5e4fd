#include "tests/simulated/virtual_compiler.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <vector>

#include "tests/simulated/virtual_backend.hpp"
#include "tests/simulated/virtual_settings.hpp"

// The build says which compiler, where dialects/ is, and where libraries may be kept.
#ifndef SLUICE_VIRTUAL_COMPILER
#define SLUICE_VIRTUAL_COMPILER "c++"
#endif
#ifndef SLUICE_VIRTUAL_DIALECTS
#define SLUICE_VIRTUAL_DIALECTS "tests/simulated/dialects"
#endif
#ifndef SLUICE_VIRTUAL_CACHE
#define SLUICE_VIRTUAL_CACHE "virtual_kernels"
#endif

extern char** environ;

namespace virtual_gpu {
namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

const char* header_of(std::uint32_t dialect) {
  switch (dialect) {
    case SLUICE_DIALECT_CUDA:
    case SLUICE_DIALECT_HIP: return "cuda.h";
    case SLUICE_DIALECT_OPENCL: return "opencl.h";
    case SLUICE_DIALECT_METAL: return "metal_stdlib";
    default: return nullptr;
  }
}

std::vector<std::string> command_of(const char* header, const std::string& source, const std::string& library) {
  const std::string folder = SLUICE_VIRTUAL_DIALECTS;
  return {SLUICE_VIRTUAL_COMPILER, "-x", "c++", "-std=c++17", "-O1", "-w", "-ffp-contract=off", "-fno-math-errno",
          "-fno-exceptions", "-fno-rtti", "-fno-asynchronous-unwind-tables", "-fvisibility=hidden", "-fPIC", "-shared",
          // Nothing is needed of the compiler's own libraries, and libm is in every process.
          "-nostdlib", "-I" + folder, "-include", folder + "/" + header, "-o", library, source};
}

/// Everything that decides what a library holds.
std::string name_of(const std::string& text, const std::string& entry, const char* header) {
  std::string all = backend_name;
  for (const std::string& word : command_of(header, "", "")) all += word + '\n';
  static const std::string kHeaders = [] {
    std::string headers;
    for (const char* file : {"host.h", "cuda.h", "opencl.h", "metal_stdlib"}) {
      headers += read_file(fs::path(SLUICE_VIRTUAL_DIALECTS) / file);
    }
    return headers;
  }();
  all += kHeaders + entry + '\n' + text;
  char name[40];
  std::snprintf(name, sizeof name, "%016llx%016llx", static_cast<unsigned long long>(hash_text(all)),
                static_cast<unsigned long long>(hash_text(all, 1)));
  return name;
}

/// Runs a program with its output in a file. Nothing of a fork: handlers of the process for forks must not run.
bool run(const std::vector<std::string>& command, const std::string& log) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_t child = 0;
  const int failure = posix_spawnp(&child, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) {
    std::ofstream(log) << command[0] << ": " << std::strerror(failure);
    return false;
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool is_name(const std::string& entry) {
  return !entry.empty() &&
         std::all_of(entry.begin(), entry.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

/// The text with pointers to local memory as plain ones: what makes a variable local here cannot stand in a parameter.
std::string with_plain_pointers(std::string text) {
  const std::string begin = "#define K_LOCAL_POINTER(T) ";
  if (const std::size_t at = text.find(begin); at != std::string::npos) {
    text.replace(at, text.find('\n', at) - at, begin + "T*");
  }
  return text;
}

/// Makes the library under a name of its own first: other processes may want the same one. The log, or empty.
std::string build(const std::string& text, const std::string& entry, const char* header, const fs::path& library) {
  const std::string stem = library.string() + "." + std::to_string(getpid());
  const std::string source = stem + ".cpp", log = stem + ".log", made = stem + ".so";
  std::error_code ignored;
  fs::create_directories(library.parent_path(), ignored);
  std::ofstream(source, std::ios::binary) << with_plain_pointers(text) << "\nVIRTUAL_ENTRY(" << entry << ")\n";
  const bool is_made = run(command_of(header, source, made), log);
  std::string said = read_file(log);
  if (is_made) fs::rename(made, library);
  for (const std::string& file : {source, log, made}) fs::remove(file, ignored);
  if (is_made) return {};
  return said.empty() ? "the compiler failed and said nothing" : said;
}

template <class Function>
bool find(void* library, Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

std::string load(const fs::path& path, CompiledKernel& kernel) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return dlerror();
  void (*local_memory)(std::byte**, std::byte**) = nullptr;
  if (!find(library, kernel.state, "virtual_now") || !find(library, kernel.run, "virtual_run") ||
      !find(library, kernel.parameter_size, "virtual_parameter_size") ||
      !find(library, local_memory, "virtual_local_memory")) {
    return path.string() + " is no compiled kernel";
  }
  local_memory(&kernel.local_begin, &kernel.local_end);
  return {};
}

}  // namespace

std::uint64_t hash_text(const std::string& text, std::uint64_t seed) {
  std::uint64_t hash = 0xcbf29ce484222325u + seed * 0x9e3779b97f4a7c15u;
  for (const unsigned char c : text) hash = (hash ^ c) * 0x100000001b3u;
  return hash;
}

std::string compile_text(const std::string& text, const std::string& entry, std::uint32_t dialect,
                         CompiledKernel& kernel) {
  const char* const header = header_of(dialect);
  if (header == nullptr) return "error: the dialect is unknown";
  if (!is_name(entry)) return "error: \"" + entry + "\" is no name of a kernel";
  const std::string name = name_of(text, entry, header);
  static auto* const kernels = new std::map<std::string, CompiledKernel>;
  if (const auto known = kernels->find(name); known != kernels->end()) {
    kernel = known->second;
    return {};
  }
  const fs::path library = fs::path(find_setting("CACHE").value_or(SLUICE_VIRTUAL_CACHE)) / (name + ".so");
  if (!fs::exists(library)) {
    if (std::string log = build(text, entry, header, library); !log.empty()) return log;
  }
  if (std::string problem = load(library, kernel); !problem.empty()) return problem;
  kernels->emplace(name, kernel);
  return {};
}

}  // namespace virtual_gpu
