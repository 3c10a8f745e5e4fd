#include "tests/simulated/metal/objc.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace simulated_metal {
namespace {

struct Class {
  std::string name;
  std::map<Selector, void (*)()> methods, class_methods;
  std::atomic<int> live{0};
};

}  // namespace

// It is never freed: a message to an object that is gone is found.
struct Object {
  Class* its_class;
  bool is_class;
  std::atomic<int> references{1};
  std::unique_ptr<State> state;
};

namespace {

struct Runtime {
  std::mutex mutex;
  std::set<std::string> selectors;
  std::map<std::string, std::unique_ptr<Class>> classes;
  std::map<const Class*, Object*> class_objects;
  std::vector<Object*> objects;  // all of them, so that none counts as leaked
};

// Lives for ever.
Runtime& runtime() {
  static auto* const instance = new Runtime;
  return *instance;
}

Selector name_selector(const char* name) { return runtime().selectors.insert(name).first->c_str(); }

Class& find_class(const char* name) {
  std::unique_ptr<Class>& found = runtime().classes[name];
  if (found == nullptr) {
    found = std::make_unique<Class>();
    found->name = name;
  }
  return *found;
}

thread_local std::vector<std::vector<Object*>> pools;

const char* describe(const Object& object) { return object.its_class->name.c_str(); }

}  // namespace

State::~State() = default;

void die(const std::string& what) {
  std::fprintf(stderr, "simulated Metal: %s\n", what.c_str());
  std::abort();
}

Object* make_object(const char* class_name, std::unique_ptr<State> state) {
  const std::lock_guard guard(runtime().mutex);
  auto* const object = new Object{&find_class(class_name), false, {1}, std::move(state)};
  ++object->its_class->live;
  runtime().objects.push_back(object);
  return object;
}

Object* retain(Object* object) {
  if (object == nullptr || object->is_class) return object;
  if (object->references++ < 1) die(std::string("retain of a ") + describe(*object) + " that is gone");
  return object;
}

void release(Object* object) {
  if (object == nullptr || object->is_class) return;
  const int left = --object->references;
  if (left < 0) die(std::string("a ") + describe(*object) + " is released more often than it was retained");
  if (left > 0) return;
  --object->its_class->live;
  object->state.reset();
}

Object* autorelease(Object* object) {
  if (object == nullptr || object->is_class) return object;
  if (pools.empty()) die(std::string("a ") + describe(*object) + " is autoreleased without a pool");
  pools.back().push_back(object);
  return object;
}

State& state_of(Object* object) {
  if (object == nullptr) die("nil where an object is needed");
  if (object->state == nullptr) die(std::string("a ") + describe(*object) + " that is not initialised is used");
  return *object->state;
}

void set_state(Object* object, std::unique_ptr<State> state) { object->state = std::move(state); }

void add_method(const char* class_name, const char* selector, void (*method)()) {
  const std::lock_guard guard(runtime().mutex);
  find_class(class_name).methods[name_selector(selector)] = method;
}

void add_class_method(const char* class_name, const char* selector, void (*method)()) {
  const std::lock_guard guard(runtime().mutex);
  find_class(class_name).class_methods[name_selector(selector)] = method;
}

// ---- What every class has.

namespace {

Object* allocate(Object* its_class, Selector) { return make_object(its_class->its_class->name.c_str(), nullptr); }

Boolean responds(Object* object, Selector, Selector asked) {
  const Class& its = *object->its_class;
  return object->is_class ? its.class_methods.contains(asked) : its.methods.contains(asked);
}

/// The method of a message that the class itself does not have, null if no class has it.
void (*inherited(const Object& object, Selector selector))() {
  static const Selector kRetain = name_selector("retain"), kRelease = name_selector("release"),
                        kAlloc = name_selector("alloc"), kResponds = name_selector("respondsToSelector:");
  if (selector == kRetain) return reinterpret_cast<void (*)()>(+[](Object* self, Selector) { return retain(self); });
  if (selector == kRelease) return reinterpret_cast<void (*)()>(+[](Object* self, Selector) { release(self); });
  if (selector == kResponds) return reinterpret_cast<void (*)()>(&responds);
  return selector == kAlloc && object.is_class ? reinterpret_cast<void (*)()>(&allocate) : nullptr;
}

}  // namespace

/// For objc_msgSend: where a message to an object goes.
extern "C"
    __attribute__((used, visibility("hidden"))) void (*simulated_objc_find(Object* object, Selector selector))() {
  const std::lock_guard guard(runtime().mutex);
  if (object->references < 1) {
    die(std::string("a message \"") + selector + "\" to a " + describe(*object) + " that is gone");
  }
  const auto& methods = object->is_class ? object->its_class->class_methods : object->its_class->methods;
  if (const auto found = methods.find(selector); found != methods.end()) return found->second;
  if (const auto method = inherited(*object, selector)) return method;
  die(std::string(object->is_class ? "the class " : "a ") + describe(*object) + " does not respond to \"" + selector +
      "\"");
}

// ---- The runtime's functions.

SIMULATED_EXPORT Object* objc_getClass(const char* name) {
  const std::lock_guard guard(runtime().mutex);
  const auto found = runtime().classes.find(name);
  if (found == runtime().classes.end()) return nullptr;
  Object*& object = runtime().class_objects[found->second.get()];
  if (object == nullptr) object = new Object{found->second.get(), true, {1}, nullptr};
  return object;
}

SIMULATED_EXPORT Selector sel_registerName(const char* name) {
  const std::lock_guard guard(runtime().mutex);
  return name_selector(name);
}

SIMULATED_EXPORT Object* objc_retain(Object* object) { return retain(object); }
SIMULATED_EXPORT void objc_release(Object* object) { release(object); }

SIMULATED_EXPORT void* objc_autoreleasePoolPush() {
  pools.emplace_back();
  return reinterpret_cast<void*>(pools.size());
}

SIMULATED_EXPORT void objc_autoreleasePoolPop(void* pool) {
  if (pools.size() != reinterpret_cast<std::size_t>(pool))
    die("autorelease pools end in another order than they begin");
  const std::vector<Object*> objects = std::move(pools.back());
  pools.pop_back();
  for (Object* const object : objects) release(object);
}

/// For tests: how many objects of a class there are.
SIMULATED_EXPORT int simulated_objc_live(const char* class_name) {
  const std::lock_guard guard(runtime().mutex);
  return find_class(class_name).live;
}

}  // namespace simulated_metal
