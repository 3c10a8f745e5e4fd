#!/usr/bin/env bash
# Installs what is missing for the named groups (build, test, hip, bench, fuzz, check) with apt. Where there is no apt, goes
# on if the compiler and CMake are there, since the libraries may come from elsewhere.
set -euo pipefail

packages_of() {
  case "$1" in
    # libdnnl2 is opened at run time for large CPU products; the library works without it.
    build) echo g++ cmake ninja-build zlib1g-dev nlohmann-json3-dev libfmt-dev libcli11-dev libtomlplusplus-dev libdnnl2 ;;
    test) echo libgtest-dev python3 binutils pocl-opencl-icd oclgrind opencl-headers clang-16 libclblast1 hdf5-tools ;;
    # Of these only hipRTC and its library of functions are used.
    hip) echo hipcc libamdhip64-dev rocm-device-libs ;;
    bench) echo libbenchmark-dev libtorch-dev libopenblas0-pthread ;;
    fuzz) echo clang-16 libclang-rt-16-dev ;;
    check) echo clang-format-16 clang-tidy-16 python3 ;;
    *) echo "usage: $0 [build] [test] [hip] [bench] [fuzz] [check]" >&2; exit 2 ;;
  esac
}

installed() { dpkg-query -W -f='${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed; }

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    env DEBIAN_FRONTEND=noninteractive "$@"
  elif command -v sudo >/dev/null; then
    sudo env DEBIAN_FRONTEND=noninteractive "$@"
  else
    return 1
  fi
}

fail_unless_buildable() {
  if command -v c++ >/dev/null && command -v cmake >/dev/null && command -v ninja >/dev/null; then
    echo "install_dependencies: $1; going on with the tools that are here" >&2
  else
    echo "install_dependencies: $1, and c++, cmake or ninja is missing" >&2
    exit 1
  fi
}

missing=()
for group in "$@"; do
  packages=$(packages_of "$group")
  for package in $packages; do
    if ! command -v dpkg-query >/dev/null || ! installed "$package"; then
      missing+=("$package")
    fi
  done
done
[ ${#missing[@]} -eq 0 ] && exit 0

if ! command -v apt-get >/dev/null; then
  fail_unless_buildable "apt-get is not available (wanted: ${missing[*]})"
  exit 0
fi
echo "install_dependencies: installing ${missing[*]}"
install() { as_root apt-get install -y -q --no-install-recommends "${missing[@]}"; }
if ! install >/dev/null 2>&1; then
  echo "install_dependencies: updating the package lists first"
  as_root apt-get update -q && install || fail_unless_buildable "apt-get could not install ${missing[*]}"
fi
