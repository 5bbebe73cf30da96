"""The table of docs/mmcv.md follows from the sources of mmcv and of this package."""

from __future__ import annotations

import importlib
import re

import pytest
import torch

import mluop_omp

pytest.importorskip("mmcv")
importlib.import_module("mluop_omp.mmcv.auto")
ops = importlib.import_module("mmcv.ops")
mmcv_table = importlib.import_module("mmcv_table")
IMAGE, FILTER = torch.ones(1, 2, 6, 6), torch.ones(2, 2)


@pytest.mark.parametrize("page", mmcv_table.HEADERS)
def test_the_table_is_current(page):
    written = mmcv_table.TABLE.findall((mmcv_table.ROOT / page).read_text(encoding="utf-8"))
    assert written == [mmcv_table.table(page)], "run python/tests/mmcv_table.py --write"
    first_cells = [row.split("|")[1] for row in written[0].splitlines()]
    assert sorted(re.findall(r"`(\w+)`", "".join(first_cells))) == sorted(ops.__all__)


def test_functions_of_a_full_mmcv():
    """Those that mmcv's sources dispatch to no kernel, or to one of the CPU."""
    folder = mmcv_table.OPS / "csrc/pytorch"
    text = "".join(file.read_text() for file in (*folder.glob("*.cpp"), *folder.glob("cpu/*.cpp")))
    declared = set(re.findall(r'm\.def\("(\w+)"', text))
    dispatched = set(re.findall(r"DISPATCH_DEVICE_IMPL\(\s*(\w+)_impl", text))
    on_cpu = set(re.findall(r"REGISTER_DEVICE_IMPL\(\s*(\w+)_impl,\s*CPU", text))
    others = (
        declared - mluop_omp.mmcv.FUNCTIONS.keys() - mmcv_table.CUDA_ONLY - (dispatched - on_cpu)
    )
    # These refuse tensors of the CPU themselves.
    others -= {"get_indice_pairs_2d_backward", "get_indice_pairs_3d_backward"}
    assert others == mluop_omp.mmcv._IN_FULL_MMCV


ON_A_CPU = {
    "bias_act": lambda: ops.bias_act(IMAGE, torch.ones(2)),
    "filter2d": lambda: ops.filter2d(IMAGE, FILTER),
    "filtered_lrelu": lambda: ops.filtered_lrelu(IMAGE, bias=torch.ones(2)),
    "fused_bias_leakyrelu": lambda: ops.FusedBiasLeakyReLU(2)(IMAGE),
    "upfirdn2d": lambda: ops.upfirdn2d(IMAGE, FILTER),
    "upsample2d": lambda: ops.upsample2d(IMAGE, FILTER),
}


@pytest.mark.parametrize("name", ON_A_CPU)
def test_mmcv_computes_functions_of_cuda_with_pytorch(name):
    assert ON_A_CPU[name]().isfinite().all()
