#!/usr/bin/env bash
# A shared library exports our symbols only: members of namespace sluice, their vtables and typeinfo, and C names sluice_*.
set -euo pipefail
library=$1

exported=$(nm -D --defined-only "$library" | awk '{ print $3 }' | sed 's/@.*//')
# Mangled, since the demangled text of a template starts with its return type.
ours='^_ZN[KRO]*6sluice|^_ZT[VTIS]N6sluice|^_ZT[hvc][n0-9_hv]*N[KRO]*6sluice|^_ZG[VR]N6sluice|^sluice_'
foreign=$(grep -Ev "$ours" <<<"$exported" || true)
if [ -n "$foreign" ]; then
  echo "$library exports symbols that are not ours:"
  c++filt <<<"$foreign"
  exit 1
fi
if ! grep -Eq "$ours" <<<"$exported"; then
  echo "$library exports nothing"
  exit 1
fi
echo "$(wc -l <<<"$exported") exported symbols, all ours"
