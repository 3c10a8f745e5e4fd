#!/usr/bin/env bash
# Lists the C++ and kernel sources that the formatter and the checks look at.
set -euo pipefail
cd "$(dirname "$0")/.."
for folder in include src kernels backends tools examples bench fuzz tests; do
  if [ -d "$folder" ]; then
    find "$folder" -type f \( -name '*.hpp' -o -name '*.cpp' -o -name '*.h' -o -name '*.c' -o -name '*.k' \)
  fi
done | sort
