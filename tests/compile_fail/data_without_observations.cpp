// expect: this type is not data
#include "sluice/data.hpp"

auto loader() { return sluice::DataLoader(3.5, {.batchsize = 2}); }
