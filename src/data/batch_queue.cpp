// The threads of a DataLoader.
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

#include "sluice/loader.hpp"

namespace sluice::detail {

struct BatchQueue::Shared {
  struct Slot {
    bool done = false;
    std::shared_ptr<void> batch;
    std::exception_ptr error;
  };

  Shared(std::int64_t count_, std::size_t window, const BatchQueue& queue_)
      : count(count_), queue(queue_), slots(window) {}

  Slot& slot(std::int64_t batch) { return slots[static_cast<std::size_t>(batch) % slots.size()]; }
  bool has_work() const { return started < count && started < taken + static_cast<std::int64_t>(slots.size()); }
  void work();

  const std::int64_t count;
  const BatchQueue& queue;
  const pid_t process = getpid();
  std::mutex mutex;
  std::condition_variable room, done;
  std::vector<Slot> slots;  // of batches taken ... taken + window - 1
  std::int64_t started = 0, taken = 0;
  bool stopped = false;
  std::vector<std::thread> threads;
};

void BatchQueue::numbered(std::int64_t batch, const std::function<void()>& f) {
  try {
    f();
  } catch (...) {
    rethrow_at("DataLoader: batch " + std::to_string(batch));
  }
}

std::shared_ptr<void> BatchQueue::made(std::int64_t batch) const {
  if (errors_ == Errors::as_they_are) return make_(batch);
  std::shared_ptr<void> result;
  numbered(batch, [&] { result = make_(batch); });
  return result;
}

void BatchQueue::Shared::work() {
  std::unique_lock lock(mutex);
  while (true) {
    room.wait(lock, [this] { return stopped || started == count || has_work(); });
    if (stopped || started == count) return;
    const std::int64_t batch = started++;
    lock.unlock();
    Slot result;
    result.done = true;
    try {
      result.batch = queue.made(batch);
    } catch (...) {
      result.error = std::current_exception();
    }
    lock.lock();
    std::swap(slot(batch), result);
    done.notify_one();
  }
}

BatchQueue::BatchQueue(std::int64_t count, int threads, Make make, Errors errors)
    : count_(count), make_(std::move(make)), errors_(errors) {
  threads = static_cast<int>(std::min<std::int64_t>(threads, count));
  if (threads == 0) return;
  const std::size_t window = threads == 1 ? 1 : 2 * static_cast<std::size_t>(threads);
  shared_ = std::make_shared<Shared>(count, window, *this);
  try {
    for (int i = 0; i < threads; ++i) shared_->threads.emplace_back([shared = shared_.get()] { shared->work(); });
  } catch (const std::system_error& error) {
    // The threads that did start will do, and without any the batches are made in `next`.
    if (shared_->threads.empty()) shared_ = nullptr;
  }
}

BatchQueue::~BatchQueue() {
  if (shared_ == nullptr) return;
  if (shared_->process != getpid()) {
    // A child of fork has no such threads, and a lock one of them may have held: let all of it go.
    for (std::thread& thread : shared_->threads) thread.detach();
    new (std::nothrow) std::shared_ptr<Shared>(std::move(shared_));
    return;
  }
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->stopped = true;
  }
  shared_->room.notify_all();
  for (std::thread& thread : shared_->threads) thread.join();
}

std::shared_ptr<void> BatchQueue::take(std::int64_t batch) {
  if (shared_ == nullptr || shared_->process != getpid()) return made(batch);
  Shared::Slot result;
  {
    std::unique_lock lock(shared_->mutex);
    Shared::Slot& slot = shared_->slot(batch);
    shared_->done.wait(lock, [&slot] { return slot.done; });
    std::swap(slot, result);
    ++shared_->taken;
  }
  shared_->room.notify_one();
  if (result.error) std::rethrow_exception(result.error);
  return std::move(result.batch);
}

std::shared_ptr<void> BatchQueue::next() {
  if (next_ >= count_) return nullptr;
  const std::int64_t batch = std::exchange(next_, count_);  // nothing more if this one throws
  std::shared_ptr<void> result = take(batch);
  next_ = batch + 1;
  return result;
}

}  // namespace sluice::detail
