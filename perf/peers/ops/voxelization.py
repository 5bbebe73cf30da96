"""Voxelization (mmcv, spconv: hard voxelization)."""

import ctypes

import torch

from library import Library, pointer
from peer import Inputs, Outputs, Peer


def ours(library: Library, inputs: Inputs) -> Peer:
    points, voxel_size, coors_range = inputs["points"], inputs["voxel_size"], inputs["coors_range"]
    max_points, max_voxels = inputs["limits"].tolist()
    voxels = torch.empty((max_voxels, max_points, points.shape[1]))
    coors = torch.empty((max_voxels, 3), dtype=torch.int32)
    counts = torch.empty(max_voxels, dtype=torch.int32)
    number = torch.empty(1, dtype=torch.int32)
    tensors = points, voxel_size, coors_range
    scalars = ctypes.c_int32(max_points), ctypes.c_int32(max_voxels), ctypes.c_int32(3), ctypes.c_bool(True)
    outputs = voxels, coors, counts, number
    descs = [library.describe(tensor) for tensor in outputs]
    size = ctypes.c_size_t()
    query = "mluOpGetVoxelizationWorkspaceSize"
    library.call(query, *map(library.describe, tensors), *scalars, *descs, ctypes.byref(size))
    workspace = torch.empty(size.value, dtype=torch.uint8)
    call = library.bind(
        "mluOpVoxelization",
        *(argument for tensor in tensors for argument in (library.describe(tensor), pointer(tensor))),
        *scalars,
        *(pointer(workspace), size),
        *(argument for desc, tensor in zip(descs, outputs) for argument in (desc, pointer(tensor))),
        keep=(workspace, outputs),
    )

    def run() -> Outputs:
        call()
        return outputs

    return Peer("ours", run)


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
        coors = torch.zeros((max_voxels, 3), dtype=torch.int32)
        first_points = first[order[:number]]
        coors[:number] = torch.stack((z, y, x), dim=1)[first_points].int()
        counts_of_voxels = torch.zeros(max_voxels, dtype=torch.int32)
        counts_of_voxels[:number] = counts[:number].clamp(max=max_points).int()
        return voxels, coors, counts_of_voxels, torch.tensor([number], dtype=torch.int32)

    return [Peer("unique, sort, index_put", unique, idiomatic=True)]
