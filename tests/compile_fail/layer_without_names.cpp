// expect: add the line SLUICE_FIELDS\(first, second, \.\.\.\) to this struct
#include "sluice/layers.hpp"

struct Plain {
  sluice::Dense a;
  sluice::Tensor operator()(const sluice::Tensor& x) const { return a(x); }
};

sluice::Layer f() { return Plain{}; }
