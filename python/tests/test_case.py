"""The commands that run mluop_case, the program in the package."""

from __future__ import annotations

import importlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import torch

import mluop_omp
from mluop_omp import _case

ROOT = Path(__file__).resolve().parents[2]
CASE = ROOT / "test/cases/ball_query/by_hand.prototxt"
SCRIPT = Path(sysconfig.get_path("scripts")) / "mluop_case"
MODULE = [sys.executable, "-m", "mluop_omp", "case"]
# What a system has without a package of its own: the libraries of the compiler, and OpenMP.
SYSTEM = {"libc.so.6", "libgcc_s.so.1", "libgomp.so.1", "libm.so.6", "libpthread.so.0"}
SYSTEM |= {"libstdc++.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
with_runner = pytest.mark.skipif(
    not _case.RUNNER.is_file(), reason="the package was built without mluop_case"
)


def run(command: list, *arguments: str | Path, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*command, *arguments], capture_output=True, text=True, **options)


@pytest.fixture(params=[[SCRIPT], MODULE], ids=["script", "module"])
def command(request) -> list:
    if not Path(request.param[0]).is_file():
        pytest.skip("the package is not installed")
    return request.param


@with_runner
@pytest.mark.parametrize(
    ("arguments", "status", "printed"),
    [
        (["--help"], 0, "Runs operator cases"),
        (["run", "--help"], 0, "--algorithm"),
        (["run", "--algorithm", "native", "right.prototxt"], 0, "1 run: 1 passed"),
        (["run", "wrong.prototxt"], 1, "against the stored"),
        (["run", "missing.prototxt"], 2, "missing.prototxt"),
        (["run", "--no-such-option", "right.prototxt"], 2, "--no-such-option"),
        ([], 2, "subcommand"),
    ],
)
def test_the_program_gets_the_arguments_and_ends_with_its_status(
    command, arguments, status, printed, tmp_path
):
    case = CASE.read_text()
    (tmp_path / "right.prototxt").write_text(case)
    (tmp_path / "wrong.prototxt").write_text(case.replace("[1, 2, 1, 1", "[2, 2, 1, 1"))
    found = run(command, *arguments, cwd=tmp_path)
    assert found.returncode == status and printed in found.stdout + found.stderr, found
    direct = run([_case.RUNNER], *arguments, cwd=tmp_path, env=_case._environment())
    assert direct.returncode == status and direct.stderr == found.stderr
    outputs = {
        re.sub(r"[\d.]+ s$", "", each.stdout, flags=re.MULTILINE) for each in (found, direct)
    }
    assert len(outputs) == 1, outputs


@with_runner
def test_a_case_of_check_fails_and_is_reduced(command, tmp_path, monkeypatch):
    pytest.importorskip("mmcv", reason="requires mmcv-lite")
    importlib.import_module("mluop_omp.mmcv.auto")
    ops, kernels = (importlib.import_module(f"mmcv.{name}") for name in ("ops", "_ext"))
    right = kernels.gather_points_forward

    def defect(points, indices, output, **sizes):
        right(points, indices, output, **sizes)
        output[0, 1, 2] += 1

    monkeypatch.setattr(kernels, "gather_points_forward", defect)
    features, indices = torch.arange(48.0).view(2, 4, 6), torch.ones(2, 3, dtype=torch.int32)
    with mluop_omp.check(cases=tmp_path / "the cases") as report:
        ops.gather_points(features, indices)
    (printed,) = re.findall(r"^  run the case: mluop_case (.*)$", str(report), re.MULTILINE)
    stated = shlex.split(printed)
    for arguments, status in ((stated, 1), (["reduce", stated[-1]], 0)):
        found = run(command, *arguments)
        assert found.returncode == status and not found.stderr, found
        assert "output against the stored" in found.stdout, found
    assert "1 of 1 elements are wrong" in found.stdout
    assert run(command, "run", tmp_path).returncode == 1


@with_runner
def test_a_closed_pipe_ends_the_program(command):
    process = subprocess.Popen([*command, "run", "--help"], stdout=subprocess.PIPE)
    process.stdout.close()
    assert process.wait() == -signal.SIGPIPE


@with_runner
@pytest.mark.skipif(shutil.which("readelf") is None, reason="requires readelf")
def test_the_program_requires_the_package_and_the_system_only():
    dynamic = run(["readelf", "-d", _case.RUNNER], check=True, env={**os.environ, "LC_ALL": "C"})
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic.stdout))
    package = {path.name for path in Path(mluop_omp.__file__).parent.glob("lib*")}
    assert "libmluop_omp.so" in needed and needed <= package | SYSTEM
    assert re.findall(r"\(R(?:UN)?PATH\).*\[(.*)\]", dynamic.stdout) == ["$ORIGIN"]


def test_without_the_program_the_commands_say_what_to_install(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(_case, "RUNNER", tmp_path / "mluop_case")
    monkeypatch.setattr(sys, "argv", ["mluop_case", "run", "cases"])
    with pytest.raises(SystemExit) as end:
        _case.main()
    assert end.value.code == _case.NOT_INSTALLED == 127
    printed = capsys.readouterr()
    assert not printed.out and printed.err.startswith("mluop_case: found no ")
    packages = re.search(r"apt install (.*)", printed.err)[1].split()
    (case,) = re.findall(r'^case="(.*)"', (ROOT / "cmake/install-deps.sh").read_text(), flags=re.M)
    assert sorted(packages) == sorted(case.split())


@pytest.mark.parametrize(
    ("runtimes", "before", "preloaded"),
    [
        ([], None, None),
        ([], "/own.so", "/own.so"),
        (["/torch/lib/libgomp.so.1"], None, "/torch/lib/libgomp.so.1"),
        (["/torch/lib/libgomp.so.1"], "/own.so", "/own.so:/torch/lib/libgomp.so.1"),
        (["/a folder/libgomp.so.1", "/a:b/libgomp.so.1"], None, None),
    ],
)
def test_the_program_has_the_openmp_runtime_of_torch(runtimes, before, preloaded, monkeypatch):
    monkeypatch.setattr(_case, "openmp_runtimes_of_torch", lambda: runtimes)
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    if before is not None:
        monkeypatch.setenv("LD_PRELOAD", before)
    assert _case._environment().get("LD_PRELOAD") == preloaded
