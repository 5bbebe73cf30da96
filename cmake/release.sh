#!/bin/sh
# Builds the files of a release into dist/: sdist, wheels, Debian packages, documentation, SHA256SUMS. Checks them and
# prints the commands that upload them.
#
#   release.sh [ENVIRONMENT ...]   environments of cmake/test_wheels.py; default: all
#
# After .ci/run, from a clone without changes, as root on Debian 12 on x86-64, with a Python package index; in an hour.
set -eu
cd "$(dirname "$0")/.."
export PATH="/usr/bin:$PATH" MLUOP_OMP_WARNINGS_AS_ERRORS=ON

fail() {
  echo "release.sh: $*" >&2
  exit 1
}

version=$(sed -n 's/^project(mluop_omp VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)
[ -n "$version" ] || fail "found no version in CMakeLists.txt, expected project(mluop_omp VERSION ...)"
changes=$(git status --porcelain)
[ -z "$changes" ] || fail "found changes, expected none:
$changes"
grep -q "^## \[$version\] - [0-9-]*\$" CHANGELOG.md || fail "found no section [$version] with a date in CHANGELOG.md"
unreleased=$(sed -n '/^## \[Unreleased\]/,/^## \[[0-9]/{/^- /p;}' CHANGELOG.md | wc -l)
[ "$unreleased" -eq 0 ] || fail "found $unreleased unreleased entries in CHANGELOG.md, expected 0"
symbols=$(cmake -DVERSION="$version" -P cmake/symbols.cmake)
[ -z "$symbols" ] || fail "src/mluop_omp.symbols lacks functions of the headers; add:
$symbols"
tagged=$(git rev-list -n 1 "v$version" 2>/dev/null || true)
commit=$(git rev-parse HEAD)
[ -z "$tagged" ] || [ "$tagged" = "$commit" ] || fail "tag v$version is at $tagged, expected $commit"

# The date in the packages.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

sh cmake/install-deps.sh wheels
sh cmake/install-deps.sh deb
sh cmake/install-deps.sh python-tests
sh cmake/wheels.sh
rm -rf build/packages
cmake --workflow --preset deb
sh cmake/debian/check.sh
python3 cmake/test_wheels.py "$@"

python3 -m venv build/docs
build/docs/bin/pip install --quiet -r docs/requirements.txt torch "dist/mluop_omp-$version-"*"_$(uname -m).whl"
build/docs/bin/python -m sphinx -W --keep-going -q -c docs . build/site

cp build/packages/*.deb dist
tar -C build --transform "s,^site,mluop-omp-docs-$version," --exclude=.doctrees --exclude=.buildinfo --sort=name \
  --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -cJf "dist/mluop-omp-docs-$version.tar.xz" site
cd dist
expected="libmluop-omp${version%.*}_${version}_amd64.deb
libmluop-omp-dev_${version}_amd64.deb
mluop-omp-docs-$version.tar.xz
mluop-omp-tools_${version}_amd64.deb
mluop_omp-$version-py3-none-manylinux_2_27_aarch64.whl
mluop_omp-$version-py3-none-manylinux_2_27_x86_64.whl
mluop_omp-$version.tar.gz"
found=$(LC_ALL=C ls)
[ "$found" = "$(echo "$expected" | LC_ALL=C sort)" ] || fail "found in dist:
$found
expected:
$expected"
sha256sum -- * >SHA256SUMS

cat <<END

mluop-omp $version, commit $commit; the wheels passed in: ${*:-all environments}
$(cat SHA256SUMS)

Nothing has been uploaded. To publish:
  git tag -a v$version -m 'mluop-omp $version' $commit && git push origin v$version
  build/wheels/venv/bin/twine upload dist/*.tar.gz dist/*.whl
and attach dist/*.deb, dist/*.tar.xz and dist/SHA256SUMS to the release of the tag.
END
