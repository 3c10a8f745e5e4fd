/* sluice/backend.h alone, as C11 and as C++20: it compiles without a warning, no struct has hidden padding, and the
   layouts are those that plug-ins were compiled with. A changed number here is a changed ABI. */
#include <sluice/backend.h>

#include <assert.h>
#include <stddef.h>

#define FIELD_SIZE(type, field) sizeof(((type*)0)->field)
#define FIELD_END(type, field) (offsetof(type, field) + FIELD_SIZE(type, field))
#define BEGINS(type, field) static_assert(offsetof(type, field) == 0, #type " begins with " #field)
#define FOLLOWS(type, before, field) \
  static_assert(FIELD_END(type, before) == offsetof(type, field), #type ": padding before " #field)
#define ENDS(type, field, bytes)                                                       \
  static_assert(FIELD_END(type, field) == sizeof(type), #type ": padding at the end"); \
  static_assert(sizeof(type) == (bytes), #type ": another size")

static_assert(sizeof(void*) == 8, "the layouts below are those of a 64-bit machine");
static_assert(sizeof(sluice_status) == 4 && sizeof(sluice_memory) == 8 && sizeof(sluice_ticket) == 8, "plain numbers");

BEGINS(sluice_device_info, size);
FOLLOWS(sluice_device_info, size, kind);
FOLLOWS(sluice_device_info, kind, dialect);
FOLLOWS(sluice_device_info, dialect, features);
FOLLOWS(sluice_device_info, features, memory_bytes);
FOLLOWS(sluice_device_info, memory_bytes, max_group_size);
FOLLOWS(sluice_device_info, max_group_size, local_bytes);
FOLLOWS(sluice_device_info, local_bytes, name);
FOLLOWS(sluice_device_info, name, architecture);
FOLLOWS(sluice_device_info, architecture, driver);
FOLLOWS(sluice_device_info, driver, card);
ENDS(sluice_device_info, card, 352);

BEGINS(sluice_source, size);
FOLLOWS(sluice_source, size, flags);
FOLLOWS(sluice_source, flags, text);
FOLLOWS(sluice_source, text, entry);
FOLLOWS(sluice_source, entry, options);
ENDS(sluice_source, options, 32);

BEGINS(sluice_argument, memory);
FOLLOWS(sluice_argument, memory, offset);
FOLLOWS(sluice_argument, offset, value);
FOLLOWS(sluice_argument, value, bytes);
FOLLOWS(sluice_argument, bytes, reserved);
ENDS(sluice_argument, reserved, 32);

BEGINS(sluice_launch, size);
FOLLOWS(sluice_launch, size, argument_count);
FOLLOWS(sluice_launch, argument_count, groups);
FOLLOWS(sluice_launch, groups, group_size);
FOLLOWS(sluice_launch, group_size, arguments);
ENDS(sluice_launch, arguments, 40);

BEGINS(sluice_gemm, size);
FOLLOWS(sluice_gemm, size, dtype);
FOLLOWS(sluice_gemm, dtype, transpose_a);
FOLLOWS(sluice_gemm, transpose_a, transpose_b);
FOLLOWS(sluice_gemm, transpose_b, m);
FOLLOWS(sluice_gemm, m, n);
FOLLOWS(sluice_gemm, n, k);
FOLLOWS(sluice_gemm, k, batch);
FOLLOWS(sluice_gemm, batch, lda);
FOLLOWS(sluice_gemm, lda, ldb);
FOLLOWS(sluice_gemm, ldb, ldc);
FOLLOWS(sluice_gemm, ldc, stride_a);
FOLLOWS(sluice_gemm, stride_a, stride_b);
FOLLOWS(sluice_gemm, stride_b, stride_c);
FOLLOWS(sluice_gemm, stride_c, a);
FOLLOWS(sluice_gemm, a, b);
FOLLOWS(sluice_gemm, b, c);
FOLLOWS(sluice_gemm, c, offset_a);
FOLLOWS(sluice_gemm, offset_a, offset_b);
FOLLOWS(sluice_gemm, offset_b, offset_c);
FOLLOWS(sluice_gemm, offset_c, alpha);
FOLLOWS(sluice_gemm, alpha, beta);
FOLLOWS(sluice_gemm, beta, flags);
FOLLOWS(sluice_gemm, flags, reserved);
ENDS(sluice_gemm, reserved, 168);

BEGINS(sluice_component, size);
FOLLOWS(sluice_component, size, state);
FOLLOWS(sluice_component, state, name);
FOLLOWS(sluice_component, name, file);
FOLLOWS(sluice_component, file, version);
FOLLOWS(sluice_component, version, reason);
ENDS(sluice_component, reason, 584);

BEGINS(sluice_backend, size);
FOLLOWS(sluice_backend, size, reserved);
FOLLOWS(sluice_backend, reserved, name);
FOLLOWS(sluice_backend, name, last_error);
FOLLOWS(sluice_backend, last_error, device_count);
FOLLOWS(sluice_backend, device_count, open);
FOLLOWS(sluice_backend, open, info);
FOLLOWS(sluice_backend, info, alloc);
FOLLOWS(sluice_backend, alloc, free);
FOLLOWS(sluice_backend, free, alloc_host);
FOLLOWS(sluice_backend, alloc_host, free_host);
FOLLOWS(sluice_backend, free_host, write);
FOLLOWS(sluice_backend, write, read);
FOLLOWS(sluice_backend, read, write_async);
FOLLOWS(sluice_backend, write_async, read_async);
FOLLOWS(sluice_backend, read_async, wait);
FOLLOWS(sluice_backend, wait, copy);
FOLLOWS(sluice_backend, copy, peer_copy);
FOLLOWS(sluice_backend, peer_copy, compile);
FOLLOWS(sluice_backend, compile, kernel_binary);
FOLLOWS(sluice_backend, kernel_binary, load_binary);
FOLLOWS(sluice_backend, load_binary, launch);
FOLLOWS(sluice_backend, launch, gemm);
FOLLOWS(sluice_backend, gemm, component);
FOLLOWS(sluice_backend, component, probe);
FOLLOWS(sluice_backend, probe, enable);
FOLLOWS(sluice_backend, enable, native_handle);
FOLLOWS(sluice_backend, native_handle, wrap);
FOLLOWS(sluice_backend, wrap, sync);
FOLLOWS(sluice_backend, sync, free_bytes);
FOLLOWS(sluice_backend, free_bytes, address);
ENDS(sluice_backend, address, 240);
