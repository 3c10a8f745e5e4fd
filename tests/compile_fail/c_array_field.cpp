// expect: a C array cannot be a field of a model: write std::array
#include "sluice/model.hpp"

struct Net {
  sluice::Tensor weight;
  float factors[3];
};

sluice::Device f(const Net& model) { return sluice::device_of(model); }
