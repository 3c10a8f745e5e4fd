// One case for each operation that devices run kernels for, small enough for slow devices, and devices whose kernels
// lack a barrier.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "kept.hpp"
#include "kernel_device.hpp"
#include "sluice/sluice.hpp"
#include "src/core/tensor_rep.hpp"
#include "src/device/plugin_device.hpp"

namespace sluice::tests {

/// One operation and what it is of.
struct Case {
  const char* name;
  std::function<Tensor(const std::vector<Tensor>&)> run;
  std::vector<Tensor> inputs;
  double tolerance = 1e-5;
};

inline std::vector<Case> all_operations() {
  using Inputs = std::vector<Tensor>;
  const Tensor x = numbers({40, 7}, f32, -3, 3, 1), y = numbers({40, 1}, f32, 1, 3, 2);
  const Tensor indices = from(std::vector<std::int64_t>{3, 0, 3, 6, 3, 1, 2});
  return {
      {"map", [](const Inputs& v) { return tanh(v[0] * v[1]) + exp(-v[0]) / v[1] + sin(v[0]) + erf(v[1]); }, {x, y}},
      {"integers", [](const Inputs& v) { return floor_div(cast(v[0], i64), 2) * 3; }, {x}, 0},
      {"halves", [](const Inputs& v) { return cast(v[0], f16) * 3; }, {x}, 1e-3},
      {"sum", [](const Inputs& v) { return sum(v[0]); }, {x}},
      {"columns", [](const Inputs& v) { return sum(v[0], {0}); }, {x}},
      {"long sum", [](const Inputs& v) { return sum(v[0]); }, {numbers({20000}, f32, 0, 1, 3)}},
      {"maximum", [](const Inputs& v) { return maximum(v[0], {1}); }, {x}, 0},
      {"argmax", [](const Inputs& v) { return argmax(v[0], 0); }, {x}, 0},
      {"softmax", [](const Inputs& v) { return softmax(v[0]); }, {x}},
      {"logsoftmax", [](const Inputs& v) { return logsoftmax(v[0], 1); }, {x}},
      {"variance", [](const Inputs& v) { return var(v[0], {0}); }, {x}},
      {"permute", [](const Inputs& v) { return transpose(v[0]); }, {x}, 0},
      {"cat",
       [](const Inputs& v) {
         return cat({v[0], slice(v[0], 0, 3, 9)}, 0);
       },
       {x},
       0},
      {"gather", [](const Inputs& v) { return gather(v[0], v[1]); }, {x, indices}, 0},
      {"scatter_add", [](const Inputs& v) { return scatter_add(v[0], v[1], 8); }, {x, indices}},
      {"product", [](const Inputs& v) { return matmul(v[0], v[1], {.transpose_a = true}); }, {x, y}},
      {"uniforms",
       [](const Inputs& v) {
         const Tensor made = detail::empty({1000}, f32, v[0].device().impl());
         v[0].device().impl()->uniform(detail::dense_operand(made), 1000, {5, 7});
         return made;
       },
       {x},
       0},
  };
}

inline std::vector<Tensor> move_all(const std::vector<Tensor>& inputs, const Device& device) {
  std::vector<Tensor> moved;
  for (const Tensor& x : inputs) moved.push_back(x | device);
  return moved;
}

/// The greatest difference, relative to 1 and the value; infinite where one is NaN alone.
inline double difference(const Tensor& got, const Tensor& expected) {
  const auto a = cast(got, f64).to_vector<double>(), b = cast(expected, f64).to_vector<double>();
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double off = std::fabs(a[i] - b[i]) / (1 + std::fabs(b[i]));
    most = std::isnan(off) ? INFINITY : std::max(most, off);
  }
  return most;
}

// ---- Kernels without a barrier.

inline std::string left_out_kernel;  // the entry whose text loses a barrier
inline int left_out_barrier = -1;    // which one, from 0
inline int barriers_found = 0;       // in the last text of that entry
inline decltype(sluice_backend::compile) compile_whole = nullptr;

inline sluice_status compile_without(sluice_device* device, const sluice_source* source, sluice_kernel** kernel) {
  if (source->entry != left_out_kernel) return compile_whole(device, source, kernel);
  std::string text = source->text;
  barriers_found = 0;
  const std::string call = "K_BARRIER;";
  for (std::size_t at = text.find(call, text.find("K_KERNEL(" + left_out_kernel)); at != std::string::npos;
       at = text.find(call, at + 1)) {
    if (barriers_found++ == left_out_barrier) text.replace(at, call.size(), std::string(call.size(), ' ') + ";");
  }
  sluice_source changed = *source;
  changed.text = text.c_str();
  return compile_whole(device, &changed, kernel);
}

/// The next device of a backend nobody else uses, which compiles the entry without that barrier; -1: with all of them.
/// One backend per process.
inline Device device_without(const sluice_backend& backend, const char* entry, int barrier) {
  static const sluice_backend changed = [&] {
    sluice_backend table = backend;
    compile_whole = std::exchange(table.compile, compile_without);
    std::uint32_t devices = 0;
    EXPECT_EQ(table.device_count(&devices), SLUICE_OK) << table.last_error();
    return table;
  }();
  static const auto* const table = new detail::PluginTable(&changed);
  static int number = 0;
  left_out_kernel = entry;
  left_out_barrier = barrier;
  return Device(kept(new detail::PluginDevice(*table, number++)));
}

}  // namespace sluice::tests
