"""The functions of OpenPCDet's roiaware_pool3d_cuda and roipoint_pool3d_cuda, with its names,
arguments and outputs.

Boxes are x, y, z of the center, dx, dy, dz, yaw. mluOpPointsInBoxes has the rule by which their
kernels find the points in them, with a margin of 1e-5 along x and y.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from mluop_omp._adapters import Args, takes, writes
from mluop_omp._library import bad_param
from mluop_omp._operators._declaration import operators
from mluop_omp.mmcv import _rois as mmcv
from mluop_omp.torch._arrays import TORCH
from mluop_omp.torch._pool import runs
from mluop_omp.torch._precision import at_least_float32

# Pairs of a box and a point that are computed together.
_BLOCK = 2**22
# The margin along x and y of points_in_boxes_cpu, as its kernel has it: in float32.
_CPU_MARGIN = torch.tensor(1e-2).double()


@writes("box_idx_of_points", "boxes, pts, box_idx_of_points", at_least_float32)
def points_in_boxes_gpu(args: Args) -> Any:
    """Writes the first box of each point, or -1, which OpenPCDet's kernel leaves to the caller."""
    return operators.points_in_boxes, args.pts, args.boxes


def points_in_boxes_cpu(boxes: Tensor, pts: Tensor, pts_indices: Tensor) -> None:
    """Writes 0 or 1 for each box and point, [T, M], with a margin of 1e-2. PyTorch computes it."""
    points, boxes = at_least_float32(pts, boxes)
    x, y, z = _in_boxes(points, boxes.unsqueeze(1)).unbind(-1)
    dx, dy, dz = (boxes[:, 3:6].double() / 2).unsqueeze(2).unbind(1)
    inside = (x.abs() < dx + _CPU_MARGIN) & (y.abs() < dy + _CPU_MARGIN)
    pts_indices.copy_(inside & ~(z.abs() > dz))


def _in_boxes(points: Tensor, boxes: Tensor) -> Tensor:
    """Returns points in the coordinates of boxes, of shapes that broadcast."""
    x, y, z = (points - boxes[..., :3]).unbind(-1)
    cos, sin = (-boxes[..., 6]).cos(), (-boxes[..., 6]).sin()
    return torch.stack((x * cos + y * -sin, x * sin + y * cos, z), -1)


def _members(points: Tensor, boxes: Tensor) -> tuple[Tensor, Tensor]:
    """Returns box and point of each pair of a box [7] and a point in it, in ascending order."""
    N = len(points)
    inside = torch.empty(len(boxes), N, dtype=torch.bool)
    for rows in torch.arange(len(boxes)).split(max(1, _BLOCK // max(1, N))):
        # One cloud for each box.
        clouds = points.expand(len(rows), N, 3).contiguous()
        found = operators.points_in_boxes(TORCH, clouds, boxes[rows].unsqueeze(1))
        inside[rows] = found == 0
    box, point = inside.nonzero(as_tuple=True)
    return box, point


@takes("rois, pts, pts_feature, argmax, pts_idx_of_voxels, pooled_features, pool_method")
def roiaware_pool3d_forward(args: Args) -> None:
    """Pools a point for each RoI that it is in: in the middle of its voxel, where all rules agree,
    of one in a row of RoIs of unit voxels.
    """
    boxes, points, features = at_least_float32(args.rois, args.pts, args.pts_feature)
    roi, point = _members(points, boxes)
    argmax, indices = args.argmax, args.pts_idx_of_voxels
    R, *sizes, P = indices.shape
    if P == 0:
        raise bad_param("pts_idx_of_voxels dim 4 is 0, expected at least 1: a number of points")
    extents, counts = boxes[roi, 3:6], torch.tensor(sizes)
    place = (_in_boxes(points[point], boxes[roi]) + extents / 2) / (extents / counts)
    middle = place.long().clamp(min=0).minimum(counts - 1) + 0.5
    middle[:, 0] += roi * sizes[0]
    row = boxes.new_zeros(R, 7)
    row[:, 0] = (torch.arange(R) + 0.5) * sizes[0]
    row[:, 1] = sizes[1] / 2
    row[:, 3:6] = counts
    outputs = argmax, indices, args.pooled_features
    mmcv.roiaware_pool3d_forward(row, middle, features[point], *outputs, args.pool_method)
    point = pad(point, (0, 1))  # There may be none.
    if args.pool_method == 0:
        argmax.copy_(torch.where(argmax >= 0, point[argmax], argmax))
    filled = indices[..., 0] > 0
    listed = indices[filled]
    used = torch.arange(1, P) <= listed[:, :1]
    listed[:, 1:] = torch.where(used, point[listed[:, 1:]], 0)
    indices[filled] = listed


@takes("xyz, boxes3d, pts_feature, pooled_features, pooled_empty_flag")
def roipoint_pool3d_forward(args: Args) -> None:
    """Writes the first points in each box, again from the first if they are too few."""
    points, boxes, features = at_least_float32(args.xyz, args.boxes3d, args.pts_feature)
    M, S = args.pooled_features.shape[1:3]
    for sample in range(len(points)):
        box, point = _members(points[sample], boxes[sample])
        starts, counts = runs(box, M)
        slots = starts.unsqueeze(1) + torch.arange(S) % counts.clamp(min=1).unsqueeze(1)
        rows = pad(torch.cat((points[sample], features[sample]), 1), (0, 0, 0, 1))
        # An empty run may start past the last pair; there may be no pair at all.
        pooled = rows[pad(point, (0, 1))[slots]]
        pooled[counts == 0] = 0
        args.pooled_features[sample] = pooled
        args.pooled_empty_flag[sample] = counts.clamp(max=S) == 0


ROIAWARE_FUNCTIONS = {
    "forward": roiaware_pool3d_forward,
    "backward": mmcv.roiaware_pool3d_backward,
    "points_in_boxes_gpu": points_in_boxes_gpu,
    "points_in_boxes_cpu": points_in_boxes_cpu,
}
