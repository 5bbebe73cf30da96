"""The functions of OpenPCDet's iou3d_nms_cuda, with its names, arguments and outputs.

Boxes are x, y, z of the center, dx, dy, dz, yaw. Overlaps equal mmcv's iou3d, whose kernel is the
same: corners up to 1 cm outside of a box count as inside. A box whose dx or dy is not positive
overlaps none: its IoU is 0, where OpenPCDet's kernels return up to 8e8.
"""

from __future__ import annotations

import torch
from torch import Tensor

from mluop_omp._adapters import write_kept
from mluop_omp._library import bad_param
from mluop_omp._operators.suppression import nms3d_normal_of_sorted, nms3d_of_sorted
from mluop_omp.mmcv import _boxes as mmcv

# Rows of boxes in one matrix of overlaps, of which only the diagonal is used. Distant boxes take
# little time.
_BLOCK = 128


def boxes_iou_bev(boxes_a: Tensor, boxes_b: Tensor, ans_iou: Tensor) -> None:
    """Writes the IoUs [N, M]."""
    mmcv.iou3d_boxes_overlap_bev_forward(boxes_a, boxes_b, ans_iou)
    areas = _areas(boxes_a).unsqueeze(1) + _areas(boxes_b)
    ans_iou /= (areas - ans_iou).clamp(min=1e-8)


def _areas(boxes: Tensor) -> Tensor:
    sides = boxes[:, 3:5]
    return torch.where((sides <= 0).any(1), 0, sides.prod(1))


def boxes_aligned_overlap_bev(boxes_a: Tensor, boxes_b: Tensor, ans_overlap: Tensor) -> None:
    """Writes the area that each box shares with the box of the same row, [N] or [N, 1]."""
    N = len(boxes_a)
    for name, found in (("boxes_b", len(boxes_b)), ("ans_overlap", ans_overlap.numel())):
        if found != N:
            raise bad_param(f"{name} has {found} rows, expected {N}, as many as boxes_a")
    overlaps = boxes_a.new_empty(N)
    for rows in torch.arange(N).split(_BLOCK):
        block = boxes_a.new_empty(len(rows), len(rows))
        mmcv.iou3d_boxes_overlap_bev_forward(boxes_a[rows], boxes_b[rows], block)
        overlaps[rows] = block.diagonal()
    ans_overlap.copy_(overlaps.view(ans_overlap.shape))


def boxes_aligned_iou_bev(boxes_a: Tensor, boxes_b: Tensor, ans_iou: Tensor) -> None:
    """Writes the IoU of each box and the box of the same row, [N] or [N, 1]."""
    boxes_aligned_overlap_bev(boxes_a, boxes_b, ans_iou)
    areas = (_areas(boxes_a) + _areas(boxes_b)).view(ans_iou.shape)
    ans_iou /= (areas - ans_iou).clamp(min=1e-8)


def nms_gpu(boxes: Tensor, keep: Tensor, nms_overlap_thresh: float) -> int:
    """Writes the indices of the kept ones of boxes in descending order of scores; returns how many
    are kept.
    """
    return write_kept(nms3d_of_sorted, boxes, keep, nms_overlap_thresh)


def nms_normal_gpu(boxes: Tensor, keep: Tensor, nms_overlap_thresh: float) -> int:
    """As `nms_gpu`, without yaw."""
    return write_kept(nms3d_normal_of_sorted, boxes, keep, nms_overlap_thresh)


FUNCTIONS = {
    "boxes_overlap_bev_gpu": mmcv.iou3d_boxes_overlap_bev_forward,
    "boxes_aligned_overlap_bev_gpu": boxes_aligned_overlap_bev,
    "paired_boxes_overlap_bev_gpu": boxes_aligned_overlap_bev,
    "boxes_iou_bev_gpu": boxes_iou_bev,
    "boxes_iou_bev_cpu": boxes_iou_bev,
    "boxes_aligned_iou_bev_cpu": boxes_aligned_iou_bev,
    "nms_gpu": nms_gpu,
    "nms_normal_gpu": nms_normal_gpu,
}
