"""Dynamic point to voxel forward (mmcv dynamic_scatter, MVX-Net)."""

import torch

import mluop_omp.torch as mt
from peer import REDUCTIONS, Inputs, Outputs, Peer


def ours(inputs: Inputs) -> Peer:
    arguments = inputs["feats"], inputs["coors"], REDUCTIONS[inputs["reduce_type"].item()]
    return Peer("ours", lambda: mt.dynamic_scatter(*arguments))


def peers(inputs: Inputs) -> list[Peer]:
    feats, coors = inputs["feats"], inputs["coors"]
    channels = feats.shape[1]
    is_max, is_mean = (REDUCTIONS[inputs["reduce_type"].item()] == kind for kind in ("max", "mean"))

    def linear_unique() -> Outputs:
        lowest, highest = coors.amin(0), coors.amax(0)
        extents = (highest - lowest + 1).long()
        z, y, x = (coors - lowest).long().unbind(1)
        keys, voxel_of, counts = torch.unique(
            (z * extents[1] + y) * extents[2] + x, return_inverse=True, return_counts=True
        )
        x, y, z = keys % extents[2], keys // extents[2] % extents[1], keys // (extents[1] * extents[2])
        return (torch.stack((z, y, x), 1) + lowest).int(), voxel_of, counts

    def divided(sums: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
        return sums / counts.unsqueeze(1) if is_mean else sums

    def scatter_reduce(voxel_of: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
        index = voxel_of.unsqueeze(1).expand_as(feats)
        if is_max:
            return feats.new_full((len(counts), channels), -torch.inf).scatter_reduce_(0, index, feats, "amax")
        return divided(feats.new_zeros(len(counts), channels).scatter_add_(0, index, feats), counts)

    def index_reduce(voxel_of: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
        if is_max:
            return feats.new_full((len(counts), channels), -torch.inf).index_reduce_(0, voxel_of, feats, "amax")
        return divided(feats.new_zeros(len(counts), channels).index_add_(0, voxel_of, feats), counts)

    def unique_of_rows() -> Outputs:
        voxel_coors, voxel_of, counts = torch.unique(coors, dim=0, return_inverse=True, return_counts=True)
        return scatter_reduce(voxel_of, counts), voxel_coors, voxel_of.int(), counts.int()

    def unique_of_keys() -> Outputs:
        voxel_coors, voxel_of, counts = linear_unique()
        return scatter_reduce(voxel_of, counts), voxel_coors, voxel_of.int(), counts.int()

    def unique_of_keys_index() -> Outputs:
        voxel_coors, voxel_of, counts = linear_unique()
        return index_reduce(voxel_of, counts), voxel_coors, voxel_of.int(), counts.int()

    return [
        Peer("unique of rows + scatter_reduce", unique_of_rows, idiomatic=True),
        Peer("unique of linear keys + scatter_reduce", unique_of_keys),
        Peer("unique of linear keys + index_reduce", unique_of_keys_index),
    ]
