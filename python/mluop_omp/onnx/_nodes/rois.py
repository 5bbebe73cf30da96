"""RoI align, as mmcv, mmdeploy and TensorRT have it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mluop_omp._library import bad_param
from mluop_omp._operators.rois import roi_align
from mluop_omp._operators.rotated_rois import roi_align_rotated
from mluop_omp.onnx._nodes._checks import (
    as_single,
    require_at_least,
    require_one_of,
    require_range,
    require_same_dtype,
    rounded,
)
from mluop_omp.onnx._nodes._corners import largest_corners
from mluop_omp.onnx._table import REQUIRED, TENSORRT, Float, Floats, Integer, Text, node

_METHODS = {"avg": "mean", "max": "max"}


@node(
    "mmcv",
    "mmdeploy",
    name="MMCVRoiAlign",
    inputs=("input", "rois"),
    shapes={"input": "N C H W", "rois": "R 5"},
    attributes={
        "output_height": 7,
        "output_width": 7,
        "spatial_scale": 1.0,
        "sampling_ratio": 0,
        "mode": REQUIRED(Text),
        "aligned": 1,
    },
    operators=("roi_align",),
    source="open-mmlab/mmdeploy",
)
def align(
    input: np.ndarray,
    rois: np.ndarray,
    *,
    output_height: int,
    output_width: int,
    spatial_scale: float,
    sampling_ratio: int,
    mode: str,
    aligned: int,
) -> tuple[np.ndarray]:
    """Pools interpolated samples of an image in each bin of each RoI (Mask R-CNN).

    rois are (image, x1, y1, x2, y2). mode is avg or max; max takes the largest interpolated sample.
    sampling_ratio 0 takes as many samples along a bin as it has pixels, rounded up. Without
    aligned, pixels are at integers and a RoI is at least one pixel wide and high. A sample more
    than a pixel outside of the image is 0. A bin without samples is 0; the plugin's maximum there
    is the lowest float.

    mmdeploy writes the domain mmcv, its documentation names mmdeploy.
    """
    require_one_of("mode", mode, _METHODS)
    require_one_of("aligned", aligned, (0, 1))
    size = output_height, output_width
    method = _METHODS[mode]
    return roi_align(input, rois, size, spatial_scale, sampling_ratio, method, bool(aligned))[:1]


@node(
    *TENSORRT,
    name="ROIAlign_TRT",
    inputs=("X", "rois", "batch_indices"),
    shapes={"X": "N C H W", "rois": "R 4", "batch_indices": "R"},
    integers=("batch_indices",),
    attributes={
        "output_height": 1,
        "output_width": 1,
        "spatial_scale": 1.0,
        "sampling_ratio": 0,
        "mode": 1,
        "coordinate_transformation_mode": 1,
    },
    operators=("roi_align",),
    source="NVIDIA/TensorRT",
)
def align_images(
    X: np.ndarray,
    rois: np.ndarray,
    batch_indices: np.ndarray,
    *,
    output_height: int,
    output_width: int,
    spatial_scale: float,
    sampling_ratio: int,
    mode: int,
    coordinate_transformation_mode: int,
) -> tuple[np.ndarray]:
    """Pools as MMCVRoiAlign, with the images of the RoIs apart from rois (x1, y1, x2, y2).

    mode 1 averages. mode 0 takes the largest product of a pixel and its weight, among the four
    pixels of all samples, instead of the largest interpolated sample; NumPy computes it.
    coordinate_transformation_mode is 1 for half_pixel (aligned) and 0 for output_half_pixel. Half
    precision is computed in single and rounded once. A bin without samples is 0, where the plugin
    divides 0 by 0.
    """
    require_same_dtype("X", X, "rois", rois)
    require_one_of("mode", mode, (0, 1))
    require_one_of("coordinate_transformation_mode", coordinate_transformation_mode, (0, 1))
    require_range("input batch_indices", batch_indices, len(X))
    require_at_least("attribute sampling_ratio", sampling_ratio, 0)
    image, boxes = as_single(X), as_single(rois)
    aligned = bool(coordinate_transformation_mode)
    size = output_height, output_width
    numbers = spatial_scale, sampling_ratio
    if mode == 1:
        with_image = np.concatenate((batch_indices[:, None].astype(boxes.dtype), boxes), 1)
        output = roi_align(image, with_image, size, *numbers, "mean", aligned)[0]
    else:
        output = largest_corners(image, boxes, batch_indices, size, *numbers, aligned)
    return (rounded(output, X.dtype),)


@node(
    "mmdeploy",
    "mmcv",
    name="MMCVRoIAlignRotated",
    inputs=("input", "rois"),
    shapes={"input": "N C H W", "rois": "R 6"},
    attributes={
        "output_height": REQUIRED(Integer),
        "output_width": REQUIRED(Integer),
        "spatial_scale": REQUIRED(Float),
        "sampling_ratio": REQUIRED(Integer),
        "aligned": REQUIRED(Integer),
        "clockwise": REQUIRED(Integer),
    },
    operators=("roi_align_rotated",),
    source="open-mmlab/mmdeploy",
)
def align_rotated(
    input: np.ndarray,
    rois: np.ndarray,
    *,
    output_height: int,
    output_width: int,
    spatial_scale: float,
    sampling_ratio: int,
    aligned: int,
    clockwise: int,
) -> tuple[np.ndarray]:
    """Averages interpolated samples of an image in each bin of each rotated RoI.

    rois are (image, x, y, w, h, a), a in radians. The sample that is v along the height and u along
    the width from the center lies at (x + v sin a + u cos a, y + v cos a - u sin a); clockwise
    negates a. All else is as in MMCVRoiAlign.

    mmcv's exporter writes the height as output_width, too; the node pools what it is told.
    """
    require_one_of("aligned", aligned, (0, 1))
    require_one_of("clockwise", clockwise, (0, 1))
    size = output_height, output_width
    numbers = spatial_scale, sampling_ratio, bool(aligned), bool(clockwise)
    return (roi_align_rotated(input, rois, size, *numbers),)


@node(
    "mmdeploy",
    name="MMCVMultiLevelRoiAlign",
    inputs=("rois", "maps*"),
    shapes={"rois": "R 5", "maps": "N C _ _"},
    attributes={
        "output_height": 7,
        "output_width": 7,
        "pool_mode": 0,
        "sampling_ratio": 2,
        "roi_scale_factor": -1.0,
        "finest_scale": 56,
        "featmap_strides": REQUIRED(Floats),
        "aligned": 0,
    },
    operators=("roi_align",),
    source="open-mmlab/mmdeploy",
)
def align_levels(
    rois: np.ndarray,
    *maps: np.ndarray,
    output_height: int,
    output_width: int,
    pool_mode: int,
    sampling_ratio: int,
    roi_scale_factor: float,
    finest_scale: int,
    featmap_strides: Sequence[float],
    aligned: int,
) -> tuple[np.ndarray]:
    """Pools each RoI from the feature map of its size, as MMCVRoiAlign does (FPN).

    The level is floor(log2(sqrt(w * h) / finest_scale + 1e-6)), clamped; level l has
    1 / featmap_strides[l] pixels for each unit of rois. pool_mode is 0 for max, 1 for avg. A RoI of
    a negative area belongs to level 0.

    Once the levels are known, a positive roi_scale_factor f scales each RoI about its center to the
    width (w + 1) f - 1 and the height (h + 1) f - 1, as in the kernel; mmdetection's extractor
    scales to w f and h f.
    """
    require_one_of("pool_mode", pool_mode, (0, 1))
    require_one_of("aligned", aligned, (0, 1))
    if len(featmap_strides) < len(maps):
        raise bad_param(
            f"attribute featmap_strides has {len(featmap_strides)} elements, expected "
            f"{len(maps)}: the feature maps"
        )
    if finest_scale <= 0 or min(featmap_strides) <= 0:
        raise bad_param(
            f"attributes finest_scale and featmap_strides are {finest_scale} and "
            f"{list(featmap_strides)}, expected positive numbers"
        )
    for each in maps:
        require_same_dtype("rois", rois, "maps", each)
    levels = _levels(rois, finest_scale, len(maps))
    if roi_scale_factor > 0:
        rois = _enlarged(rois, roi_scale_factor)
    size, method = (output_height, output_width), ("max", "mean")[pool_mode]
    pooled = []
    for level, (image, stride) in enumerate(zip(maps, featmap_strides)):
        own = rois[levels == level]
        numbers = 1 / stride, sampling_ratio, method, bool(aligned)
        pooled.append(roi_align(image, own, size, *numbers)[0])
    output = np.empty((len(rois), *pooled[0].shape[1:]), rois.dtype)
    for level, each in enumerate(pooled):
        output[levels == level] = each
    return (output,)


def _levels(rois: np.ndarray, finest_scale: int, count: int) -> np.ndarray:
    """Returns the level of each RoI, in the precision of the kernel: single."""
    corners = as_single(rois)[:, 1:]
    with np.errstate(all="ignore"):
        size = np.sqrt((corners[:, 2] - corners[:, 0]) * (corners[:, 3] - corners[:, 1]))
        ratio = (size / size.dtype.type(finest_scale)).astype(np.float64) + 1e-6
        level = np.floor(np.log2(ratio.astype(size.dtype)))
    return np.nan_to_num(level, nan=0.0).clip(0, count - 1).astype(np.intp)


def _enlarged(rois: np.ndarray, factor: float) -> np.ndarray:
    corners = as_single(rois)[:, 1:]
    center = (corners[:, :2] + corners[:, 2:]) / 2
    half = (corners[:, 2:] - corners[:, :2] + 1) * corners.dtype.type(factor / 2) - 0.5
    enlarged = np.concatenate((center - half, center + half), 1)
    return np.concatenate((rois[:, :1], rounded(enlarged, rois.dtype)), 1)
