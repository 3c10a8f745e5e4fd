// A vendor's library, opened at run time. It is never closed: drivers own threads and thread-locals that outlive
// closing.
#pragma once

#include <initializer_list>
#include <string>

namespace sluice::plugin {

class DriverLibrary {
 public:
  /// Opens the first of `names` that can be opened, with its symbols seen by nobody else.
  explicit DriverLibrary(std::initializer_list<const char*> names);

  bool is_open() const noexcept { return handle_ != nullptr; }
  /// The loader's words for the first name; empty if the library is open.
  const std::string& reason() const noexcept { return reason_; }
  /// The address of a symbol, or null.
  void* find(const char* symbol) const noexcept;
  /// The file that holds `symbol`, empty if unknown.
  std::string file_of(const char* symbol) const;

 private:
  void* handle_ = nullptr;
  std::string reason_;
};

}  // namespace sluice::plugin
