"""Voxelization (mmcv, spconv: hard voxelization)."""

import torch

import mluop_omp.torch as mt
from peer import Inputs, Outputs, Peer


def ours(inputs: Inputs) -> Peer:
    grid = inputs["voxel_size"].tolist(), inputs["coors_range"].tolist()
    arguments = inputs["points"], *grid, *inputs["limits"].tolist()
    return Peer("ours", lambda: mt.voxelization(*arguments))


def peers(inputs: Inputs) -> list[Peer]:
    points, voxel_size, coors_range = inputs["points"], inputs["voxel_size"], inputs["coors_range"]
    max_points, max_voxels = inputs["limits"].tolist()
    low, high = coors_range[:3], coors_range[3:]
    cells = torch.round((high - low) / voxel_size)

    def unique() -> Outputs:
        """A stable sort of the points by voxel, with voxels numbered by their first points."""
        coordinates = torch.floor((points[:, :3] - low) / voxel_size)
        inside = ((coordinates >= 0) & (coordinates < cells)).all(dim=1).nonzero().squeeze(1)
        z, y, x = coordinates[inside].long().flip(1).unbind(1)
        keys = (z * int(cells[1]) + y) * int(cells[0]) + x
        distinct, inverse = keys.unique(return_inverse=True)
        first = torch.full_like(distinct, len(keys)).scatter_reduce_(
            0, inverse, torch.arange(len(keys)), "amin", include_self=True
        )
        order = first.argsort()
        ranks = torch.empty_like(order)
        ranks[order] = torch.arange(len(order))
        voxel, sorted_points = ranks[inverse].sort(stable=True)
        counts = torch.bincount(voxel, minlength=len(order))
        position = torch.arange(len(voxel)) - (counts.cumsum(0) - counts)[voxel]
        kept = (voxel < max_voxels) & (position < max_points)
        voxels = torch.zeros((max_voxels, max_points, points.shape[1]))
        voxels[voxel[kept], position[kept]] = points[inside[sorted_points[kept]]]
        number = min(len(order), max_voxels)
        first_points = first[order[:number]]
        coors = torch.stack((z, y, x), dim=1)[first_points].int()
        counts_of_voxels = counts[:number].clamp(max=max_points).int()
        return voxels[:number], coors, counts_of_voxels

    return [Peer("unique, sort, index_put", unique, idiomatic=True)]
