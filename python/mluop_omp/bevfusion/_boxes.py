"""The functions on boxes of BEVFusion's iou3d_cuda and roiaware_pool3d_ext, with its names,
arguments and outputs.

Boxes are the boxes of mmdetection3d before 1.0: in the plane x1, y1, x2, y2, angle, from the y axis
to the x axis; in space x, y, z of the bottom's center, w, l, h, and the angle of the side w, in the
same direction.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from mluop_omp._library import bad_param
from mluop_omp._operators._declaration import operators
from mluop_omp.mmcv import _boxes, _rois
from mluop_omp.torch._arrays import TORCH, apply_num_threads
from mluop_omp.torch._precision import at_least_float32


def _rotated(boxes: Tensor) -> Tensor:
    """Returns x, y of the centers, w, h, angle of boxes of the plane."""
    x1, y1, x2, y2, angle = boxes.unbind(1)
    return torch.stack(((x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1, -angle), 1)


def boxes_overlap_bev_gpu(boxes_a: Tensor, boxes_b: Tensor, ans_overlap: Tensor) -> None:
    """Writes the areas [N, M] of the intersections, without the margin of the kernel."""
    first = _rotated(boxes_a)
    _boxes.box_iou_rotated(first, _rotated(boxes_b), ans_overlap, 1, False)
    # Ratios that are NaN stay NaN; ratios of boxes that are empty or infinite are 0.
    areas = first[:, 2:4].nan_to_num(0).clamp(min=0).prod(1).nan_to_num()
    ans_overlap *= areas.unsqueeze(1)


def boxes_iou_bev_gpu(boxes_a: Tensor, boxes_b: Tensor, ans_iou: Tensor) -> None:
    """Writes the IoUs [N, M], without the margin of the kernel."""
    _boxes.box_iou_rotated(_rotated(boxes_a), _rotated(boxes_b), ans_iou, 0, False)


def _keep(nms: Any, boxes: Tensor, keep: Tensor, *arguments: Any) -> int:
    apply_num_threads()
    (rows,) = at_least_float32(boxes)
    if keep.shape != rows.shape[:1]:
        raise bad_param(f"keep has shape {list(keep.shape)}, expected {list(rows.shape[:1])}")
    # Boxes are in descending order of scores.
    scores = torch.arange(len(rows), 0, -1, dtype=rows.dtype)
    kept = nms(TORCH, rows, scores, *arguments)
    keep[: len(kept)] = kept
    return len(kept)


def nms_gpu(boxes: Tensor, keep: Tensor, nms_overlap_thresh: float, device_id: Any) -> int:
    """Writes the indices of the kept ones of boxes in descending order of scores; returns how many
    are kept.
    """
    return _keep(operators.nms_rotated, _rotated(boxes), keep, nms_overlap_thresh)


def nms_normal_gpu(boxes: Tensor, keep: Tensor, nms_overlap_thresh: float, device_id: Any) -> int:
    """As `nms_gpu`, without angles."""
    return _keep(operators.nms, boxes[:, :4], keep, nms_overlap_thresh)


def _of_mmcv(boxes: Tensor) -> Tensor:
    """Returns boxes of space as mmcv has them: with dx along l, and yaw from x to y."""
    x, y, z, w, length, h, angle = boxes.unbind(-1)
    # The sum is rounded to float32 as by the kernel.
    yaw = -(angle.double() + math.pi / 2).to(boxes.dtype)
    return torch.stack((x, y, z, length, w, h, yaw), -1)


def roiaware_pool3d_forward(rois: Tensor, *arguments: Any) -> None:
    _rois.roiaware_pool3d_forward(_of_mmcv(rois), *arguments)


def points_in_boxes_gpu(boxes: Tensor, *arguments: Tensor) -> None:
    _boxes.points_in_boxes_part_forward(_of_mmcv(boxes), *arguments)


def points_in_boxes_batch(boxes: Tensor, *arguments: Tensor) -> None:
    _boxes.points_in_boxes_all_forward(_of_mmcv(boxes), *arguments)


def points_in_boxes_cpu(boxes: Tensor, *arguments: Tensor) -> None:
    _boxes.points_in_boxes_cpu_forward(_of_mmcv(boxes), *arguments)


IOU3D_FUNCTIONS = {
    "boxes_overlap_bev_gpu": boxes_overlap_bev_gpu,
    "boxes_iou_bev_gpu": boxes_iou_bev_gpu,
    "nms_gpu": nms_gpu,
    "nms_normal_gpu": nms_normal_gpu,
}
ROIAWARE_FUNCTIONS = {
    "forward": roiaware_pool3d_forward,
    "backward": _rois.roiaware_pool3d_backward,
    "points_in_boxes_gpu": points_in_boxes_gpu,
    "points_in_boxes_batch": points_in_boxes_batch,
    "points_in_boxes_cpu": points_in_boxes_cpu,
}
