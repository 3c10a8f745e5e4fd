// Metal as far as it is used here: its messages with their prototypes and its constants, written down from Apple's
// documentation, so that no SDK is needed.
#pragma once

#include <string>

#include "backends/metal/objc.hpp"

namespace sluice::metal {

/// Passed by value.
struct MTLSize {
  NSUInteger width, height, depth;
};

// The name here, the selector, the prototype without receiver and selector.
#define SLUICE_METAL_MESSAGES(MESSAGE)                                                                                 \
  /* NSObject */                                                                                                       \
  MESSAGE(make, "new", id())                                                                                           \
  MESSAGE(allocate, "alloc", id())                                                                                     \
  MESSAGE(responds, "respondsToSelector:", BOOL(Selector))                                                             \
  /* NSString, NSArray, NSError, NSProcessInfo */                                                                      \
  MESSAGE(string, "stringWithUTF8String:", id(const char*))                                                            \
  MESSAGE(utf8, "UTF8String", const char*())                                                                           \
  MESSAGE(count, "count", NSUInteger())                                                                                \
  MESSAGE(object_at, "objectAtIndex:", id(NSUInteger))                                                                 \
  MESSAGE(description, "localizedDescription", id())                                                                   \
  MESSAGE(code, "code", NSInteger())                                                                                   \
  MESSAGE(process_info, "processInfo", id())                                                                           \
  MESSAGE(system_version, "operatingSystemVersionString", id())                                                        \
  /* MTLDevice */                                                                                                      \
  MESSAGE(name, "name", id())                                                                                          \
  MESSAGE(has_unified_memory, "hasUnifiedMemory", BOOL())                                                              \
  MESSAGE(supports_family, "supportsFamily:", BOOL(NSInteger))                                                         \
  MESSAGE(working_set_bytes, "recommendedMaxWorkingSetSize", NSUInteger())                                             \
  MESSAGE(allocated_bytes, "currentAllocatedSize", NSUInteger())                                                       \
  MESSAGE(most_buffer_bytes, "maxBufferLength", NSUInteger())                                                          \
  MESSAGE(threadgroup_bytes, "maxThreadgroupMemoryLength", NSUInteger())                                               \
  MESSAGE(new_queue, "newCommandQueue", id())                                                                          \
  MESSAGE(new_buffer, "newBufferWithLength:options:", id(NSUInteger, NSUInteger))                                      \
  MESSAGE(new_buffer_with_bytes, "newBufferWithBytes:length:options:", id(const void*, NSUInteger, NSUInteger))        \
  MESSAGE(new_library, "newLibraryWithSource:options:error:", id(id, id, id*))                                         \
  MESSAGE(new_pipeline, "newComputePipelineStateWithFunction:options:reflection:error:", id(id, NSUInteger, id*, id*)) \
  /* MTLCompileOptions, MTLLibrary, MTLComputePipelineState and its reflection, MTLArgument */                         \
  MESSAGE(set_fast_math, "setFastMathEnabled:", void(BOOL))                                                            \
  MESSAGE(new_function, "newFunctionWithName:", id(id))                                                                \
  MESSAGE(most_threads, "maxTotalThreadsPerThreadgroup", NSUInteger())                                                 \
  MESSAGE(arguments, "arguments", id())                                                                                \
  MESSAGE(type, "type", NSUInteger())                                                                                  \
  MESSAGE(index, "index", NSUInteger())                                                                                \
  MESSAGE(data_bytes, "bufferDataSize", NSUInteger())                                                                  \
  /* MTLBuffer */                                                                                                      \
  MESSAGE(contents, "contents", void*())                                                                               \
  /* MTLCommandQueue, MTLCommandBuffer */                                                                              \
  MESSAGE(command_buffer, "commandBuffer", id())                                                                       \
  MESSAGE(compute_encoder, "computeCommandEncoder", id())                                                              \
  MESSAGE(blit_encoder, "blitCommandEncoder", id())                                                                    \
  MESSAGE(commit, "commit", void())                                                                                    \
  MESSAGE(wait_until_completed, "waitUntilCompleted", void())                                                          \
  MESSAGE(status, "status", NSUInteger())                                                                              \
  MESSAGE(error, "error", id())                                                                                        \
  /* Encoders */                                                                                                       \
  MESSAGE(end_encoding, "endEncoding", void())                                                                         \
  MESSAGE(set_pipeline, "setComputePipelineState:", void(id))                                                          \
  MESSAGE(set_buffer, "setBuffer:offset:atIndex:", void(id, NSUInteger, NSUInteger))                                   \
  MESSAGE(set_bytes, "setBytes:length:atIndex:", void(const void*, NSUInteger, NSUInteger))                            \
  MESSAGE(dispatch, "dispatchThreadgroups:threadsPerThreadgroup:", void(MTLSize, MTLSize))                             \
  MESSAGE(copy, "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:",                                        \
          void(id, NSUInteger, id, NSUInteger, NSUInteger))                                                            \
  /* Metal Performance Shaders: MPSMatrixDescriptor, MPSMatrix, MPSMatrixMultiplication */                             \
  MESSAGE(matrices, "matrixDescriptorWithRows:columns:matrices:rowBytes:matrixBytes:dataType:",                        \
          id(NSUInteger, NSUInteger, NSUInteger, NSUInteger, NSUInteger, unsigned))                                    \
  MESSAGE(init_matrix, "initWithBuffer:offset:descriptor:", id(id, NSUInteger, id))                                    \
  MESSAGE(init_product,                                                                                                \
          "initWithDevice:transposeLeft:transposeRight:resultRows:resultColumns:interiorColumns:alpha:beta:",          \
          id(id, BOOL, BOOL, NSUInteger, NSUInteger, NSUInteger, double, double))                                      \
  MESSAGE(set_batch_size, "setBatchSize:", void(NSUInteger))                                                           \
  MESSAGE(encode_product, "encodeToCommandBuffer:leftMatrix:rightMatrix:resultMatrix:", void(id, id, id, id))

struct Messages {
#define SLUICE_METAL_MESSAGE(name, selector, prototype) Message<prototype> name{selector};
  SLUICE_METAL_MESSAGES(SLUICE_METAL_MESSAGE)
#undef SLUICE_METAL_MESSAGE
};

/// send().count(array) sends `count` to an array. Lives for ever.
const Messages& send();

/// A class by its name; throws Failure if the process has none of it.
id class_named(const char* name);
/// Whether an object has the method of a message: older systems lack some.
template <class Prototype>
bool responds(id object, const Message<Prototype>& message) {
  return object != nullptr && send().responds(object, message.selector()) != 0;
}
/// The text of an NSString; empty for nil. Needs a pool, like the two below.
std::string text_of(id string);
id string_of(const std::string& text);
/// "the words of the system (code 3)".
std::string describe_error(id error);

// ---- Constants.

inline constexpr NSUInteger kStorageShared = 0, kStoragePrivate = 2U << 4U;
inline constexpr NSUInteger kStatusCompleted = 4, kStatusError = 5;
inline constexpr NSUInteger kOptionArgumentInfo = 1, kOptionBufferTypeInfo = 2;
inline constexpr NSUInteger kArgumentBuffer = 0;
inline constexpr NSInteger kLibraryCompileFailure = 3;
inline constexpr NSInteger kFamilyApple1 = 1001, kFamilyMac1 = 2001, kFamilyMac2 = 2002;
inline constexpr NSUInteger kMostSlots = 31, kMostValueBytes = 4096;
inline constexpr unsigned kMpsFloat32 = 0x10000000U | 32U, kMpsFloat16 = 0x10000000U | 16U;

}  // namespace sluice::metal
