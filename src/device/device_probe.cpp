#include "src/device/device_probe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sluice/error.hpp"
#include "src/device/kernel_text.hpp"

namespace sluice::detail {
namespace {

constexpr std::int32_t kCount = 256;
constexpr std::uint32_t kMostItems = 64;

// out[i] = in[i] * 3 + i, in each dialect; exact in float for the numbers below.
constexpr const char* kCudaText =
    "extern \"C\" __global__ void sluice_probe(float* out, const float* in, int count) {\n"
    "  int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);\n"
    "  if (i < count) out[i] = in[i] * 3.0f + (float)i;\n"
    "}\n";
constexpr const char* kOpenClText =
    "__kernel void sluice_probe(__global float* out, __global const float* in, int count) {\n"
    "  int i = (int)get_global_id(0);\n"
    "  if (i < count) out[i] = in[i] * 3.0f + (float)i;\n"
    "}\n";
constexpr const char* kMetalText =
    "#include <metal_stdlib>\n"
    "kernel void sluice_probe(device float* out [[buffer(0)]], device const float* in [[buffer(1)]],\n"
    "                         constant int& count [[buffer(2)]], uint i [[thread_position_in_grid]]) {\n"
    "  if ((int)i < count) out[i] = in[i] * 3.0f + (float)i;\n"
    "}\n";

const char* text_for(std::uint32_t dialect) {
  switch (dialect) {
    // HIP's compiler declares the built-in variables like CUDA's.
    case SLUICE_DIALECT_CUDA:
    case SLUICE_DIALECT_HIP: return kCudaText;
    case SLUICE_DIALECT_OPENCL: return kOpenClText;
    case SLUICE_DIALECT_METAL: return kMetalText;
    default: return nullptr;
  }
}

/// A block that goes with the scope.
class Scratch {
 public:
  Scratch(PluginDevice& device, std::size_t bytes) : device_(device), storage_(device.allocate(bytes)) {}
  ~Scratch() { device_.free(storage_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  Storage& operator*() const { return *storage_; }
  sluice_argument argument() const { return {reinterpret_cast<sluice_memory>(storage_->data), 0, nullptr, 0, 0}; }

 private:
  PluginDevice& device_;
  Storage* storage_;
};

std::string compare(PluginDevice& device) {
  const char* const text = text_for(device.facts().dialect);
  if (text == nullptr) return fmt::format("its kernel dialect, number {}, is unknown", device.facts().dialect);
  const std::uint32_t most = device.facts().max_group_size;
  if (most != 0 && most < kLeastGroupSize) {
    return fmt::format("its groups have at most {} items; kernels need groups of {}", most, kLeastGroupSize);
  }
  const std::uint32_t items = std::min(kMostItems, group_size_for(most));
  std::array<float, kCount> numbers{};
  for (int i = 0; i < kCount; ++i) numbers[static_cast<std::size_t>(i)] = static_cast<float>(i * 7 % 50) - 20.0F;
  const std::array<float, kCount> given = numbers;

  sluice_kernel* const kernel = device.compile(text, "sluice_probe");
  const Scratch out(device, sizeof given);
  const Scratch in(device, sizeof given);
  device.write(*in, 0, given.data(), sizeof given);
  const std::array arguments = {out.argument(), in.argument(), sluice_argument{0, 0, &kCount, sizeof kCount, 0}};
  device.launch(kernel, kCount / items, items, arguments);
  device.read(*out, 0, numbers.data(), sizeof numbers);

  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const float expected = given[i] * 3.0F + static_cast<float>(i);
    if (numbers[i] == expected) continue;
    return fmt::format("a probe kernel gave wrong numbers: element {} is {}, not {}", i, numbers[i], expected);
  }
  return {};
}

}  // namespace

std::string probe_device(PluginDevice& device) noexcept {
  try {
    return compare(device);
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace sluice::detail
