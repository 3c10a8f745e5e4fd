#!/usr/bin/env bash
# Format, include order, lengths and clang-tidy: everything `make check` holds. Arguments: a configured build folder, jobs.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
jobs=${2:-2}

scripts/source_files.sh | xargs clang-format-16 --dry-run -Werror
python3 scripts/check_includes.py
python3 scripts/check_lengths.py
run-clang-tidy-16 -quiet -p "$build" -j "$jobs" "^$PWD/src/.*\\.cpp$"
echo "make check: everything is in order"
