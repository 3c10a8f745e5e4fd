// expect: the fields of this struct cannot be counted: add SLUICE_FIELDS
#include "sluice/model.hpp"

struct Net {
  sluice::Tensor a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y;
};

sluice::Device f(const Net& model) { return sluice::device_of(model); }
