// The functions of a vendor's driver that its backend calls, by the names under which a fault plan knows them.
#pragma once

#include <string>
#include <vector>

namespace sluice::tests {

std::vector<std::string> cuda_functions();
std::vector<std::string> hip_functions();

}  // namespace sluice::tests
