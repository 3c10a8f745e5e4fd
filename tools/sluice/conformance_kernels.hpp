// The checks of the conformance run, by what they check. Each takes all element types that the device has.
#pragma once

#include <span>
#include <string_view>

#include "tools/sluice/conformance_check.hpp"

namespace sluice::conformance {

// Each is held against loops in long double, and its gradient against finite differences of them.
void check_map(Check& check);
void check_reduce(Check& check);
void check_softmax(Check& check);
void check_moments(Check& check);
void check_argreduce(Check& check);
void check_copy(Check& check);
void check_gather(Check& check);
void check_scatter_add(Check& check);
void check_product(Check& check);
void check_uniform(Check& check);
/// Moves to the device, back, and between devices of its backend.
void check_moves(Check& check);

// The parts of check_map.
void check_rows(Check& check);
void check_row_gradients(Check& check);
void check_layouts(Check& check);
void check_casts(Check& check);

/// One kernel of the device interface and what checks it.
struct KernelCheck {
  std::string_view name;
  void (*run)(Check& check);
};
/// One entry for every function of DeviceImpl that computes: a new one without an entry does not compile.
std::span<const KernelCheck> kernel_checks();

}  // namespace sluice::conformance
