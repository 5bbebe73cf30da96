"""Boxes whose sides are zero or negative, in every interface.

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
import mluop_omp.torch as mt
from mluop_omp._self_test import definitions as definitions
from mluop_omp.bevfusion._boxes import IOU3D_FUNCTIONS as BEVFUSION
from mluop_omp.mmcv import _boxes as ext
from mluop_omp.pcdet._boxes import FUNCTIONS as PCDET

mmcv = None
if importlib.util.find_spec("mmcv"):
    importlib.import_module("mluop_omp.mmcv.auto")
    mmcv = importlib.import_module("mmcv.ops")

SIDES = {
    "positive": (2, 1, 1),
    "other": (1, 2, 2),
    "zero dx": (0, 1, 1),
    "zero dy": (2, 0, 1),
    "zero dz": (2, 1, 0),
    "negative dx": (-2, 1, 1),
    "negative dy": (2, -1, 1),
    "negative dx and dy": (-2, -1, 1),
    "slightly negative": (-0.005, 1, 1),
    "negative dz": (2, 1, -1),
    "zero and negative": (0, -1, 1),
    "all negative": (-2, -1, -1),
    "NaN": (np.nan, 1, 1),
    "infinite": (np.inf, 1, 1),
    "infinite and zero": (np.inf, 0, 1),
}
# x, y, z, dx, dy, dz, yaw
BOXES = np.array([(0, 0, 0, *sides, 0.3) for sides in SIDES.values()], np.float32)
MOVED = BOXES + np.float32([0.25, 0.125, 0.25, 0, 0, 0, 0.5])


def rotated(boxes):
    return np.ascontiguousarray(boxes[:, [0, 1, 3, 4, 6]])


def corners(boxes):
    low, high = boxes[:, :2] - boxes[:, 3:5] / 2, boxes[:, :2] + boxes[:, 3:5] / 2
    return np.concatenate((low, high), 1)


def of_plane(boxes):
    return np.concatenate((corners(boxes), boxes[:, 6:]), 1)


def as_tensors(function, arrange=lambda boxes: boxes):
    return lambda a, b: function(*(torch.from_numpy(arrange(each)) for each in (a, b))).numpy()


def written(function, *arguments, arrange=lambda boxes: boxes):
    """Calls a function of an extension module, which writes its last tensor."""

    def call(a, b):
        out = torch.full((len(a), len(b)), 7.0)
        function(*(torch.from_numpy(arrange(each)) for each in (a, b)), out, *arguments)
        return out.numpy()

    return call


def pairwise(function):
    """Calls a function of the boxes of the same row."""

    def call(a, b):
        rows = [np.repeat(a, len(b), 0), np.tile(b, (len(a), 1))]
        out = torch.full((len(rows[0]), 1), 7.0)
        function(*map(torch.from_numpy, rows), out)
        return out.numpy().reshape(len(a), len(b))

    return call


AREAS = {
    "numpy": mluop_omp.boxes_overlap_bev,
    "definition": definitions.boxes_overlap_bev,
    "torch": as_tensors(mt.boxes_overlap_bev),
    "mmcv._ext": written(ext.iou3d_boxes_overlap_bev_forward),
    "OpenPCDet": written(PCDET["boxes_overlap_bev_gpu"]),
    "OpenPCDet, aligned": pairwise(PCDET["boxes_aligned_overlap_bev_gpu"]),
    "BEVFusion": written(BEVFUSION["boxes_overlap_bev_gpu"], arrange=of_plane),
}
IOUS = {
    "numpy": lambda a, b: mluop_omp.box_iou_rotated(rotated(a), rotated(b)),
    "iof": lambda a, b: mluop_omp.box_iou_rotated(rotated(a), rotated(b), "iof"),
    "definition": lambda a, b: definitions.box_iou_rotated(rotated(a), rotated(b)),
    "torch": as_tensors(mt.box_iou_rotated, rotated),
    "mmcv._ext": written(ext.box_iou_rotated, 0, False, arrange=rotated),
    "OpenPCDet": written(PCDET["boxes_iou_bev_gpu"]),
    "OpenPCDet, CPU": written(PCDET["boxes_iou_bev_cpu"]),
    "OpenPCDet, aligned": pairwise(PCDET["boxes_aligned_iou_bev_cpu"]),
    "BEVFusion": written(BEVFUSION["boxes_iou_bev_gpu"], arrange=of_plane),
}
if mmcv is not None:
    AREAS["mmcv"] = as_tensors(mmcv.boxes_overlap_bev)
    IOUS["mmcv"] = as_tensors(mmcv.box_iou_rotated, rotated)
    IOUS["mmcv, 3-D"] = as_tensors(mmcv.boxes_iou3d)


def are_empty(boxes, offset=0):
    return (boxes[:, 3:5] + offset <= 0).any(1)


def check_overlaps(found, reverse, has_height):
    empty = are_empty(BOXES)
    if has_height:
        empty |= BOXES[:, 5] <= 0
    nan = np.isnan(BOXES).any(1)
    if has_height:  # mmcv multiplies infinity by 0.
        nan |= np.isinf(BOXES).any(1)
    either = empty[:, np.newaxis] | empty
    # Of NaN and an empty box, some interfaces have NaN.
    assert (found[either & ~(nan[:, np.newaxis] | nan)] == 0).all()
    assert (np.nan_to_num(found[either]) == 0).all()
    numbers = found[~np.isnan(found)]
    assert (numbers >= 0).all()
    np.testing.assert_allclose(found, reverse.T, rtol=1e-4, atol=1e-6)
    assert found[0, 1] > 0.1


@pytest.mark.parametrize("name", AREAS)
def test_shared_areas(name):
    check_overlaps(AREAS[name](BOXES, MOVED), AREAS[name](MOVED, BOXES), False)


@pytest.mark.parametrize("name", IOUS)
def test_ious(name):
    found, reverse = IOUS[name](BOXES, MOVED), IOUS[name](MOVED, BOXES)
    check_overlaps(found, found.T if name == "iof" else reverse, name == "mmcv, 3-D")
    for each in (found, IOUS[name](BOXES, BOXES)):
        assert (each[~np.isnan(each)] <= 1 + 1e-5).all()


def with_scores(function, arrange=lambda boxes: boxes, *more):
    def kept(boxes, threshold):
        scores = np.linspace(1, 0.5, len(boxes), dtype=np.float32)
        return function(arrange(boxes), scores, threshold, *more).tolist()

    return kept


def of_tensors(function, arrange=lambda boxes: boxes):
    def kept(boxes, threshold):
        scores = torch.linspace(1, 0.5, len(boxes))
        return function(torch.from_numpy(arrange(boxes)), scores, threshold)[1].tolist()

    return kept


def of_sorted(function, arrange=lambda boxes: boxes, *more):
    """Calls a function of an extension module, which writes which boxes it keeps."""

    def kept(boxes, threshold):
        keep = torch.zeros(len(boxes), dtype=torch.int64)
        count = function(torch.from_numpy(arrange(boxes)), keep, threshold, *more)
        return keep[:count].tolist()

    return kept


def first_of_groups(function):
    def kept(boxes, threshold):
        scores = np.linspace(1, 0.5, len(boxes), dtype=np.float32)
        dets = np.concatenate((corners(boxes), scores[:, np.newaxis]), 1)
        members, sizes = function(dets, threshold)
        return sorted(group[0] for group in np.split(members, sizes.cumsum()[:-1]))

    return kept


def left_by_soft_nms(function, method):
    """The boxes whose scores are not decayed."""

    def kept(boxes, threshold):
        scores = np.linspace(1, 0.5, len(boxes), dtype=np.float32)
        dets, inds = function(corners(boxes), scores, threshold, 0.5, 0.0, method, 0)
        return sorted(inds[dets[:, 4] == scores[inds]].tolist())

    return kept


SUPPRESSIONS = {}
for library, functions in (("numpy", mluop_omp), ("definition", definitions)):
    SUPPRESSIONS.update(
        {
            f"nms, {library}": with_scores(functions.nms, corners),
            f"nms with offset, {library}": with_scores(functions.nms, corners, 1),
            f"nms_rotated, {library}": with_scores(functions.nms_rotated, rotated),
            f"nms3d, {library}": with_scores(functions.nms3d),
            f"nms3d_normal, {library}": with_scores(functions.nms3d_normal),
            f"nms_match, {library}": first_of_groups(functions.nms_match),
            **{
                f"soft_nms {method}, {library}": left_by_soft_nms(functions.soft_nms, method)
                for method in ("naive", "linear", "gaussian")
            },
        }
    )
for name, function in PCDET.items():
    if name.startswith("nms"):
        SUPPRESSIONS[f"{name}, OpenPCDet"] = of_sorted(function)
SUPPRESSIONS["nms_gpu, BEVFusion"] = of_sorted(BEVFUSION["nms_gpu"], of_plane, None)
SUPPRESSIONS["nms_normal_gpu, BEVFusion"] = of_sorted(BEVFUSION["nms_normal_gpu"], of_plane, None)
if mmcv is not None:
    SUPPRESSIONS["nms, mmcv"] = of_tensors(mmcv.nms, corners)
    SUPPRESSIONS["nms_rotated, mmcv"] = of_tensors(mmcv.nms_rotated, rotated)


@pytest.mark.parametrize("name", SUPPRESSIONS)
def test_suppressions(name):
    kept = SUPPRESSIONS[name]
    boxes = np.concatenate((BOXES, MOVED, BOXES[:1] + 100))
    if "gaussian" in name:  # An IoU of NaN decays a score to NaN.
        boxes = boxes[np.isfinite(boxes).all(1)]
    empty = are_empty(boxes, 1 if "offset" in name else 0)
    others = np.flatnonzero(~empty)
    expected = {*np.flatnonzero(empty), *others[kept(boxes[others], 0.1)]}
    assert set(kept(boxes, 0.1)) == expected
    if "soft" not in name:
        # Boxes that overlap none suppress each other too.
        assert kept(boxes[are_empty(boxes, 1)], -0.5) == [0]
