// What the stand-in for Metal looks at: each mistake ends the process with its name. Messages are sent here as the
// Metal backend would send them if it made that mistake.
#include <gtest/gtest.h>

#ifdef SLUICE_TEST_SIMULATED_METAL
#include <array>
#include <cstdlib>
#include <utility>

#include "tests/metal_table.hpp"

namespace sluice::tests {
namespace {

using Object = void*;
using Integer = unsigned long;
struct Size {
  Integer width, height, depth;
};

/// Sends a message to an object.
template <class Result, class... Parameters>
Result send(Object object, const char* selector, Parameters... parameters) {
  static auto* const find = simulated_metal_function<const char*(const char*)>("sel_registerName");
  static auto* const deliver = simulated_metal_function<void()>("objc_msgSend");
  return reinterpret_cast<Result (*)(Object, const char*, Parameters...)>(deliver)(object, find(selector),
                                                                                   parameters...);
}

Object class_named(const char* name) { return simulated_metal_function<Object(const char*)>("objc_getClass")(name); }
void* push() { return simulated_metal_function<void*()>("objc_autoreleasePoolPush")(); }
void pop(void* pool) { simulated_metal_function<void(void*)>("objc_autoreleasePoolPop")(pool); }

Object text(const char* words) { return send<Object>(class_named("NSString"), "stringWithUTF8String:", words); }

// Not named ...DeathTest, because every process here has one thread.
class SimulatedMetal : public ::testing::Test {
 protected:
  SimulatedMetal() {
    setenv("VIRTUAL_METAL_COUNT", "2", 1);
    setenv("VIRTUAL_METAL_KIND", "integrated,discrete", 1);
    use_simulated_metal();
    pool = push();
    devices = simulated_metal_function<Object()>("MTLCopyAllDevices")();
    device = send<Object>(devices, "objectAtIndex:", Integer{0});
    queue = send<Object>(device, "newCommandQueue");
    commands = send<Object>(queue, "commandBuffer");
  }
  ~SimulatedMetal() override {
    if (pool != nullptr) pop(pool);
  }

  Object buffer(Object of, Integer bytes = 64, Integer options = 0) {
    return send<Object>(of, "newBufferWithLength:options:", bytes, options);
  }
  Object other_device() { return send<Object>(devices, "objectAtIndex:", Integer{1}); }
  Object encoder(const char* kind = "computeCommandEncoder") { return send<Object>(commands, kind); }
  /// The kernel that scales, ready to be dispatched with its first argument missing.
  Object encoder_with_kernel() {
    const Object options = send<Object>(class_named("MTLCompileOptions"), "new");
    send<void>(options, "setFastMathEnabled:", static_cast<signed char>(0));
    const Object library = send<Object>(device, "newLibraryWithSource:options:error:", text(kMetalScale), options,
                                        static_cast<Object*>(nullptr));
    const Object function = send<Object>(library, "newFunctionWithName:", text("scale"));
    const Object pipeline =
        send<Object>(device, "newComputePipelineStateWithFunction:options:reflection:error:", function, Integer{0},
                     static_cast<Object*>(nullptr), static_cast<Object*>(nullptr));
    const Object made = encoder();
    send<void>(made, "setComputePipelineState:", pipeline);
    const float factor = 2;
    const int count = 4;
    bind_bytes(made, &factor, sizeof factor, 1);
    bind_bytes(made, &count, sizeof count, 2);
    return made;
  }
  static void bind(Object to, Object from, Integer offset, Integer index) {
    send<void>(to, "setBuffer:offset:atIndex:", from, offset, index);
  }
  static void bind_bytes(Object to, const void* bytes, Integer length, Integer index) {
    send<void>(to, "setBytes:length:atIndex:", bytes, length, index);
  }
  static void dispatch(Object to, Size groups, Size group) {
    send<void>(to, "dispatchThreadgroups:threadsPerThreadgroup:", groups, group);
  }
  static void copy(Object to, Object from, Integer from_offset, Object target, Integer to_offset, Integer bytes) {
    send<void>(to, "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:", from, from_offset, target, to_offset,
               bytes);
  }

  void* pool = nullptr;
  Object devices = nullptr, device = nullptr, queue = nullptr, commands = nullptr;
};

#define EXPECT_STOP(statement, words) EXPECT_DEATH(statement, "simulated Metal: .*" words)

TEST_F(SimulatedMetal, RunsWhatIsRight) {
  const Object memory = buffer(device);
  auto* const numbers = static_cast<float*>(send<void*>(memory, "contents"));
  for (int i = 0; i < 5; ++i) numbers[i] = static_cast<float>(i);
  const Object compute = encoder_with_kernel();
  bind(compute, memory, 0, 0);
  dispatch(compute, {1, 1, 1}, {64, 1, 1});
  send<void>(compute, "endEncoding");
  send<void>(commands, "commit");
  EXPECT_EQ(numbers[3], 3) << "as late as it may";
  send<void>(commands, "waitUntilCompleted");
  EXPECT_EQ(send<Integer>(commands, "status"), 4U);
  EXPECT_EQ(std::vector<float>(numbers, numbers + 5), (std::vector<float>{0, 2, 4, 6, 4}));
}

TEST_F(SimulatedMetal, AMessageToNilGivesZero) {
  EXPECT_EQ(send<Integer>(nullptr, "count"), 0U);
  EXPECT_EQ(send<Object>(nullptr, "anything:", Integer{3}), nullptr);
}

TEST_F(SimulatedMetal, MessagesAndReferences) {
  EXPECT_STOP(send<void>(device, "noSuchMessage:", 1), "a MTLDevice does not respond to \"noSuchMessage:\"");
  EXPECT_STOP(send<Object>(class_named("NSString"), "new"), "the class NSString does not respond");
  EXPECT_EQ(class_named("NSNoSuchClass"), nullptr);
  const Object memory = buffer(device);
  EXPECT_STOP(
      {
        send<void>(memory, "release");
        send<void*>(memory, "contents");
      },
      "a message \"contents\" to a MTLBuffer that is gone");
  const auto release = simulated_metal_function<void(Object)>("objc_release");
  const auto retain = simulated_metal_function<Object(Object)>("objc_retain");
  release(memory);
  EXPECT_STOP(release(memory), "a MTLBuffer is released more often than it was retained");
  EXPECT_STOP(retain(memory), "retain of a MTLBuffer that is gone");
  EXPECT_STOP(send<void*>(send<Object>(class_named("MPSMatrix"), "alloc"), "initWithBuffer:offset:descriptor:",
                          static_cast<Object>(nullptr), Integer{0}, send<Object>(class_named("MPSMatrix"), "alloc")),
              "a MPSMatrix that is not initialised is used");
}

TEST_F(SimulatedMetal, Pools) {
  const Object kept = send<Object>(commands, "retain");
  pop(std::exchange(pool, nullptr));
  EXPECT_EQ(send<Integer>(kept, "status"), 0U);
  EXPECT_STOP(send<Object>(queue, "commandBuffer"), "a MTLCommandBuffer is autoreleased without a pool");
  void* const outer = push();
  void* const inner = push();
  EXPECT_STOP(pop(outer), "pools end in another order");
  pop(inner);
  pop(outer);
}

TEST_F(SimulatedMetal, CommandBuffers) {
  EXPECT_STOP(send<void>(commands, "waitUntilCompleted"), "waits for a command buffer that is not committed");
  const Object open = encoder();
  EXPECT_STOP(send<void>(commands, "commit"), "committed before endEncoding");
  EXPECT_STOP(encoder("blitCommandEncoder"), "two encoders of a command buffer are open");
  EXPECT_STOP(pop(pool), "an encoder goes without endEncoding");
  send<void>(open, "endEncoding");
  EXPECT_STOP(send<void>(open, "endEncoding"), "after endEncoding");
  send<void>(commands, "commit");
  EXPECT_STOP(send<void>(commands, "commit"), "committed twice");
  EXPECT_STOP(encoder(), "an encoder for a command buffer that is committed");
}

TEST_F(SimulatedMetal, Buffers) {
  EXPECT_STOP(buffer(device, 0), "a buffer of 0 bytes");
  EXPECT_STOP(buffer(device, 64, 7), "unknown options");
  const float number = 1;
  EXPECT_STOP(send<Object>(device, "newBufferWithBytes:length:options:", &number, Integer{4}, Integer{32}),
              "a private buffer is made with bytes of the host");
  EXPECT_EQ(send<void*>(buffer(device, 64, 32), "contents"), nullptr) << "private";
  const Object memory = buffer(device);
  auto* const bytes = static_cast<char*>(send<void*>(memory, "contents"));
  bytes[64] = 0;
  EXPECT_STOP(send<void>(memory, "release"), "somebody wrote beside a buffer");
}

TEST_F(SimulatedMetal, Arguments) {
  const Object compute = encoder();
  const Object memory = buffer(device), elsewhere = buffer(other_device());
  const std::array<char, 5000> bytes{};
  EXPECT_STOP(bind_bytes(compute, bytes.data(), 4097, 0), "setBytes of 4097 bytes");
  EXPECT_STOP(bind_bytes(compute, bytes.data(), 4, 31), "index 31; there are 31");
  EXPECT_STOP(bind(compute, memory, 64, 0), "bound from behind its end");
  EXPECT_STOP(bind(compute, elsewhere, 0, 0), "a buffer of another device");
  EXPECT_STOP(dispatch(compute, {1, 1, 1}, {64, 1, 1}), "a dispatch without a pipeline");
  send<void>(compute, "endEncoding");
  const Object ready = encoder_with_kernel();
  EXPECT_STOP(dispatch(ready, {1, 1, 1}, {64, 1, 1}), "kernel scale: nothing is bound at index 0");
  bind(ready, memory, 0, 0);
  EXPECT_STOP(dispatch(ready, {1, 1, 1}, {1025, 1, 1}), "a group of 1025 items");
  EXPECT_STOP(dispatch(ready, {0, 1, 1}, {64, 1, 1}), "an empty grid");
  EXPECT_STOP(dispatch(ready, {1, 2, 1}, {64, 1, 1}), "more than one dimension");
  send<void>(ready, "endEncoding");
  EXPECT_STOP(dispatch(ready, {1, 1, 1}, {64, 1, 1}), "after endEncoding");
}

TEST_F(SimulatedMetal, Copies) {
  const Object blit = encoder("blitCommandEncoder"), a = buffer(device), b = buffer(device);
  EXPECT_STOP(copy(blit, a, 2, b, 0, 4), "not of whole words");
  EXPECT_STOP(copy(blit, a, 0, b, 2, 4), "not of whole words");
  EXPECT_STOP(copy(blit, a, 0, b, 0, 6), "not of whole words");
  EXPECT_STOP(copy(blit, a, 0, b, 0, 0), "a copy of 0 bytes");
  EXPECT_STOP(copy(blit, a, 8, b, 0, 60), "from behind the end");
  EXPECT_STOP(copy(blit, a, 0, b, 8, 60), "to behind the end");
  EXPECT_STOP(copy(blit, a, 0, a, 4, 8), "overlaps itself");
  EXPECT_STOP(copy(blit, a, 0, buffer(other_device()), 0, 8), "another device");
  send<void>(blit, "endEncoding");
}

TEST_F(SimulatedMetal, FastMathsIsRefused) {
  const Object options = send<Object>(class_named("MTLCompileOptions"), "new");
  EXPECT_STOP(send<Object>(device, "newLibraryWithSource:options:error:", text(kMetalScale), options,
                           static_cast<Object*>(nullptr)),
              "kernels are compiled with fast maths");
  EXPECT_STOP(send<Object>(device, "newLibraryWithSource:options:error:", text(kMetalScale),
                           static_cast<Object>(nullptr), static_cast<Object*>(nullptr)),
              "kernels are compiled with fast maths");
}

TEST_F(SimulatedMetal, Products) {
  const auto shape = [](Integer rows, Integer columns, Integer row_bytes, Integer matrix_bytes, unsigned type) {
    return send<Object>(class_named("MPSMatrixDescriptor"),
                        "matrixDescriptorWithRows:columns:matrices:rowBytes:matrixBytes:dataType:", rows, columns,
                        Integer{1}, row_bytes, matrix_bytes, type);
  };
  constexpr unsigned kFloat = 0x10000020;
  EXPECT_STOP(shape(2, 2, 8, 16, 5), "an unknown type");
  EXPECT_STOP(shape(2, 0, 8, 16, kFloat), "an empty matrix");
  EXPECT_STOP(shape(2, 2, 4, 16, kFloat), "rows of a matrix overlap");
  EXPECT_STOP(shape(2, 2, 8, 12, kFloat), "no whole rows apart");
  const auto matrix = [&](Integer rows, Integer columns, Integer offset) {
    return send<Object>(send<Object>(class_named("MPSMatrix"), "alloc"),
                        "initWithBuffer:offset:descriptor:", buffer(device), offset,
                        shape(rows, columns, 4 * columns, 4 * columns * rows, kFloat));
  };
  EXPECT_STOP(matrix(2, 2, 2), "begins within an element");
  const Object product = send<Object>(
      send<Object>(class_named("MPSMatrixMultiplication"), "alloc"),
      "initWithDevice:transposeLeft:transposeRight:resultRows:resultColumns:interiorColumns:alpha:beta:", device,
      static_cast<signed char>(0), static_cast<signed char>(0), Integer{2}, Integer{3}, Integer{4}, 1.0, 0.0);
  const auto encode = [&](Object left, Object right, Object result) {
    send<void>(product, "encodeToCommandBuffer:leftMatrix:rightMatrix:resultMatrix:", commands, left, right, result);
  };
  EXPECT_STOP(encode(matrix(4, 2, 0), matrix(4, 3, 0), matrix(2, 3, 0)), "whose shape does not fit");
  const Object open = encoder();
  EXPECT_STOP(encode(matrix(2, 4, 0), matrix(4, 3, 0), matrix(2, 3, 0)), "two encoders of a command buffer are open");
  send<void>(open, "endEncoding");
}

}  // namespace
}  // namespace sluice::tests
#else
TEST(SimulatedMetal, StandIn) { GTEST_SKIP() << "nothing stands in for Metal here"; }
#endif
