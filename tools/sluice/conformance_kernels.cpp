// The table of kernels, held to the device interface by the compiler.
#include "tools/sluice/conformance_kernels.hpp"

#include <type_traits>

#include "src/device/device_impl.hpp"

namespace sluice::conformance {
namespace {

using detail::AxisCall;
using detail::CopyCall;
using detail::IndexCall;
using detail::MapCall;
using detail::Operand;
using detail::ProductCall;
using detail::ReduceCall;
using detail::SoftmaxKind;
using detail::Storage;

// Every function of DeviceImpl that computes, with its arguments; check_<name> checks it.
#define SLUICE_KERNELS(KERNEL)                                     \
  KERNEL(map, (const MapCall&))                                    \
  KERNEL(reduce, (const ReduceCall&))                              \
  KERNEL(softmax, (const AxisCall&, SoftmaxKind))                  \
  KERNEL(moments, (const AxisCall&, const Operand&, std::int64_t)) \
  KERNEL(argreduce, (const AxisCall&, bool))                       \
  KERNEL(copy, (const CopyCall&))                                  \
  KERNEL(gather, (const IndexCall&))                               \
  KERNEL(scatter_add, (const IndexCall&))                          \
  KERNEL(product, (const ProductCall&))                            \
  KERNEL(uniform, (const Operand&, std::int64_t, RandomKey))

constexpr KernelCheck kChecks[] = {
#define SLUICE_KERNEL(name, arguments) {#name, check_##name},
    SLUICE_KERNELS(SLUICE_KERNEL)
#undef SLUICE_KERNEL
        {"moves", check_moves},
};

/// A device that has all of them, and what is no computation. It is never made.
class EveryKernel : public detail::DeviceImpl {
 public:
  std::string_view backend() const override { return {}; }
  int id() const override { return 0; }
  std::string name() const override { return {}; }
  bool is_host() const override { return false; }
  Storage* allocate(std::size_t) override { return nullptr; }
  void free(Storage*) noexcept override {}
  void write(Storage&, std::size_t, const void*, std::size_t) override {}
  void read(const Storage&, std::size_t, void*, std::size_t) override {}
#define SLUICE_KERNEL(name, arguments) \
  void name arguments override {}
  SLUICE_KERNELS(SLUICE_KERNEL)
#undef SLUICE_KERNEL
};
static_assert(!std::is_abstract_v<EveryKernel>,
              "DeviceImpl has a function that SLUICE_KERNELS has not: add its line there and its check_<name>");

}  // namespace

std::span<const KernelCheck> kernel_checks() { return kChecks; }

}  // namespace sluice::conformance
