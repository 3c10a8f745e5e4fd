#!/bin/bash
# For the owner of a Mac: builds with Apple's compiler and tries the Metal backend on the real thing. From the root of a
# checkout: scripts/mac_check.sh [build folder]
#
# Needs the command line tools of Xcode 15 or later (xcode-select --install) and, from Homebrew or elsewhere,
#   brew install cmake ninja fmt nlohmann-json tomlplusplus cli11
# Stops at the first step that fails. Please report its output either way.
set -euo pipefail

if [ "$(uname -s)" != Darwin ]; then
  echo "mac_check: this is not a Mac; make run SIMULATE=metal:2 is for other machines" >&2
  exit 2
fi
cd "$(dirname "$0")/.."
build=${1:-build/mac}

say() { printf '\n== %s\n' "$*"; }

say "the machine"
sw_vers
uname -m
sysctl -n machdep.cpu.brand_string
c++ --version | head -1

say "building into $build"
prefix=$(brew --prefix 2>/dev/null || echo /usr/local)
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSLUICE_BUILD_TESTS=OFF -DSLUICE_BUILD_BENCH=OFF \
  -DSLUICE_WERROR=OFF -DCMAKE_PREFIX_PATH="$prefix"
cmake --build "$build"

# No wish of this machine's user decides, and no kernel of an earlier build runs.
unset SLUICE_GPU_BACKEND SLUICE_BACKENDS SLUICE_BACKEND_PATH
export SLUICE_KERNEL_CACHE=off

say "doctor: a Metal device must work"
"$build/bin/sluice" doctor
"$build/bin/sluice" devices | grep '^Metal' || { echo "mac_check: no Metal device" >&2; exit 1; }

devices=$("$build/bin/sluice" devices | grep -c '^Metal')
for ((number = 0; number < devices; ++number)); do
  say "conformance of Metal:$number: it must say 0 failed; its line \"move\" is moving, bit for bit"
  "$build/bin/sluice" conformance --device "Metal:$number" --quick
  say "the digits on Metal:$number: at least 95 % right, and the same from the file in a fresh process"
  "$build/examples/digits" --device "Metal:$number" --save "$build/digits_$number.safetensors" | tee "$build/digits.txt"
  right=$(grep -cE '^accuracy .*: (9[5-9]\.|100)' "$build/digits.txt")
  [ "$right" -ge 2 ] || { echo "mac_check: the digits were not learnt" >&2; exit 1; }
done

say "all steps passed on $devices Metal device(s)"
