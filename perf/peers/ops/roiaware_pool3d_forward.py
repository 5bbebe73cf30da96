"""RoI-aware pooling forward (Part-A2): the maximum or the mean of the points in each voxel of each RoI."""

import math

import torch
from ops.points_in_boxes_part import located

import mluop_omp.torch as mt
from peer import Inputs, Outputs, Peer

METHODS = ("max", "mean")  # by the value of pool_method


def ours(inputs: Inputs) -> Peer:
    tensors = inputs["rois"], inputs["pts"], inputs["pts_feature"]
    numbers = inputs["out_size"].tolist(), inputs["max_pts_each_voxel"].item()
    method = METHODS[inputs["pool_method"].item()]
    return Peer("ours", lambda: mt.roiaware_pool3d(*tensors, *numbers, method))


# Points at the boundary of a voxel may be on its other side, by the rounding of the sine and cosine.
def peers(inputs: Inputs) -> list[Peer]:
    rois, pts, features = inputs["rois"], inputs["pts"], inputs["pts_feature"]
    size, numbers = inputs["out_size"], inputs["max_pts_each_voxel"].item()
    voxels_of_roi, channels = math.prod(size.tolist()), features.shape[1]
    is_max = METHODS[inputs["pool_method"].item()] == "max"

    def members(rois: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The points in RoIs, ascending in each, and their voxels."""
        *local, inside = located(pts, rois)
        roi, point = inside.t().nonzero(as_tuple=True)
        sides = rois[roi, 3:6]
        position = torch.stack([axis[point, roi] for axis in local], 1)
        position[:, :2] += sides[:, :2] / 2
        x, y, z = torch.minimum((position / (sides / size)).long(), size - 1).clamp_(min=0).unbind(1)
        return point, ((roi * size[0] + x) * size[1] + y) * size[2] + z

    def zeros(voxels: int) -> Outputs:
        """pooled_features, argmax and pts_idx_of_voxels without points."""
        argmax = torch.full((voxels, channels), -1 if is_max else 0, dtype=torch.int32)
        return torch.zeros(voxels, channels), argmax, torch.zeros(voxels, numbers, dtype=torch.int32)

    def shaped(outputs: Outputs) -> Outputs:
        return tuple(each.view(len(rois), *size.tolist(), -1) for each in outputs)

    def listed(point: torch.Tensor, voxel: torch.Tensor, idx: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Fills pts_idx_of_voxels. Returns the points that voxels keep, and their voxels."""
        voxel, order = voxel.sort(stable=True)
        counts = torch.bincount(voxel, minlength=len(idx))
        place = torch.arange(len(voxel)) - (counts.cumsum(0) - counts)[voxel]
        kept = place < numbers - 1
        point, voxel = point[order[kept]], voxel[kept]
        idx[:, 0] = counts.clamp(max=numbers - 1)
        idx[voxel, place[kept] + 1] = point.int()
        return point, voxel

    def pool(point: torch.Tensor, voxel: torch.Tensor, pooled: torch.Tensor, argmax: torch.Tensor) -> None:
        rows = features[point]
        index = voxel.unsqueeze(1).expand_as(rows)
        pooled.scatter_reduce_(0, index, rows, "amax" if is_max else "mean", include_self=False)
        if is_max:
            matching = torch.where(rows == pooled[voxel], point.int().unsqueeze(1), len(pts))
            argmax.scatter_reduce_(0, index, matching, "amin", include_self=False)

    def each_roi() -> Outputs:
        outputs = zeros(len(rois) * voxels_of_roi)
        for roi, pooled, argmax, idx in zip(rois.split(1), *(each.split(voxels_of_roi) for each in outputs)):
            pool(*listed(*members(roi), idx), pooled, argmax)
        return shaped(outputs)

    def all_members() -> tuple[torch.Tensor, torch.Tensor]:
        """Processes as many boxes at once as fit in the caches."""
        chunks = [members(chunk) for chunk in rois.split(4)]
        voxels = [voxel + i * 4 * voxels_of_roi for i, (_, voxel) in enumerate(chunks)]
        return torch.cat([point for point, _ in chunks]), torch.cat(voxels)

    def all_rois() -> Outputs:
        pooled, argmax, idx = zeros(len(rois) * voxels_of_roi)
        pool(*listed(*all_members(), idx), pooled, argmax)
        return shaped((pooled, argmax, idx))

    def occupied_voxels() -> Outputs:
        pooled, argmax, idx = zeros(len(rois) * voxels_of_roi)
        point, voxel = listed(*all_members(), idx)
        occupied, inverse = voxel.unique_consecutive(return_inverse=True)
        found = zeros(len(occupied))[:2]
        pool(point, inverse, *found)
        pooled[occupied], argmax[occupied] = found
        return shaped((pooled, argmax, idx))

    return [
        Peer("scatter_reduce of each RoI", each_roi, idiomatic=True, may_differ=True),
        Peer("scatter_reduce of all RoIs", all_rois, may_differ=True),
        Peer("scatter_reduce of the occupied voxels", occupied_voxels, may_differ=True),
    ]
