"""Fixtures of all tests, and the counts that tests record for the summary."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest

import mluop_omp
from mluop_omp.__main__ import main
from mluop_omp._case import RUNNER


class Table:
    """Counts the cells with the right value, and those with an error that names an argument."""

    def __init__(self, cells: list[tuple[str, str, bool]]) -> None:
        self.cells = cells

    def add(self, kind: str, interface: str, right: bool) -> None:
        self.cells.append((kind, interface, right))


@pytest.fixture
def mluop_case() -> str | None:
    """The command of the package, the program in PATH, or the one of a build in the source folder.

    Without the program in the package, as in a source folder, its command does not run.
    """
    build = Path(__file__).resolve().parents[2] / "build/release/case"
    commands = f"{sysconfig.get_path('scripts')}:" if RUNNER.is_file() else ""
    return shutil.which("mluop_case", path=f"{commands}{os.environ['PATH']}:{build}")


@pytest.fixture
def table(record_property) -> Table:
    cells: list[tuple[str, str, bool]] = []
    record_property("cells", cells)
    return Table(cells)


def recorded(terminalreporter, name: str) -> list[Any]:
    """What the tests recorded under a name, in whichever process each of them ran."""
    reports = (
        report
        for group in terminalreporter.stats.values()
        for report in group
        if isinstance(report, pytest.TestReport) and report.when == "call"
    )
    return [value for report in reports for key, value in report.user_properties if key == name]


def pytest_terminal_summary(terminalreporter) -> None:
    if install_counts := recorded(terminalreporter, "install counts"):
        cells, before, after = map(sum, zip(*install_counts))
        terminalreporter.section("install() and no_cuda()")
        terminalreporter.line(f"{cells} cells: before ran {before}, after ran {after}")
    counts = Counter(tuple(cell) for cells in recorded(terminalreporter, "cells") for cell in cells)
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
