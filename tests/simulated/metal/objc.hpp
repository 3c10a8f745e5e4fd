// An Objective-C runtime as small as the Metal backend needs it, for machines without one: the library libobjc.A.dylib.
// The classes of the stand-ins for Metal and Metal Performance Shaders are made with what is declared here.
//
// Whatever a real runtime would let pass and crash on later ends the process at once, with a message on stderr.
#pragma once

#include <memory>
#include <string>

#define SIMULATED_EXPORT extern "C" __attribute__((visibility("default")))
#define SIMULATED_SHARED __attribute__((visibility("default")))

namespace simulated_metal {

using Selector = const char*;
using Integer = unsigned long;
using Boolean = signed char;

/// What a class keeps in an object of its own.
struct SIMULATED_SHARED State {
  virtual ~State();
};

struct Object;

/// Prints "simulated Metal: ..." and aborts.
[[noreturn]] SIMULATED_SHARED void die(const std::string& what);

/// A new object with one reference, which the caller owns.
SIMULATED_SHARED Object* make_object(const char* class_name, std::unique_ptr<State> state);
SIMULATED_SHARED Object* retain(Object* object);
SIMULATED_SHARED void release(Object* object);
/// Gives the reference to the thread's pool; dies if there is none.
SIMULATED_SHARED Object* autorelease(Object* object);
/// The object's own state; dies if it has none or is gone.
SIMULATED_SHARED State& state_of(Object* object);
SIMULATED_SHARED void set_state(Object* object, std::unique_ptr<State> state);

template <class T>
T& as(Object* object) {
  T* const state = dynamic_cast<T*>(&state_of(object));
  if (state == nullptr) die("an object of another class is expected");
  return *state;
}

/// A method of objects, or of the class itself. `method` takes the receiver, the selector and the arguments.
SIMULATED_SHARED void add_method(const char* class_name, const char* selector, void (*method)());
SIMULATED_SHARED void add_class_method(const char* class_name, const char* selector, void (*method)());

/// add_method for a lambda that captures nothing.
template <class Method>
void on(const char* class_name, const char* selector, Method method) {
  add_method(class_name, selector, reinterpret_cast<void (*)()>(+method));
}
template <class Method>
void on_class(const char* class_name, const char* selector, Method method) {
  add_class_method(class_name, selector, reinterpret_cast<void (*)()>(+method));
}

/// A reference that counts.
class Kept {
 public:
  Kept() = default;
  explicit Kept(Object* object) : object_(retain(object)) {}
  Kept(const Kept& other) : object_(retain(other.object_)) {}
  Kept& operator=(Kept other) {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Kept() { release(object_); }
  Object* get() const { return object_; }

 private:
  Object* object_ = nullptr;
};

}  // namespace simulated_metal
