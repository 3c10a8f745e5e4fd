#!/usr/bin/env bash
# A shared library exports our symbols only: members of namespace sluice, their vtables and typeinfo, and C names sluice_*.
set -euo pipefail
library=$1

exported=$(nm -DC --defined-only "$library" | sed -E 's/^[0-9a-f]* +[A-Za-z] //' | sed -E 's/@@?[A-Za-z0-9_.]+$//')
prefix='(vtable for |typeinfo for |typeinfo name for |VTT for |guard variable for |reference temporary #[0-9]+ for '
prefix+='|(non-)?virtual thunk to )?'
foreign=$(grep -Ev "^${prefix}sluice::|^sluice_[a-z0-9_]+$" <<<"$exported" || true)
if [ -n "$foreign" ]; then
  echo "$library exports symbols that are not ours:"
  echo "$foreign"
  exit 1
fi
if ! grep -q '^sluice' <<<"$exported"; then
  echo "$library exports nothing"
  exit 1
fi
echo "$(wc -l <<<"$exported") exported symbols, all ours"
