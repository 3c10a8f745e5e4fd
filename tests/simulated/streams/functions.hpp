// What the drivers of all vendors do alike. The first argument is the vendor's name of the function, the rest is as the
// driver's own; ../cuda/cuda.cpp and ../hip/hip.cpp export them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/simulated/streams/call.hpp"

namespace simulated {

// ---- Devices.

int device_name(const char* function, char* name, int bytes, int device);
int device_memory(const char* function, std::size_t* bytes, int device);
int device_card(const char* function, char* text, int bytes, int device);

// ---- Memory.

int memory_info(const char* function, std::size_t* free, std::size_t* total);
int alloc(const char* function, std::uint64_t* address, std::size_t bytes);
int free(const char* function, std::uint64_t address);
int address_range(const char* function, std::uint64_t* begin, std::size_t* bytes, std::uint64_t address);
int alloc_host(const char* function, void** memory, std::size_t bytes);
int free_host(const char* function, void* memory);

// ---- Copies.

int copy_to_device(const char* function, std::uint64_t to, const void* from, std::size_t bytes, Stream* stream);
int copy_to_host(const char* function, void* to, std::uint64_t from, std::size_t bytes, Stream* stream);
int copy_within(const char* function, std::uint64_t to, std::uint64_t from, std::size_t bytes, Stream* stream);
int copy_peer(const char* function, std::uint64_t to, Context* to_context, std::uint64_t from, Context* from_context,
              std::size_t bytes, Stream* stream);

// ---- Streams and events.

int create_stream(const char* function, Stream** stream);
int wait_for_event(const char* function, Stream* stream, Event* event);
int query_stream(const char* function, Stream* stream);
int synchronize_stream(const char* function, Stream* stream);
int create_event(const char* function, Event** event);
int record_event(const char* function, Event* event, Stream* stream);
int query_event(const char* function, Event* event);
int synchronize_event(const char* function, Event* event);
int destroy_event(const char* function, Event* event);

// ---- Kernels.

/// `check` says whether the devices take an image of a simulated compiler, by its code.
int load_module(const char* function, Module** module, const void* bytes, int (*check)(const void* bytes));
int unload_module(const char* function, Module* module);
int find_kernel(const char* function, Kernel** kernel, Module* module, const char* name);
int kernel_attribute(const char* function, int* answer, int question);
int kernel_parameter(const char* function, Kernel* kernel, std::size_t k, std::size_t* offset, std::size_t* bytes);
int launch(const char* function, Kernel* kernel, const unsigned (&groups)[3], const unsigned (&items)[3],
           unsigned shared_bytes, Stream* stream, void** parameters);

/// For a simulated BLAS: queues `run`, which is given the bytes at addresses of the device, and then `drop`.
int enqueue_work(const char* function, Stream* stream, const void* const* addresses, int count,
                 void (*run)(void* const* bytes, void* data), void (*drop)(void* data), void* data);

}  // namespace simulated
