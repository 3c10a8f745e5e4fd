#include "tests/simulated/virtual_group.hpp"

#include <sys/mman.h>
#include <unistd.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#include <algorithm>
#include <new>
#include <numeric>
#include <utility>

namespace virtual_gpu {
namespace {

constexpr std::size_t kStackBytes = std::size_t{64} << 10;

std::uint64_t next_random(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15u;
  std::uint64_t z = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// A stack with a page in front of it that must not be touched.
class Stack {
 public:
  Stack() {
    memory_ = mmap(nullptr, whole(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
    mprotect(memory_, page(), PROT_NONE);
  }
  ~Stack() { munmap(memory_, whole()); }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  std::byte* begin() const { return static_cast<std::byte*>(memory_) + page(); }
  std::byte* end() const { return begin() + kStackBytes; }

 private:
  static std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }
  static std::size_t whole() { return kStackBytes + page(); }
  void* memory_;
};

}  // namespace

// Switching takes two calls of the system with ucontext; where that is not needed a reduction is ten times as quick.
#if defined(__x86_64__)

extern "C" void sluice_virtual_switch(void** from, void* to);
asm(R"(
  .pushsection .text
  .p2align 4
  .hidden sluice_virtual_switch
  .globl sluice_virtual_switch
  .type sluice_virtual_switch, @function
sluice_virtual_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size sluice_virtual_switch, .-sluice_virtual_switch
  .popsection
)");

namespace {

class Context {
 public:
  /// What a stack looks like from which sluice_virtual_switch returns into `entry`.
  void start(const Stack& stack, void (*entry)()) {
    auto* top = reinterpret_cast<void**>(stack.end());
    *--top = nullptr;  // where entry, which never returns, would return to
    *--top = reinterpret_cast<void*>(entry);
    for (int k = 0; k < 6; ++k) *--top = nullptr;
    pointer_ = top;
  }
  static void change(Context& from, Context& to) { sluice_virtual_switch(&from.pointer_, to.pointer_); }

 private:
  void* pointer_ = nullptr;
};

#else

namespace {

class Context {
 public:
  void start(const Stack& stack, void (*entry)()) {
    getcontext(&context_);
    context_.uc_stack.ss_sp = stack.begin();
    context_.uc_stack.ss_size = kStackBytes;
    context_.uc_link = nullptr;
    makecontext(&context_, entry, 0);
  }
  static void change(Context& from, Context& to) { swapcontext(&from.context_, &to.context_); }

 private:
  ucontext_t context_{};
};

#endif

}  // namespace

struct GroupRunner::Fiber {
  std::unique_ptr<Stack> stack;
  Context context;
  bool is_waiting = false;
  unsigned int item = 0;
  int line = 0;
};

void fill_order(Order order, std::uint64_t seed, std::uint32_t count, std::vector<std::uint32_t>& numbers) {
  numbers.resize(count);
  std::iota(numbers.begin(), numbers.end(), 0U);
  if (order == Order::backward) std::reverse(numbers.begin(), numbers.end());
  if (order != Order::shuffled) return;
  for (std::uint32_t k = count; k > 1; --k) std::swap(numbers[k - 1], numbers[next_random(seed) % k]);
}

GroupRunner::GroupRunner() : scheduler_(std::make_unique<Fiber>()) {}
GroupRunner::~GroupRunner() = default;

GroupRunner& group_runner() {
  static auto* const runner = new GroupRunner;
  return *runner;
}

void GroupRunner::begin() { group_runner().run_items(); }

GroupRunner::Fiber& GroupRunner::fiber(std::size_t k) {
  if (k == fibers_.size()) {
    fibers_.push_back(std::make_unique<Fiber>());
    fibers_[k]->stack = std::make_unique<Stack>();
    fibers_[k]->context.start(*fibers_[k]->stack, begin);
  }
  return *fibers_[k];
}

void GroupRunner::resume(Fiber& fiber) {
  running_ = &fiber;
  Context::change(scheduler_->context, fiber.context);
}

void GroupRunner::run_items() {
  while (true) {
    while (next_ < items_.size()) {
      *item_ = items_[next_++];
      (*body_)();
    }
    running_->is_waiting = false;
    Context::change(running_->context, scheduler_->context);
  }
}

void GroupRunner::wait(int line) {
  Fiber& self = *running_;
  self.item = *item_;
  self.line = line;
  self.is_waiting = true;
  Context::change(self.context, scheduler_->context);
  *item_ = self.item;
}

std::string GroupRunner::check(std::uint32_t items) {
  for (const Fiber* const fiber : waiting_) {
    if (fiber->line == waiting_[0]->line) continue;
    return "items wait at two barriers at once, in lines " + std::to_string(waiting_[0]->line) + " and " +
           std::to_string(fiber->line);
  }
  if (waiting_.empty() || waiting_.size() == items) return {};
  return std::to_string(items - waiting_.size()) + " of " + std::to_string(items) +
         " items do not reach the barrier in line " + std::to_string(waiting_[0]->line);
}

std::string GroupRunner::run(std::uint32_t items, Order order, std::uint64_t seed, unsigned int& item,
                             const std::function<void()>& body) {
  fill_order(order, seed, items, items_);
  next_ = 0;
  item_ = &item;
  body_ = &body;
  waiting_.clear();
  while (next_ < items) {
    Fiber& next = fiber(waiting_.size());
    resume(next);
    if (next.is_waiting) waiting_.push_back(&next);
  }
  std::string problem = check(items);
  std::vector<std::uint32_t> places;
  while (problem.empty() && !waiting_.empty()) {
    fill_order(order, ++seed, items, places);
    const std::vector<Fiber*> phase = std::exchange(waiting_, {});
    for (const std::uint32_t place : places) {
      resume(*phase[place]);
      if (phase[place]->is_waiting) waiting_.push_back(phase[place]);
    }
    problem = check(items);
  }
  // What waits for ever has nothing to clean up; its stack begins anew.
  for (Fiber* const fiber : waiting_) fiber->context.start(*fiber->stack, begin);
  return problem;
}

}  // namespace virtual_gpu
