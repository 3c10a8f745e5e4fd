#!/usr/bin/env bash
# Everything that a machine with a GPU can say about Sluice, in under four minutes and without a network: what is there,
# whether every kernel computes what it should (by the library's own kernels and by the vendor's BLAS), whether moves keep
# every bit, whether the digits are learned, what compute-sanitizer finds, and how fast it is beside PyTorch.
#
#   scripts/gpu_check.sh [--device CUDA:0] [--build FOLDER] [--dry-run]
#
# FOLDER is one that was built before; without it build/release is used, and built first where it is not there. --dry-run
# tries the script itself in a minute: few kernels, few epochs, small sizes. The last line is "N passed, N failed"; the
# exit code is 0 if none failed. What is missing (PyTorch, compute-sanitizer) is skipped, with a line that says so.
set -uo pipefail
cd "$(dirname "$0")/.."

device=CUDA:0 build=build/release dry_run=
while [ $# -gt 0 ]; do
  case "$1" in
    --device) device=$2; shift 2 ;;
    --build) build=$2; shift 2 ;;
    --dry-run) dry_run=yes; shift ;;
    *) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
done
backend=${device%%:*}

passed=0 failed=0 started=$SECONDS
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# Kernels are compiled anew, so that the check says something about the compiler too.
export SLUICE_KERNEL_CACHE=$scratch/kernels

# step NAME COMMAND...: runs it, shows the end of what it says, counts.
step() {
  local name=$1 from=$SECONDS
  shift
  local guard=(timeout "${limit:-90}")
  declare -F "$1" >/dev/null && guard=()  # a function guards what it runs itself
  if "${guard[@]}" "$@" >"$scratch/said" 2>&1; then
    passed=$((passed + 1))
    echo "== passed: $name ($((SECONDS - from)) s)"
    tail -n "${lines:-4}" "$scratch/said"
  else
    local code=$?
    failed=$((failed + 1))
    echo "== FAILED: $name (exit code $code, $((SECONDS - from)) s)"
    tail -n 40 "$scratch/said"
  fi
}
skip() { echo "== skipped: $1: $2"; }

ensure_built() {
  local program missing=
  for program in bin/sluice examples/digits bench/device_speed bench/first_step; do
    [ -x "$build/$program" ] || missing=yes
  done
  [ -z "$missing" ] && return
  if { [ -f "$build/CMakeCache.txt" ] ||
    cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DSLUICE_BUILD_TESTS=OFF -DSLUICE_BUILD_BENCH=ON; } \
    >"$scratch/cmake" 2>&1 &&
    cmake --build "$build" -j "$(nproc)" --target all device_speed first_step digits >>"$scratch/cmake" 2>&1; then
    return
  fi
  tail -n 40 "$scratch/cmake"
  echo "gpu_check: the build failed" >&2
  exit 1
}

# digits_learned MINIMUM: trains, and wants at least so much of the held-out digits right, also in the fresh process.
digits_learned() {
  timeout 90 "$build/examples/digits" --device "$device" --save "$scratch/digits.safetensors" "${@:2}" >"$scratch/digits" || return
  cat "$scratch/digits"
  awk -v least="$1" '/accuracy on/ { n += 1; if ($(NF - 1) < least) bad = 1 } END { exit (n < 2 || bad) }' "$scratch/digits"
}

doctor() {
  SLUICE_GPU_BACKEND=$backend timeout 60 "$build/bin/sluice" doctor >"$scratch/doctor"
  cat "$scratch/doctor"
  "$build/bin/sluice" devices | grep -Eq "^$backend +${device#*:} .* yes *$"
}

# sanitize TOOL: over every kernel of a conformance run. Compiling dominates, so kernels are kept for the second tool.
sanitize() {
  local tool=$1
  if ! command -v compute-sanitizer >/dev/null; then
    skip "compute-sanitizer $tool" "it is not installed"
  else
    limit=100 step "compute-sanitizer $tool" compute-sanitizer --tool "$tool" --error-exitcode 9 \
      "$build/bin/sluice" conformance --device "$device" --quick $few
  fi
}

speed() {
  local against=$scratch/torch.tsv
  : >"$against"
  if [ "$backend" != CUDA ]; then
    skip "PyTorch" "its times are taken on CUDA only"
  elif ! timeout 60 python3 scripts/gpu_check_torch.py --budget 0.3 >"$against" 2>"$scratch/torch.err"; then
    skip "PyTorch" "$(tail -n 1 "$scratch/torch.err")"
  else
    echo "== PyTorch"
    cat "$against"
  fi
  local budget=0.5 scale=1
  [ -n "$dry_run" ] && budget=0.01 scale=256
  lines=40 step "speed" "$build/bench/device_speed" --device "$device" --against "$against" --budget "$budget" \
    --scale "$scale"
}

few= epochs= least=97
if [ -n "$dry_run" ]; then
  few="--only product --only softmax --only moves" epochs="--epochs 2" least=75
fi

ensure_built
lines=60 step "doctor" doctor
SLUICE_PRODUCTS=own step "conformance and moves, own kernels" "$build/bin/sluice" conformance --device "$device" --quick $few
SLUICE_PRODUCTS=vendor step "products by the vendor's library" "$build/bin/sluice" conformance --device "$device" \
  --quick --only product
lines=12 step "digits" digits_learned "$least" $epochs
speed
sanitize memcheck
sanitize racecheck
echo "$((SECONDS - started)) s"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
