// expect: a shared_ptr to a base class cannot be followed
#include "sluice/model.hpp"

struct Base {
  virtual ~Base() = default;
  sluice::Tensor weight;
  SLUICE_FIELDS(weight)
};

sluice::Device f(const std::shared_ptr<Base>& model) { return sluice::device_of(model); }
