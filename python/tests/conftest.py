"""Fixtures of all tests, and the counts of the table of test_table.py."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Callable

import numpy as np
import pytest

import mluop_omp
from mluop_omp.__main__ import main
from mluop_omp._case import RUNNER


class Table:
    """Counts the cells with the right value, and those with an error that names an argument."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str, bool]] = Counter()

    def add(self, kind: str, interface: str, right: bool) -> None:
        self.counts[kind, interface, right] += 1


_TABLE = Table()


@pytest.fixture
def mluop_case() -> str | None:
    """The command of the package, the program in PATH, or the one of a build in the source folder.

    Without the program in the package, as in a source folder, its command does not run.
    """
    build = Path(__file__).resolve().parents[2] / "build/release/case"
    commands = f"{sysconfig.get_path('scripts')}:" if RUNNER.is_file() else ""
    return shutil.which("mluop_case", path=f"{commands}{os.environ['PATH']}:{build}")


@pytest.fixture
def table() -> Table:
    return _TABLE


# Cells, those that ran before, and those that ran afterwards, of test_install_table.py.
_INSTALL_COUNTS: list[list[int]] = []


@pytest.fixture
def install_counts() -> list[list[int]]:
    return _INSTALL_COUNTS


def pytest_terminal_summary(terminalreporter) -> None:
    if _INSTALL_COUNTS:
        cells, before, after = map(sum, zip(*_INSTALL_COUNTS))
        terminalreporter.section("install() and no_cuda()")
        terminalreporter.line(f"{cells} cells: before ran {before}, after ran {after}")
    counts = _TABLE.counts
    if not counts:
        return
    terminalreporter.section("right values + errors that name an argument")
    interfaces = sorted({interface for _, interface, _ in counts})
    lines = {"": interfaces}
    for kind, _, _ in counts:
        pairs = [(counts[kind, each, True], counts[kind, each, False]) for each in interfaces]
        lines[kind] = [
            f"{right} + {refused}" if right + refused else "" for right, refused in pairs
        ]
    for kind, cells in lines.items():
        widths = (max(12, len(interface) + 2) for interface in interfaces)
        line = "".join(f"{cell:>{width}}" for cell, width in zip(cells, widths))
        terminalreporter.line(f"{kind:24}{line}")
    right = sum(count for (_, _, is_right), count in counts.items() if is_right)
    total = sum(counts.values())
    terminalreporter.line(f"{total} cells: {right} right, {total - right} refused")


@pytest.fixture
def poisoned_memory(monkeypatch) -> None:
    """Fills what the package allocates without contents: with NaN, or an unlikely integer."""
    from mluop_omp import _arrays

    numpy_empty = np.empty

    def empty(shape, dtype=float):
        array = numpy_empty(shape, dtype)
        array.fill(np.nan if array.dtype.kind == "f" else 0x5A)
        return array

    monkeypatch.setattr(_arrays, "_empty", empty)
    torch = sys.modules.get("torch")
    if torch is None:
        return
    torch_empty = torch.empty

    def empty_tensor(*arguments, **named):
        tensor = torch_empty(*arguments, **named)
        return tensor.fill_(float("nan") if tensor.is_floating_point() else 0x5A)

    monkeypatch.setattr(torch, "empty", empty_tensor)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20)


@pytest.fixture
def normal(rng) -> Callable[..., np.ndarray]:
    """Normally distributed float32 of a shape."""
    return lambda *shape: rng.standard_normal(shape).astype(np.float32)


@pytest.fixture
def command(capsys) -> Callable[..., tuple[int, str, str]]:
    """Runs `python -m mluop_omp compare` and returns its status and what it printed."""

    def call(*arguments) -> tuple[int, str, str]:
        try:
            status = main(["compare", *map(str, arguments)])
        except SystemExit as exit:
            status = exit.code
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err and (status == 2) >= bool(printed.err)
        return status, printed.out, printed.err

    return call


@pytest.fixture
def set_threads() -> Iterator[Callable[[int], None]]:
    """Sets the number of threads, and restores it."""
    before = mluop_omp.threads()
    yield lambda count: mluop_omp.threads(count) and None
    mluop_omp.threads(before)
