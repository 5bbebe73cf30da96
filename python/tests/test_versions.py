"""The versions of docs/python.md, pyproject.toml and _requirements.py, and the tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mluop_omp import _requirements

ROOT = Path(__file__).resolve().parents[2]
PINNED = {
    "PyTorch": "torch",
    "mmcv": "mmcv-lite",
    "spconv": "spconv",
    "ONNX": "onnx",
    "onnxruntime": "onnxruntime",
    "onnxruntime-extensions": "onnxruntime-extensions",
    "Polygraphy": "polygraphy",
    "onnx-graphsurgeon": "onnx-graphsurgeon",
    "mmdetection3d": "mmdet3d",
    "mmdetection": "mmdet",
}


def project() -> dict:
    tomllib = pytest.importorskip("tomllib", reason="requires Python 3.11")
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def documented() -> dict[str, list[str]]:
    """Returns the rows of the table by their library: extra, packages, versions of the tests."""
    text = (ROOT / "docs" / "python.md").read_text()
    (table,) = re.findall(r"\| library \| extra \|.*\n\|-.*\n((?:\|.*\n)+)", text)
    cells = [
        [cell.strip().replace("`", "") for cell in row.strip("|").split("|")]
        for row in table.splitlines()
    ]
    return {name: rest for name, *rest in cells}


def test_extras_are_those_of_the_messages_and_the_table():
    extras, rows = project()["optional-dependencies"], documented()
    libraries = _requirements.LIBRARIES.values()
    known = {each.extra for each in libraries}
    assert set(extras) == {*known, "test"}
    for library in libraries:
        assert extras[library.extra] == list(library.packages)
        assert rows[library.name][:2] == [library.extra, ", ".join(library.packages)]
    assert {row[0] for row in rows.values()} == {*known, ""}


def test_requirements_of_the_package_are_those_of_the_table():
    rows = documented()
    assert rows["Python"][1] == "python" + project()["requires-python"]
    assert rows["NumPy"][1] == ", ".join(project()["dependencies"])


def test_versions_that_the_tests_run_are_those_of_the_table():
    files = ("requirements.txt", "requirements-no-deps.txt")
    text = "".join(Path(__file__).with_name(name).read_text() for name in files)
    pins = dict(re.findall(r"^([\w-]+)==([^\s;]+)", text, flags=re.MULTILINE))
    rows = documented()
    assert {name for name, row in rows.items() if row[2]} == set(PINNED)
    for name, package in PINNED.items():
        assert rows[name][2] == pins[package], name
    # What the extras pin is what the tests run.
    for library in _requirements.LIBRARIES.values():
        for package, version in (each.split("==") for each in library.packages if "==" in each):
            assert pins[package] == version
