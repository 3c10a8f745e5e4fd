// expect: printing and saving need the names of the fields
#include "sluice/checkpoint.hpp"

struct Net {
  sluice::Tensor weight, bias;
};

void keep(const Net& net) { sluice::save("net.safetensors", net); }
