// expect: the fields of this class cannot be seen: add SLUICE_FIELDS\(first, second, \.\.\.\) to it
#include "sluice/model.hpp"

class Secret {
 public:
  explicit Secret(sluice::Tensor x) : weight_(std::move(x)) {}

 private:
  sluice::Tensor weight_;
};

sluice::Device f(const Secret& model) { return sluice::device_of(model); }
