"""Boxes whose sides are zero or negative have IoUs of 0 also where functions of other libraries
divide areas; test_examples.py has the operators.
"""

from __future__ import annotations

import importlib

import numpy as np
import pytest
import torch

from mluop_omp.bevfusion._boxes import IOU3D_FUNCTIONS as BEVFUSION
from mluop_omp.pcdet._boxes import FUNCTIONS as PCDET

INF, NAN = np.inf, np.nan
SIDES = [
    *((2, 1, 1), (1, 2, 2), (0, 1, 1), (2, 0, 1), (2, 1, 0), (-2, 1, 1), (2, -1, 1), (-2, -1, 1)),
    *((-0.005, 1, 1), (2, 1, -1), (0, -1, 1), (-2, -1, -1), (NAN, 1, 1), (INF, 1, 1), (INF, 0, 1)),
]
# x, y, z, dx, dy, dz, yaw
BOXES = torch.tensor([(0, 0, 0, *sides, 0.3) for sides in SIDES])
MOVED = BOXES + torch.tensor([0.25, 0.125, 0.25, 0, 0, 0, 0.5])


def written(function, *boxes):
    """Calls a function of an extension module, which writes its last tensor."""
    out = torch.full(tuple(map(len, boxes)), 7.0)
    function(*boxes, out)
    return out


def pairwise(a, b):
    out = torch.full((len(a) * len(b), 1), 7.0)
    pairs = a.repeat_interleave(len(b), 0), b.repeat(len(a), 1)
    PCDET["boxes_aligned_iou_bev_cpu"](*pairs, out)
    return out.view(len(a), len(b))


def of_plane(boxes):
    center, half = boxes[:, :2], boxes[:, 3:5] / 2
    return torch.cat((center - half, center + half, boxes[:, 6:]), 1)


def iou3d(a, b):
    pytest.importorskip("mmcv")
    importlib.import_module("mluop_omp.mmcv.auto")
    return importlib.import_module("mmcv.ops").boxes_iou3d(a, b)


IOUS = {
    "OpenPCDet": lambda *boxes: written(PCDET["boxes_iou_bev_gpu"], *boxes),
    "OpenPCDet, CPU": lambda *boxes: written(PCDET["boxes_iou_bev_cpu"], *boxes),
    "OpenPCDet, aligned": pairwise,
    "BEVFusion": lambda *boxes: written(BEVFUSION["boxes_iou_bev_gpu"], *map(of_plane, boxes)),
    "mmcv, 3-D": iou3d,
}


@pytest.mark.parametrize("name", IOUS)
def test_ious(name):
    found, reverse, own = (
        IOUS[name](*boxes).numpy() for boxes in ((BOXES, MOVED), (MOVED, BOXES), (BOXES, BOXES))
    )
    sides = BOXES[:, 3 : 6 if "3-D" in name else 5].numpy()
    empty, nan = (sides <= 0).any(1), np.isnan(sides).any(1)
    if "3-D" in name:  # mmcv multiplies infinity by 0.
        nan |= np.isinf(sides).any(1)
    either = empty[:, np.newaxis] | empty
    # Some interfaces have NaN for NaN and an empty box.
    assert (found[either & ~(nan[:, np.newaxis] | nan)] == 0).all()
    assert (np.nan_to_num(found[either]) == 0).all()
    assert found[0, 1] > 0.1
    np.testing.assert_allclose(found, reverse.T, rtol=1e-4, atol=1e-6)
    for each in (found, own):
        numbers = each[~np.isnan(each)]
        assert (numbers >= 0).all() and (numbers <= 1 + 1e-5).all()
