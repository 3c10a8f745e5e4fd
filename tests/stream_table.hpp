// The table of a backend with streams without the library, on a simulated driver of tests/simulated/.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kept.hpp"
#include "sluice/backend.h"

namespace sluice::tests {

using Floats = std::vector<float>;

inline constexpr const char* kScale =
    "extern \"C\" __global__ void scale(float* x, float factor, int count) {\n"
    "  int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);\n"
    "  if (i < count) x[i] *= factor;\n"
    "}\n";

/// The backend, and what a test needs to be short.
class StreamTable {
 public:
  explicit StreamTable(const char* plugin) {
    void* const library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
    const auto open = reinterpret_cast<sluice_backend_open_function>(dlsym(library, "sluice_backend_open"));
    table = open(SLUICE_BACKEND_ABI);
  }

  /// A device stays open for the process, and so does its object here.
  sluice_device* opened(std::uint32_t number) const {
    static auto& devices = *new std::map<std::pair<const sluice_backend*, std::uint32_t>, sluice_device*>;
    sluice_device*& device = devices[{table, number}];
    if (device == nullptr) expect_ok(table->open(number, &device));
    return device;
  }
  void expect_ok(sluice_status status) const { EXPECT_EQ(status, SLUICE_OK) << table->last_error(); }
  void expect_failure(sluice_status status, sluice_status expected, const std::string& part) const {
    EXPECT_EQ(status, expected) << table->last_error();
    EXPECT_NE(std::string(table->last_error()).find(part), std::string::npos) << table->last_error();
  }

  sluice_memory block(sluice_device* on, const Floats& numbers) const {
    sluice_memory memory = 0;
    expect_ok(table->alloc(on, numbers.size() * sizeof(float), &memory));
    expect_ok(table->write(on, memory, 0, numbers.data(), numbers.size() * sizeof(float)));
    return memory;
  }
  Floats content(sluice_device* on, sluice_memory memory, std::size_t size) const {
    Floats numbers(size);
    expect_ok(table->read(on, memory, 0, numbers.data(), size * sizeof(float)));
    return numbers;
  }
  sluice_status compile(sluice_device* on, const char* text, const char* entry, sluice_kernel** kernel,
                        const char* options = "") const {
    const sluice_source source{sizeof source, 0, text, entry, options};
    const sluice_status status = table->compile(on, &source, kernel);
    if (status == SLUICE_OK) kept(*kernel);
    return status;
  }
  sluice_kernel* compiled(sluice_device* on, const char* text, const char* entry) const {
    sluice_kernel* kernel = nullptr;
    expect_ok(compile(on, text, entry, &kernel));
    return kernel;
  }
  sluice_status launch(sluice_device* on, sluice_kernel* kernel, std::uint32_t groups, std::uint32_t size,
                       const std::vector<sluice_argument>& arguments) const {
    const auto count = static_cast<std::uint32_t>(arguments.size());
    const sluice_launch call{sizeof call, count, {groups, 1, 1}, {size, 1, 1}, arguments.data()};
    return table->launch(on, kernel, &call);
  }
  /// Queues x *= factor.
  sluice_status scale(sluice_device* on, sluice_kernel* kernel, sluice_memory x, std::size_t size, float factor) const {
    const auto count = static_cast<int>(size);
    const auto groups = static_cast<std::uint32_t>((size + 63) / 64);
    return launch(on, kernel, groups, 64, {memory_argument(x), value_argument(factor), value_argument(count)});
  }
  static sluice_argument memory_argument(sluice_memory memory, std::uint64_t offset = 0) {
    return {memory, offset, nullptr, 0, 0};
  }
  template <class T>
  static sluice_argument value_argument(const T& value) {
    return {0, 0, &value, sizeof value, 0};
  }

  const sluice_backend* table = nullptr;
};

}  // namespace sluice::tests
