#include "backends/metal/metal_driver.hpp"

#include "backends/common/driver_library.hpp"
#include "backends/common/failure.hpp"

namespace sluice::metal {
namespace {

using plugin::DriverLibrary;
using plugin::Failure;

// The names without a folder are for systems where something stands in for Apple's libraries.
const DriverLibrary& objc_library() {
  static const auto* const instance = new DriverLibrary({"/usr/lib/libobjc.A.dylib", "libobjc.A.dylib"});
  return *instance;
}

const DriverLibrary& metal_library() {
  static const auto* const instance = new DriverLibrary({"/System/Library/Frameworks/Metal.framework/Metal", "Metal"});
  return *instance;
}

void require_open(const DriverLibrary& library) {
  if (!library.is_open()) throw Failure(SLUICE_UNSUPPORTED, "no Metal, a part of macOS: " + library.reason());
}

template <class Function>
void find(const DriverLibrary& library, Function& function, const char* name) {
  function = reinterpret_cast<Function>(library.find(name));
  if (function == nullptr) throw Failure(SLUICE_ERROR, std::string("this system's libraries have no ") + name);
}

Runtime load_runtime() {
  const DriverLibrary& library = objc_library();
  require_open(library);
  Runtime result{};
  find(library, result.objc_getClass, "objc_getClass");
  find(library, result.sel_registerName, "sel_registerName");
  find(library, result.objc_msgSend, "objc_msgSend");
  find(library, result.objc_retain, "objc_retain");
  find(library, result.objc_release, "objc_release");
  find(library, result.objc_autoreleasePoolPush, "objc_autoreleasePoolPush");
  find(library, result.objc_autoreleasePoolPop, "objc_autoreleasePoolPop");
  return result;
}

/// Why a device cannot be used, empty if it can.
std::string problem_of(id device) {
  const bool is_recent = responds(device, send().has_unified_memory) && responds(device, send().supports_family);
  return is_recent ? "" : "macOS 10.15 or later is needed";
}

Driver start() {
  require_open(metal_library());
  id (*copy_all_devices)() = nullptr;
  find(metal_library(), copy_all_devices, "MTLCopyAllDevices");
  const Pool pool;
  const Reference all(copy_all_devices());
  Driver driver;
  const NSUInteger count = send().count(all.get());
  for (NSUInteger k = 0; k < count; ++k) {
    const id device = send().object_at(all.get(), k);
    const std::string problem = problem_of(device);
    if (problem.empty()) {
      driver.devices.push_back(runtime().objc_retain(device));
    } else {
      driver.left_out += (driver.left_out.empty() ? "" : "; ") + text_of(send().name(device)) + ": " + problem;
    }
  }
  if (count == 0) driver.left_out = "Metal sees no GPU";
  return driver;
}

}  // namespace

// All three stay for ever: what the system started outlives every destructor.
const Runtime& runtime() {
  static const Runtime* const instance = new Runtime(load_runtime());
  return *instance;
}

const Messages& send() {
  static const Messages* const instance = new Messages();
  return *instance;
}

const Driver& driver() {
  static const Driver* const instance = new Driver(start());
  return *instance;
}

id class_named(const char* name) {
  const id result = runtime().objc_getClass(name);
  if (result == nullptr) throw Failure(SLUICE_ERROR, std::string("this system has no class ") + name);
  return result;
}

std::string text_of(id string) {
  const char* const text = send().utf8(string);
  return text == nullptr ? "" : text;
}

id string_of(const std::string& text) { return send().string(class_named("NSString"), text.c_str()); }

std::string describe_error(id error) {
  if (error == nullptr) return "no reason was given";
  const std::string text = text_of(send().description(error));
  return (text.empty() ? "no words" : text) + " (code " + std::to_string(send().code(error)) + ")";
}

}  // namespace sluice::metal
