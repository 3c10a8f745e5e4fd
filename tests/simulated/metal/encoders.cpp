// MTLComputeCommandEncoder and MTLBlitCommandEncoder.
#include <cstring>
#include <utility>

#include "tests/simulated/metal/metal.hpp"
#include "tests/simulated/metal/settings.hpp"

namespace simulated_metal {
namespace {

struct Encoder : State {
  explicit Encoder(Object* command_buffer_) : command_buffer(command_buffer_) {}
  ~Encoder() override {
    if (!is_ended) die("an encoder goes without endEncoding");
  }
  Device& device() const { return as<CommandQueue>(as<CommandBuffer>(command_buffer.get()).queue.get()).device; }
  Kept command_buffer;
  bool is_ended = false;
};

/// What stands in a slot: memory from an offset on, or a value.
struct Binding {
  Kept buffer;
  Integer offset = 0;
  std::vector<std::byte> bytes;

  bool is_bound() const { return buffer.get() != nullptr || !bytes.empty(); }
};

struct ComputeEncoder : Encoder {
  using Encoder::Encoder;
  Kept pipeline;
  std::array<Binding, kSlots> slots;
};

struct BlitEncoder : Encoder {
  using Encoder::Encoder;
};

template <class Kind>
Object* begin(Object* self, const char* class_name) {
  const std::lock_guard guard(simulator());
  CommandBuffer& buffer = as<CommandBuffer>(self);
  if (buffer.status != 0) die("an encoder for a command buffer that is committed");
  if (std::exchange(buffer.has_open_encoder, true)) die("two encoders of a command buffer are open");
  return autorelease(make_object(class_name, std::make_unique<Kind>(self)));
}

template <class Kind>
Kind& open(Object* self) {
  Kind& encoder = as<Kind>(self);
  if (encoder.is_ended) die("a command for an encoder after endEncoding");
  return encoder;
}

void end_encoding(Object* self, Selector) {
  const std::lock_guard guard(simulator());
  Encoder& encoder = open<Encoder>(self);
  encoder.is_ended = true;
  as<CommandBuffer>(encoder.command_buffer.get()).has_open_encoder = false;
}

Buffer& buffer_for(const Encoder& encoder, Object* object) {
  Buffer& buffer = as<Buffer>(object);
  if (&buffer.device != &encoder.device()) die("a buffer of another device");
  return buffer;
}

// ---- Kernels.

Binding& slot(ComputeEncoder& encoder, Integer index) {
  if (index >= kSlots) die("a buffer at index " + std::to_string(index) + "; there are 31");
  return encoder.slots[index];
}

void set_buffer(Object* self, Selector, Object* object, Integer offset, Integer index) {
  const std::lock_guard guard(simulator());
  ComputeEncoder& encoder = open<ComputeEncoder>(self);
  const Buffer& buffer = buffer_for(encoder, object);
  if (offset >= buffer.block.bytes) die("a buffer is bound from behind its end on");
  slot(encoder, index) = Binding{Kept(object), offset, {}};
}

void set_bytes(Object* self, Selector, const void* bytes, Integer length, Integer index) {
  const std::lock_guard guard(simulator());
  ComputeEncoder& encoder = open<ComputeEncoder>(self);
  if (length == 0 || length > kMostBytes)
    die("setBytes of " + std::to_string(length) + " bytes; at most 4096 are taken");
  const auto* const first = static_cast<const std::byte*>(bytes);
  slot(encoder, index) = Binding{{}, 0, {first, first + length}};
}

std::string run_kernel(const virtual_gpu::KernelFunction& run, std::vector<Binding>& bindings,
                       const virtual_gpu::Grid& grid) {
  std::vector<virtual_gpu::KernelArgument> arguments;
  for (Binding& binding : bindings) {
    if (binding.buffer.get() == nullptr) {
      arguments.push_back({binding.bytes.data(), binding.bytes.size(), false});
      continue;
    }
    const virtual_gpu::Block& block = as<Buffer>(binding.buffer.get()).block;
    arguments.push_back({block.at(binding.offset), block.bytes - binding.offset, true});
  }
  std::string problem = run(arguments, grid);
  for (const Binding& binding : bindings) {
    if (binding.buffer.get() == nullptr) continue;
    if (as<Buffer>(binding.buffer.get()).block.mend_guards() && problem.empty()) problem = "it wrote beside a buffer";
  }
  return problem;
}

std::string check_grid(const MTLSize& groups, const MTLSize& group) {
  const Integer items = group.width * group.height * group.depth;
  if (items == 0 || groups.width * groups.height * groups.depth == 0) return "an empty grid or group";
  if (items > kMostThreads) return "a group of " + std::to_string(items) + " items; the pipeline takes 1024";
  if (groups.height * groups.depth * group.height * group.depth != 1) {
    return "a grid of more than one dimension, which the virtual GPU does not know";
  }
  return {};
}

void dispatch(Object* self, Selector, MTLSize groups, MTLSize group) {
  static std::uint64_t launches = 0;
  const std::lock_guard guard(simulator());
  ComputeEncoder& encoder = open<ComputeEncoder>(self);
  if (encoder.pipeline.get() == nullptr) die("a dispatch without a pipeline");
  if (const std::string problem = check_grid(groups, group); !problem.empty()) die(problem);
  const Function& kernel = as<Function>(encoder.pipeline.get());
  std::vector<Binding> bindings;
  std::vector<Object*> used = {encoder.pipeline.get()};
  for (std::size_t k = 0; k < kernel.sizes.size(); ++k) {
    if (!encoder.slots[k].is_bound()) die("kernel " + kernel.name + ": nothing is bound at index " + std::to_string(k));
    bindings.push_back(encoder.slots[k]);
    used.push_back(encoder.slots[k].buffer.get());
  }
  const virtual_gpu::Grid grid{static_cast<std::uint32_t>(groups.width), static_cast<std::uint32_t>(group.width),
                               settings().order, settings().seed + ++launches};
  encode(encoder.command_buffer.get(), used, [&kernel, bindings, grid]() mutable -> std::string {
    const std::string problem = run_kernel(kernel.run, bindings, grid);
    return problem.empty() ? problem : "kernel " + kernel.name + ": " + problem;
  });
}

// ---- Copies.

void copy(Object* self, Selector, Object* from, Integer from_offset, Object* to, Integer to_offset, Integer bytes) {
  const std::lock_guard guard(simulator());
  const BlitEncoder& encoder = open<BlitEncoder>(self);
  const virtual_gpu::Block &source = buffer_for(encoder, from).block, &target = buffer_for(encoder, to).block;
  if (from_offset % 4 != 0 || to_offset % 4 != 0 || bytes % 4 != 0) die("a copy that is not of whole words");
  if (bytes == 0) die("a copy of 0 bytes");
  if (from_offset > source.bytes || bytes > source.bytes - from_offset) die("a copy from behind the end of a buffer");
  if (to_offset > target.bytes || bytes > target.bytes - to_offset) die("a copy to behind the end of a buffer");
  const bool is_one = source.storage == target.storage;
  if (is_one && from_offset < to_offset + bytes && to_offset < from_offset + bytes) die("a copy that overlaps itself");
  encode(encoder.command_buffer.get(), {from, to}, [=]() -> std::string {
    std::memcpy(target.at(to_offset), source.at(from_offset), bytes);
    return {};
  });
}

}  // namespace

void add_encoders() {
  const char *const kCompute = "MTLComputeCommandEncoder", *const kBlit = "MTLBlitCommandEncoder";
  on("MTLCommandBuffer", "computeCommandEncoder",
     [](Object* self, Selector) { return begin<ComputeEncoder>(self, "MTLComputeCommandEncoder"); });
  on("MTLCommandBuffer", "blitCommandEncoder",
     [](Object* self, Selector) { return begin<BlitEncoder>(self, "MTLBlitCommandEncoder"); });
  for (const char* const encoder : {kCompute, kBlit}) on(encoder, "endEncoding", end_encoding);
  on(kCompute, "setComputePipelineState:", [](Object* self, Selector, Object* pipeline) {
    const std::lock_guard guard(simulator());
    ComputeEncoder& encoder = open<ComputeEncoder>(self);
    if (&as<Function>(pipeline).device != &encoder.device()) die("a pipeline of another device");
    encoder.pipeline = Kept(pipeline);
  });
  on(kCompute, "setBuffer:offset:atIndex:", set_buffer);
  on(kCompute, "setBytes:length:atIndex:", set_bytes);
  on(kCompute, "dispatchThreadgroups:threadsPerThreadgroup:", dispatch);
  on(kBlit, "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:", copy);
}

}  // namespace simulated_metal
