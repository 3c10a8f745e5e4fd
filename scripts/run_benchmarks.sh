#!/usr/bin/env bash
# Runs the benchmarks that were built in the given folder: the micro benchmarks, moves, OpenCL, checkpoints, then the table against
# libtorch, which gets the other arguments.
set -euo pipefail
folder=$1
shift
if [ -x "$folder/sluice_bench" ]; then
  "$folder/sluice_bench"
fi
if [ -x "$folder/device_moves" ]; then
  "$folder/device_moves"
fi
if [ -x "$folder/opencl_overhead" ]; then
  "$folder/opencl_overhead"
fi
if [ -x "$folder/checkpoint_speed" ]; then
  "$folder/checkpoint_speed" "$folder"
fi
if [ -x "$folder/compare_libtorch" ]; then
  "$folder/compare_libtorch" "$@"
else
  echo "compare_libtorch was not built: libtorch was not found"
fi
