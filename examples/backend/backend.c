/* A backend for Sluice that somebody else writes: one device, "Example", whose memory is a part of the host's. It is a
   template to start from. Its functions are the ones that no backend can do without, and the two that run kernels; all
   others stay null, which means "unsupported", and the library does what they are for in another way. */
#include <sluice/backend.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the library holds without looking into it. A real device would have the driver's handles in here. */
struct sluice_device {
  int is_open;
};
struct sluice_kernel {
  void (*run)(const sluice_argument* arguments);
};

/* ---- Errors: a status is returned, the words wait here. One text for each thread, since any thread may call. */

static _Thread_local char error_text[256];

static const char* last_error(void) { return error_text; }

static sluice_status fail(sluice_status status, const char* format, ...) {
  va_list values;
  va_start(values, format);
  vsnprintf(error_text, sizeof error_text, format, values);
  va_end(values);
  return status;
}

/* ---- Driver and devices. */

static struct sluice_device the_device;

/* A real backend opens the driver here, at the first call, with dlopen: linking to it would keep the file from being
   loaded where it is not installed. SLUICE_UNSUPPORTED says that there is no driver, SLUICE_ERROR that it cannot be
   used. */
static sluice_status device_count(uint32_t* count) {
  *count = 1;
  return SLUICE_OK;
}

static sluice_status open_device(uint32_t number, sluice_device** device) {
  if (number != 0) return fail(SLUICE_ERROR, "there is no device %u, only device 0", (unsigned)number);
  the_device.is_open = 1;
  *device = &the_device;
  return SLUICE_OK;
}

/* `info->size` is what the library knows of the struct. A plug-in that is newer than the library knows more fields, and
   must not write those. */
static sluice_status get_info(sluice_device* device, sluice_device_info* info) {
  sluice_device_info all = {0};
  (void)device;
  all.size = info->size;
  all.kind = SLUICE_KIND_CPU; /* so it is used when asked for, and never chosen by itself */
  all.dialect = SLUICE_DIALECT_OPENCL;
  all.features = SLUICE_FEATURE_F64 | SLUICE_FEATURE_UNIFIED;
  all.max_group_size = 256;
  all.local_bytes = 32768;
  strcpy(all.name, "Example device");
  strcpy(all.architecture, "host");
  strcpy(all.driver, "1.0");
  memcpy(info, &all, info->size < sizeof all ? info->size : sizeof all);
  return SLUICE_OK;
}

/* ---- Memory. The library treats a sluice_memory as an opaque number: offsets come beside it, never added to it. */

static char* address_of(sluice_memory memory) { return (char*)(uintptr_t)memory; }

static sluice_status alloc_memory(sluice_device* device, uint64_t bytes, sluice_memory* memory) {
  const uint64_t rounded = (bytes + 255) / 256 * 256;
  void* block = rounded < bytes ? NULL : aligned_alloc(256, rounded);
  (void)device;
  if (block == NULL) return fail(SLUICE_OUT_OF_MEMORY, "no room for %llu bytes", (unsigned long long)bytes);
  *memory = (sluice_memory)(uintptr_t)block;
  return SLUICE_OK;
}

/* Nothing is queued here. With a queue, the block must live until the work before this call is done. */
static sluice_status free_memory(sluice_device* device, sluice_memory memory) {
  (void)device;
  free(address_of(memory));
  return SLUICE_OK;
}

/* ---- Copies. Both come after all work that was queued before; `from` is free again when write_memory returns. */

static sluice_status write_memory(sluice_device* device, sluice_memory to, uint64_t offset, const void* from,
                                  uint64_t bytes) {
  (void)device;
  memcpy(address_of(to) + offset, from, bytes);
  return SLUICE_OK;
}

static sluice_status read_memory(sluice_device* device, sluice_memory from, uint64_t offset, void* to, uint64_t bytes) {
  (void)device;
  memcpy(to, address_of(from) + offset, bytes);
  return SLUICE_OK;
}

/* ---- Kernels. A real backend gives `source->text` to its compiler and puts the compiler's log into the error text.
   This one has no compiler and knows a single kernel by its name: the one the library tries a new device with. Without
   `compile` and `launch` a device is listed, but never called functional. */

/* out[i] = in[i] * 3 + i */
static void run_probe(const sluice_argument* arguments) {
  float* out = (float*)(void*)(address_of(arguments[0].memory) + arguments[0].offset);
  const float* in = (const float*)(void*)(address_of(arguments[1].memory) + arguments[1].offset);
  int32_t count;
  memcpy(&count, arguments[2].value, sizeof count);
  for (int32_t i = 0; i < count; ++i) out[i] = in[i] * 3.0f + (float)i;
}

static struct sluice_kernel probe_kernel = {run_probe};

static sluice_status compile_kernel(sluice_device* device, const sluice_source* source, sluice_kernel** kernel) {
  (void)device;
  if (strcmp(source->entry, "sluice_probe") != 0) {
    return fail(SLUICE_BAD_SOURCE, "the example has no compiler and does not know the kernel %s", source->entry);
  }
  *kernel = &probe_kernel;
  return SLUICE_OK;
}

static sluice_status launch_kernel(sluice_device* device, sluice_kernel* kernel, const sluice_launch* launch) {
  (void)device;
  if (launch->argument_count != 3) return fail(SLUICE_ERROR, "sluice_probe takes 3 arguments");
  kernel->run(launch->arguments);
  return SLUICE_OK;
}

/* ---- The table, and the two symbols that make this file a plug-in. */

static const sluice_backend table = {
    .size = sizeof table,
    .name = "Example",
    .last_error = last_error,
    .device_count = device_count,
    .open = open_device,
    .info = get_info,
    .alloc = alloc_memory,
    .free = free_memory,
    .write = write_memory,
    .read = read_memory,
    .compile = compile_kernel,
    .launch = launch_kernel,
};

SLUICE_BACKEND_EXPORT const uint32_t sluice_backend_abi = SLUICE_BACKEND_ABI;

/* `host_abi` is the library's number. A backend that can serve several libraries may choose a table by it. */
SLUICE_BACKEND_EXPORT const sluice_backend* sluice_backend_open(uint32_t host_abi) {
  return host_abi == SLUICE_BACKEND_ABI ? &table : NULL;
}
