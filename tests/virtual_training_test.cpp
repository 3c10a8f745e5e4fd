// The library on the virtual GPU: every operation in every dialect, kernels whose barriers are taken away, training,
// and what crosses to the host meanwhile.
#include <gtest/gtest.h>

#include "kernel_device.hpp"
#include "src/core/tensor_rep.hpp"
#include "src/device/plugin_device.hpp"
#include "tests/simulated/plugin.hpp"
#include "tests/temporary_folder.hpp"

namespace sluice {
namespace {

using tests::numbers;
using tests::plugin_folder;
using tests::plugin_path;
using tests::VirtualGpu;

/// One operation and what it is of.
struct Case {
  const char* name;
  std::function<Tensor(const std::vector<Tensor>&)> run;
  std::vector<Tensor> inputs;
  double tolerance = 1e-5;
};

std::vector<Case> all_operations() {
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

std::vector<Tensor> move_all(const std::vector<Tensor>& inputs, const Device& device) {
  std::vector<Tensor> moved;
  for (const Tensor& x : inputs) moved.push_back(x | device);
  return moved;
}

/// The greatest difference, relative to 1 and the value; infinite where one is NaN alone.
double difference(const Tensor& got, const Tensor& expected) {
  const auto a = cast(got, f64).to_vector<double>(), b = cast(expected, f64).to_vector<double>();
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double off = std::fabs(a[i] - b[i]) / (1 + std::fabs(b[i]));
    most = std::isnan(off) ? INFINITY : std::max(most, off);
  }
  return most;
}

/// The library with the virtual devices only.
void use_virtual_devices() {
  std::string folders = plugin_folder("virtual");
  for (const char* name : {"cuda", "amdgpu", "metal", "opencl"}) folders += ":" + plugin_folder(name);
  setenv("SLUICE_BACKEND_PATH", folders.c_str(), 1);
  unsetenv("SLUICE_BACKENDS");
  unsetenv("SLUICE_GPU_BACKEND");
}

// ---- Dialects. Each backend has one of its own.

class VirtualDialect : public ::testing::TestWithParam<const char*> {
 protected:
  VirtualDialect() { use_virtual_devices(); }
};
INSTANTIATE_TEST_SUITE_P(Of, VirtualDialect, ::testing::Values("CUDA", "AMDGPU", "Metal", "OpenCL"),
                         [](auto& info) { return std::string(info.param); });

TEST_P(VirtualDialect, EveryOperationGivesWhatTheCpuGives) {
  ASSERT_TRUE(functional(GetParam())) << why(GetParam());
  const Device device = get_device(GetParam());
  for (const Case& one : all_operations()) {
    const Tensor there = one.run(move_all(one.inputs, device));
    EXPECT_EQ(there.device(), device) << one.name;
    EXPECT_LE(difference(there | cpu_device(), one.run(one.inputs)), one.tolerance) << one.name;
  }
}

// ---- Kernels without a barrier.

std::string left_out_kernel;  // the entry whose text loses a barrier
int left_out_barrier = 0;     // which one, from 0; none: -1
int barriers_found = 0;       // in the text of that entry
decltype(sluice_backend::compile) compile_whole = nullptr;

sluice_status compile_without(sluice_device* device, const sluice_source* source, sluice_kernel** kernel) {
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

/// A device of its own that compiles the entry without that barrier.
Device device_without(const char* entry, int barrier) {
  static const tests::Plugin plugin;  // with a driver of its own
  static const sluice_backend changed = [] {
    const tests::Variable count("VIRTUAL_GPU_COUNT", "64");
    sluice_backend table = plugin.table;
    compile_whole = std::exchange(table.compile, compile_without);
    std::uint32_t devices = 0;
    EXPECT_EQ(table.device_count(&devices), SLUICE_OK) << table.last_error();
    return table;
  }();
  static const auto* const table = new detail::PluginTable(&changed);
  static int number = 0;
  left_out_kernel = entry;
  left_out_barrier = barrier;
  return Device(new detail::PluginDevice(*table, number++));
}

struct Barriers {
  const char* name;
  const char* entry;
  int count;
};
class WithoutABarrier : public ::testing::TestWithParam<Barriers> {};
INSTANTIATE_TEST_SUITE_P(Kernel, WithoutABarrier,
                         ::testing::Values(Barriers{"columns", "sluice_reduce", 1},
                                           Barriers{"argmax", "sluice_argreduce", 1},
                                           Barriers{"softmax", "sluice_softmax", 4},
                                           Barriers{"variance", "sluice_moments", 4},
                                           Barriers{"product", "sluice_product", 2}),
                         [](auto& info) { return std::string(info.param.name); });

TEST_P(WithoutABarrier, ItsNumbersAreWrong) {
  std::vector<Case> cases = all_operations();
  const Case& one =
      *std::find_if(cases.begin(), cases.end(), [](const Case& c) { return c.name == std::string(GetParam().name); });
  const Tensor expected = one.run(one.inputs);
  for (int barrier = -1; barrier < GetParam().count; ++barrier) {
    const Device device = device_without(GetParam().entry, barrier);
    const double off = difference(one.run(move_all(one.inputs, device)) | cpu_device(), expected);
    EXPECT_EQ(barriers_found, GetParam().count);
    if (barrier < 0) EXPECT_LE(off, one.tolerance);
    else EXPECT_GT(off, 1e-3) << "without barrier " << barrier;
  }
}

// ---- Training.

struct Net {
  Dense hidden{64, 32, relu};
  Dense out{32, 10};
  Tensor operator()(const Tensor& x) const { return out(hidden(x)); }
  SLUICE_FIELDS(hidden, out)
};

class OnVirtualDevice : public ::testing::Test {
 protected:
  OnVirtualDevice() { use_virtual_devices(); }
};

/// The mean loss of an epoch over the digits.
double train_digits(const Device& device) {
  const Tensor table = read_csv(tests::source_file("data/digits.csv.gz"));
  const Tensor images = slice(table, 0, 0, 64) / 16, labels = cast(reshape(slice(table, 0, 64, 65), {-1}), i64);
  seed(42);
  Net model = Net{} | device;
  auto loader = DataLoader({images, labels}, {.batchsize = 128, .shuffle = true}) | device;
  auto state = setup(Adam{.eta = 1e-3}, model);
  const auto loss = [](const auto& m, const Tensor& x, const Tensor& y) { return logitcrossentropy(m(x), y); };
  return train(loss, model, loader, state, {.epochs = 1, .progress = Progress::none});
}

TEST_F(OnVirtualDevice, AnEpochOfDigitsIsTheCpuOne) {
  const double expected = train_digits(cpu_device()), got = train_digits(get_device("Virtual"));
  EXPECT_GT(expected, 0.5);
  EXPECT_LT(expected, 2.5);
  EXPECT_NEAR(got, expected, 1e-4);
}

TEST_F(OnVirtualDevice, AStepOfTrainingReadsNothingButTheLoss) {
  const Device device = get_device("Virtual");
  const VirtualGpu gpu(plugin_path("virtual"));
  Net model = Net{} | device;
  const Tensor x = numbers({64, 20}, f32, 0, 1, 1) | device;
  const Tensor y = onehotbatch(cast(numbers({20}, f32, 0, 9, 2), i64), 10) | device;
  auto state = setup(Adam{.eta = 1e-3}, model);
  gpu.reset_counters();
  for (int step = 1; step <= 3; ++step) {
    auto [loss, gradients] = withgradient([&](auto& m) { return logitcrossentropy(m(x), y); }, model);
    update(state, model, gradients);
    EXPECT_EQ(gpu.counters().host_reads, static_cast<std::uint64_t>(step - 1));
    EXPECT_TRUE(std::isfinite(loss.template item<float>()));
    EXPECT_EQ(gpu.counters().host_reads, static_cast<std::uint64_t>(step));
  }
  EXPECT_EQ(gpu.counters().host_read_bytes, 12U);
  EXPECT_EQ(gpu.counters().traps, 0U);
}

TEST_F(OnVirtualDevice, ASecondStepCompilesNothing) {
  const Device device = get_device("Virtual");
  const VirtualGpu gpu(plugin_path("virtual"));
  Net model = Net{} | device;
  auto state = setup(Adam{.eta = 1e-3}, model);
  for (int step = 0; step < 3; ++step) {
    gpu.reset_counters();
    const Tensor x = numbers({64, 20 + step}, f32, 0, 1, 1) | device,
                 y = numbers({10, 20 + step}, f32, 0, 1, 2) | device;
    auto [loss, gradients] = withgradient([&](auto& m) { return mse(m(x), y); }, model);
    update(state, model, gradients);
    EXPECT_EQ(gpu.counters().calls[VIRTUAL_GPU_COMPILE] == 0, step > 0) << step;
    EXPECT_GT(gpu.counters().calls[VIRTUAL_GPU_LAUNCH], 0U);
  }
}

}  // namespace
}  // namespace sluice
