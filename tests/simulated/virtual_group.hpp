// How the items of a group run on a virtual GPU: one after the other, each as far as the next barrier, in an order that
// changes from barrier to barrier. An item that reads what another one writes gets a wrong number unless there is a
// barrier between them.
//
// An item that waits keeps its stack; what never waits runs on one. Not safe for threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace virtual_gpu {

enum class Order : std::uint8_t { shuffled, forward, backward };

/// The numbers 0 ... count - 1 in an order.
void fill_order(Order order, std::uint64_t seed, std::uint32_t count, std::vector<std::uint32_t>& numbers);

class GroupRunner {
 public:
  GroupRunner();
  ~GroupRunner();
  GroupRunner(const GroupRunner&) = delete;
  GroupRunner& operator=(const GroupRunner&) = delete;

  /// Calls `body` for each item; `item` is the number of the one that is running. Returns what went wrong, empty if
  /// nothing did: a barrier that some items do not reach.
  std::string run(std::uint32_t items, Order order, std::uint64_t seed, unsigned int& item,
                  const std::function<void()>& body);
  /// For the running item: waits until all items of the group have come as far.
  void wait(int line);

 private:
  struct Fiber;

  Fiber& fiber(std::size_t k);
  void resume(Fiber& fiber);
  void run_items();
  static void begin();
  std::string check(std::uint32_t items);

  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::unique_ptr<Fiber> scheduler_;
  Fiber* running_ = nullptr;
  std::vector<Fiber*> waiting_;
  std::vector<std::uint32_t> items_;
  std::uint32_t next_ = 0;
  unsigned int* item_ = nullptr;
  const std::function<void()>* body_ = nullptr;
};

/// The only one: `wait` is called from kernels that know nothing of it.
GroupRunner& group_runner();

}  // namespace virtual_gpu
