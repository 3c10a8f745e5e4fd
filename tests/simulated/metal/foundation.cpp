// NSString, NSArray, NSError and NSProcessInfo, which come with the real Metal as well.
#include "tests/simulated/metal/metal.hpp"

namespace simulated_metal {

Object* string_object(const std::string& text) {
  return autorelease(make_object("NSString", std::make_unique<Text>(text)));
}

Object* error_object(const std::string& text, long code) {
  return autorelease(make_object("NSError", std::make_unique<Error>(text, code)));
}

void add_foundation() {
  on_class("NSString", "stringWithUTF8String:", [](Object*, Selector, const char* text) -> Object* {
    if (text == nullptr) die("stringWithUTF8String: NULL");
    return string_object(text);
  });
  on("NSString", "UTF8String", [](Object* self, Selector) { return as<Text>(self).text.c_str(); });
  on("NSArray", "count", [](Object* self, Selector) -> Integer { return as<List>(self).objects.size(); });
  on("NSArray", "objectAtIndex:", [](Object* self, Selector, Integer k) -> Object* {
    const List& list = as<List>(self);
    if (k >= list.objects.size()) die("objectAtIndex: " + std::to_string(k) + " is outside of the array");
    return list.objects[k].get();
  });
  on("NSError", "localizedDescription", [](Object* self, Selector) { return string_object(as<Error>(self).text); });
  on("NSError", "code", [](Object* self, Selector) { return as<Error>(self).code; });
  on_class("NSProcessInfo", "processInfo", [](Object*, Selector) -> Object* {
    static Object* const process = make_object("NSProcessInfo", std::make_unique<State>());
    return process;
  });
  on("NSProcessInfo", "operatingSystemVersionString",
     [](Object*, Selector) { return string_object("Version 14.0 (simulated)"); });
}

}  // namespace simulated_metal
