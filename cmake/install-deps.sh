#!/bin/sh
# Installs the packages that the build, the tests and the perf suite require, on Debian 12, 13, testing and unstable and
# on Ubuntu 22.04 and 24.04. Silent if all are installed. Runs as root, or as a user with sudo. Status 1: packages are
# missing, as on Ubuntu 22.04, which lacks two; 3: another system; prints the names of the packages.
#
#   install-deps.sh                all but the presets aarch64 and deb, and the wheels
#   install-deps.sh aarch64        the preset aarch64 as well: adds the foreign architecture arm64 to dpkg; Debian only
#   install-deps.sh wheels         the same, cmake/wheels.sh and cmake/test_wheels.py
#   install-deps.sh deb            the preset deb as well, and cmake/debian/check.sh
#   install-deps.sh python         what `pip install .` requires for a package with mluop_case, and no more
#   install-deps.sh python-tests   the same, Doxygen, which docs/ requires, and, on Debian, Chromium, which takes the
#                                  screenshot of a test
set -eu

packages="
cmake ninja-build ccache g++
clang libomp-dev clang-format clang-tidy gcovr pkg-config python3 qemu-user shellcheck
libspdlog-dev libhwy-dev libkissfft-dev
libgtest-dev libgmock-dev libbenchmark-dev libdnnl-dev
"
# What mluop_case requires.
case="libcli11-dev nlohmann-json3-dev libprotobuf-dev protobuf-compiler"
packages="$packages $case"

# MLUOP_OMP_OS_RELEASE: another file, for the test of this script.
ID=unknown VERSION_ID=""
os_release=${MLUOP_OMP_OS_RELEASE-/etc/os-release}
# shellcheck disable=SC1090
[ ! -r "$os_release" ] || . "$os_release"
# Testing and unstable have no VERSION_ID.
case $ID-$VERSION_ID in
debian- | debian-12 | debian-13 | ubuntu-22.04 | ubuntu-24.04) known=yes ;;
*) known="" ;;
esac

foreign="" foreign_case=""
sanitizers="yes"
case "${1-}" in
"") ;;
aarch64 | wheels)
  if [ "$ID" = ubuntu ]; then
    echo "install-deps.sh: the preset aarch64 requires Debian: Ubuntu's archive has no libraries of arm64" >&2
    exit 1
  fi
  packages="$packages g++-aarch64-linux-gnu"
  if [ "$1" = wheels ]; then
    packages="$packages debootstrap python3-venv"
    foreign_case=libprotobuf-dev
  fi
  foreign=arm64
  ;;
deb) packages="$packages debootstrap dpkg-dev file lintian" ;;
python | python-tests)
  packages="cmake ninja-build g++ libspdlog-dev libhwy-dev libkissfft-dev $case python3-venv python3-pip"
  [ "$1" = python ] || packages="$packages doxygen"
  # Ubuntu has no package of Chromium: chromium-browser installs a snap.
  [ "$1" = python ] || [ "$ID" = ubuntu ] || packages="$packages chromium"
  sanitizers=""
  ;;
*)
  echo "install-deps.sh: invalid argument '$1', expected aarch64, wheels, deb, python, python-tests or none" >&2
  exit 2
  ;;
esac

if [ -z "$known" ]; then
  echo "install-deps.sh: found $ID${VERSION_ID:+ $VERSION_ID}, expected Debian 12, 13, testing or unstable, or Ubuntu" \
    "22.04 or 24.04; these are the packages of Debian:" >&2
  # shellcheck disable=SC2086
  printf '%s\n' $packages
  echo "cmake/dependencies.cmake has the names of the packages of Fedora and conda-forge." >&2
  exit 3
fi

own_architecture=$(dpkg --print-architecture)
# The preset aarch64 links libraries of the architecture arm64, installed beside the machine's libraries.
[ "$own_architecture" != "$foreign" ] || foreign=""
if [ -n "$foreign" ]; then
  for library in libspdlog-dev libhwy-dev libgtest-dev libgmock-dev libgomp1 $foreign_case; do
    packages="$packages $library:$foreign"
  done
fi

# The sanitizers' runtime libraries: libclang-rt-14-dev if clang depends on clang-14. None if clang is not known yet. On
# Ubuntu 22.04 clang depends on them.
[ "$ID-$VERSION_ID" != ubuntu-22.04 ] || sanitizers=""
runtime_of() { sed -n 's/^Depends:.*clang-\([0-9][0-9]*\).*/libclang-rt-\1-dev/p' | head -n 1; }
runtime=""
if [ -n "$sanitizers" ]; then
  runtime=$(dpkg-query -W -f='Depends: ${Depends}\n' clang 2>/dev/null | runtime_of)
  packages="$packages $runtime"
fi

# Ubuntu 22.04 has CMake 3.22 and Highway 0.16.
end() {
  [ "$ID-$VERSION_ID" = ubuntu-22.04 ] || exit 0
  echo "install-deps.sh: Ubuntu 22.04 has too old a CMake and Highway, expected CMake 3.25 and Highway 1.0 or newer:" \
    "conda install -c conda-forge cmake libhwy" >&2
  exit 1
}

# Packages of the architecture all count as packages of the machine's architecture.
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
[ -n "$missing" ] || end

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
end
