// expect: a raw pointer cannot be a field of a model: write std::shared_ptr
#include "sluice/model.hpp"

struct Net {
  sluice::Tensor* weight;
};

sluice::Device f(const Net& model) { return sluice::device_of(model); }
