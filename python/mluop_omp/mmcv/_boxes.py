"""The functions of mmcv._ext on boxes, with the names, arguments and outputs of mmcv."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from mluop_omp._library import bad_param
from mluop_omp._operators._declaration import operators
from mluop_omp._operators.boxes import MODES
from mluop_omp._operators.suppression import METHODS, nms3d_normal_of_sorted, nms3d_of_sorted
from mluop_omp.torch._arrays import TORCH, apply_num_threads, write
from mluop_omp.torch._precision import at_least_float32

__all__ = [
    "box_iou_rotated",
    "iou3d_boxes_overlap_bev_forward",
    "iou3d_nms3d_forward",
    "iou3d_nms3d_normal_forward",
    "nms_match",
    "nms",
    "nms_rotated",
    "points_in_boxes_all_forward",
    "points_in_boxes_cpu_forward",
    "points_in_boxes_part_forward",
    "softnms",
]


def box_iou_rotated(
    boxes1: Tensor, boxes2: Tensor, ious: Tensor, mode_flag: int, aligned: bool
) -> None:
    """Writes ious [N] if aligned, else [N, M] or, as mmcv's Python passes it, [N * M]."""
    apply_num_threads()
    first, second = at_least_float32(boxes1, boxes2)
    shape = (len(first),) if aligned else (len(first), len(second))
    if ious.numel() != math.prod(shape):
        raise bad_param(f"ious has {ious.numel()} elements, expected {math.prod(shape)}")
    mode = dict(enumerate(MODES)).get(mode_flag, mode_flag)
    arguments = (first, second, mode, bool(aligned))
    write({"ious": ious.view(shape)}, first.dtype, operators.box_iou_rotated, *arguments)


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float, offset: int) -> Tensor:
    """Returns the indices of the kept boxes, int64 [K]."""
    apply_num_threads()
    rows, scores = at_least_float32(boxes, scores)
    return operators.nms(TORCH, rows, scores, iou_threshold, offset).long()


def nms_rotated(
    dets: Tensor,
    scores: Tensor,
    order: Tensor,
    dets_sorted: Tensor,
    labels: Tensor,
    iou_threshold: float,
    multi_label: bool,
) -> Tensor:
    """Returns the indices of the kept boxes, int64 [K].

    An IoU that exceeds the threshold suppresses a box, as in mmcv's kernels for GPUs; in mmcv's
    kernel for CPUs an equal IoU does, too. As in both, labels, the last column of dets if
    multi_label, are not read: boxes of all classes suppress each other.
    """
    apply_num_threads()
    rows, scores = at_least_float32(dets, scores)
    return operators.nms_rotated(TORCH, rows, scores, iou_threshold).long()


def iou3d_boxes_overlap_bev_forward(boxes_a: Tensor, boxes_b: Tensor, ans_iou: Tensor) -> None:
    """Writes the shared areas, not IoUs, to ans_iou [N, M]."""
    apply_num_threads()
    first, second = at_least_float32(boxes_a, boxes_b)
    write({"ans_iou": ans_iou}, first.dtype, operators.boxes_overlap_bev, first, second)


def softnms(
    boxes: Tensor,
    scores: Tensor,
    dets: Tensor,
    iou_threshold: float,
    sigma: float,
    min_score: float,
    method: int,
    offset: int,
) -> Tensor:
    """Writes the first rows of dets [N, 5], one for each element of the result, int64 [K]."""
    apply_num_threads()
    rows, scores = at_least_float32(boxes, scores)
    if dets.shape != (len(rows), 5):
        raise bad_param(f"dets has shape {list(dets.shape)}, expected {[len(rows), 5]}")
    name = dict(enumerate(METHODS)).get(method, method)
    arguments = (rows, scores, iou_threshold, sigma, min_score, name, offset)
    chosen, inds = operators.soft_nms(TORCH, *arguments)
    dets[: len(chosen)] = chosen
    return inds.long()


def nms_match(dets: Tensor, iou_threshold: float) -> list[list[int]]:
    apply_num_threads()
    (rows,) = at_least_float32(dets)
    members, sizes = operators.nms_match(TORCH, rows, iou_threshold)
    return [group.tolist() for group in members.split(sizes.tolist())] if len(rows) else []


def iou3d_nms3d_forward(
    boxes: Tensor, keep: Tensor, num_out: Tensor, nms_overlap_thresh: float
) -> None:
    """Writes the indices of the kept ones of boxes in descending order of scores, and their number.

    Elements of keep beyond this number are left as they are, as by mmcv's kernels.
    """
    _write_kept(nms3d_of_sorted, boxes, keep, num_out, nms_overlap_thresh)


def iou3d_nms3d_normal_forward(
    boxes: Tensor, keep: Tensor, num_out: Tensor, nms_overlap_thresh: float
) -> None:
    """As `iou3d_nms3d_forward`, without yaw."""
    _write_kept(nms3d_normal_of_sorted, boxes, keep, num_out, nms_overlap_thresh)


def _write_kept(
    nms_of_sorted: Any, boxes: Tensor, keep: Tensor, num_out: Tensor, iou_threshold: float
) -> None:
    apply_num_threads()
    (rows,) = at_least_float32(boxes)
    if keep.shape != rows.shape[:1]:
        raise bad_param(f"keep has shape {list(keep.shape)}, expected {list(rows.shape[:1])}")
    kept = nms_of_sorted(TORCH, rows, iou_threshold)
    keep[: len(kept)] = kept
    num_out.fill_(len(kept))


def _write_boxes_of_points(
    operator: Any, points: Tensor, boxes: Tensor, output: dict[str, Tensor]
) -> None:
    apply_num_threads()
    arguments = at_least_float32(points, boxes)
    write(output, torch.int32, operator, *arguments)


def points_in_boxes_part_forward(
    boxes_tensor: Tensor, pts_tensor: Tensor, box_idx_of_points_tensor: Tensor
) -> None:
    """Writes the first box of each point, or -1, which mmcv's kernel leaves to the caller."""
    output = {"box_idx_of_points_tensor": box_idx_of_points_tensor}
    _write_boxes_of_points(operators.points_in_boxes_part, pts_tensor, boxes_tensor, output)


def points_in_boxes_all_forward(
    boxes_tensor: Tensor, pts_tensor: Tensor, box_idx_of_points_tensor: Tensor
) -> None:
    """Writes 1, or 0, which mmcv's kernel leaves to the caller."""
    output = {"box_idx_of_points_tensor": box_idx_of_points_tensor}
    _write_boxes_of_points(operators.points_in_boxes_all, pts_tensor, boxes_tensor, output)


def points_in_boxes_cpu_forward(
    boxes_tensor: Tensor, pts_tensor: Tensor, pts_indices_tensor: Tensor
) -> None:
    """Writes 0 or 1 for each box and point, [T, M], of boxes [T, 7] and points [M, 3]."""
    points_in_boxes_all_forward(boxes_tensor[None], pts_tensor[None], pts_indices_tensor.t()[None])
