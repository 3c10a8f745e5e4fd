// expect: a C array cannot be a field of a model: write std::array
#include "sluice/model.hpp"

struct Net {
  sluice::Tensor weights[3];
  SLUICE_FIELDS(weights)
};

sluice::Device f(const Net& model) { return sluice::device_of(model); }
