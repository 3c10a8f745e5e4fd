// The Objective-C runtime as plain C++ sees it: objects, messages with their prototypes, autorelease pools. Nothing of
// Apple's is needed to compile this; the runtime is opened when it is first used.
#pragma once

#include <type_traits>
#include <utility>

namespace sluice::metal {

using id = struct Object*;
using Selector = struct SelectorName*;
using NSUInteger = unsigned long;
using NSInteger = long;
#if defined(__aarch64__)
using BOOL = bool;
#else
using BOOL = signed char;
#endif

struct Runtime {
  id (*objc_getClass)(const char* name);
  Selector (*sel_registerName)(const char* name);
  void (*objc_msgSend)();
  id (*objc_retain)(id object);
  void (*objc_release)(id object);
  void* (*objc_autoreleasePoolPush)();
  void (*objc_autoreleasePoolPop)(void* pool);
};

/// The runtime's functions. Opens it at the first call; throws Failure where there is none. Lives for ever.
const Runtime& runtime();

/// A message with its prototype. objc_msgSend jumps to the method and leaves the arguments where they are, so it is
/// called as a function of exactly the method's type: a variadic call would place them elsewhere on arm64.
template <class Prototype>
class Message;
template <class Result, class... Parameters>
class Message<Result(Parameters...)> {
 public:
  // Large structs come back another way on x86-64.
  static_assert(std::is_void_v<Result> || std::is_scalar_v<Result>);

  explicit Message(const char* name) : selector_(runtime().sel_registerName(name)) {}
  Selector selector() const noexcept { return selector_; }
  /// A message to nil gives 0.
  Result operator()(id receiver, Parameters... arguments) const {
    using Method = Result (*)(id, Selector, Parameters...);
    return reinterpret_cast<Method>(runtime().objc_msgSend)(receiver, selector_, arguments...);
  }

 private:
  Selector selector_;
};

/// A reference to an object that counts.
class Reference {
 public:
  Reference() = default;
  /// Takes over the reference that a method called new..., alloc... or copy... gives.
  explicit Reference(id owned) noexcept : object_(owned) {}
  /// One more reference, to what any other method gives.
  static Reference to(id object) { return Reference(runtime().objc_retain(object)); }
  Reference(Reference&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Reference& operator=(Reference&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;
  ~Reference() { reset(); }

  id get() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  void reset() noexcept {
    if (object_ != nullptr) runtime().objc_release(std::exchange(object_, nullptr));
  }

 private:
  id object_ = nullptr;
};

/// What methods give without a reference lives until the pool ends.
class Pool {
 public:
  Pool() : pool_(runtime().objc_autoreleasePoolPush()) {}
  ~Pool() { runtime().objc_autoreleasePoolPop(pool_); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

 private:
  void* pool_;
};

}  // namespace sluice::metal
