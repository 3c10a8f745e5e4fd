#include "sluice/fields.hpp"

#include <array>
#include <cstdint>
#include <mutex>
#include <utility>

#include "sluice/ops.hpp"

namespace sluice::detail {
namespace {

/// The mutex of a guarded leaf. They share a few, never destroyed, so that a leaf is as small as what it guards.
std::mutex& guard_of(const void* leaf) {
  static constexpr std::size_t kCount = 64;
  static auto* mutexes = new std::array<std::mutex, kCount>;
  return (*mutexes)[(reinterpret_cast<std::uintptr_t>(leaf) / alignof(std::max_align_t)) % kCount];
}

}  // namespace

LeafVisitor::~LeafVisitor() = default;
void LeafVisitor::tensor(Tensor&) {}
void LeafVisitor::buffer(Buffer&) {}
void LeafVisitor::counter(Counter&) {}
void LeafVisitor::mode(Mode&) {}
void LeafVisitor::target(Target&) {}
void LeafVisitor::generator(Generator&) {}
void LeafVisitor::setting(double&) {}
void LeafVisitor::kept(const KeptValue&) {}
void LeafVisitor::enter(const Part&) {}
void LeafVisitor::leave() {}

std::string LeafVisitor::path() const {
  std::string path;
  for (std::size_t i = 1; i < depth_; ++i) {  // the model itself has no name
    if (i > 1) path += '.';
    if (part(i).name.empty()) path += std::to_string(part(i).index);
    else path += part(i).name;
  }
  return path;
}

void LeafVisitor::push(const Part& part) {
  if (depth_ < kUsualDepth) first_[depth_] = part;
  else rest_.push_back(part);
  ++depth_;
  enter(part);
}

void LeafVisitor::pop() {
  leave();
  if (--depth_ >= kUsualDepth) rest_.pop_back();
}

std::shared_ptr<void> LeafVisitor::shared(const void* address, const void* type) const {
  for (const Shared& each : shared_) {
    if (each.address == address && each.type == type) return each.value;
  }
  return nullptr;
}

void LeafVisitor::remember(const void* address, const void* type, std::shared_ptr<void> value) {
  shared_.push_back({address, type, std::move(value)});
}

std::string function_name(void (*function)()) {
  using OverDimension = Tensor (*)(const Tensor&, int);
  if (function == reinterpret_cast<void (*)()>(static_cast<OverDimension>(softmax))) return "softmax";
  if (function == reinterpret_cast<void (*)()>(static_cast<OverDimension>(logsoftmax))) return "logsoftmax";
  if (function == reinterpret_cast<void (*)()>(static_cast<Tensor (*)(const Tensor&)>(flatten_batch))) return "flatten";
  return "<function>";
}

}  // namespace sluice::detail

namespace sluice::inline v0 {

Buffer::Buffer(Tensor value) : value_(detach(std::move(value))) {}

Buffer& Buffer::operator=(const Buffer& other) {
  if (this != &other) set(other.get());
  return *this;
}

Tensor Buffer::get() const {
  const std::lock_guard lock(detail::guard_of(this));
  return value_;
}

void Buffer::set(Tensor value) const {
  Tensor next = detach(std::move(value));
  const std::lock_guard lock(detail::guard_of(this));
  std::swap(value_, next);
  // `next`, declared before the lock, frees the old tensor after it is released.
}

Counter::Counter() {
  const std::array<std::uint32_t, 4> words = philox(next_random_key(), 0);
  generator_ = Generator((static_cast<std::uint64_t>(words[1]) << 32) | words[0]);
}

Counter& Counter::operator=(const Counter& other) {
  if (this != &other) set(other.get());
  return *this;
}

RandomKey Counter::next() const {
  const std::lock_guard lock(detail::guard_of(this));
  return generator_.next();
}

Generator Counter::get() const {
  const std::lock_guard lock(detail::guard_of(this));
  return generator_;
}

void Counter::set(const Generator& generator) const {
  const std::lock_guard lock(detail::guard_of(this));
  generator_ = generator;
}

}  // namespace sluice::inline v0
