#!/usr/bin/env bash
# Kernel objects compiled for one instruction set must not define weak symbols outside its namespace: the linker keeps one
# copy of such a function, so the AVX-512 copy of an inline function could run on a machine without it.
# Arguments: the instruction set, then its object files.
set -euo pipefail
isa=$1
shift
weak=$(nm -C --defined-only "$@" | grep -E ' [WVu] ' | grep -Ev "::$isa::| DW\.ref\." || true)
if [ -n "$weak" ]; then
  echo "kernel objects for $isa share these symbols with other objects; make them static or inline them away:"
  echo "$weak"
  exit 1
fi
