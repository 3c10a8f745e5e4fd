#include "tests/simulated/virtual_gpu.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include "tests/simulated/virtual_compiler.hpp"
#include "tests/simulated/virtual_driver.hpp"

namespace virtual_gpu {
namespace {

constexpr std::uint32_t kMaxGroupSize = 256;
constexpr const char* kArchitecture = "virtual_1";

#define VIRTUAL_GPU_TRY(call) \
  if (Result failure = (call); failure.code != Code::ok) return failure

void plug_in(Driver& driver) {
  driver.settings = read_settings();
  for (const int physical : driver.settings.visible) {
    const auto number = static_cast<int>(driver.devices.size());
    driver.devices.push_back(std::make_unique<Device>(number, physical, driver.settings));
  }
  driver.is_initialised = true;
}

Work copy_bytes(Block to, std::uint64_t to_offset, Block from, std::uint64_t from_offset, std::uint64_t bytes) {
  return [=]() -> std::string {
    std::memmove(to.at(to_offset), from.at(from_offset), bytes);
    return {};
  };
}

/// What stands in front of the text in a binary.
std::string binary_header(const std::string& text, const std::string& entry) {
  return std::string("virtual GPU binary 1\n") + kArchitecture + "\n" + entry + "\n" + std::to_string(hash_text(text)) +
         "\n";
}

Result add_kernel(Driver& driver, const std::string& text, const std::string& entry, KernelNumber& kernel) {
  KernelFunction function;
  if (std::string log = make_kernel(text, entry, driver.settings.dialect, function); !log.empty()) {
    return {Code::bad_source, "virtual compiler: " + log};
  }
  driver.kernels.push_back({text, entry, std::move(function), current_device()});
  kernel = driver.kernels.size();
  return {};
}

void count_host_read(Driver& driver, std::uint64_t bytes) {
  ++driver.counters.host_reads;
  driver.counters.host_read_bytes += bytes;
}

Result find_kernel_record(Driver& driver, KernelNumber number, Kernel& kernel) {
  if (number == 0 || number > driver.kernels.size()) return driver.trap("there is no such kernel");
  kernel = driver.kernels[number - 1];
  if (kernel.device != current_device()) return driver.trap("the kernel was compiled for another device");
  return {};
}

}  // namespace

// ---- Driver and devices.

Result initialise() {
  count_call(VIRTUAL_GPU_INITIALISE);
  VIRTUAL_GPU_TRY(check_process());
  claim_process();
  Driver& driver = Driver::get();
  const std::lock_guard lock(driver.mutex);
  const auto refuse = [&](Code code, const char* text) -> Result {
    if (!driver.is_initialised) disclaim_process();
    return {code, text};
  };
  try {
    const FaultPlan& plan = driver.plan();
    if (plan.no_driver != 0) return refuse(Code::no_driver, "libvirtualgpu.so.1: cannot open shared object file");
    if (plan.old_driver != 0) {
      return refuse(Code::failed, "the driver is too old: version 0.9, at least 1.0 is needed; install a newer driver");
    }
    if (!driver.is_initialised) plug_in(driver);
    claim_process();  // again: another thread's failure may have undone it
  } catch (const std::invalid_argument& error) {
    return refuse(Code::failed, error.what());
  }
  current_device() = 0;
  return {};
}

Result count_devices(int& count) {
  return run_call(VIRTUAL_GPU_COUNT, [&](Driver& driver) -> Result {
    count = driver.plan().no_device != 0 ? 0 : static_cast<int>(driver.devices.size());
    return {};
  });
}

Result get_current(int& number) {
  count_call(VIRTUAL_GPU_GET_CURRENT);
  VIRTUAL_GPU_TRY(check_process());
  number = current_device();
  return {};
}

Result set_current(int number) {
  count_call(VIRTUAL_GPU_SET_CURRENT);
  VIRTUAL_GPU_TRY(check_process());
  current_device() = number;
  return {};
}

Result open_device(int number) {
  VIRTUAL_GPU_TRY(set_current(number));
  std::chrono::milliseconds delay{0};
  Result result = run_on_current(VIRTUAL_GPU_OPEN, [&](Driver& driver, Device& device) -> Result {
    delay = std::chrono::milliseconds(driver.plan().slow_open);
    device.is_open = true;
    return {};
  });
  std::this_thread::sleep_for(delay);  // without the lock
  return result;
}

Result get_properties(Properties& properties) {
  return run_on_current(VIRTUAL_GPU_PROPERTIES, [&](Driver& driver, Device& device) -> Result {
    const Settings& settings = driver.settings;
    const std::string number = std::to_string(device.physical());
    properties = {device.physical(),
                  settings.kinds[static_cast<std::size_t>(device.physical())],
                  settings.memory_bytes,
                  kMaxGroupSize,
                  32768,
                  settings.has_f64,
                  settings.dialect,
                  "Virtual GPU " + number,
                  kArchitecture,
                  "1.0",
                  settings.card.empty() ? "" : settings.card + number};
    return {};
  });
}

Result get_native_handle(std::uint64_t& handle) {
  return run_on_current(VIRTUAL_GPU_NATIVE, [&](Driver&, Device& device) -> Result {
    handle = 0x7600 + static_cast<std::uint64_t>(device.physical());
    return {};
  });
}

Result get_free_bytes(std::uint64_t& bytes) {
  return run_on_current(VIRTUAL_GPU_FREE_BYTES, [&](Driver&, Device& device) -> Result {
    bytes = device.free_bytes();
    return {};
  });
}

// ---- Memory.

Result alloc(std::uint64_t bytes, Address& address) {
  return run_on_current(VIRTUAL_GPU_ALLOC, [&](Driver&, Device& device) { return device.alloc(bytes, address); });
}

Result release(Address address) {
  return run_on_current(VIRTUAL_GPU_FREE, [&](Driver& driver, Device& device) -> Result {
    Block block;
    VIRTUAL_GPU_TRY(driver.find_block(current_device(), address, 0, 0, block));
    device.release(address, ++driver.last_ticket);
    return {};
  });
}

Result alloc_host(std::uint64_t bytes, void*& memory) {
  return run_on_current(VIRTUAL_GPU_ALLOC_HOST, [&](Driver& driver, Device&) -> Result {
    if (bytes == 0) return {Code::failed, "pinned memory of 0 bytes was asked for"};
    std::vector<std::byte> block(bytes, std::byte{VIRTUAL_GPU_FRESH_BYTE});
    std::byte* const data = block.data();
    driver.pinned.emplace(data, std::move(block));
    memory = data;
    return {};
  });
}

Result release_host(void* memory) {
  return run_on_current(VIRTUAL_GPU_FREE_HOST, [&](Driver& driver, Device& device) -> Result {
    device.run_all();
    if (driver.pinned.erase(static_cast<std::byte*>(memory)) == 0) return driver.trap("the host memory is not pinned");
    return driver.report(device);
  });
}

Result wrap(Address address, std::uint64_t bytes, Address& wrapped) {
  return run_on_current(VIRTUAL_GPU_WRAP,
                        [&](Driver&, Device& device) { return device.wrap(address, bytes, wrapped); });
}

Result get_address(Address memory, Address& address) {
  return run_on_current(VIRTUAL_GPU_NATIVE, [&](Driver& driver, Device&) -> Result {
    Block block;
    VIRTUAL_GPU_TRY(driver.find_block(current_device(), memory, 0, 0, block));
    address = memory;
    return {};
  });
}

// ---- Queued work.

Result write(Address to, std::uint64_t offset, const void* from, std::uint64_t bytes) {
  return run_on_current(VIRTUAL_GPU_WRITE, [&](Driver& driver, Device& device) -> Result {
    Block block;
    VIRTUAL_GPU_TRY(driver.find_block(current_device(), to, offset, bytes, block));
    if (driver.settings.is_prompt && device.pending() == 0) {
      std::memcpy(block.at(offset), from, bytes);
      return {};
    }
    const auto* const first = static_cast<const std::byte*>(from);
    driver.enqueue(device, bytes, [=, copy = std::vector<std::byte>(first, first + bytes)]() -> std::string {
      std::copy(copy.begin(), copy.end(), block.at(offset));
      return {};
    });
    return {};
  });
}

Result read(Address from, std::uint64_t offset, void* to, std::uint64_t bytes) {
  return run_on_current(VIRTUAL_GPU_READ, [&](Driver& driver, Device& device) -> Result {
    Block block;
    VIRTUAL_GPU_TRY(driver.find_block(current_device(), from, offset, bytes, block));
    device.run_all();
    VIRTUAL_GPU_TRY(driver.report(device));
    std::memcpy(to, block.at(offset), bytes);
    count_host_read(driver, bytes);
    return {};
  });
}

Result write_async(Address to, std::uint64_t offset, const void* from, std::uint64_t bytes, Ticket& ticket) {
  return run_on_current(VIRTUAL_GPU_WRITE_ASYNC, [&](Driver& driver, Device& device) -> Result {
    Block block;
    VIRTUAL_GPU_TRY(driver.find_block(current_device(), to, offset, bytes, block));
    VIRTUAL_GPU_TRY(driver.check_pinned(from, bytes));
    ticket = driver.enqueue(device, 0, [=]() -> std::string {
      std::memcpy(block.at(offset), from, bytes);
      return {};
    });
    return {};
  });
}

Result read_async(Address from, std::uint64_t offset, void* to, std::uint64_t bytes, Ticket& ticket) {
  return run_on_current(VIRTUAL_GPU_READ_ASYNC, [&](Driver& driver, Device& device) -> Result {
    Block block;
    VIRTUAL_GPU_TRY(driver.find_block(current_device(), from, offset, bytes, block));
    VIRTUAL_GPU_TRY(driver.check_pinned(to, bytes));
    count_host_read(driver, bytes);
    ticket = driver.enqueue(device, 0, [=]() -> std::string {
      std::memcpy(to, block.at(offset), bytes);
      return {};
    });
    return {};
  });
}

Result wait(Ticket ticket) {
  return run_on_current(VIRTUAL_GPU_WAIT, [&](Driver& driver, Device& device) -> Result {
    if (ticket > driver.last_ticket) return driver.trap("there is no such ticket");
    device.run_until(ticket);
    return driver.report(device);
  });
}

Result copy(Address to, std::uint64_t to_offset, Address from, std::uint64_t from_offset, std::uint64_t bytes) {
  return run_on_current(VIRTUAL_GPU_COPY, [&](Driver& driver, Device& device) -> Result {
    Block target, source;
    VIRTUAL_GPU_TRY(driver.find_block(current_device(), to, to_offset, bytes, target));
    VIRTUAL_GPU_TRY(driver.find_block(current_device(), from, from_offset, bytes, source));
    driver.enqueue(device, 0, copy_bytes(target, to_offset, source, from_offset, bytes));
    return {};
  });
}

Result peer_copy(Address to, std::uint64_t to_offset, int from_device, Address from, std::uint64_t from_offset,
                 std::uint64_t bytes) {
  return run_on_current(VIRTUAL_GPU_PEER_COPY, [&](Driver& driver, Device& device) -> Result {
    if (from_device < 0 || static_cast<std::size_t>(from_device) >= driver.devices.size()) {
      return {Code::failed, "there is no device " + std::to_string(from_device)};
    }
    Device& other = *driver.devices[static_cast<std::size_t>(from_device)];
    if (other.is_lost) return {Code::lost, "the device to copy from is lost"};
    Block target, source;
    VIRTUAL_GPU_TRY(driver.find_block(current_device(), to, to_offset, bytes, target));
    VIRTUAL_GPU_TRY(driver.find_block(from_device, from, from_offset, bytes, source));
    driver.enqueue(device, 0, copy_bytes(target, to_offset, source, from_offset, bytes),
                   &other == &device ? nullptr : &other);
    return {};
  });
}

Result synchronise() {
  return run_on_current(VIRTUAL_GPU_SYNC, [](Driver& driver, Device& device) {
    device.run_all();
    return driver.report(device);
  });
}

// ---- Kernels.

Result compile(const std::string& text, const std::string& entry, KernelNumber& kernel) {
  return run_on_current(VIRTUAL_GPU_COMPILE,
                        [&](Driver& driver, Device&) { return add_kernel(driver, text, entry, kernel); });
}

Result get_binary(KernelNumber kernel, std::string& binary) {
  return run_on_current(VIRTUAL_GPU_BINARY, [&](Driver& driver, Device&) -> Result {
    Kernel record;
    VIRTUAL_GPU_TRY(find_kernel_record(driver, kernel, record));
    binary = binary_header(record.text, record.entry) + record.text;
    return {};
  });
}

Result load_binary(const std::string& binary, const std::string& entry, KernelNumber& kernel) {
  return run_on_current(VIRTUAL_GPU_LOAD, [&](Driver& driver, Device&) -> Result {
    // The header has four lines.
    std::size_t begin = 0;
    for (int line = 0; line < 4 && begin != std::string::npos; ++line) begin = binary.find('\n', begin) + 1;
    const std::string text = binary.substr(std::min(begin, binary.size()));
    if (binary != binary_header(text, entry) + text) {
      return {Code::failed, "the binary is damaged, or of another compiler or kernel"};
    }
    return add_kernel(driver, text, entry, kernel);
  });
}

namespace {

// What a launch was given, kept until it runs.
struct BoundArgument {
  Block block;
  std::uint64_t offset;
  std::vector<std::byte> value;
};

Result bind(Driver& driver, const LaunchArgument& argument, BoundArgument& bound) {
  if (argument.memory != 0) {
    bound.offset = argument.offset;
    return driver.find_block(current_device(), argument.memory, argument.offset, 0, bound.block);
  }
  if (argument.value == nullptr || argument.bytes == 0)
    return {Code::failed, "an argument has neither memory nor value"};
  const auto* const first = static_cast<const std::byte*>(argument.value);
  bound.value.assign(first, first + argument.bytes);
  return {};
}

/// What a kernel did that it must not, and counts it.
std::string find_trap(Driver& driver, std::string problem, const std::vector<BoundArgument>& bound) {
  for (std::size_t k = 0; k < bound.size(); ++k) {
    const bool is_damaged = bound[k].block.storage != nullptr && bound[k].block.mend_guards();
    if (is_damaged && problem.empty()) problem = "it wrote beside the block of argument " + std::to_string(k);
  }
  if (!problem.empty()) ++driver.counters.traps;
  return problem;
}

/// Changes what a kernel has written: the last block of most kernels, the first of the probe, whose last two arguments
/// are a block and an int.
void spoil_output(std::span<const KernelArgument> arguments, const Grid& grid) {
  const bool is_probe = arguments.size() == 3 && arguments[2].bytes == sizeof(std::int32_t);
  const KernelArgument* output = nullptr;
  for (const KernelArgument& argument : arguments) {
    if (argument.is_memory && (output == nullptr || !is_probe)) output = &argument;
  }
  if (output == nullptr) return;
  const std::uint64_t bytes = std::min(output->bytes, std::uint64_t{grid.groups} * grid.group_size * sizeof(float));
  for (std::uint64_t i = 0; i < bytes; ++i) output->data[i] ^= std::byte{1};
}

std::string run_kernel(const KernelFunction& function, std::vector<BoundArgument>& bound, const Grid& grid,
                       bool is_wrong) {
  std::vector<KernelArgument> arguments;
  for (BoundArgument& a : bound) {
    if (a.block.storage == nullptr) arguments.push_back({a.value.data(), a.value.size(), false});
    else arguments.push_back({a.block.at(a.offset), a.block.bytes - a.offset, true});
  }
  std::string problem = function(arguments, grid);
  if (is_wrong) spoil_output(arguments, grid);
  return problem;
}

}  // namespace

Result launch(KernelNumber kernel, std::uint64_t groups, std::uint64_t group_size,
              std::span<const LaunchArgument> arguments) {
  return run_on_current(VIRTUAL_GPU_LAUNCH, [&](Driver& driver, Device& device) -> Result {
    Kernel record;
    VIRTUAL_GPU_TRY(find_kernel_record(driver, kernel, record));
    if (groups == 0 || group_size == 0 || group_size > kMaxGroupSize) {
      return {Code::failed, std::to_string(groups) + " groups of " + std::to_string(group_size) +
                                " items; at least one each, and at most " + std::to_string(kMaxGroupSize) + " items"};
    }
    std::vector<BoundArgument> bound(arguments.size());
    for (std::size_t k = 0; k < bound.size(); ++k) VIRTUAL_GPU_TRY(bind(driver, arguments[k], bound[k]));
    const bool is_wrong = driver.faults.calls[VIRTUAL_GPU_LAUNCH] == driver.plan().wrong_launch;
    const Grid grid{static_cast<std::uint32_t>(groups), static_cast<std::uint32_t>(group_size), driver.settings.order,
                    driver.settings.seed + driver.last_ticket};
    driver.enqueue(device, 0, [=, &driver, record = std::move(record)]() mutable {
      const std::string problem = find_trap(driver, run_kernel(record.function, bound, grid, is_wrong), bound);
      return problem.empty() ? problem : "trap: kernel " + record.entry + ": " + problem;
    });
    return {};
  });
}

// ---- Vendor libraries.

Result call_library() {
  bool is_hanging = false;
  Result result = run_on_current(VIRTUAL_GPU_PROBE, [&](Driver& driver, Device&) -> Result {
    if (driver.plan().abort_probe != 0) std::abort();
    is_hanging = driver.plan().hang_probe != 0;
    return {};
  });
  while (is_hanging) pause();
  return result;
}

void note_overlap() { ++Driver::get().counters.overlaps; }

#undef VIRTUAL_GPU_TRY

}  // namespace virtual_gpu
