"""`python -m mluop_omp` without a command: the installation, and the self-test."""

from __future__ import annotations

import argparse
import platform
import time

from mluop_omp import _requirements, _self_test
from mluop_omp._settings import info


def run(_: argparse.Namespace) -> int:
    """Prints the report and returns the exit status."""
    begin = time.perf_counter()
    failures = list(_self_test.failures())
    seconds = time.perf_counter() - begin
    for name, text in _lines():
        print(f"{name:22} {text}")
    count = len(_self_test.OPERATORS)
    print(f"{'self-test':22} {count} operators, {len(failures)} failures, {seconds:.1f} s")
    for failure in failures:
        print(f"  {failure}")
    return 1 if failures else 0


def _lines() -> list[tuple[str, str]]:
    state = info()
    version = f"{state['version']}, C API of MLU-OPS {state['mlu_ops_version']}"
    python = f"{platform.python_version()}, {platform.system()} {platform.machine()}"
    lines = [
        ("mluop_omp", version),
        ("library", state["library"]),
        ("instruction set", state["instruction_set"]),
        ("OpenMP runtime", ", ".join(state["openmp"])),
        ("threads", str(state["threads"])),
        ("algorithm", state["algorithm"]),
        ("Python", python),
        ("NumPy", _requirements.installed("numpy") or ""),
    ]
    for module, library in _requirements.LIBRARIES.items():
        found = _requirements.installed(module)
        lines.append((library.name, found or f"not installed: {_requirements.command(module)}"))
    return lines
