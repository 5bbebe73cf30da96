#!/bin/sh
# Checks the packages of the preset deb: lintian reports no problem; in a clean root of this system, the packages
# install, the README's example builds with CMake and with pkg-config and runs, the tools run, and purging the packages
# leaves no file. Runs as root, after `sh cmake/install-deps.sh deb`.
#
#   check.sh [DIR]   DIR has the packages; default build/packages
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
packages=$(cd "${1-$source/build/packages}" && pwd)
set -- "$packages"/*.deb
[ $# -eq 3 ] || { echo "check.sh: found $# packages in $packages, expected 3" >&2; exit 2; }

lintian --allow-root --fail-on error,warning "$@"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$@" "$source/test/cases/ball_query/by_hand.prototxt" "$folder"
block() { sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$source/README.md" | sed '1d;$d'; }
block cmake >"$folder/CMakeLists.txt"
block c >"$folder/example.c"
cat >"$folder/use.sh" <<'USE'
set -eu
apt-get -qq update
apt-get -qq -o Dpkg::Use-Pty=0 install --yes --no-install-recommends ./*.deb gcc libc6-dev cmake make pkg-config \
  >/dev/null 2>&1
expect() { [ "$1" = "0 0 11 22" ] || { echo "$2: the example printed '$1', expected '0 0 11 22'" >&2; exit 1; }; }
cmake -S . -B build >/dev/null
cmake --build build >/dev/null
expect "$(build/example)" CMake
flags=$(pkg-config --cflags --libs mluop_omp)
# shellcheck disable=SC2086
gcc example.c $flags -o example
expect "$(./example)" "pkg-config ($flags)"
mluop_case run by_hand.prototxt
mluop_perf --list | grep -q '^ball_query/'
apt-get -qq -o Dpkg::Use-Pty=0 purge --yes libmluop-omp-dev mluop-omp-tools 'libmluop-omp0*' >/dev/null
if find / -xdev -name '*mluop*' -not -path '/work*' | grep .; then
  echo "left after the packages are purged" >&2
  exit 1
fi
USE
# shellcheck source=/dev/null
. /etc/os-release
sh "$source/cmake/clean-root.sh" "$VERSION_CODENAME" "$folder" sh use.sh
echo "$# packages: passed"
