#include "tests/simulated/streams/driver.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <utility>

#include "tests/simulated/streams/call.hpp"
#include "tests/simulated/streams/image.hpp"
#include "tests/simulated/streams/settings.hpp"
#include "tests/simulated/virtual_backend.hpp"

namespace simulated {
namespace {

constexpr std::size_t kLongestQueue = 4096;  // only keeps the process small

void push(Stream& stream, QueuedWork work) {
  stream.queue.push_back(std::move(work));
  if (stream.queue.size() > kLongestQueue) stream.run_all();
}

/// The host's own pointers in place of the device's, and the blocks that they are of. Empty, or what is wrong.
std::string find_arguments(Context& context, const Kernel& kernel, std::vector<std::vector<std::byte>>& values,
                           std::vector<virtual_gpu::KernelArgument>& arguments,
                           std::vector<const virtual_gpu::Block*>& blocks) {
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (kernel.sizes[k] != 0) {
      arguments.push_back({values[k].data(), values[k].size(), false});
      continue;
    }
    std::uint64_t address = 0, rest = 0;
    std::memcpy(&address, values[k].data(), sizeof address);
    std::byte* const data = context.at(address, &rest);
    if (data == nullptr) return "argument " + std::to_string(k) + " is no memory of the device";
    arguments.push_back({data, rest, true});
    blocks.push_back(context.memory.find(std::prev(context.blocks.upper_bound(address))->first));
  }
  return {};
}

void run_kernel(Context& context, const Kernel& kernel, const virtual_gpu::Grid& grid,
                std::vector<std::vector<std::byte>>& values) {
  if (const int fault = planned_fault("kernel")) {
    context.broken = fault;
    return;
  }
  std::vector<virtual_gpu::KernelArgument> arguments;
  std::vector<const virtual_gpu::Block*> blocks;
  std::string problem = find_arguments(context, kernel, values, arguments, blocks);
  if (problem.empty()) problem = kernel.function(arguments, grid);
  for (const virtual_gpu::Block* const block : blocks) {
    if (block->mend_guards() && problem.empty()) problem = "it wrote beside a block";
  }
  if (problem.empty()) return;
  std::fprintf(stderr, "simulated %s: kernel %s: %s\n", virtual_gpu::backend_name, kernel.name.c_str(),
               problem.c_str());
  context.broken = kIllegalAddress;
}

}  // namespace

void Stream::run_one() {
  QueuedWork work = std::move(queue.front());
  queue.pop_front();
  if (work.awaited == nullptr) return work.run();
  while (work.awaited->passed < work.recording && !work.awaited_stream->queue.empty()) work.awaited_stream->run_one();
}

std::byte* Context::at(std::uint64_t address, std::uint64_t* rest) {
  auto place = blocks.upper_bound(address);
  if (place == blocks.begin()) return nullptr;
  --place;
  const std::uint64_t offset = address - place->first;
  if (offset > place->second) return nullptr;
  *rest = place->second - offset;
  return memory.find(place->first)->at(offset);
}

void Context::run_all() {
  for (const auto& [key, stream] : streams) stream->run_all();
}

Driver& Driver::get() {
  static auto* const driver = new Driver;
  return *driver;
}

bool Driver::is_pinned(const void* memory, std::uint64_t bytes) const {
  const auto* const first = static_cast<const std::byte*>(memory);
  auto place = pinned.upper_bound(first);
  if (place == pinned.begin()) return false;
  --place;
  const auto offset = static_cast<std::uint64_t>(first - place->first);
  return offset <= place->second.size() && bytes <= place->second.size() - offset;
}

int Driver::start() {
  if (is_initialised) return 0;
  settings = virtual_gpu::read_settings();
  if (settings.count == 0) return kNoDevice;
  for (int k = 0; k < settings.count; ++k) contexts.push_back(std::make_unique<Context>(k, settings));
  is_initialised = true;
  owner = getpid();
  std::atexit([] { has_shut_down = true; });
  return 0;
}

Context*& current() {
  static thread_local Context* context = nullptr;
  return context;
}

int& last_failure() {
  static thread_local int code = 0;
  return code;
}

// ---- Queued work.

void enqueue(Stream& stream, std::function<void()> work) {
  QueuedWork queued;
  queued.run = [context = stream.context, work = std::move(work)] {
    if (context->broken == 0) work();
  };
  push(stream, std::move(queued));
}

void enqueue_recording(Stream& stream, Event& event) {
  event.state->stream = &stream;
  QueuedWork queued;
  queued.run = [state = event.state, number = ++event.state->recorded] { state->passed = number; };
  push(stream, std::move(queued));
}

void enqueue_waiting(Stream& stream, const Event& event) {
  if (event.state->recorded == 0) return;
  push(stream, {{}, event.state, event.state->recorded, event.state->stream});
}

void enqueue_copy(Stream& stream, std::function<std::byte*()> to, std::function<const std::byte*()> from,
                  std::uint64_t bytes) {
  enqueue(stream, [to = std::move(to), from = std::move(from), bytes] { std::memmove(to(), from(), bytes); });
}

void enqueue_kernel(Stream& stream, const Kernel& kernel, std::uint32_t groups, std::uint32_t group_size,
                    std::vector<std::vector<std::byte>> values) {
  static std::uint64_t launches = 0;
  const virtual_gpu::Settings& settings = Driver::get().settings;
  const virtual_gpu::Grid grid{groups, group_size, settings.order, settings.seed + ++launches};
  Context* const context = stream.context;
  enqueue(stream, [context, &kernel, grid, values = std::move(values)]() mutable {
    run_kernel(*context, kernel, grid, values);
  });
}

// ---- Kernels.

Kernel* kernel_of(Module& module, const std::string& name) {
  if (const auto known = module.kernels.find(name); known != module.kernels.end()) return known->second.get();
  const std::vector<std::string> names = kernels_of(module.text);
  if (std::find(names.begin(), names.end(), name) == names.end()) return nullptr;
  auto kernel = std::make_unique<Kernel>();
  kernel->context = module.context;
  kernel->name = name;
  if (is_probe(name)) {
    kernel->sizes = {0, 0, sizeof(std::int32_t)};
  } else {
    virtual_gpu::CompiledKernel compiled;
    if (!virtual_gpu::compile_text(module.text, name, virtual_gpu::identity.dialect, compiled).empty()) return nullptr;
    for (int k = 0, size = 0; (size = compiled.parameter_size(k)) >= 0; ++k) {
      kernel->sizes.push_back(static_cast<std::size_t>(size));
    }
  }
  if (!virtual_gpu::make_kernel(module.text, name, virtual_gpu::identity.dialect, kernel->function).empty())
    return nullptr;
  return (module.kernels[name] = std::move(kernel)).get();
}

}  // namespace simulated
