#!/bin/sh
# Launcher of compilers (cmake/compiler_cache.cmake): cmake/ccache.sh COMPILER [ARGUMENT ...]. A clone in another folder
# finds what this one has compiled: ccache names the files below the project relative to the build folder, where the
# compiler runs. ccache does not know clang's options for precompiled headers, and clang cannot use a precompiled header
# of another folder: this script rewrites their names, compiles them, and adds a checksum of their contents.
set -eu
CCACHE_BASEDIR=$(cd "$(dirname "$0")/.." && pwd)
CCACHE_NOHASHDIR=1
CCACHE_PCH_EXTSUM=1
# The options that precompiled headers require.
CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
export CCACHE_BASEDIR CCACHE_NOHASHDIR CCACHE_PCH_EXTSUM CCACHE_SLOPPINESS
last="" header="" dependencies="" emits_pch=""
for argument; do
  shift
  case $argument in
  "$PWD"/*/cmake_pch.hxx*) argument=${argument#"$PWD/"} ;;
  -emit-pch) emits_pch=yes ;;
  esac
  case $last in
  -o) header=$argument ;;
  -MF) dependencies=$argument ;;
  esac
  last=$argument
  set -- "$@" "$argument"
done
[ -n "$emits_pch" ] || exec ccache "$@"
"$@"
# Hashes the contents of all included files. The options of the files that use the header are hashed with them.
sed -e 's/^[^ ]*://' -e 's/\\$//' "$dependencies" | xargs cat | sha256sum >"$header.sum"
