#!/usr/bin/env bash
# Runs every fuzzer of a build folder for a number of seconds: run_fuzzers.sh <folder> <seconds> [<name> ...]. What a fuzzer
# learns is kept in <folder>/corpus for the next run; inputs that fail are in <folder>/findings.
set -euo pipefail
folder=$1
seconds=$2
shift 2
"$folder/fuzz_seeds" "$folder/seeds"
mkdir -p "$folder/findings"
names=("$@")
if [ ${#names[@]} -eq 0 ]; then
  for program in "$folder"/fuzz_*; do
    name=${program##*/fuzz_}
    if [ "$name" != seeds ] && [ -x "$program" ] && [ -f "$program" ]; then names+=("$name"); fi
  done
fi
failed=()
for name in "${names[@]}"; do
  mkdir -p "$folder/corpus/$name"
  echo "fuzz: $name, $seconds s"
  # The limits are those of the readers: a second (more for the sanitizers' sake) and 64 MiB in one piece.
  "$folder/fuzz_$name" -max_total_time="$seconds" -timeout=10 -malloc_limit_mb=64 -rss_limit_mb=2048 -max_len=65536 \
    -print_final_stats=1 -print_funcs=0 -verbosity=0 -artifact_prefix="$folder/findings/$name-" \
    "$folder/corpus/$name" "$folder/seeds/$name" || failed+=("$name")
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "fuzz: findings by ${failed[*]}, see $folder/findings" >&2
  exit 1
fi
