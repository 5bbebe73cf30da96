#!/bin/sh
# Runs a command in a new root of a release of Debian or Ubuntu, in a copy of a folder without `build` and `.git`, and
# deletes the root. Ends with the status of the command. Runs as root, after `sh cmake/install-deps.sh deb`; Ubuntu's
# releases require its keyring.
#
#   clean-root.sh SUITE FOLDER COMMAND...
#
# The README's test line on Debian 13:
#   clean-root.sh trixie . sh -c 'sh cmake/install-deps.sh && cmake --workflow --preset test'
set -eu
[ $# -ge 3 ] || { echo "clean-root.sh: found $# arguments, expected SUITE FOLDER COMMAND..." >&2; exit 2; }
suite=$1
folder=$2
shift 2

root=$(mktemp -d)
trap 'rm -rf --one-file-system "$root"' EXIT
debootstrap --variant=minbase --components=main,universe "$suite" "$root" >"$root.log" 2>&1 ||
  { cat "$root.log" >&2; exit 1; }
rm "$root.log"
cp /etc/resolv.conf /etc/hosts "$root/etc/"
mkdir "$root/work"
tar -C "$folder" --exclude=./build --exclude=./.git -c . | tar -C "$root/work" -x --no-same-owner

# Mounts end with the command. The command gets only one variable of the caller.
# shellcheck disable=SC2016
unshare --mount sh -c '
  root=$1
  shift
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
  exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    MLUOP_OMP_WARNINGS_AS_ERRORS="${MLUOP_OMP_WARNINGS_AS_ERRORS-}" \
    chroot "$root" sh -c "cd /work && exec \"\$@\"" sh "$@"' sh "$root" "$@"
