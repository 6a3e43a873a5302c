#!/usr/bin/env bash
# Prints and installs the missing Debian packages that are required to build pe. If none is missing,
# it installs nothing. LLVM 22 comes from the security archive of Debian 12.
#   scripts/install-deps.sh           the packages for `make test` and `make demo`
#   scripts/install-deps.sh --asan    also the run-time library of the sanitizers
#   scripts/install-deps.sh --torch   also the PyTorch version of the tests, in build/venv (pip)
#   PE_NO_INSTALL=1                   only print the missing packages and exit with 1
set -euo pipefail

packages=(
  make cmake ninja-build ccache              # the build
  clang-22 lld-22 clang-format-22            # compiler, linker, formatter
  llvm-22-dev llvm-22-tools                  # LLVM; lit, FileCheck
  libmlir-22-dev mlir-22-tools               # MLIR; mlir-tblgen
  libclc-22                                  # math functions of GPU kernels
  libgtest-dev nlohmann-json3-dev libcli11-dev
  libopenblas0-pthread                       # factorizations and large products of training
  libxsmm-dev                                # products of narrow matrices in training
  pkgconf                                    # a test of the installed pe.pc
  zlib1g-dev                                 # the compiler library of the Python wheel
  python3                                    # checks and test programs (standard library only)
  python3-venv python3-dev g++               # tests of the Python package; torch.compile
)
with_torch=0
case "${1-}" in
  "") ;;
  --torch) with_torch=1 ;;
  --asan) packages+=(libclang-rt-22-dev) ;;
  *) echo "install-deps: error: expected no argument, --asan or --torch, found '$1'" >&2; exit 1 ;;
esac

is_installed() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

system_name() {
  if [ -r /etc/os-release ]; then
    # shellcheck source=/dev/null
    (. /etc/os-release && echo "${PRETTY_NAME:-$ID}")
  else
    uname -s
  fi
}

is_debian_12() {
  # shellcheck source=/dev/null
  [ -r /etc/os-release ] && (. /etc/os-release && [ "${VERSION_CODENAME-}" = bookworm ]) &&
    command -v apt-get >/dev/null
}

# Installs the version of PyTorch that the tests of make-python use, in their virtual environment.
install_torch() {
  local root pin python
  root=$(cd "$(dirname "$0")/.." && pwd)
  pin=$(grep -o 'torch==[0-9.]*' "$root/scripts/make-python")
  python=$root/build/venv/bin/python
  local found='import importlib.metadata as m; print("torch==" + m.version("torch").split("+")[0])'
  if [ "$("$python" -c "$found" 2>/dev/null)" = "$pin" ]; then
    echo "install-deps: build/venv has $pin"
    return
  fi
  if [ "${PE_NO_INSTALL-}" = 1 ]; then
    echo "install-deps: error: PE_NO_INSTALL=1, and $root/build/venv has no $pin" >&2
    exit 1
  fi
  echo "install-deps: installing with pip into build/venv: $pin and its dependencies"
  "$python" -c 'import pip' 2>/dev/null || python3 -m venv "$root/build/venv"
  "$python" -m pip install -q "$pin"
}

finish() {
  if [ "$with_torch" = 1 ]; then
    install_torch
  fi
  exit 0
}

missing=()
for package in "${packages[@]}"; do
  is_installed "$package" || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "install-deps: all ${#packages[@]} packages are installed"
  finish
fi
if ! is_debian_12; then
  echo "install-deps: error: expected Debian 12 (bookworm), found $(system_name); pe is built and" \
    "tested only there; install these packages yourself: ${missing[*]}" >&2
  exit 1
fi
if [ "${PE_NO_INSTALL-}" = 1 ]; then
  echo "install-deps: error: PE_NO_INSTALL=1 and these packages are missing: ${missing[*]}" >&2
  exit 1
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "install-deps: error: expected root or sudo to install: ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "install-deps: installing ${#missing[@]} Debian packages (apt-get) and their dependencies:"
printf '  %s\n' "${missing[@]}"
"${as_root[@]}" apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -q -y --no-install-recommends -o Dpkg::Use-Pty=0 "${missing[@]}"
finish
