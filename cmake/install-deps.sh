#!/bin/sh
# Installs the Debian packages that the build, the tests and the perf suite require. Silent if all are installed.
# Runs as root, or as a user with sudo.
set -eu

packages="
cmake ninja-build g++ g++-aarch64-linux-gnu
clang libclang-rt-14-dev libomp-dev clang-format clang-tidy gcovr python3
libspdlog-dev libhwy-dev
libgtest-dev libgmock-dev libbenchmark-dev libcli11-dev libdnnl-dev nlohmann-json3-dev
"

missing=""
for package in $packages; do
  state=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null) || state=""
  [ "$state" = "install ok installed" ] || missing="$missing $package"
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
$as_root apt-get update
# shellcheck disable=SC2086
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends $missing
