// Streams, events and kernels.
#include <memory>
#include <utility>

#include "tests/simulated/streams/functions.hpp"
#include "tests/simulated/streams/image.hpp"

namespace simulated {

// ---- Streams and events.

int create_stream(const char* function, Stream** stream) {
  return call_in_context(function, [&](Driver&, Context& context) {
    auto made = std::make_unique<Stream>();
    made->context = &context;
    *stream = made.get();
    context.streams.emplace(*stream, std::move(made));
    return 0;
  });
}

// An event of any context.
int wait_for_event(const char* function, Stream* stream, Event* event) {
  return call(function, [&](Driver& driver) -> int {
    for (const auto& context : driver.contexts) {
      if (!context->events.contains(event)) continue;
      for (const auto& of_stream : driver.contexts) {
        if (!of_stream->streams.contains(stream)) continue;
        if (of_stream->broken != 0) return of_stream->broken;
        enqueue_waiting(*stream, *event);
        return 0;
      }
    }
    return kInvalidHandle;
  });
}

// One piece of work after each question, so that who asks again and again gets on.
int query_stream(const char* function, Stream* stream) {
  return call_on_stream(function, stream, [&](Driver&, Stream& its) -> int {
    if (its.queue.empty()) return 0;
    its.run_one();
    return its.context->broken != 0 ? its.context->broken : kNotReady;
  });
}

int synchronize_stream(const char* function, Stream* stream) {
  return call_on_stream(function, stream, [&](Driver&, Stream& its) {
    its.run_all();
    return its.context->broken;
  });
}

int create_event(const char* function, Event** event) {
  return call_in_context(function, [&](Driver&, Context& context) {
    auto made = std::make_unique<Event>();
    made->context = &context;
    *event = made.get();
    context.events.emplace(*event, std::move(made));
    return 0;
  });
}

int record_event(const char* function, Event* event, Stream* stream) {
  return call_on_stream(function, stream, [&](Driver&, Stream& its) -> int {
    if (!its.context->events.contains(event)) return kInvalidHandle;
    enqueue_recording(its, *event);
    return 0;
  });
}

int query_event(const char* function, Event* event) {
  return call_in_context(function, [&](Driver&, Context& context) -> int {
    if (!context.events.contains(event)) return kInvalidHandle;
    if (event->state->passed == event->state->recorded) return 0;
    event->state->stream->run_one();
    return kNotReady;
  });
}

int synchronize_event(const char* function, Event* event) {
  return call_in_context(function, [&](Driver&, Context& context) -> int {
    if (!context.events.contains(event)) return kInvalidHandle;
    while (event->state->passed < event->state->recorded) event->state->stream->run_one();
    return context.broken;
  });
}

int destroy_event(const char* function, Event* event) {
  return call(function, [&](Driver& driver) {
    std::size_t erased = 0;
    for (const auto& context : driver.contexts) erased += context->events.erase(event);
    return erased == 1 ? 0 : kInvalidHandle;
  });
}

// ---- Kernels.

int load_module(const char* function, Module** module, const void* bytes, int (*check)(const void* bytes)) {
  return call_in_context(function, [&](Driver&, Context& context) -> int {
    if (const int code = check(bytes)) return code;
    Image image{};
    if (!read_image(static_cast<const char*>(bytes), image)) return kInvalidImage;
    auto made = std::make_unique<Module>();
    made->context = &context;
    made->text = image.text;
    *module = made.get();
    context.modules.emplace(*module, std::move(made));
    return 0;
  });
}

int unload_module(const char* function, Module* module) {
  return call_in_context(function, [&](Driver&, Context& context) {
    context.run_all();
    return context.modules.erase(module) == 1 ? 0 : kInvalidHandle;
  });
}

int find_kernel(const char* function, Kernel** kernel, Module* module, const char* name) {
  return call_in_context(function, [&](Driver&, Context& context) -> int {
    if (!context.modules.contains(module)) return kInvalidHandle;
    *kernel = kernel_of(*module, name);
    return *kernel != nullptr ? 0 : kNotFound;
  });
}

// Both vendors give the number of threads by the question 0.
int kernel_attribute(const char* function, int* answer, int question) {
  return call_in_context(function, [&](Driver&, Context&) {
    *answer = kMostThreads;
    return question == 0 ? 0 : kInvalidValue;
  });
}

int kernel_parameter(const char* function, Kernel* kernel, std::size_t k, std::size_t* offset, std::size_t* bytes) {
  return call_in_context(function, [&](Driver&, Context&) {
    if (k >= kernel->sizes.size()) return kInvalidValue;
    *offset = 0;
    *bytes = kernel->sizes[k] == 0 ? sizeof(std::uint64_t) : kernel->sizes[k];
    return 0;
  });
}

int launch(const char* function, Kernel* kernel, const unsigned (&groups)[3], const unsigned (&items)[3],
           unsigned shared_bytes, Stream* stream, void** parameters) {
  return call_on_stream(function, stream, [&](Driver&, Stream& its) -> int {
    if (kernel->context != its.context) return kInvalidHandle;
    // The virtual GPU knows one dimension.
    const bool is_flat = groups[1] == 1 && groups[2] == 1 && items[1] == 1 && items[2] == 1;
    if (!is_flat || groups[0] == 0 || items[0] == 0 || items[0] > kMostThreads || shared_bytes != 0) {
      return kInvalidValue;
    }
    std::vector<std::vector<std::byte>> values;
    for (std::size_t k = 0; k < kernel->sizes.size(); ++k) {
      const auto* const first = static_cast<const std::byte*>(parameters[k]);
      values.emplace_back(first, first + (kernel->sizes[k] == 0 ? sizeof(std::uint64_t) : kernel->sizes[k]));
    }
    enqueue_kernel(its, *kernel, groups[0], items[0], std::move(values));
    return 0;
  });
}

int enqueue_work(const char* function, Stream* stream, const void* const* addresses, int count,
                 void (*run)(void* const* bytes, void* data), void (*drop)(void* data), void* data) {
  const std::shared_ptr<void> owned(data, drop);
  return call_on_stream(function, stream, [&](Driver&, Stream& its) -> int {
    std::vector<std::function<std::byte*()>> places;
    for (int k = 0; k < count; ++k) {
      const auto address = reinterpret_cast<std::uintptr_t>(addresses[k]);
      if (!has(*its.context, address, 1)) return kInvalidValue;
      places.push_back(place_in(*its.context, address));
    }
    enqueue(its, [places, run, owned] {
      std::vector<void*> bytes;
      for (const auto& place : places) bytes.push_back(place());
      run(bytes.data(), owned.get());
    });
    return 0;
  });
}

}  // namespace simulated
