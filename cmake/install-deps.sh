#!/bin/sh
# Installs the Debian packages that the build, the tests and the perf suite require. Silent if all are installed.
# Runs as root, or as a user with sudo.
#
#   install-deps.sh                all but the preset aarch64
#   install-deps.sh aarch64        the preset aarch64 as well: adds the foreign architecture arm64 to dpkg
#   install-deps.sh python         what `pip install .` requires, and no more
#   install-deps.sh python-tests   the same and Chromium, which takes the screenshot of a test
set -eu

packages="
cmake ninja-build g++
clang libomp-dev clang-format clang-tidy gcovr python3 qemu-user
libspdlog-dev libhwy-dev
libgtest-dev libgmock-dev libbenchmark-dev libcli11-dev libdnnl-dev nlohmann-json3-dev
libprotobuf-dev protobuf-compiler
"
foreign=""
sanitizers="yes"
own_architecture=$(dpkg --print-architecture)
case "${1-}" in
"") ;;
aarch64)
  packages="$packages g++-aarch64-linux-gnu"
  # The libraries of the preset are those of the architecture arm64, beside the machine's own.
  if [ "$own_architecture" != arm64 ]; then
    foreign=arm64
    for library in libspdlog-dev libhwy-dev libgtest-dev libgmock-dev libgomp1; do
      packages="$packages $library:$foreign"
    done
  fi
  ;;
python | python-tests)
  packages="cmake ninja-build g++ libspdlog-dev libhwy-dev python3-venv python3-pip"
  [ "$1" = python ] || packages="$packages chromium"
  sanitizers=""
  ;;
*)
  echo "install-deps.sh: invalid argument '$1', expected aarch64, python, python-tests or none" >&2
  exit 2
  ;;
esac

# The sanitizers' runtime libraries: libclang-rt-14-dev if clang depends on clang-14. None if clang is not known yet.
runtime_of() { sed -n 's/^Depends:.*clang-\([0-9][0-9]*\).*/libclang-rt-\1-dev/p' | head -n 1; }
runtime=""
if [ -n "$sanitizers" ]; then
  runtime=$(dpkg-query -W -f='Depends: ${Depends}\n' clang 2>/dev/null | runtime_of)
  packages="$packages $runtime"
fi

installed=$(dpkg-query -W -f='${Package}:${Architecture} ${Status}\n' |
  sed -n -e "s/:all /:$own_architecture /" -e "s/ install ok installed\$//p")
missing=""
for package in $packages; do
  case $package in
  *:*) qualified=$package ;;
  *) qualified=$package:$own_architecture ;;
  esac
  echo "$installed" | grep -Fqx "$qualified" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -eq 0 ]; then
  as_root=""
elif command -v sudo >/dev/null; then
  as_root="sudo"
else
  echo "install-deps.sh: run as root, or install sudo; missing:$missing" >&2
  exit 1
fi
[ -z "$foreign" ] || $as_root dpkg --add-architecture "$foreign"
$as_root apt-get update
[ -z "$sanitizers" ] || [ -n "$runtime" ] || missing="$missing $(apt-cache show clang | runtime_of)"
# shellcheck disable=SC2086
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends $missing
