// The virtual devices that other tests rely on, called through their table: they must be as strict as a real driver.
#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <thread>

#include "tests/simulated/plugin.hpp"

namespace sluice::tests {
namespace {

std::vector<std::string> names_of_devices(Plugin& plugin) {
  std::vector<std::string> names;
  EXPECT_EQ(plugin.count(), SLUICE_OK);
  for (std::uint32_t number = 0; number < plugin.devices; ++number) {
    sluice_device* device = nullptr;
    sluice_device_info info{};
    info.size = sizeof info;
    EXPECT_EQ(plugin.table.open(number, &device), SLUICE_OK);
    EXPECT_EQ(plugin.table.info(device, &info), SLUICE_OK);
    names.emplace_back(info.name);
  }
  return names;
}

sluice_device_info info_of(Plugin& plugin, int number) {
  sluice_device_info info{};
  info.size = sizeof info;
  EXPECT_EQ(plugin.table.info(plugin.device[number], &info), SLUICE_OK) << plugin.error();
  return info;
}

// ---- Files.

TEST(VirtualBackend, EachPluginHasItsNameDialectAndLibraries) {
  struct Expected {
    const char *folder, *name;
    std::uint32_t dialect;
    const char *blas, *dnn;
  };
  const Expected all[] = {{"virtual", "Virtual", SLUICE_DIALECT_CUDA, "VirtualBLAS", "VirtualDNN"},
                          {"cuda", "CUDA", SLUICE_DIALECT_CUDA, "cuBLAS", "cuDNN"},
                          {"amdgpu", "AMDGPU", SLUICE_DIALECT_HIP, "rocBLAS", "MIOpen"},
                          {"metal", "Metal", SLUICE_DIALECT_METAL, "MPS", "MPSGraph"},
                          {"opencl", "OpenCL", SLUICE_DIALECT_OPENCL, "CLBlast", "VirtualDNN"}};
  for (const Expected& expected : all) {
    Plugin plugin(expected.folder);
    EXPECT_EQ(*static_cast<const std::uint32_t*>(dlsym(plugin.gpu.library(), "sluice_backend_abi")), 1u);
    EXPECT_STREQ(plugin.table.name, expected.name);
    EXPECT_EQ(plugin.table.size, sizeof(sluice_backend));
    sluice_component component{};
    component.size = sizeof component;
    EXPECT_EQ(plugin.table.component(0, &component), SLUICE_OK);
    EXPECT_STREQ(component.name, expected.blas);
    EXPECT_EQ(component.state, SLUICE_COMPONENT_FOUND);
    EXPECT_EQ(plugin.table.component(1, &component), SLUICE_OK);
    EXPECT_STREQ(component.name, expected.dnn);
    EXPECT_EQ(component.state, SLUICE_COMPONENT_MISSING);
    EXPECT_STRNE(component.reason, "");
    EXPECT_EQ(plugin.table.component(2, &component), SLUICE_UNSUPPORTED);
    EXPECT_EQ(plugin.gpu.counters().all, 0u) << "asking for components calls no driver";
    plugin.open();
    EXPECT_EQ(info_of(plugin, 0).dialect, expected.dialect);
  }
}

void* open_odd(const std::string& kind) { return dlopen(plugin_path("odd/" + kind).c_str(), RTLD_NOW | RTLD_LOCAL); }

const sluice_backend* open_odd_table(const std::string& kind) {
  const auto function = reinterpret_cast<sluice_backend_open_function>(dlsym(open_odd(kind), "sluice_backend_open"));
  return function(SLUICE_BACKEND_ABI);
}

TEST(VirtualBackend, OddPluginsAreOdd) {
  EXPECT_EQ(*static_cast<const std::uint32_t*>(dlsym(open_odd("abi"), "sluice_backend_abi")), 999u);
  EXPECT_NE(open_odd("no-abi"), nullptr);
  EXPECT_EQ(dlsym(open_odd("no-abi"), "sluice_backend_abi"), nullptr);
  EXPECT_EQ(open_odd_table("null-open"), nullptr);
  EXPECT_EQ(open_odd_table("null-name")->name, nullptr);
  EXPECT_EQ(open_odd("dependency"), nullptr);
  EXPECT_NE(std::string(dlerror()).find("sluice_absent"), std::string::npos);

  const sluice_backend* const small = open_odd_table("small");
  EXPECT_EQ(small->size, offsetof(sluice_backend, write_async));
  std::uint32_t count = 0;
  sluice_device* device = nullptr;
  sluice_memory memory = 0;
  const std::uint8_t sent = 42;
  std::uint8_t got = 0;
  EXPECT_EQ(small->device_count(&count), SLUICE_OK);
  EXPECT_EQ(small->open(0, &device), SLUICE_OK);
  EXPECT_EQ(small->alloc(device, 1, &memory), SLUICE_OK);
  EXPECT_EQ(small->write(device, memory, 0, &sent, 1), SLUICE_OK);
  EXPECT_EQ(small->read(device, memory, 0, &got, 1), SLUICE_OK);
  EXPECT_EQ(got, 42);
}

// ---- The environment.

TEST(VirtualBackend, VisibleDevices) {
  const std::string junk(10000, '7');
  const std::pair<std::string, std::vector<std::string>> cases[] = {{"", {}},
                                                                    {"-1", {}},
                                                                    {"2,0", {"Virtual GPU 2", "Virtual GPU 0"}},
                                                                    {" 1 , 2 ", {"Virtual GPU 1", "Virtual GPU 2"}},
                                                                    {"0,3,1", {"Virtual GPU 0"}},
                                                                    {"1,-1,0", {"Virtual GPU 1"}},
                                                                    {"1,1,2", {"Virtual GPU 1"}},
                                                                    {"0x1", {}},
                                                                    {"1.0", {}},
                                                                    {"0,,1", {"Virtual GPU 0"}},
                                                                    {"GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", {}},
                                                                    {"2,GPU-8932f937,1", {"Virtual GPU 2"}},
                                                                    {"99999999999999999999999", {}},
                                                                    {junk, {}},
                                                                    {"0," + junk, {"Virtual GPU 0"}},
                                                                    {"\xff\n;,0", {}}};
  for (const auto& [value, names] : cases) {
    const Variable visible("VIRTUAL_GPU_VISIBLE", value);
    Plugin plugin;
    EXPECT_EQ(names_of_devices(plugin), names) << value.substr(0, 40);
    EXPECT_EQ(plugin.count(), SLUICE_OK);
    EXPECT_EQ(plugin.error().empty(), !names.empty()) << "a driver without a device says more";
    for (int k = 0; k < 10; ++k) EXPECT_EQ(plugin.count(), SLUICE_OK);
    EXPECT_EQ(plugin.devices, names.size());
  }
}

TEST(VirtualBackend, OwnVariablesComeBeforeCommonOnes) {
  const Variable common("VIRTUAL_GPU_COUNT", "5"), own("VIRTUAL_OPENCL_COUNT", "2");
  const Variable memory("VIRTUAL_CUDA_MEMORY", "4096"), kinds("VIRTUAL_CUDA_KIND", "integrated,cpu"),
      card("VIRTUAL_CUDA_CARD", "0000:41:0"), f64("VIRTUAL_CUDA_F64", "0"), visible("VIRTUAL_CUDA_VISIBLE", "1,2");
  Plugin cuda("cuda"), opencl("opencl");
  EXPECT_EQ(names_of_devices(opencl).size(), 2u);
  cuda.open();
  const sluice_device_info first = info_of(cuda, 0), second = info_of(cuda, 1);
  EXPECT_EQ(first.memory_bytes, 4096u);
  EXPECT_EQ(first.kind, SLUICE_KIND_CPU);
  EXPECT_EQ(first.features, SLUICE_FEATURE_UNIFIED);
  EXPECT_STREQ(first.card, "0000:41:01");
  EXPECT_EQ(second.kind, SLUICE_KIND_DISCRETE);
  EXPECT_EQ(second.features, 0u);

  Plugin plain("amdgpu");
  plain.open();
  EXPECT_EQ(plain.devices, 5u);
  EXPECT_EQ(info_of(plain, 0).features, SLUICE_FEATURE_F64);
  EXPECT_EQ(info_of(plain, 0).memory_bytes, std::uint64_t{1} << 30);
  EXPECT_STREQ(info_of(plain, 0).card, "");
}

TEST(VirtualBackend, WrongSettingsAreErrors) {
  const std::pair<const char*, const char*> cases[] = {
      {"VIRTUAL_GPU_COUNT", "three"}, {"VIRTUAL_GPU_COUNT", "65"},     {"VIRTUAL_GPU_MEMORY", "-1"},
      {"VIRTUAL_GPU_KIND", "big"},    {"VIRTUAL_GPU_FAULTS", "alloc"}, {"VIRTUAL_GPU_FAULTS", "aloc:1"}};
  for (const auto& [name, value] : cases) {
    const Variable variable(name, value);
    Plugin plugin;
    EXPECT_EQ(plugin.count(), SLUICE_ERROR);
    EXPECT_NE(plugin.error().find(name), std::string::npos) << plugin.error();
  }
}

TEST(VirtualBackend, InfoFillsOnlyWhatTheHostHasRoomFor) {
  Plugin plugin;
  plugin.open();
  sluice_device_info info;
  std::memset(&info, 0x11, sizeof info);
  info.size = offsetof(sluice_device_info, memory_bytes);
  EXPECT_EQ(plugin.table.info(plugin.device[0], &info), SLUICE_OK);
  EXPECT_EQ(info.size, offsetof(sluice_device_info, memory_bytes));
  EXPECT_EQ(info.kind, SLUICE_KIND_DISCRETE);
  EXPECT_EQ(info.memory_bytes, 0x1111111111111111u);
}

TEST(VirtualBackend, ADeviceOpensOnce) {
  Plugin plugin;
  plugin.open();
  sluice_device* device = nullptr;
  EXPECT_EQ(plugin.table.open(0, &device), SLUICE_ERROR);
  EXPECT_EQ(plugin.table.open(3, &device), SLUICE_ERROR);
  std::uint64_t first = 0, second = 0;
  EXPECT_EQ(plugin.table.native_handle(plugin.device[0], &first), SLUICE_OK);
  EXPECT_EQ(plugin.table.native_handle(plugin.device[1], &second), SLUICE_OK);
  EXPECT_NE(first, second);
}

// ---- The current device.

/// Calls every function of the table once; the first name is the function's.
class Script {
 public:
  struct Step {
    std::string name;
    sluice_status status;
    std::string error;
    int current;
  };

  explicit Script(Plugin& plugin) : plugin_(plugin), b_(plugin.table) {}

  std::vector<Step> run() {
    step("device_count", plugin_.count());
    for (std::uint32_t k : {0u, 1u}) step("open", b_.open(k, &plugin_.device[k]));
    use_memory();
    use_copies();
    use_kernels();
    use_the_rest();
    return steps_;
  }

 private:
  void step(const char* name, sluice_status status) {
    steps_.push_back({name, status, b_.last_error(), plugin_.gpu.get_current()});
  }
  void use_memory() {
    sluice_device_info info{};
    info.size = sizeof info;
    std::uint64_t bytes = 0;
    step("info", b_.info(near(), &info));
    for (sluice_memory& memory : near_) step("alloc", b_.alloc(near(), 256, &memory));
    step("alloc", b_.alloc(far(), 256, &far_));
    step("alloc_host", b_.alloc_host(near(), 256, &pinned_));
    step("free_bytes", b_.free_bytes(near(), &bytes));
    step("wrap", b_.wrap(near(), near_[1], 16, &wrapped_));
    step("address", b_.address(near(), near_[1], &bytes));
  }
  void use_copies() {
    float numbers[64] = {};
    sluice_ticket ticket = 0;
    step("write", b_.write(near(), near_[0], 0, numbers, sizeof numbers));
    step("write_async", b_.write_async(near(), near_[0], 0, pinned_, 256, &ticket));
    step("read_async", b_.read_async(near(), near_[0], 0, pinned_, 256, &ticket));
    step("wait", b_.wait(near(), ticket));
    step("copy", b_.copy(near(), near_[1], 0, near_[0], 0, 256));
    step("peer_copy", b_.peer_copy(far(), far_, 0, near(), near_[1], 0, 256));
    step("read", b_.read(far(), far_, 0, numbers, sizeof numbers));
  }
  void use_kernels() {
    sluice_kernel* kernel = nullptr;
    sluice_kernel* loaded = nullptr;
    std::uint64_t bytes = 0;
    const sluice_gemm gemm{};
    step("compile", plugin_.compile(0, "sluice_probe", &kernel));
    step("kernel_binary", b_.kernel_binary(kernel, nullptr, &bytes));
    char binary[256] = {};
    bytes = sizeof binary;
    step("kernel_binary", b_.kernel_binary(kernel, binary, &bytes));
    step("load_binary", b_.load_binary(near(), binary, bytes, "sluice_probe", &loaded));
    step("launch", plugin_.run_probe(0, loaded, near_[0], near_[1], 64));
    step("gemm", b_.gemm(near(), &gemm));
  }
  void use_the_rest() {
    sluice_component component{};
    component.size = sizeof component;
    std::uint64_t handle = 0;
    step("component", b_.component(0, &component));
    step("probe", b_.probe(near(), 0));
    step("enable", b_.enable(0));
    step("native_handle", b_.native_handle(near(), &handle));
    step("sync", b_.sync(near()));
    step("free", b_.free(near(), wrapped_));
    step("free", b_.free(near(), near_[0]));
    step("free_host", b_.free_host(near(), pinned_));
  }
  sluice_device* near() const { return plugin_.device[0]; }
  sluice_device* far() const { return plugin_.device[1]; }

  Plugin& plugin_;
  const sluice_backend& b_;
  std::vector<Step> steps_;
  sluice_memory near_[2] = {}, far_ = 0, wrapped_ = 0;
  void* pinned_ = nullptr;
};

/// Runs the script under a plan from a thread whose current device is another one. The number of calls that failed.
int run_with(const std::string& plan, std::uint64_t* calls_for_devices = nullptr) {
  Plugin plugin;
  EXPECT_EQ(plugin.gpu.set_faults(plan.c_str()), 0) << plan;
  plugin.gpu.set_current(2);
  std::set<std::string> names;
  int failed = 0;
  for (const Script::Step& step : Script(plugin).run()) {
    names.insert(step.name);
    EXPECT_EQ(step.current, 2) << plan << ": " << step.name << " left another device current";
    if (step.status == SLUICE_OK) continue;
    EXPECT_NE(step.error, "") << plan << ": " << step.name;
    if (step.name == "gemm") continue;
    ++failed;
    if (plan.empty()) ADD_FAILURE() << step.name << ": " << step.error;
  }
  const std::size_t functions = (sizeof(sluice_backend) - offsetof(sluice_backend, device_count)) / sizeof(void*);
  EXPECT_EQ(names.size(), functions) << "a function of the table is not called";
  const virtual_gpu_counters counters = plugin.gpu.counters();
  if (plan.empty()) {
    EXPECT_EQ(counters.traps + counters.overlaps, 0u);
  }
  if (calls_for_devices != nullptr) {
    *calls_for_devices = 0;
    for (int call = VIRTUAL_GPU_OPEN; call < VIRTUAL_GPU_CALLS; ++call) *calls_for_devices += counters.calls[call];
  }
  return failed;
}

TEST(VirtualBackend, CurrentDeviceIsKeptWhateverFails) {
  std::uint64_t calls = 0;
  EXPECT_EQ(run_with("", &calls), 0);
  EXPECT_GT(calls, 20u);
  std::vector<std::string> plans = {"no-driver", "old-driver", "no-device"};
  for (const char* call :
       {"open",  "properties", "alloc",       "free",      "alloc-host", "free-host",   "write",       "read",
        "wait",  "read-async", "write-async", "peer-copy", "compile",    "binary",      "device-copy", "load",
        "probe", "native",     "wrap",        "sync",      "free-bytes", "launch-error"}) {
    plans.push_back(std::string(call) + ":1");
  }
  for (int n = 1; n <= 6; ++n) plans.push_back("copy:" + std::to_string(n));
  for (int n = 1; n <= 5; ++n) plans.push_back("late:" + std::to_string(n));
  for (std::uint64_t n = 1; n <= calls; ++n) {
    plans.push_back("lost:" + std::to_string(n));
    plans.push_back("throw:" + std::to_string(n));
  }
  for (const std::string& plan : plans) EXPECT_GT(run_with(plan), 0) << plan << " failed nothing";
}

TEST(VirtualBackend, EachThreadHasItsOwnCurrentDevice) {
  Plugin plugin;
  plugin.open();
  plugin.gpu.set_current(1);
  int in_thread = -1;
  std::thread([&] {
    in_thread = plugin.gpu.get_current();
    plugin.gpu.set_current(2);
  }).join();
  EXPECT_EQ(in_thread, 0);
  EXPECT_EQ(plugin.gpu.get_current(), 1);
}

// A plug-in that forgets to make its device current works by luck where that is the current one anyway, and nowhere
// else.
TEST(VirtualBackend, AForgetfulPluginIsTrapped) {
  Plugin plugin("odd/forgetful");
  plugin.open();
  const sluice_memory memory = plugin.block(0, {1, 2, 3});
  EXPECT_EQ(plugin.gpu.traps(), 0u);
  plugin.gpu.set_current(1);
  std::uint8_t byte = 0;
  EXPECT_EQ(plugin.table.read(plugin.device[0], memory, 0, &byte, 1), SLUICE_ERROR);
  EXPECT_EQ(plugin.table.write(plugin.device[0], memory, 0, &byte, 1), SLUICE_ERROR);
  EXPECT_EQ(plugin.table.free(plugin.device[0], memory), SLUICE_ERROR);
  EXPECT_EQ(plugin.gpu.traps(), 3u);
}

}  // namespace
}  // namespace sluice::tests
