#!/bin/sh
# Compiles the Metal backend to Mach-O objects for Apple's machines, without an SDK: check_apple_objects.sh <clang++> <c++>
#
# The C++ and C headers are those of this machine, found by asking <c++>; what differs for them between the machines is
# said with macros. So this shows that the code is right for Apple's calling conventions and needs no header of Apple's,
# and nothing of Apple's own C++ headers. Nothing is linked.
set -eu
clang=$1
host=$2
root=$(dirname "$0")/..
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# The compiler's own headers are clang's.
includes=$("$host" -E -x c++ -v /dev/null 2>&1 | sed -n '/^#include </,/^End/p' | grep '^ /' | grep -v '/lib/gcc/' |
  sed 's/^ /-isystem /')
for machine in arm64 x86_64; do
  target="-target $machine-apple-macos11 -D_GNU_SOURCE -U__nonnull -U__nullable"
  # glibc's headers know no Mac; they take it for the machine they were made for.
  case $(uname -m)-$machine in
    x86_64-arm64) target="$target -D__x86_64__ -D__builtin_ia32_pause()=((void)0)" ;;
    aarch64-x86_64) target="$target -D__aarch64__" ;;
  esac
  for source in "$root"/backends/metal/*.cpp "$root"/backends/common/*.cpp; do
    object="$folder/$machine-$(basename "$source").o"
    # shellcheck disable=SC2086
    "$clang" $target -std=c++20 -O0 -Wall -Wextra -Wconversion -Werror -nostdinc++ $includes -I"$root" \
      -I"$root/include" -c "$source" -o "$object"
    magic=$(od -An -tx1 -N4 "$object" | tr -d ' ')
    [ "$magic" = cffaedfe ] || { echo "$source: no Mach-O object"; exit 1; }
  done
  echo "$machine: $(ls "$folder" | grep -c "^$machine") Mach-O objects"
done
