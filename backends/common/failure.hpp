// What goes wrong inside a backend, on its way to the table's functions, which turn it into a status and a text.
#pragma once

#include <stdexcept>
#include <string>

#include "sluice/backend.h"

namespace sluice::plugin {

class Failure : public std::runtime_error {
 public:
  Failure(sluice_status status, const std::string& text) : std::runtime_error(text), status_(status) {}
  sluice_status status() const noexcept { return status_; }

 private:
  sluice_status status_;
};

}  // namespace sluice::plugin
