// expect: only the base class has SLUICE_FIELDS
#include "sluice/layers.hpp"

struct Wider : sluice::Dense {
  sluice::Tensor more;
};

sluice::Device f(const Wider& model) { return sluice::device_of(model); }
