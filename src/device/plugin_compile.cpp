// How a plug-in device comes to its kernels: from the disk, else from the backend's compiler.
#include "src/device/compile_failure.hpp"
#include "src/device/plugin_device.hpp"
#include "src/device/plugin_file.hpp"

namespace sluice::detail {

// All that a binary depends on. The plug-in's file stands for the options that it adds itself.
KernelKey PluginDevice::key_of(const sluice_source& source) const {
  KernelKey key;
  key.add("backend", table_.name());
  key.add("plug-in", file_state(file_of(reinterpret_cast<const void*>(table_.functions().compile))));
  key.add("device", facts_.name);
  key.add("architecture", facts_.architecture);
  key.add("driver", facts_.driver);
  key.add("entry", source.entry);
  key.add("options", source.options);
  key.add("text", source.text);
  return key;
}

sluice_kernel* PluginDevice::load_kept(const KernelKey& key, const char* entry) {
  const std::optional<std::string> binary = load_kernel(key);
  if (!binary) return nullptr;
  sluice_kernel* kernel = nullptr;
  const PluginFailure failure =
      table_.call(&sluice_backend::load_binary, device_, static_cast<const void*>(binary->data()),
                  static_cast<std::uint64_t>(binary->size()), entry, &kernel);
  if (failure.status == SLUICE_DEVICE_LOST) check(failure, operation_or("compile"));
  return failure.status == SLUICE_OK ? kernel : nullptr;
}

void PluginDevice::keep(const KernelKey& key, sluice_kernel* kernel) {
  const auto ask = [&](void* buffer, std::uint64_t* bytes) {
    return table_.call(&sluice_backend::kernel_binary, kernel, buffer, bytes).status == SLUICE_OK;
  };
  std::uint64_t bytes = 0;
  if (!ask(nullptr, &bytes) || bytes == 0) return;
  std::string binary(bytes, '\0');
  if (ask(binary.data(), &bytes) && bytes <= binary.size()) keep_kernel(key, std::string_view(binary).substr(0, bytes));
}

// A compiler works for long, so others go on submitting meanwhile: nothing here takes the lock of the queue.
sluice_kernel* PluginDevice::compile(const char* text, const char* entry) {
  const std::string_view operation = operation_or("compile");
  check_alive(operation);
  const sluice_source source{sizeof source, 0, text, entry, ""};
  const sluice_backend& functions = table_.functions();
  const bool is_kept = functions.kernel_binary != nullptr && functions.load_binary != nullptr && has_kernel_folder();
  const KernelKey key = is_kept ? key_of(source) : KernelKey();
  if (sluice_kernel* const kept = is_kept ? load_kept(key, entry) : nullptr) {
    ++loaded_;
    recent_.note_name(kept, entry);
    return kept;
  }
  sluice_kernel* kernel = nullptr;
  PluginFailure failure = table_.call(&sluice_backend::compile, device_, &source, &kernel);
  if (failure.status == SLUICE_BAD_SOURCE) failure.text = describe_compile_failure(entry, failure.text, text);
  check(failure, operation);
  ++compiled_;
  recent_.note_name(kernel, entry);
  if (is_kept) keep(key, kernel);
  return kernel;
}

}  // namespace sluice::detail
