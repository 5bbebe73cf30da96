"""The functions on boxes of BEVFusion's iou3d_cuda and roiaware_pool3d_ext, with its names,
arguments and outputs.

Boxes are the boxes of mmdetection3d before 1.0: in the plane x1, y1, x2, y2, angle, from the y axis
to the x axis; in space x, y, z of the bottom's center, w, l, h, and the angle of the side w, in the
same direction.
"""

from __future__ import annotations

import math
from typing import Any, Callable

import torch
from torch import Tensor

from mluop_omp._adapters import write_kept
from mluop_omp._operators._declaration import operators
from mluop_omp.mmcv import _boxes, _rois


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


def _write_kept(nms: Any, boxes: Tensor, keep: Tensor, *arguments: Any) -> int:
    """Boxes are in descending order of scores."""
    scores = torch.arange(len(boxes), 0, -1, dtype=torch.float32)
    return write_kept(nms, boxes, keep, scores, *arguments)


def nms_gpu(boxes: Tensor, keep: Tensor, nms_overlap_thresh: float, device_id: Any) -> int:
    """Writes the indices of the kept ones of boxes in descending order of scores; returns how many
    are kept.
    """
    return _write_kept(operators.nms_rotated, _rotated(boxes), keep, nms_overlap_thresh)


def nms_normal_gpu(boxes: Tensor, keep: Tensor, nms_overlap_thresh: float, device_id: Any) -> int:
    """As `nms_gpu`, without angles."""
    return _write_kept(operators.nms, boxes[:, :4], keep, nms_overlap_thresh)


def _of_mmcv(boxes: Tensor) -> Tensor:
    """Returns boxes of space as mmcv has them: with dx along l, and yaw from x to y."""
    x, y, z, w, length, h, angle = boxes.unbind(-1)
    # The sum is rounded to float32 as by the kernel.
    yaw = -(angle.double() + math.pi / 2).to(boxes.dtype)
    return torch.stack((x, y, z, length, w, h, yaw), -1)


def _on_boxes(function: Callable[..., None]) -> Callable[..., None]:
    """Returns a function of mmcv on boxes of space, its first argument."""
    return lambda boxes, *arguments: function(_of_mmcv(boxes), *arguments)


IOU3D_FUNCTIONS = {
    "boxes_overlap_bev_gpu": boxes_overlap_bev_gpu,
    "boxes_iou_bev_gpu": boxes_iou_bev_gpu,
    "nms_gpu": nms_gpu,
    "nms_normal_gpu": nms_normal_gpu,
}
ROIAWARE_FUNCTIONS = {
    "forward": _on_boxes(_rois.roiaware_pool3d_forward),
    "backward": _rois.roiaware_pool3d_backward,
    "points_in_boxes_gpu": _on_boxes(_boxes.points_in_boxes_part_forward),
    "points_in_boxes_batch": _on_boxes(_boxes.points_in_boxes_all_forward),
    "points_in_boxes_cpu": _on_boxes(_boxes.points_in_boxes_cpu_forward),
}
