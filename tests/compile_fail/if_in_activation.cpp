// expect: use of deleted function|deleted function|uses deleted
#include "sluice/layers.hpp"

sluice::Dense f() {
  return sluice::Dense(2, 3, [](auto x) { return x > 0 ? x : x * 2; });
}
