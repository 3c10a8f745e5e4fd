// expect: add the line SLUICE_FIELDS\(first, second, \.\.\.\) to this struct
#include "sluice/layers.hpp"

struct Plain {
  sluice::Dense a, b;
};

std::string f(const Plain& model) { return sluice::summary(model); }
