// The elements of a tensor on any device into a file, a piece at a time.
#pragma once

#include "sluice/tensor.hpp"
#include "src/core/atomic_file.hpp"

namespace sluice::detail {
void write_elements(AtomicFile& file, const Tensor& tensor);
}  // namespace sluice::detail
