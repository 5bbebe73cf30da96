"""Boxes whose sides are zero or negative, in what computes: the library, the definitions, and
functions of other libraries that divide areas themselves.

Their overlaps and IoUs are 0, and they neither suppress nor are suppressed at a threshold that is
not negative.
"""

from __future__ import annotations

import importlib
import importlib.util

import numpy as np
import pytest
import torch

import mluop_omp
from mluop_omp._self_test import definitions
from mluop_omp.bevfusion._boxes import IOU3D_FUNCTIONS as BEVFUSION
from mluop_omp.pcdet._boxes import FUNCTIONS as PCDET

INF, NAN = np.inf, np.nan
SIDES = [
    *((2, 1, 1), (1, 2, 2), (0, 1, 1), (2, 0, 1), (2, 1, 0), (-2, 1, 1), (2, -1, 1), (-2, -1, 1)),
    *((-0.005, 1, 1), (2, 1, -1), (0, -1, 1), (-2, -1, -1), (NAN, 1, 1), (INF, 1, 1), (INF, 0, 1)),
]
# x, y, z, dx, dy, dz, yaw
BOXES = np.array([(0, 0, 0, *sides, 0.3) for sides in SIDES], np.float32)
MOVED = BOXES + np.float32([0.25, 0.125, 0.25, 0, 0, 0, 0.5])
MODULES = {"library": mluop_omp, "definition": definitions}


def are_empty(boxes, offset=0):
    return (boxes[:, 3:5] + offset <= 0).any(1)


def rotated(boxes):
    return np.ascontiguousarray(boxes[:, [0, 1, 3, 4, 6]])


def corners(boxes):
    low, high = boxes[:, :2] - boxes[:, 3:5] / 2, boxes[:, :2] + boxes[:, 3:5] / 2
    return np.concatenate((low, high), 1)


def written(function, arrange=lambda boxes: boxes):
    """Calls a function of an extension module, which writes its last tensor."""

    def call(a, b):
        out = torch.full((len(a), len(b)), 7.0)
        function(*(torch.from_numpy(arrange(each)) for each in (a, b)), out)
        return out.numpy()

    return call


def pairwise(a, b):
    rows = torch.from_numpy(a).repeat_interleave(len(b), 0), torch.from_numpy(b).repeat(len(a), 1)
    out = torch.full((len(rows[0]), 1), 7.0)
    PCDET["boxes_aligned_iou_bev_cpu"](*rows, out)
    return out.view(len(a), len(b)).numpy()


OVERLAPS = {
    "OpenPCDet": written(PCDET["boxes_iou_bev_gpu"]),
    "OpenPCDet, CPU": written(PCDET["boxes_iou_bev_cpu"]),
    "OpenPCDet, aligned": pairwise,
    "BEVFusion": written(
        BEVFUSION["boxes_iou_bev_gpu"], lambda a: np.concatenate((corners(a), a[:, 6:]), 1)
    ),
}
for name, module in MODULES.items():
    iou = module.box_iou_rotated
    OVERLAPS[f"areas, {name}"] = module.boxes_overlap_bev
    OVERLAPS[f"iou, {name}"] = lambda a, b, iou=iou: iou(rotated(a), rotated(b))
    OVERLAPS[f"iof, {name}"] = lambda a, b, iou=iou: iou(rotated(a), rotated(b), "iof")
if importlib.util.find_spec("mmcv"):
    importlib.import_module("mluop_omp.mmcv.auto")
    iou3d = importlib.import_module("mmcv.ops").boxes_iou3d
    OVERLAPS["mmcv, 3-D"] = lambda a, b: iou3d(torch.from_numpy(a), torch.from_numpy(b)).numpy()


@pytest.mark.parametrize("name", OVERLAPS)
def test_overlaps(name):
    found, reverse = OVERLAPS[name](BOXES, MOVED), OVERLAPS[name](MOVED, BOXES)
    empty, nan = are_empty(BOXES), np.isnan(BOXES).any(1)
    if name == "mmcv, 3-D":  # mmcv multiplies infinity by 0.
        empty, nan = empty | (BOXES[:, 5] <= 0), nan | np.isinf(BOXES).any(1)
    either = empty[:, np.newaxis] | empty
    # Some interfaces have NaN for NaN and an empty box.
    assert (found[either & ~(nan[:, np.newaxis] | nan)] == 0).all()
    assert (np.nan_to_num(found[either]) == 0).all()
    assert found[0, 1] > 0.1 and (found[~np.isnan(found)] >= 0).all()
    if not name.startswith("iof"):
        np.testing.assert_allclose(found, reverse.T, rtol=1e-4, atol=1e-6)
    if not name.startswith("areas"):
        for each in (found, OVERLAPS[name](BOXES, BOXES)):
            assert (each[~np.isnan(each)] <= 1 + 1e-5).all()


def first_of_groups(module, boxes, scores, threshold):
    dets = np.concatenate((corners(boxes), scores[:, np.newaxis]), 1)
    members, sizes = module.nms_match(dets, threshold)
    return np.array(sorted(group[0] for group in np.split(members, sizes.cumsum()[:-1])))


def not_decayed(method):
    def kept(module, boxes, scores, threshold):
        dets, inds = module.soft_nms(corners(boxes), scores, threshold, 0.5, 0.0, method, 0)
        return np.sort(inds[dets[:, 4] == scores[inds]])

    return kept


# Functions of a module, boxes, scores and a threshold to the boxes that are kept.
SUPPRESSIONS = {
    "nms": lambda module, boxes, *others: module.nms(corners(boxes), *others),
    "nms with offset": lambda module, boxes, *others: module.nms(corners(boxes), *others, 1),
    "nms_rotated": lambda module, boxes, *others: module.nms_rotated(rotated(boxes), *others),
    "nms3d": lambda module, *arguments: module.nms3d(*arguments),
    "nms3d_normal": lambda module, *arguments: module.nms3d_normal(*arguments),
    "nms_match": first_of_groups,
    **{f"soft_nms {method}": not_decayed(method) for method in ("naive", "linear", "gaussian")},
}


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("name", SUPPRESSIONS)
def test_suppressions(name, module):
    def kept(boxes, threshold):
        scores = np.linspace(1, 0.5, len(boxes), dtype=np.float32)
        return SUPPRESSIONS[name](MODULES[module], boxes, scores, threshold)

    boxes = np.concatenate((BOXES, MOVED, BOXES[:1] + 100))
    if "gaussian" in name:  # An IoU of NaN decays a score to NaN.
        boxes = boxes[np.isfinite(boxes).all(1)]
    empty = are_empty(boxes, 1 if "offset" in name else 0)
    others = np.flatnonzero(~empty)
    expected = {*np.flatnonzero(empty), *others[kept(boxes[others], 0.1)]}
    assert set(kept(boxes, 0.1)) == expected
    if "soft" not in name:
        # Boxes that overlap none suppress each other too.
        assert kept(boxes[are_empty(boxes, 1)], -0.5).tolist() == [0]
