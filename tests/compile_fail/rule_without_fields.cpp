// expect: an optimiser rule names its numbers: add SLUICE_FIELDS\(eta, ...\)
#include "sluice/optimisers.hpp"

struct Plain {
  double eta = 0.1;
  static constexpr int states = 0;
  sluice::Expr step(sluice::Expr, sluice::Expr g) const { return eta * g; }
};

sluice::Rule rule() { return Plain{}; }
