// MTLCompileOptions, MTLLibrary, MTLFunction, MTLComputePipelineState and what it tells of its arguments. Text is
// compiled for this machine by the virtual GPU.
#include <cctype>

#include "sluice/backend.h"
#include "tests/simulated/metal/metal.hpp"
#include "tests/simulated/metal/settings.hpp"
#include "tests/simulated/virtual_compiler.hpp"

namespace simulated_metal {
namespace {

constexpr long kCompileFailure = 3, kInternalFailure = 2;
constexpr int kIds = 3;  // numbers that a kernel takes behind what stands in slots

/// The kernel of the library's own probe, which the virtual GPU knows without compiling it.
bool is_probe(const std::string& kernel) { return kernel == "sluice_probe"; }

struct Argument : State {
  Argument(Integer index_, Integer bytes_) : index(index_), bytes(bytes_) {}
  Integer index, bytes;
};

/// The words behind "kernel void " and in "K_KERNEL(word)", but not where that is defined.
std::vector<std::string> kernels_of(const std::string& text) {
  std::vector<std::string> kernels;
  for (const std::string mark : {"kernel void ", "\nK_KERNEL("}) {
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
      std::size_t end = at + mark.size();
      while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_')) ++end;
      const std::string name = text.substr(at + mark.size(), end - at - mark.size());
      if (name != "name") kernels.push_back(name);
    }
  }
  return kernels;
}

Object* fail(Object** error, const std::string& text, long code) {
  if (error != nullptr) *error = error_object(text, code);
  return nullptr;
}

Object* make_library(Object* self, Selector, Object* source, Object* options, Object** error) {
  const std::lock_guard guard(simulator());
  Device& device = as<Device>(self);
  const std::string& text = as<Text>(source).text;
  if (options == nullptr || as<Options>(options).has_fast_math) die("kernels are compiled with fast maths");
  if (const int code = planned_fault("newLibrary")) return fail(error, "a planned failure", code);
  for (const std::string& kernel : kernels_of(text)) {
    virtual_gpu::CompiledKernel compiled;
    if (is_probe(kernel)) continue;
    const std::string log = virtual_gpu::compile_text(text, kernel, SLUICE_DIALECT_METAL, compiled);
    if (!log.empty()) return fail(error, "program_source: " + log, kCompileFailure);
  }
  return make_object("MTLLibrary", std::make_unique<Library>(device, text));
}

std::vector<int> sizes_of(const std::string& text, const std::string& kernel) {
  if (is_probe(kernel)) return {0, 0, sizeof(std::int32_t)};
  virtual_gpu::CompiledKernel compiled;
  virtual_gpu::compile_text(text, kernel, SLUICE_DIALECT_METAL, compiled);
  std::vector<int> sizes;
  for (int k = 0, size = 0; (size = compiled.parameter_size(k)) >= 0; ++k) sizes.push_back(size);
  if (text.find("[[thread_position_in_threadgroup]]") != std::string::npos) sizes.resize(sizes.size() - kIds);
  return sizes;
}

Object* make_function(Object* self, Selector, Object* name) {
  const std::lock_guard guard(simulator());
  const Library& library = as<Library>(self);
  const std::string& wanted = as<Text>(name).text;
  bool is_there = false;
  for (const std::string& kernel : kernels_of(library.text)) is_there = is_there || kernel == wanted;
  if (!is_there || planned_fault("newFunction") != 0) return nullptr;
  auto function = std::make_unique<Function>(library.device, wanted);
  function->sizes = sizes_of(library.text, wanted);
  if (!virtual_gpu::make_kernel(library.text, wanted, SLUICE_DIALECT_METAL, function->run).empty()) return nullptr;
  return make_object("MTLFunction", std::move(function));
}

// A pointer's element is said to have 4 bytes, whatever it has.
Object* reflection_of(const Function& function) {
  auto list = std::make_unique<List>();
  for (std::size_t k = 0; k < function.sizes.size(); ++k) {
    const auto bytes = static_cast<Integer>(function.sizes[k] == 0 ? 4 : function.sizes[k]);
    list->objects.emplace_back(autorelease(make_object("MTLArgument", std::make_unique<Argument>(k, bytes))));
  }
  return autorelease(make_object("MTLComputePipelineReflection", std::move(list)));
}

Object* make_pipeline(Object* self, Selector, Object* function, Integer options, Object** reflection, Object** error) {
  const std::lock_guard guard(simulator());
  Function& its = as<Function>(function);
  if (&its.device != &as<Device>(self)) die("a pipeline of a function of another device");
  if (const int code = planned_fault("newPipeline")) return fail(error, "a planned failure", code);
  if (its.sizes.size() > kSlots) return fail(error, "a kernel with more than 31 buffers", kInternalFailure);
  if (reflection != nullptr && options != 0) *reflection = reflection_of(its);
  return make_object("MTLComputePipelineState", std::make_unique<Function>(its));
}

}  // namespace

void add_libraries() {
  on_class("MTLCompileOptions", "new",
           [](Object*, Selector) { return make_object("MTLCompileOptions", std::make_unique<Options>()); });
  on("MTLCompileOptions",
     "setFastMathEnabled:", [](Object* self, Selector, Boolean on) { as<Options>(self).has_fast_math = on != 0; });
  on("MTLDevice", "newLibraryWithSource:options:error:", make_library);
  on("MTLLibrary", "newFunctionWithName:", make_function);
  on("MTLDevice", "newComputePipelineStateWithFunction:options:reflection:error:", make_pipeline);
  on("MTLComputePipelineState", "maxTotalThreadsPerThreadgroup", [](Object*, Selector) { return kMostThreads; });
  on("MTLComputePipelineReflection", "arguments", [](Object* self, Selector) {
    return autorelease(make_object("NSArray", std::make_unique<List>(as<List>(self))));
  });
  on("MTLArgument", "type", [](Object*, Selector) -> Integer { return 0; });
  on("MTLArgument", "index", [](Object* self, Selector) { return as<Argument>(self).index; });
  on("MTLArgument", "bufferDataSize", [](Object* self, Selector) { return as<Argument>(self).bytes; });
}

}  // namespace simulated_metal
