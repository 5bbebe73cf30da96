"""Operators that pool the points in boxes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from mluop_omp._arrays import Arrays, enumerator, extent, int32
from mluop_omp._definitions import roi_pools as definitions
from mluop_omp._library import function
from mluop_omp._operators._declaration import Array, Precision, Triple, operator
from mluop_omp._operators._derivative import Kept, Linear, NoDerivative, in_float32
from mluop_omp._operators._tensors import require_sizes
from mluop_omp._operators._torch import Tensor, ops, torch

__all__ = ["roiaware_pool3d", "roiaware_pool3d_backward", "roipoint_pool3d"]

METHODS = {"max": 0, "mean": 1}
_query_aware = function("mluOpGetRoiAwarePool3dForwardWorkspaceSize", "ppppp")
_pool_aware = function("mluOpRoiAwarePool3dForward", "piiiipppppppsiiiipppppp")
_pool_aware_backward = function("mluOpRoiAwarePool3dBackward", "piiiiiiipppppppp")
_query_points = function("mluOpGetRoiPointPool3dWorkspaceSize", "piiiiipppppp")
_pool_points = function("mluOpRoiPointPool3d", "piiiiipppppppspppp")


def _keep(inputs: tuple, outputs: tuple) -> Kept:
    pooled, argmax, listed = outputs
    return (pooled.shape,), (listed, argmax), (inputs[2].shape[0], inputs[5])


@in_float32
def _pool_as(
    values: Tensor, shape: Sequence[int], listed: Tensor, argmax: Tensor, N: int, method: str
) -> Tensor:
    """Pools values [N, C] as roiaware_pool3d pooled features; the transpose of its backward
    operator.
    """
    if N == 0:  # Nothing is listed.
        return values.new_zeros(shape)
    if method == "max":
        points = argmax.flatten(0, 3).long()
        pooled = torch.where(points < 0, 0, values.gather(0, points.clamp(min=0)))
        return pooled.view(argmax.shape)
    count = listed[..., :1]
    sums = torch.zeros_like(argmax, dtype=values.dtype)
    for slot, point in enumerate(listed[..., 1:].long().unbind(-1)):
        is_listed = slot < count
        row = values[torch.where(is_listed.squeeze(-1), point, 0)]
        sums = sums + torch.where(is_listed, row, 0)
    return sums / count.clamp(min=1)


@operator(
    definitions,
    derivative=Linear(
        pts_feature=lambda grad, _, *kept: ops.roiaware_pool3d_backward(grad, *kept),
        keep=_keep,
        tangent=_pool_as,
    ),
    precision=Precision.WIDEST,
)
def roiaware_pool3d(
    arrays: Arrays,
    rois: Array,
    pts: Array,
    pts_feature: Array,
    out_size: Triple,
    max_pts_each_voxel: int = 128,
    method: str = "max",
) -> tuple[Array, Array, Array]:
    """Pools the features of the points in each voxel of each box (Part-A2).

    A RoI ``(x, y, z, dx, dy, dz, yaw)`` contains points by the rule of `points_in_boxes_part`; z is
    the z of the bottom. With lx and ly the coordinates of a point along the axes of the box, its
    voxel is ``(lx + dx / 2) / (dx / X)``, ``(ly + dy / 2) / (dy / Y)``, ``(pz - z) / (dz / Z)``,
    each step rounded to float32 (to float64 for float64), truncated and limited to the voxels of
    each axis. A voxel keeps its first max_pts_each_voxel - 1 points. pooled_features has a
    derivative with respect to pts_feature; the derivatives for rois and pts are 0.

    Args:
        rois: float16, bfloat16, float32 or float64 [R, 7]; yaw in radians, from the x axis to the y
            axis. The geometry of float16 and bfloat16 is computed in float32.
        pts: [N, 3], of the dtype of rois.
        pts_feature: [N, C], of the dtype of rois.
        out_size: X, Y, Z, the voxels of a RoI.
        max_pts_each_voxel: the extent of pts_idx_of_voxels for a voxel.
        method: "max", or "mean", which mmcv calls 'avg'.

    Returns:
        pooled_features: [R, X, Y, Z, C], of the dtype of rois: the maximum or the mean of the
            points of a voxel, 0 without points. NaN is never selected as the maximum.
        argmax: int32 [R, X, Y, Z, C]: the first point with the maximum, -1 if there is none; 0 for
            "mean".
        pts_idx_of_voxels: int32 [R, X, Y, Z, max_pts_each_voxel]: the number of points of a voxel,
            their indices, ascending, and zeros.

    Raises:
        MluOpError: max_pts_each_voxel is 0; method is another word.

    Source: mluOpRoiAwarePool3dForward; Part-A2, arXiv:1907.03670; mmcv RoIAwarePool3d.
    """
    rois_tensor = arrays.tensor("rois", rois, "R 7")
    pts_tensor = arrays.tensor("pts", pts, "N 3")
    feature_tensor = arrays.tensor("pts_feature", pts_feature, "N C")
    R, (N, C) = rois_tensor[0].shape[0], feature_tensor[0].shape
    sizes = arrays.int32s("out_size", out_size, 3)
    P, code = int32("max_pts_each_voxel", max_pts_each_voxel), enumerator("method", method, METHODS)
    voxels = (R, *map(extent, sizes))
    pooled, *pooled_tensor = arrays.output("pooled_features", (*voxels, C), pts_feature)
    argmax, *argmax_tensor = arrays.output("argmax", (*voxels, C))
    points, *points_tensor = arrays.output("pts_idx_of_voxels", (*voxels, extent(P)))
    if (pooled_tensor[0].is_empty or feature_tensor[0].is_empty) and min(*sizes, P) >= 0:
        grid = "R {} {} {}".format(*sizes)
        declaration = f"rois R 7, pts N 3, pts_feature N C, pooled_features {grid} C"
        require_sizes(
            f"{declaration}, argmax: {grid} C, pts_idx_of_voxels: {grid} {P}",
            *(rois_tensor, pts_tensor, feature_tensor),
            *(pooled_tensor, argmax_tensor, points_tensor),
        )
        if 0 in (*voxels, N):
            arrays.fill(pooled, 0)
            arrays.fill(argmax, -1 if method == "max" else 0)
            arrays.fill(points, 0)
            return pooled, argmax, points
        # The points of voxels do not depend on the channels.
        C, one_channel = 1, arrays.zeros((N, 1), pts_feature)
        scratch = arrays.zeros((*voxels, 1), pts_feature), arrays.zeros((*voxels, 1))
        feature_tensor = arrays.tensor("pts_feature", one_channel)
        pooled_tensor, argmax_tensor = (list(arrays.tensor("scratch", each)) for each in scratch)
    with arrays.handle() as own:
        descriptors = rois_tensor[0], pts_tensor[0], feature_tensor[0]
        workspace = own.workspace(_query_aware, *descriptors)
        inputs = (code, R, N, C, *rois_tensor, *pts_tensor, *feature_tensor, *workspace, P, *sizes)
        own.call(_pool_aware, *inputs, *argmax_tensor, *points_tensor, *pooled_tensor)
    return pooled, argmax, points


@operator(definitions, derivative=Linear(grad_out=_pool_as), precision=Precision.WIDEST)
def roiaware_pool3d_backward(
    arrays: Arrays,
    grad_out: Array,
    pts_idx_of_voxels: Array,
    argmax: Array,
    N: int,
    method: str = "max",
) -> Array:
    """Returns the gradient of `roiaware_pool3d` for pts_feature.

    Args:
        grad_out: float16, bfloat16, float32 or float64 [R, X, Y, Z, C].
        pts_idx_of_voxels: int32 [R, X, Y, Z, P], of `roiaware_pool3d`; "max" does not read it.
        argmax: int32 [R, X, Y, Z, C], of `roiaware_pool3d`; "mean" does not read it.
        N: the number of points.
        method: "max": each gradient is added to the point of argmax; "mean": to all points of the
            voxel, divided by their number.

    Returns:
        [N, C], of the dtype of grad_out, 0 for points in no voxel. Sums are fp32 (fp64 for
            float64), in the order of the voxels: bit-identical across runs and thread counts.

    Raises:
        MluOpError: a count or a point is out of range; method is another word.

    Source: mluOpRoiAwarePool3dBackward; mmcv RoIAwarePool3d.
    """
    grad_tensor = arrays.tensor("grad_out", grad_out, "R X Y Z C")
    points_tensor = arrays.tensor("pts_idx_of_voxels", pts_idx_of_voxels, "R X Y Z P")
    argmax_tensor = arrays.tensor("argmax", argmax)
    *voxels, C = grad_tensor[0].shape
    code, N = enumerator("method", method, METHODS), int32("N", N)
    grad_in, *grad_in_tensor = arrays.output("grad_in", (extent(N), C), grad_out)
    if (grad_tensor[0].is_empty or grad_in_tensor[0].is_empty) and N >= 0:
        declaration = "grad_out R X Y Z C, pts_idx_of_voxels: R X Y Z P, argmax: R X Y Z C"
        tensors = grad_tensor, points_tensor, argmax_tensor, grad_in_tensor
        require_sizes(f"{declaration}, grad_in {N} C", *tensors)
        listed = arrays.to_numpy("argmax", argmax) + 1
        if method == "mean":
            listed = arrays.to_numpy("pts_idx_of_voxels", pts_idx_of_voxels)[..., :1]
        # Without points, no point is in a voxel.
        if grad_tensor[0].is_empty or not listed.any():
            arrays.fill(grad_in, 0)
            return grad_in
    with arrays.handle() as own:
        own.call(
            *(_pool_aware_backward, code, *voxels, C, points_tensor[0].shape[4]),
            *(*points_tensor, *argmax_tensor, *grad_tensor, *grad_in_tensor),
        )
    return grad_in


@operator(definitions, derivative=NoDerivative(), precision=Precision.WIDEST)
def roipoint_pool3d(
    arrays: Arrays,
    points: Array,
    point_features: Array,
    boxes3d: Array,
    num_sampled_points: int = 512,
) -> tuple[Array, Array]:
    """Copies the first points of each box, with their features (PointRCNN).

    Args:
        points: float16, bfloat16, float32 or float64 [B, N, 3].
        point_features: [B, N, C], of the dtype of points.
        boxes3d: [B, M, 7], of the dtype of points: x, y, z of the bottom, dx, dy, dz, yaw in
            radians. A box contains points by the rule of `points_in_boxes_part`; the geometry of
            float16 and bfloat16 is computed in float32.
        num_sampled_points: S, the rows of a box. If it has k < S points, row j is point j modulo k.

    Returns:
        pooled_features: [B, M, S, 3 + C], of the dtype of points: coordinates and features of the
            points of a box, in the order of their indices; 0 without points.
        pooled_empty_flag: int32 [B, M]: 1 if there are no points in a box, else 0.

    Source: mluOpRoiPointPool3d; PointRCNN, arXiv:1812.04244; mmcv RoIPointPool3d.
    """
    points_tensor = arrays.tensor("points", points, "B N 3")
    feature_tensor = arrays.tensor("point_features", point_features, "B N C")
    boxes_tensor = arrays.tensor("boxes3d", boxes3d, "B M 7")
    (B, N, C), M = feature_tensor[0].shape, boxes_tensor[0].shape[1]
    S = int32("num_sampled_points", num_sampled_points)
    pooled, *pooled_tensor = arrays.output(
        "pooled_features", (B, M, extent(S), 3 + C), point_features
    )
    flag, *flag_tensor = arrays.output("pooled_empty_flag", (B, M))
    rows = pooled
    if (pooled_tensor[0].is_empty or feature_tensor[0].is_empty) and S >= 0:
        declaration = "points B N 3, point_features B N C, boxes3d B M 7, pooled_features B M"
        require_sizes(
            f"{declaration} {S} {3 + C}, pooled_empty_flag: B M",
            *(points_tensor, feature_tensor, boxes_tensor, pooled_tensor, flag_tensor),
        )
        if 0 in (B, N, M, S):
            arrays.fill(pooled, 0)
            arrays.fill(flag, 1)
            return pooled, flag
        C, one_channel = 1, arrays.zeros((B, N, 1), point_features)
        rows = arrays.zeros((B, M, S, 4), point_features)
        feature_tensor = arrays.tensor("point_features", one_channel)
        pooled_tensor = list(arrays.tensor("pooled_features", rows))
    with arrays.handle() as own:
        sizes, inputs = (B, N, M, C, S), (points_tensor, feature_tensor, boxes_tensor)
        descriptors = (desc for desc, _ in (*inputs, pooled_tensor, flag_tensor))
        workspace = own.workspace(_query_points, *sizes, *descriptors)
        own.call(
            *(_pool_points, *sizes, *itertools.chain(*inputs), *workspace),
            *(*pooled_tensor, *flag_tensor),
        )
    if rows is not pooled:
        pooled[...] = rows[..., :3]
    return pooled, flag
