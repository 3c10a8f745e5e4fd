// MTLCommandQueue and MTLCommandBuffer. What is committed runs when somebody waits for it, or asks often enough, never
// earlier: whoever touches memory before that sees the wrong bytes.
#include <utility>

#include "tests/simulated/metal/metal.hpp"
#include "tests/simulated/metal/settings.hpp"

namespace simulated_metal {
namespace {

constexpr Integer kCommitted = 2, kCompleted = 4, kFailed = 5;
constexpr int kPatience = 16;  // questions after which a command buffer runs

void run_first(CommandQueue& queue) {
  const Kept first = queue.committed.front();
  queue.committed.pop_front();
  CommandBuffer& buffer = as<CommandBuffer>(first.get());
  std::string problem;
  long code = planned_fault("commandBuffer");
  if (code != 0) problem = "a planned failure";
  for (const Work& work : buffer.work) {
    if (problem.empty()) problem = work();
  }
  buffer.work.clear();
  buffer.kept.clear();
  buffer.status = problem.empty() ? kCompleted : kFailed;
  if (problem.empty()) return;
  if (code == 0) code = 1;
  Object* const error = make_object("NSError", std::make_unique<Error>(problem, code));
  buffer.error = Kept(error);
  release(error);
}

void commit(Object* self, Selector) {
  const std::lock_guard guard(simulator());
  CommandBuffer& buffer = as<CommandBuffer>(self);
  if (buffer.status != 0) die("a command buffer is committed twice");
  if (buffer.has_open_encoder) die("a command buffer is committed before endEncoding");
  buffer.status = kCommitted;
  as<CommandQueue>(buffer.queue.get()).committed.emplace_back(self);
}

void wait_until_completed(Object* self, Selector) {
  const std::lock_guard guard(simulator());
  CommandBuffer& buffer = as<CommandBuffer>(self);
  if (buffer.status == 0) die("somebody waits for a command buffer that is not committed");
  while (buffer.status < kCompleted) run_first(as<CommandQueue>(buffer.queue.get()));
}

Integer status(Object* self, Selector) {
  const std::lock_guard guard(simulator());
  CommandBuffer& buffer = as<CommandBuffer>(self);
  CommandQueue& queue = as<CommandQueue>(buffer.queue.get());
  const Integer answer = buffer.status;
  if (!queue.committed.empty() && ++queue.questions % kPatience == 0) run_first(queue);
  return answer;
}

}  // namespace

void encode(Object* command_buffer, const std::vector<Object*>& used, Work work) {
  const std::lock_guard guard(simulator());
  CommandBuffer& buffer = as<CommandBuffer>(command_buffer);
  if (buffer.status != 0) die("a command for a command buffer that is committed");
  for (Object* const object : used) buffer.kept.emplace_back(object);
  buffer.work.push_back(std::move(work));
}

void encode_alone(Object* command_buffer, const std::vector<Object*>& used, Work work) {
  const std::lock_guard guard(simulator());
  if (as<CommandBuffer>(command_buffer).has_open_encoder) die("two encoders of a command buffer are open");
  encode(command_buffer, used, std::move(work));
}

void add_commands() {
  on("MTLDevice", "newCommandQueue", [](Object* self, Selector) -> Object* {
    const std::lock_guard guard(simulator());
    if (planned_fault("newCommandQueue") != 0) return nullptr;
    return make_object("MTLCommandQueue", std::make_unique<CommandQueue>(as<Device>(self)));
  });
  on("MTLCommandQueue", "commandBuffer", [](Object* self, Selector) -> Object* {
    const std::lock_guard guard(simulator());
    if (planned_fault("newCommandBuffer") != 0) return nullptr;
    return autorelease(make_object("MTLCommandBuffer", std::make_unique<CommandBuffer>(self)));
  });
  on("MTLCommandBuffer", "commit", commit);
  on("MTLCommandBuffer", "waitUntilCompleted", wait_until_completed);
  on("MTLCommandBuffer", "status", status);
  on("MTLCommandBuffer", "error", [](Object* self, Selector) {
    const std::lock_guard guard(simulator());
    return autorelease(retain(as<CommandBuffer>(self).error.get()));
  });
}

}  // namespace simulated_metal
