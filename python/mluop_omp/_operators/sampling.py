"""Operators that sample points."""

from __future__ import annotations

from typing import Any, Callable

from mluop_omp._arrays import Arrays, Tensor, size
from mluop_omp._definitions import sampling as definitions
from mluop_omp._library import function
from mluop_omp._operators._declaration import Array, operator

__all__ = ["furthest_point_sample", "furthest_point_sample_with_dist"]

_sample = function("mluOpOmpFurthestPointSample", "ppppspp")
_sample_size = function("mluOpOmpGetFurthestPointSampleWorkspaceSize", "pppp")
_sample_with_dist = function("mluOpOmpFurthestPointSampleWithDist", "ppppspp")
_sample_with_dist_size = function("mluOpOmpGetFurthestPointSampleWithDistWorkspaceSize", "pppp")


def _samples(
    arrays: Arrays,
    sample: Callable[..., int],
    workspace_size: Callable[..., int],
    tensor: Tensor,
    num_points: int,
) -> Any:
    shape = (tensor[0].shape[0], size("num_points", num_points))
    idx, *idx_tensor = arrays.output("idx", shape)
    with arrays.handle() as own:
        workspace = own.workspace(workspace_size, tensor[0], idx_tensor[0])
        own.call(sample, *tensor, *workspace, *idx_tensor)
    return idx


@operator(definitions)
def furthest_point_sample(arrays: Arrays, points: Array, num_points: int) -> Array:
    """Samples points that are far from each other (PointNet++).

    The first sample is point 0. Each further sample is the point whose distance to the nearest
    earlier sample is the largest. Differences, squares and sums ``(dx**2 + dy**2) + dz**2`` are
    rounded to the dtype of the points; squares above 1e10 count as 1e10; NaN distances are ignored.

    Ties follow the kernels of mmcv and OpenPCDet: among equal distances, the point whose index,
    written with b = floor(log2(min(N, 1024))) bits, has the smallest bit reversal comes first, then
    the lowest index.

    Args:
        points: float32 or float64 [B, N, 3].
        num_points: samples of each cloud. Once every distinct point is sampled, point 0 repeats.

    Returns:
        int32 [B, num_points], the indices of the samples, in their order.

    Raises:
        MluOpError: N is 0 and there are samples.

    Source: mluOpOmpFurthestPointSample; PointNet++, arXiv:1706.02413; mmcv furthest_point_sample.
    """
    tensor = arrays.tensor("points", points, "B N 3")
    return _samples(arrays, _sample, _sample_size, tensor, num_points)


@operator(definitions)
def furthest_point_sample_with_dist(arrays: Arrays, distances: Array, num_points: int) -> Array:
    """Samples points that are far from each other, given their distances (3DSSD).

    As `furthest_point_sample`, with ``distances[b, i, k]`` in place of the squared distance from
    sample i to point k. Only rows are read, so the matrix may be asymmetric. Point 0 is sampled if
    no distance is greater than -1.

    Args:
        distances: float32 or float64 [B, N, N].
        num_points: samples of each cloud.

    Returns:
        int32 [B, num_points], the indices of the samples, in their order.

    Raises:
        MluOpError: N is 0 and there are samples.

    Source: mluOpOmpFurthestPointSampleWithDist; 3DSSD, arXiv:2002.10187; mmcv
        furthest_point_sample_with_dist.
    """
    tensor = arrays.tensor("distances", distances, "B N N")
    return _samples(arrays, _sample_with_dist, _sample_with_dist_size, tensor, num_points)
