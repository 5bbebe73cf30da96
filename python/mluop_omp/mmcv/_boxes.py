"""The functions of mmcv._ext on boxes, with the names, arguments and outputs of mmcv."""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor

from mluop_omp._adapters import Args, compute, takes, word, write_kept, writes
from mluop_omp._library import bad_param
from mluop_omp._operators._declaration import operators
from mluop_omp._operators.boxes import MODES
from mluop_omp._operators.suppression import METHODS, nms3d_normal_of_sorted, nms3d_of_sorted
from mluop_omp.torch._precision import at_least_float32, precise


def _ious(operator: Any, args: Args, boxes: tuple[Tensor, Tensor], mode: int, *numbers: int) -> Any:
    shape = (len(boxes[0]),) if args.aligned else tuple(map(len, boxes))
    if args.ious.numel() != math.prod(shape):
        raise bad_param(f"ious has {args.ious.numel()} elements, expected {math.prod(shape)}")
    args.ious = args.ious.view(shape)
    return operator, *boxes, word(MODES, mode), bool(args.aligned), *numbers


_IOUS = "ious", "boxes1, boxes2, ious, mode_flag, aligned", at_least_float32


@writes(*_IOUS)
def box_iou_rotated(args: Args) -> Any:
    """Writes ious [N] if aligned, else [N, M] or, as mmcv's Python passes it, [N * M]."""
    return _ious(operators.box_iou_rotated, args, (args.boxes1, args.boxes2), args.mode_flag)


@writes(*_IOUS)
def box_iou_quadri(args: Args) -> Any:
    """As `box_iou_rotated`, of any quadrilaterals; mmcv's kernels assume rectangles."""
    return _ious(operators.box_iou_quadri, args, (args.boxes1, args.boxes2), args.mode_flag)


@writes("ious", "bboxes1, bboxes2, ious, mode, aligned, offset", precise)
def bbox_overlaps(args: Args) -> Any:
    """Writes ious [N] if aligned, else [N, M]. Half is computed in float32: areas above 65504 are
    finite.
    """
    boxes = args.bboxes1, args.bboxes2
    return _ious(operators.bbox_overlaps, args, boxes, args.mode, args.offset)


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float, offset: int) -> Tensor:
    """Returns the indices of the kept boxes, int64 [K]."""
    arguments = boxes, scores, iou_threshold, offset
    return compute(operators.nms, *arguments, conversion=at_least_float32).long()


@takes("dets, scores, order, dets_sorted, labels, iou_threshold, multi_label")
def nms_rotated(args: Args) -> Tensor:
    """Returns the indices of the kept boxes, int64 [K].

    An IoU that exceeds the threshold suppresses a box, as in mmcv's kernels for GPUs; in mmcv's
    kernel for CPUs an equal IoU does, too. As in both, labels, the last column of dets if
    multi_label, are not read: boxes of all classes suppress each other.
    """
    arguments = args.dets, args.scores, args.iou_threshold
    return compute(operators.nms_rotated, *arguments, conversion=at_least_float32).long()


@takes("dets, scores, order, dets_sorted, iou_threshold, multi_label")
def nms_quadri(args: Args) -> Tensor:
    """Returns the indices of the kept boxes, int64 [K]; as `nms_rotated`."""
    arguments = args.dets, args.scores, args.iou_threshold
    return compute(operators.nms_quadri, *arguments, conversion=at_least_float32).long()


@takes("vertices, mask, num_valid")
def diff_iou_rotated_sort_vertices_forward(args: Args) -> Tensor:
    """Returns the indices of the vertices in the order of mmcv's kernel, int32 [B, N, 9]."""
    arguments = args.vertices, args.mask, args.int32("num_valid")
    sort = operators.diff_iou_rotated_sort_vertices
    return compute(sort, *arguments, conversion=at_least_float32)


@writes("ans_iou", "boxes_a, boxes_b, ans_iou", at_least_float32)
def iou3d_boxes_overlap_bev_forward(args: Args) -> Any:
    """Writes the shared areas, not IoUs, to ans_iou [N, M]."""
    return operators.boxes_overlap_bev, args.boxes_a, args.boxes_b


@takes("boxes, scores, dets, iou_threshold, sigma, min_score, method, offset")
def softnms(args: Args) -> Tensor:
    """Writes the first rows of dets [N, 5], one for each element of the result, int64 [K]."""
    rows = len(args.boxes)
    if args.dets.shape != (rows, 5):
        raise bad_param(f"dets has shape {list(args.dets.shape)}, expected {[rows, 5]}")
    numbers = args.iou_threshold, args.sigma, args.min_score, word(METHODS, args.method)
    arguments = args.boxes, args.scores, *numbers, args.offset
    chosen, inds = compute(operators.soft_nms, *arguments, conversion=at_least_float32)
    args.dets[: len(chosen)] = chosen
    return inds.long()


def nms_match(dets: Tensor, iou_threshold: float) -> list[list[int]]:
    arguments = dets, iou_threshold
    members, sizes = compute(operators.nms_match, *arguments, conversion=at_least_float32)
    return [group.tolist() for group in members.split(sizes.tolist())] if len(dets) else []


def iou3d_nms3d_forward(
    boxes: Tensor, keep: Tensor, num_out: Tensor, nms_overlap_thresh: float
) -> None:
    """Writes the indices of the kept ones of boxes in descending order of scores, and their number.

    Elements of keep beyond this number are left as they are, as by mmcv's kernels.
    """
    num_out.fill_(write_kept(nms3d_of_sorted, boxes, keep, nms_overlap_thresh))


def iou3d_nms3d_normal_forward(
    boxes: Tensor, keep: Tensor, num_out: Tensor, nms_overlap_thresh: float
) -> None:
    """As `iou3d_nms3d_forward`, without yaw."""
    num_out.fill_(write_kept(nms3d_normal_of_sorted, boxes, keep, nms_overlap_thresh))


_POINTS_IN_BOXES = (
    *("box_idx_of_points_tensor", "boxes_tensor, pts_tensor, box_idx_of_points_tensor"),
    at_least_float32,
)


@writes(*_POINTS_IN_BOXES)
def points_in_boxes_part_forward(args: Args) -> Any:
    """Writes the first box of each point, or -1, which mmcv's kernel leaves to the caller."""
    return operators.points_in_boxes_part, args.pts_tensor, args.boxes_tensor


@writes(*_POINTS_IN_BOXES)
def points_in_boxes_all_forward(args: Args) -> Any:
    """Writes 1, or 0, which mmcv's kernel leaves to the caller."""
    return operators.points_in_boxes_all, args.pts_tensor, args.boxes_tensor


@writes("output", "points, polygons, output", at_least_float32)
def points_in_polygons_forward(args: Args) -> Any:
    """Writes 1 or 0 for each point and polygon, [B, M]."""
    return operators.points_in_polygons, args.points, args.polygons


def points_in_boxes_cpu_forward(
    boxes_tensor: Tensor, pts_tensor: Tensor, pts_indices_tensor: Tensor
) -> None:
    """Writes 0 or 1 for each box and point, [T, M], of boxes [T, 7] and points [M, 3]."""
    points_in_boxes_all_forward(boxes_tensor[None], pts_tensor[None], pts_indices_tensor.t()[None])
