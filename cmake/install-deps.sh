#!/bin/sh
# Installs the Debian packages that the build, the tests and the perf suite require. Silent if all are installed.
# Runs as root, or as a user with sudo.
set -eu

packages="
cmake ninja-build g++ g++-aarch64-linux-gnu qemu-user
clang libclang-rt-14-dev libomp-dev clang-format clang-tidy
libspdlog-dev libhwy-dev
libgtest-dev libgmock-dev libbenchmark-dev libcli11-dev libdnnl-dev nlohmann-json3-dev
"
# The libraries of the preset aarch64 are those of the architecture arm64, beside the machine's own.
own_architecture=$(dpkg --print-architecture)
if [ "$own_architecture" != arm64 ]; then
  packages="$packages
libspdlog-dev:arm64 libhwy-dev:arm64 libgtest-dev:arm64 libgmock-dev:arm64 libgomp1:arm64
"
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
case $missing in
*:arm64*) $as_root dpkg --add-architecture arm64 ;;
esac
$as_root apt-get update
# shellcheck disable=SC2086
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends $missing
