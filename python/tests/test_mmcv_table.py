"""The table of docs/mmcv.md follows from the sources of mmcv and of this package."""

from __future__ import annotations

import importlib
import re

import pytest

import mluop_omp

pytest.importorskip("mmcv")
importlib.import_module("mluop_omp.mmcv.auto")
ops = importlib.import_module("mmcv.ops")
mmcv_table = importlib.import_module("mmcv_table")


@pytest.mark.parametrize("page", mmcv_table.HEADERS)
def test_the_table_is_current(page):
    written = mmcv_table.TABLE.findall((mmcv_table.ROOT / page).read_text(encoding="utf-8"))
    assert written == [mmcv_table.table(page)], "run python/tests/mmcv_table.py --write"
    first_cells = [row.split("|")[1] for row in written[0].splitlines()]
    assert sorted(re.findall(r"`(\w+)`", "".join(first_cells))) == sorted(ops.__all__)


def test_all_functions_of_mmcv_are_provided():
    text = (mmcv_table.OPS / "csrc/pytorch/pybind.cpp").read_text()
    declared = set(re.findall(r'm\.def\("(\w+)"', text))
    ours = mluop_omp.mmcv
    assert ours.FUNCTIONS.keys() | ours._FORMULATIONS.keys() | ours._ANSWERS.keys() == declared
    assert len(declared) == 112
