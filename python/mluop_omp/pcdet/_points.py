"""The functions of OpenPCDet's pointnet2_batch_cuda, pointnet2_stack_cuda and ingroup_inds_cuda,
with its names, arguments and outputs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from mluop_omp._adapters import Args, takes, writes
from mluop_omp._extensions import refusal
from mluop_omp._library import bad_param
from mluop_omp._point_extensions import (
    GATHERING,
    INTERPOLATION,
    furthest_point_sampling,
    without_sizes,
)
from mluop_omp.mmcv import _points as mmcv
from mluop_omp.torch import _addresses
from mluop_omp.torch._arrays import to_index
from mluop_omp.torch._pool import runs

# Lines of voxels around queries that are looked up together.
_BLOCK = 2**18


def ball_query(
    B: int, N: int, M: int, radius: float, nsample: int, new_xyz: Tensor, xyz: Tensor, idx: Tensor
) -> None:
    """As mmcv's, of a smallest distance of 0: a point at the center is in a ball of radius 0."""
    mmcv.ball_query_forward(new_xyz, xyz, idx, B, N, M, 0.0, radius, nsample)


@takes("B, M, radius, nsample, new_xyz, new_xyz_batch_cnt, xyz, xyz_batch_cnt, idx")
def stack_ball_query(args: Args) -> None:
    clouds = args.new_xyz, args.new_xyz_batch_cnt, args.xyz, args.xyz_batch_cnt
    mmcv.stack_ball_query_forward(*clouds, args.idx, args.radius, args.nsample)


def _clouds(**tensors: tuple[Tensor, Tensor]) -> list[tuple[slice, ...]]:
    """Returns the rows of each cloud in each of the tensors, which are named by their counts."""
    rows_of = []
    for name, (counts, rows) in tensors.items():
        sizes = to_index(name, counts, len(rows) + 1).tolist()
        if sum(sizes) != len(rows):
            raise bad_param(f"{name} has the sum {sum(sizes)}, expected {len(rows)}")
        stops = itertools.accumulate(sizes)
        rows_of.append([slice(stop - size, stop) for stop, size in zip(stops, sizes)])
        if len(rows_of[-1]) != len(rows_of[0]):
            raise bad_param(f"{name} has {len(sizes)} elements, expected {len(rows_of[0])}")
    return list(zip(*rows_of))


def stack_farthest_point_sampling(
    xyz: Tensor, temp: Tensor, xyz_batch_cnt: Tensor, out: Tensor, npoint: Tensor
) -> None:
    """Writes which of all points are sampled. Neither reads nor writes temp."""
    of_xyz, of_out = (xyz_batch_cnt, xyz), (npoint, out)
    for rows, samples in _clouds(xyz_batch_cnt=of_xyz, npoint=of_out):
        cloud, indices = xyz[rows].unsqueeze(0), out[samples].unsqueeze(0)
        sizes = (1, cloud.shape[1], indices.shape[1])
        mmcv.furthest_point_sampling_forward(cloud, temp, indices, *sizes)
        indices += rows.start


@takes("unknown, unknown_batch_cnt, known, known_batch_cnt, dist2, idx")
def stack_three_nn(args: Args) -> None:
    """Writes which of all known points are nearest."""
    of_unknown = args.unknown_batch_cnt, args.unknown
    of_known = args.known_batch_cnt, args.known
    for rows, others in _clouds(unknown_batch_cnt=of_unknown, known_batch_cnt=of_known):
        tensors = args.unknown[rows], args.known[others], args.dist2[rows], args.idx[rows]
        mmcv.three_nn_forward(*(each.unsqueeze(0) for each in tensors))
        args.idx[rows] += others.start


@writes("out", "features, features_batch_cnt, idx, idx_batch_cnt, out")
def stack_group_points(args: Args) -> Any:
    features = args.features, args.features_batch_cnt
    return _addresses.stack_group_points, *features, args.idx, args.idx_batch_cnt


def stack_three_interpolate(features: Tensor, idx: Tensor, weight: Tensor, out: Tensor) -> None:
    """Writes [N, C] of features [M, C], which it reads as one cloud."""
    tensors = features.t(), idx, weight, out.t()
    mmcv.three_interpolate_forward(*(each.unsqueeze(0) for each in tensors))


def stack_three_interpolate_grad(
    grad_out: Tensor, idx: Tensor, weight: Tensor, grad_features: Tensor
) -> None:
    """Writes all elements of grad_features, to which OpenPCDet's kernel adds."""
    tensors = grad_out.t(), idx, weight, grad_features.t()
    mmcv.three_interpolate_backward(*(each.unsqueeze(0) for each in tensors))


def _points_around(
    new_coords: Tensor, point_indices: Tensor, ranges: tuple[int, int, int]
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yields query and point of each voxel with a point around the voxel of a query, in order.

    The voxels with points of a line along x are consecutive among all such voxels: two counts find
    those around a query.
    """
    B, Z, Y, X = point_indices.shape
    batch = to_index("new_coords[:, 0]", new_coords[:, 0], B)
    if not point_indices.numel():
        return
    z_steps, y_steps, _ = (torch.arange(-reach, reach + 1) for reach in ranges)
    has_point = point_indices.flatten() >= 0
    points = point_indices.flatten()[has_point]
    points_before = pad(has_point.cumsum(0), (1, 0))
    lines = len(z_steps) * len(y_steps)
    for queries in torch.arange(len(new_coords)).split(max(1, _BLOCK // lines)):
        x = new_coords[queries, 3].long().view(-1, 1, 1)
        y = new_coords[queries, 2].long().view(-1, 1, 1) + y_steps
        z = new_coords[queries, 1].long().view(-1, 1, 1) + z_steps.unsqueeze(1)
        inside = (y >= 0) & (y < Y) & (z >= 0) & (z < Z)
        line = (batch[queries].view(-1, 1, 1) * Z + z.clamp(0, Z - 1)) * Y + y.clamp(0, Y - 1)
        first, stop = (
            points_before[line * X + place.clamp(0, X)]
            for place in (x - ranges[2], x + ranges[2] + 1)
        )
        counts = torch.where(inside, stop - first, 0).flatten()
        place = first.flatten() - (counts.cumsum(0) - counts)
        found = torch.arange(int(counts.sum())) + place.repeat_interleave(counts)
        yield queries.repeat_interleave(lines).repeat_interleave(counts), points[found]


@takes(
    "M, Z, Y, X, nsample, radius, z_range, y_range, x_range, "
    "new_xyz, xyz, new_coords, point_indices, idx"
)
def voxel_query(args: Args) -> None:
    """Writes the first points in the voxels around each query's voxel and within the radius,
    followed by the first one; if there is none, -1 and zeros. PyTorch computes it.
    """
    radius2 = torch.tensor(args.radius, dtype=torch.float32).square()
    pairs = [(torch.zeros(0, dtype=torch.int64),) * 2]
    ranges = args.z_range, args.y_range, args.x_range
    for query, point in _points_around(args.new_coords, args.point_indices, ranges):
        point = to_index("point_indices", point, len(args.xyz))
        x, y, z = (args.xyz[point] - args.new_xyz[query]).square().unbind(1)
        near = x + y + z <= radius2
        pairs.append((query[near], point[near]))
    query, point = (torch.cat(each) for each in zip(*pairs))
    starts, counts = (each.unsqueeze(1) for each in runs(query, args.M))
    slot = torch.arange(args.nsample)
    # An empty run may start past the last pair.
    samples = pad(point, (0, 1))[starts + torch.where(slot < counts, slot, 0)]
    nothing = torch.where(slot == 0, -1, 0)
    args.idx.copy_(torch.where(counts > 0, samples, nothing))


def ingroup_inds(group_inds: Tensor, out_inds: Tensor) -> None:
    """Writes the place of each element in its group, whose order OpenPCDet's kernel leaves open."""
    group, order = torch.unique(group_inds, return_inverse=True)[1].sort(stable=True)
    out_inds[order] = torch.arange(len(group)) - runs(group, 0)[0][group]


_WITHOUT_KERNEL = (
    *("query_stacked_local_neighbor_idxs_wrapper_stack", "vector_pool_wrapper"),
    *("query_three_nn_by_stacked_local_idxs_wrapper_stack", "vector_pool_grad_wrapper"),
)
BATCH_FUNCTIONS = {
    **GATHERING,
    **INTERPOLATION,
    "ball_query_wrapper": ball_query,
    "group_points_wrapper": without_sizes(mmcv.group_points_forward),
    "group_points_grad_wrapper": without_sizes(mmcv.group_points_backward),
    "farthest_point_sampling_wrapper": furthest_point_sampling,
}
STACK_FUNCTIONS = {
    "ball_query_wrapper": stack_ball_query,
    "voxel_query_wrapper": voxel_query,
    "farthest_point_sampling_wrapper": furthest_point_sampling,
    "stack_farthest_point_sampling_wrapper": stack_farthest_point_sampling,
    "group_points_wrapper": without_sizes(stack_group_points),
    "group_points_grad_wrapper": without_sizes(mmcv.stack_group_points_backward),
    "three_nn_wrapper": stack_three_nn,
    "three_interpolate_wrapper": stack_three_interpolate,
    "three_interpolate_grad_wrapper": stack_three_interpolate_grad,
    **{name: refusal(name) for name in _WITHOUT_KERNEL},
}
