// expect: no match for 'operator<<'|no match for ‘operator<<’|invalid operands to binary expression
#include <iostream>

#include "sluice/layers.hpp"

namespace user {
struct Net {
  sluice::Dense a;
  SLUICE_FIELDS(a)
};
}  // namespace user

void f(const user::Net& model) { std::cout << model; }
