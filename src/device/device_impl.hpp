// What a device can do. There are two implementations: the CPU, which interprets programs, and the plug-in device,
// which renders them to source text. Everything above this interface is the same for every device.
//
// Calls carry checked, already broadcast and collapsed operands; a device does no shape logic. Work is queued in order;
// `read` waits for it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "sluice/expr.hpp"
#include "sluice/shape.hpp"

namespace sluice::detail {

class CachingAllocator;
class DeviceImpl;
class TypedProgram;
enum class CombineOp : std::uint8_t { sum, prod, max, min };

/// What integers are known to lie between; everything where nobody has looked. It spares indices a check on a device,
/// whose answer would have to be waited for.
struct IntegerRange {
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t greatest = std::numeric_limits<std::int64_t>::max();
};

/// A block of a device's memory, shared by the tensors that lie in it.
struct Storage {
  Storage(DeviceImpl* device_, void* data_, std::size_t bytes_) : device(device_), data(data_), bytes(bytes_) {}
  std::atomic<std::uint32_t> refs{1};
  bool lent = false;  ///< memory of somebody else, never written here
  DeviceImpl* device;
  void* data;  ///< host pointer on the CPU, the plug-in's handle elsewhere
  std::size_t bytes;
  IntegerRange range;  ///< of all elements; only written before others see the block
};

/// Elements of a block as a call walks over them: element (i0, i1, ...) lies at offset + sum(i * stride).
struct Operand {
  Storage* storage = nullptr;
  std::int64_t offset = 0;  ///< in elements
  DType dtype = f32;
  std::array<std::int64_t, Shape::kMaxRank> strides{};  ///< in elements; 0 where the operand is broadcast

  /// First element, for host memory.
  std::byte* host() const {
    return static_cast<std::byte*>(storage->data) + offset * static_cast<std::int64_t>(dtype.size());
  }
};

/// outputs = program(inputs), elementwise over `space`. Outputs are dense in `space`.
struct MapCall {
  const TypedProgram& program;
  std::span<const Scalar> params;
  const Shape& space;
  std::span<const Operand> inputs;
  std::span<const Operand> outputs;
};

/// output = combine of program(inputs) over the dimensions of `space` where the output's stride is 0.
/// `length` is the product of the reduced sizes. `scale` multiplies a floating sum at the end.
struct ReduceCall {
  const TypedProgram&
      program;  ///< one output, of the type to accumulate: f32, f64, i64, or an operand's for max and min
  std::span<const Scalar> params;
  const Shape& space;
  std::span<const Operand> inputs;
  Operand output;
  CombineOp combine;
  double scale;
  std::int64_t length;
};

/// A dense tensor seen as (inner, length, outer), worked on along the middle.
struct AxisCall {
  Operand input;
  Operand output;
  std::int64_t inner, length, outer;
};
enum class SoftmaxKind : std::uint8_t { softmax, logsoftmax };

/// to(space) = from(space); same element type; either side may be strided.
struct CopyCall {
  const Shape& space;
  Operand from;
  Operand to;
};

/// Columns of `column` elements each: output column j is input column indices[j] (gather), or output column indices[j]
/// += input column j (scatter_add, output zeroed by the device first). Indices are i64, dense, on the device.
struct IndexCall {
  Operand input;
  Operand output;
  Operand indices;
  std::int64_t column;
  std::int64_t count;  ///< number of indices
  std::int64_t bound;  ///< valid indices are 0 ... bound - 1; another throws IndexError before anything is written
};

/// c = op(a) op(b), column-major, dense, batched; a batch stride of 0 repeats the matrix.
struct ProductCall {
  Operand a, b, c;
  bool transpose_a, transpose_b;
  std::int64_t m, n, k, batch;
  std::int64_t batch_stride_a, batch_stride_b;
};

class DeviceImpl {
 public:
  DeviceImpl() = default;
  DeviceImpl(const DeviceImpl&) = delete;
  DeviceImpl& operator=(const DeviceImpl&) = delete;
  virtual ~DeviceImpl() = default;

  virtual std::string_view backend() const = 0;
  virtual int id() const = 0;
  virtual std::string name() const = 0;
  virtual bool is_host() const = 0;  ///< whether Storage::data can be read by the CPU
  virtual bool has_f64() const { return true; }
  /// The vendor's handle of the device as a number, 0 where there is none.
  virtual std::uint64_t native_handle() { return 0; }
  /// How many kernels it has made so far, compiled or taken from the disk; 0 where there are none.
  virtual std::size_t made_kernels() const { return 0; }
  /// What counts and keeps its memory, null if nothing does.
  virtual CachingAllocator* allocator() { return nullptr; }

  /// A block with one reference. Throws OutOfMemory with asked and limit. `bytes` may be 0.
  virtual Storage* allocate(std::size_t bytes) = 0;
  virtual void free(Storage* storage) noexcept = 0;
  /// Memory that somebody else owns, as a block with one reference. `release` is called when the block has been freed
  /// and no work uses it any more; not at all if this throws, or in a process that was forked since. The default throws
  /// Unsupported.
  virtual Storage* wrap(std::uint64_t address, std::size_t bytes, std::function<void()> release);
  /// Where a block begins for the vendor's own libraries, after waiting for queued work. The default throws
  /// Unsupported.
  virtual std::uint64_t address(const Storage& storage);
  virtual void write(Storage& to, std::size_t offset, const void* from, std::size_t bytes) = 0;
  virtual void read(const Storage& from, std::size_t offset, void* to, std::size_t bytes) = 0;
  /// Bytes of another device to the start of `to`; neither is the host. The default goes through host memory whole.
  virtual void copy_from_device(Storage& to, const Storage& from, std::size_t from_offset, std::size_t bytes);

  virtual void map(const MapCall& call) = 0;
  virtual void reduce(const ReduceCall& call) = 0;
  virtual void softmax(const AxisCall& call, SoftmaxKind kind) = 0;
  /// Mean to `call.output` and variance to `variance`, both f32 or f64, of length inner * outer.
  virtual void moments(const AxisCall& call, const Operand& variance, std::int64_t correction) = 0;
  /// Indices (i64) of the greatest or least along the middle.
  virtual void argreduce(const AxisCall& call, bool greatest) = 0;
  virtual void copy(const CopyCall& call) = 0;
  virtual void gather(const IndexCall& call) = 0;
  virtual void scatter_add(const IndexCall& call) = 0;
  virtual void product(const ProductCall& call) = 0;
  /// Uniforms in [0, 1), f32 or f64 output.
  virtual void uniform(const Operand& output, std::int64_t count, RandomKey key) = 0;
};

/// "CPU" or "CUDA device 0": how messages call a device.
std::string short_name(const DeviceImpl& device);

/// Tells the owner of wrapped memory; what that throws has nowhere to go.
void call_release(const std::function<void()>& release) noexcept;

/// The CPU's device, made at the first call, never destroyed: tensors of static lifetime may outlive everything.
DeviceImpl* cpu_device_impl();

}  // namespace sluice::detail
