// A virtual backend as a direct test uses it: a plug-in with a driver of its own, opened without the library.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "sluice/backend.h"
#include "tests/simulated/controls.hpp"
#include "tests/temporary_folder.hpp"

namespace sluice::tests {

/// An environment variable, set for the scope.
class Variable {
 public:
  Variable(std::string name, const std::string& value) : name_(std::move(name)) {
    setenv(name_.c_str(), value.c_str(), 1);
  }
  ~Variable() { unsetenv(name_.c_str()); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  std::string name_;
};

/// A copy of a plug-in's file is another library to the loader, so each object has a driver of its own. It stays open.
class Plugin {
 public:
  explicit Plugin(const std::string& name = "virtual")
      : gpu(copy_of(plugin_path(name))),
        table(*reinterpret_cast<sluice_backend_open_function>(dlsym(gpu.library(), "sluice_backend_open"))(
            SLUICE_BACKEND_ABI)) {}

  /// Counts the devices and opens the first two; they must be there.
  Plugin& open() {
    EXPECT_EQ(count(), SLUICE_OK) << table.last_error();
    for (std::uint32_t number = 0; number < 2; ++number) {
      EXPECT_EQ(table.open(number, &device[number]), SLUICE_OK) << table.last_error();
    }
    return *this;
  }
  sluice_status count() { return table.device_count(&devices); }
  std::string error() const { return table.last_error(); }

  /// A block that holds these bytes, 0 if anything failed.
  sluice_memory block(int number, const std::vector<std::uint8_t>& bytes) {
    sluice_memory memory = 0;
    EXPECT_EQ(table.alloc(device[number], bytes.size(), &memory), SLUICE_OK) << error();
    EXPECT_EQ(table.write(device[number], memory, 0, bytes.data(), bytes.size()), SLUICE_OK) << error();
    return memory;
  }
  std::vector<std::uint8_t> content(int number, sluice_memory memory, std::uint64_t bytes) {
    std::vector<std::uint8_t> result(bytes);
    EXPECT_EQ(table.read(device[number], memory, 0, result.data(), bytes), SLUICE_OK) << error();
    return result;
  }
  std::uint8_t* pinned(int number, const std::vector<std::uint8_t>& bytes) {
    void* memory = nullptr;
    EXPECT_EQ(table.alloc_host(device[number], bytes.size(), &memory), SLUICE_OK) << error();
    return static_cast<std::uint8_t*>(std::memcpy(memory, bytes.data(), bytes.size()));
  }
  sluice_status compile(int number, const char* entry, sluice_kernel** kernel) {
    const sluice_source source{sizeof source, 0, "text", entry, ""};
    return table.compile(device[number], &source, kernel);
  }
  /// Runs out[i] = in[i] * 3 + i.
  sluice_status run_probe(int number, sluice_kernel* kernel, sluice_memory out, sluice_memory in, std::int32_t count) {
    const sluice_argument arguments[] = {{out, 0, nullptr, 0, 0}, {in, 0, nullptr, 0, 0}, {0, 0, &count, 4, 0}};
    const sluice_launch launch{sizeof launch, 3, {4, 1, 1}, {64, 1, 1}, arguments};
    return table.launch(device[number], kernel, &launch);
  }

  const VirtualGpu gpu;
  const sluice_backend& table;
  std::uint32_t devices = 0;
  sluice_device* device[2] = {};

 private:
  static std::string copy_of(const std::string& path) {
    static const TemporaryFolder folder;
    static int number = 0;
    const std::string copy = folder / (std::to_string(number++) + ".so");
    std::filesystem::copy_file(path, copy);
    return copy;
  }
};

}  // namespace sluice::tests
