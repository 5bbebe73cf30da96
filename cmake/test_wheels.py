"""Tests the wheels of dist/, which cmake/wheels.sh builds, in clean environments.

python3 cmake/test_wheels.py [ENVIRONMENT ...], default: all of

  extras    a venv with the extras torch, mmcv and spconv: the examples of README.md and docs/
  bullseye  Debian 11: Python 3.9 with the newest NumPy, the oldest, and the oldest PyTorch
  bookworm  Debian 12: Python 3.11 with the newest NumPy
  trixie    Debian 13: Python 3.13 with the newest NumPy
  aarch64   Python 3.11 of Debian 12 with the newest NumPy, in QEMU

The Debian systems are bare roots in build/wheels, with libgomp1 unless PyTorch brings one. Runs as
root on Debian 12 on x86-64 after `sh cmake/install-deps.sh wheels`, with a Python package index and
20 GiB of disk.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build" / "wheels"
PROGRAM = ROOT / "python" / "tests" / "typed_program.py"
CASE = ROOT / "test" / "cases" / "ball_query" / "by_hand.prototxt"
LICENSES = {
    *("LICENSE", "Apache-2.0.txt", "libhwy.txt", "libspdlog.txt", "libfmt.txt", "libkissfft.txt"),
    *("libprotobuf.txt", "libcli11.txt", "nlohmann-json3.txt"),
}
MANYLINUX = ("1", "2010", "2014", "_2_5", "_2_12", "_2_17", "_2_24", "_2_27", "_2_28")
# What python3 of Debian 12 needs to import NumPy, for another architecture.
PYTHON_PACKAGES = (
    *("python3.11-minimal", "libpython3.11-minimal", "libpython3.11-stdlib"),
    *("libexpat1", "libffi8", "zlib1g"),
)


def run(*command: str | Path, **environment: str) -> str:
    print("+", shlex.join(map(str, command)), flush=True)
    done = subprocess.run(
        command, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True
    )
    print(done.stdout, end="", flush=True)
    if done.returncode != 0:
        sys.exit(f"test_wheels.py: exit status {done.returncode}")
    return done.stdout


def wheel(architecture: str) -> Path:
    wheels = list((ROOT / "dist").glob(f"mluop_omp-*{architecture}.whl"))
    if len(wheels) != 1:
        sys.exit(f"test_wheels.py: {len(wheels)} wheels of {architecture} in dist/, expected 1")
    files = zipfile.ZipFile(wheels[0]).namelist()
    licenses = {Path(name).name for name in files if re.search(r"\.dist-info/licenses/.", name)}
    if licenses != LICENSES:
        sys.exit(f"test_wheels.py: licenses {sorted(licenses)}, expected {sorted(LICENSES)}")
    return wheels[0]


def oldest(package: str) -> str:
    (version,) = re.findall(rf'"{package}>=([\d.]+)"', (ROOT / "pyproject.toml").read_text())[:1]
    return f"{package}=={version}.0"


def install(target: Path, python: str, architecture: str, *packages: str) -> Path:
    """Installs the wheel and packages for another Python into an empty folder."""
    shutil.rmtree(target, ignore_errors=True)
    platforms = [f"--platform=manylinux{name}_{architecture}" for name in MANYLINUX]
    run(
        *(WORK / "venv" / "bin" / "pip", "install", "--quiet", "--no-compile"),
        *("--target", target, "--python-version", python, "--only-binary=:all:", *platforms),
        *(wheel(architecture), *packages),
    )
    return target


def debian(suite: str) -> Path:
    root = WORK / suite
    if not (root / "done").exists():
        shutil.rmtree(root, ignore_errors=True)
        run("debootstrap", "--variant=minbase", "--include=python3", suite, root)
        (root / "done").touch()
    return root


def in_root(root: Path, packages: Path, *command: str, libgomp: bool = True) -> str:
    """Runs python3 of a root with /proc."""
    apt = "apt-get -qq -y -o APT::Install-Recommends=false"
    install_it = f"dpkg -s libgomp1 >/dev/null 2>&1 || ({apt} update && {apt} install libgomp1)"
    run("chroot", root, "sh", "-c", install_it if libgomp else "dpkg --purge libgomp1 2>/dev/null")
    script = """
mount -t proc proc "$0/proc"
exec chroot "$0" env -i PYTHONPATH="$1" /usr/bin/python3 -W ignore "${@:2}"
"""
    folder = "/" + str(packages.relative_to(root))
    return run("unshare", "--mount", "bash", "-ec", script, root, folder, *command)


def test_package(root: Path, packages: Path, libgomp: bool = True) -> None:
    """Runs the self-test, and mluop_case."""
    shutil.copy(CASE, root)
    for command in ((), ("case", "run", f"/{CASE.name}")):
        in_root(root, packages, "-m", "mluop_omp", *command, libgomp=libgomp)


def test_newest_numpy(suite: str, python: str) -> None:
    root = debian(suite)
    test_package(root, install(root / "newest", python, "x86_64", "numpy"))


def test_bullseye() -> None:
    test_newest_numpy("bullseye", "3.9")
    root = debian("bullseye")
    test_package(root, install(root / "oldest", "3.9", "x86_64", oldest("numpy")))
    # First, PyTorch has the only OpenMP runtime; then the system has one, too.
    packages = install(root / "torch", "3.9", "x86_64", "numpy", oldest("torch"))
    shutil.copy(PROGRAM, root)
    in_root(root, packages, f"/{PROGRAM.name}", libgomp=False)
    test_package(root, packages, libgomp=False)
    for imports in ("mluop_omp, torch", "torch, mluop_omp"):
        code = f"import {imports}; (file,) = mluop_omp.info()['openmp']; print(file)"
        for libgomp in (False, True):
            if "/torch/lib/libgomp" not in in_root(root, packages, "-c", code, libgomp=libgomp):
                sys.exit("test_wheels.py: expected the OpenMP runtime of PyTorch")


def test_extras() -> None:
    environment = WORK / "extras"
    venv.create(environment, clear=True, with_pip=True)
    python = environment / "bin" / "python"
    extras = f"{wheel('x86_64')}[mmcv,spconv,torch]"
    run(python, "-m", "pip", "install", "--quiet", extras, "pytest")
    run(python, "-m", "mluop_omp")
    run(environment / "bin" / "mluop_case", "run", CASE)
    run(python, "-m", "pytest", "-q", ROOT / "python" / "tests" / "test_pages.py", "-k", "example")


def test_aarch64() -> None:
    root = WORK / "arm64"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    for package in PYTHON_PACKAGES:
        fetch = f"cd {shlex.quote(str(root))} && apt-get download -qq {package}:arm64 2>&1"
        run("sh", "-c", fetch)
    for package in root.glob("*.deb"):
        run("dpkg-deb", "--extract", package, root)
    packages = install(root / "packages", "3.11", "aarch64", "numpy")
    libraries = [root / path / "aarch64-linux-gnu" for path in ("lib", "usr/lib")]
    emulator = ("qemu-aarch64", "-E", f"LD_LIBRARY_PATH={':'.join(map(str, libraries))}")
    run(
        *(*emulator, root / "usr" / "bin" / "python3.11", "-m", "mluop_omp"),
        PYTHONPATH=str(packages),
        PYTHONHOME=str(root / "usr"),
    )
    run(*emulator, packages / "mluop_omp" / "mluop_case", "run", CASE)


TESTS = {
    "extras": test_extras,
    "bullseye": test_bullseye,
    "bookworm": lambda: test_newest_numpy("bookworm", "3.11"),
    "trixie": lambda: test_newest_numpy("trixie", "3.13"),
    "aarch64": test_aarch64,
}


def main() -> None:
    names = sys.argv[1:] or list(TESTS)
    for name in names:
        if name not in TESTS:
            sys.exit(f"test_wheels.py: {name!r} is not one of {', '.join(TESTS)}")
    for name in names:
        TESTS[name]()
        print(f"{name}: passed", flush=True)


if __name__ == "__main__":
    main()
