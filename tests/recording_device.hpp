// A backend that only records what it is given to compile and launch, in place of devices that are not there; and
// everything that a device can be asked, so that its texts are all the kernels of the library.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "kept.hpp"
#include "processes.hpp"
#include "sluice/sluice.hpp"
#include "src/core/map.hpp"
#include "src/core/program.hpp"
#include "src/core/tensor_rep.hpp"
#include "src/core/typed_program.hpp"
#include "src/device/device_probe.hpp"
#include "src/device/plugin_device.hpp"

namespace sluice::tests {

inline std::uint32_t recorded_dialect = SLUICE_DIALECT_CUDA;
inline std::uint32_t recorded_features = SLUICE_FEATURE_F64;
inline std::uint32_t recorded_kind = SLUICE_KIND_OTHER;
inline std::vector<std::string> recorded_texts;
inline std::vector<std::uint32_t> launched_bytes;  // of the values of each launch

namespace recorder {

inline const char* last_error() { return "recorded"; }
inline sluice_status count_devices(std::uint32_t* count) {
  *count = 1;
  return SLUICE_OK;
}
inline sluice_status open_device(std::uint32_t, sluice_device** device) {
  *device = reinterpret_cast<sluice_device*>(&recorded_texts);
  return SLUICE_OK;
}
inline sluice_status device_info(sluice_device*, sluice_device_info* info) {
  info->dialect = recorded_dialect;
  info->features = recorded_features;
  info->kind = recorded_kind;
  info->local_bytes = 1U << 20;
  std::strcpy(info->name, "Recorder");
  return SLUICE_OK;
}
inline sluice_status allocate(sluice_device*, std::uint64_t bytes, sluice_memory* memory) {
  *memory = reinterpret_cast<sluice_memory>(std::calloc(bytes, 1));
  return SLUICE_OK;
}
inline sluice_status release(sluice_device*, sluice_memory memory) {
  std::free(reinterpret_cast<void*>(memory));
  return SLUICE_OK;
}
inline sluice_status write(sluice_device*, sluice_memory to, std::uint64_t offset, const void* from,
                           std::uint64_t bytes) {
  std::memcpy(reinterpret_cast<char*>(to) + offset, from, bytes);
  return SLUICE_OK;
}
inline sluice_status read(sluice_device*, sluice_memory from, std::uint64_t offset, void* to, std::uint64_t bytes) {
  std::memcpy(to, reinterpret_cast<const char*>(from) + offset, bytes);
  return SLUICE_OK;
}
inline sluice_status compile(sluice_device*, const sluice_source* source, sluice_kernel** kernel) {
  recorded_texts.emplace_back(source->text);
  *kernel = reinterpret_cast<sluice_kernel*>(&recorded_texts);
  return SLUICE_OK;
}
inline sluice_status launch(sluice_device*, sluice_kernel*, const sluice_launch* launch) {
  launched_bytes.push_back(launch->arguments[launch->argument_count - 1].bytes);
  return SLUICE_OK;
}
inline sluice_status free_bytes(sluice_device*, std::uint64_t* bytes) {
  *bytes = std::uint64_t{1} << 40;
  return SLUICE_OK;
}

inline sluice_backend table() {
  sluice_backend made{};
  made.size = sizeof made;
  made.name = "Recorder";
  made.last_error = last_error;
  made.device_count = count_devices;
  made.open = open_device;
  made.info = device_info;
  made.alloc = allocate;
  made.free = release;
  made.write = write;
  made.read = read;
  made.compile = compile;
  made.launch = launch;
  made.free_bytes = free_bytes;
  return made;
}

}  // namespace recorder

/// A device of the dialect; its texts are in recorded_texts. Lives for ever, as devices do.
inline Device recording_device(std::uint32_t dialect, bool has_f64) {
  recorded_dialect = dialect;
  recorded_features = has_f64 ? SLUICE_FEATURE_F64 : 0;
  recorded_texts.clear();
  static const sluice_backend kTable = recorder::table();
  static const auto* const kPlugin = new detail::PluginTable(&kTable);
  return Device(kept(new detail::PluginDevice(*kPlugin, 0)));
}

inline std::vector<DType> types_of(bool has_f64) {
  std::vector<DType> types = {boolean, u8, i8, i16, i32, i64, f16, bf16, f32};
  if (has_f64) types.push_back(f64);
  return types;
}

inline void ask_elementwise(const Device& device, DType dtype, const std::vector<DType>& types) {
  const Tensor x = zeros({3, 4}, dtype, device), y = zeros({3, 1}, dtype, device), z = zeros({}, dtype, device);
  for (int op = static_cast<int>(detail::Op::constant) + 1; op < static_cast<int>(detail::Op::kCount); ++op) {
    std::vector<Tensor> inputs = {x, y, z};
    inputs.resize(static_cast<std::size_t>(detail::row_arity(static_cast<detail::Op>(op))));
    detail::run_map1(detail::row_program(static_cast<detail::Op>(op)), {}, inputs);
  }
  for (const DType to : types) cast(x, to);
  map([](auto a, auto b) { return std::tuple(a * 2.5 + 100, where(a < b, a, 7), a - 1); }, x, y);
}

inline void ask_products(const Device& device, DType dtype) {
  const Tensor a = zeros({4, 4}, dtype, device);
  for (int form = 0; form < 4; ++form) {
    matmul(a, a, {.transpose_a = (form & 1) != 0, .transpose_b = (form & 2) != 0});
  }
}

inline void ask_the_rest(const Device& device, DType dtype) {
  const Tensor x = zeros({3, 4, 5}, dtype, device), long_one = zeros({5000, 20}, dtype, device);
  // Computed on the device, so that they are checked there.
  const Tensor indices = zeros({4}, i64, device) + 0, many = zeros({2000}, i64, device);
  for (const Dims& dims : {Dims{}, Dims{0}, Dims{1}, Dims{0, 2}}) {
    sum(x, dims), prod(x, dims), maximum(x, dims), minimum(x, dims);
  }
  sum(long_one), prod(long_one), maximum(long_one), minimum(long_one);
  argmax(x, 1), argmin(x, 0);
  permute(x, {2, 0, 1}), cat({x, x}, 1), slice(x, 0, 0, 3, 2);
  gather(x, indices), scatter_add(zeros({3, 4}, dtype, device), indices, 6);
  scatter_add(zeros({2000}, dtype, device), many, 6);
  ask_products(device, dtype);
  var(x, {1});
  if (!dtype.is_floating()) return;
  softmax(x, 1), logsoftmax(x, 0), logsumexp(x);
  if (dtype != f32 && dtype != f64) return;
  const Tensor uniforms = detail::empty({10}, dtype, device.impl());
  device.impl()->uniform(detail::dense_operand(uniforms), 10, {});
}

/// Kernels with 64-bit indices. Their operands are never touched: the recorder's memory is asked of the system, which
/// gives it when it is written.
inline void ask_wide(const Device& device) {
  constexpr std::int64_t kMany = (std::int64_t{1} << 31) + 6;
  const Tensor flat = detail::empty({kMany}, u8, device.impl()),
               columns = detail::empty({kMany / 2, 2}, u8, device.impl());
  std::array single{flat};
  std::array pair{columns, detail::empty({kMany / 2, 1}, u8, device.impl())};
  detail::run_map1(detail::identity_program(), {}, single);
  detail::run_map1(detail::row_program(detail::Op::add), {}, pair);
  sum(flat), maximum(columns, {1}), argmax(columns, 0), transpose(columns);
  gather(columns, zeros({1}, i64, device));
  const Tensor halves = detail::empty({kMany / 2, 2}, f16, device.impl());
  softmax(halves, 1), var(halves, {1});
}

inline std::vector<std::string> texts_of_everything(std::uint32_t dialect, bool has_f64) {
  const Device device = recording_device(dialect, has_f64);
  const std::vector<DType> types = types_of(has_f64);
  for (const DType dtype : types) {
    ask_elementwise(device, dtype, types);
    ask_the_rest(device, dtype);
  }
  // ThreadSanitizer's own record of so much memory is written, and takes all there is.
  if (!testing::kThreadSanitizer) ask_wide(device);
  if (dialect != SLUICE_DIALECT_OPENCL) return recorded_texts;
  // Products have a kernel of their own on processors.
  std::vector<std::string> texts = std::move(recorded_texts);
  recorded_kind = SLUICE_KIND_CPU;
  const Device processor = recording_device(dialect, has_f64);
  recorded_kind = SLUICE_KIND_OTHER;
  for (const DType dtype : types) ask_products(processor, dtype);
  texts.insert(texts.end(), recorded_texts.begin(), recorded_texts.end());
  return texts;
}

}  // namespace sluice::tests
