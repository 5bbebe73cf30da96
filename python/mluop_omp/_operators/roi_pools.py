"""Operators that pool the points in boxes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mluop_omp._arrays import Arrays, enumerator, extent, int32
from mluop_omp._definitions import roi_pools as definitions
from mluop_omp._library import function
from mluop_omp._operators._declaration import Array, Precision, Triple, operator
from mluop_omp._operators._derivative import Derivative, in_float32, linear_in, no_derivative
from mluop_omp._operators._empty import require_sizes
from mluop_omp._operators._torch import ops, torch

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["roiaware_pool3d", "roiaware_pool3d_backward", "roipoint_pool3d"]

METHODS = {"max": 0, "mean": 1}
_query_aware = function("mluOpGetRoiAwarePool3dForwardWorkspaceSize", "ppppp")
_pool_aware = function("mluOpRoiAwarePool3dForward", "piiiipppppppsiiiipppppp")
_pool_aware_backward = function("mluOpRoiAwarePool3dBackward", "piiiiiiipppppppp")
_query_points = function("mluOpGetRoiPointPool3dWorkspaceSize", "piiiiipppppp")
_pool_points = function("mluOpRoiPointPool3d", "piiiiipppppppspppp")


def _save(ctx: Any, inputs: tuple, output: tuple) -> None:
    ctx.points, ctx.method = inputs[2].shape[0], inputs[5]
    _, argmax, listed = output
    ctx.save_for_backward(listed, argmax)


def _backward(ctx: Any, grad: Tensor) -> tuple:
    grad_feature = ops.roiaware_pool3d_backward(grad, *ctx.saved_tensors, ctx.points, ctx.method)
    return None, None, grad_feature, None, None, None


def _jvp(inputs: tuple, tangents: tuple, outputs: tuple) -> Tensor:
    pooled, argmax, listed = outputs
    if tangents[2] is None:
        return torch.zeros_like(pooled)
    return _pool_as(tangents[2], listed, argmax, inputs[5])


def _save_transposed(ctx: Any, inputs: tuple, output: Tensor) -> None:
    ctx.method = inputs[4]
    ctx.save_for_backward(*inputs[1:3])


def _backward_transposed(ctx: Any, grad: Tensor) -> tuple:
    return _pool_as(grad, *ctx.saved_tensors, ctx.method), None, None, None, None


@in_float32
def _pool_as(values: Tensor, listed: Tensor, argmax: Tensor, method: str) -> Tensor:
    """Pools values [N, C] as roiaware_pool3d pooled features; the transpose of its backward
    operator.
    """
    if not len(values):  # Nothing is listed.
        return values.new_zeros(argmax.shape)
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
    definition=definitions.roiaware_pool3d,
    derivative=Derivative(_save, _backward, _jvp),
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
        MluOpError: max_pts_each_voxel is 0; method is another word; a shape or dtype differs from
            the list above.

    Source: mluOpRoiAwarePool3dForward; Part-A2, arXiv:1907.03670; mmcv RoIAwarePool3d.
    """
    rois_desc, rois_data = arrays.tensor("rois", rois, "R 7")
    pts_desc, pts_data = arrays.tensor("pts", pts, "N 3")
    feature_desc, feature_data = arrays.tensor("pts_feature", pts_feature, "N C")
    R, (N, C) = rois_desc.shape[0], feature_desc.shape
    sizes = arrays.int32s("out_size", out_size, 3)
    P, code = int32("max_pts_each_voxel", max_pts_each_voxel), enumerator("method", method, METHODS)
    voxels = (R, *map(extent, sizes))
    pooled, *pooled_tensor = arrays.output("pooled_features", (*voxels, C), pts_feature)
    argmax, *argmax_tensor = arrays.output("argmax", (*voxels, C))
    points, *points_tensor = arrays.output("pts_idx_of_voxels", (*voxels, extent(P)))
    if (pooled_tensor[0].is_empty or feature_desc.is_empty) and min(*sizes, P) >= 0:
        size = " ".join(map(str, sizes))
        declaration = "rois R 7, pts N 3, pts_feature N C, pooled_features R {0} C, argmax: R {0} C"
        require_sizes(
            f"{declaration}, pts_idx_of_voxels: R {{0}} {P}".format(size),
            *(rois_desc, pts_desc, feature_desc),
            *(tensor[0] for tensor in (pooled_tensor, argmax_tensor, points_tensor)),
        )
        if 0 in (*voxels, N):
            arrays.fill(pooled, 0)
            arrays.fill(argmax, -1 if method == "max" else 0)
            arrays.fill(points, 0)
            return pooled, argmax, points
        # The points of voxels do not depend on the channels.
        C, one_channel = 1, arrays.zeros((N, 1), pts_feature)
        scratch = arrays.zeros((*voxels, 1), pts_feature), arrays.zeros((*voxels, 1))
        feature_desc, feature_data = arrays.tensor("pts_feature", one_channel)
        pooled_tensor, argmax_tensor = (list(arrays.tensor("scratch", each)) for each in scratch)
    with arrays.handle() as own:
        workspace = own.workspace(_query_aware, rois_desc, pts_desc, feature_desc)
        own.call(
            *(_pool_aware, code, R, N, C, rois_desc, rois_data, pts_desc, pts_data),
            *(feature_desc, feature_data, *workspace, P, *sizes),
            *(*argmax_tensor, *points_tensor, *pooled_tensor),
        )
    return pooled, argmax, points


@operator(
    definition=definitions.roiaware_pool3d_backward,
    derivative=Derivative(
        _save_transposed, _backward_transposed, linear_in("roiaware_pool3d_backward", 0)
    ),
    precision=Precision.WIDEST,
)
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
        MluOpError: a count or a point is out of range; method is another word; a shape or dtype
            differs from the list above.

    Source: mluOpRoiAwarePool3dBackward; mmcv RoIAwarePool3d.
    """
    grad_desc, grad_data = arrays.tensor("grad_out", grad_out, "R X Y Z C")
    points_desc, points_data = arrays.tensor("pts_idx_of_voxels", pts_idx_of_voxels, "R X Y Z P")
    argmax_desc, argmax_data = arrays.tensor("argmax", argmax)
    *voxels, C = grad_desc.shape
    code, N = enumerator("method", method, METHODS), int32("N", N)
    grad_in, *grad_in_tensor = arrays.output("grad_in", (extent(N), C), grad_out)
    if (grad_desc.is_empty or grad_in_tensor[0].is_empty) and N >= 0:
        declaration = "grad_out R X Y Z C, pts_idx_of_voxels: R X Y Z P, argmax: R X Y Z C"
        descriptors = grad_desc, points_desc, argmax_desc, grad_in_tensor[0]
        require_sizes(f"{declaration}, grad_in {N} C", *descriptors)
        listed = arrays.to_numpy("argmax", argmax) + 1
        if method == "mean":
            listed = arrays.to_numpy("pts_idx_of_voxels", pts_idx_of_voxels)[..., :1]
        # Without points, no point is in a voxel.
        if grad_desc.is_empty or not listed.any():
            arrays.fill(grad_in, 0)
            return grad_in
    with arrays.handle() as own:
        own.call(
            *(_pool_aware_backward, code, *voxels, C, points_desc.shape[4]),
            *(points_desc, points_data, argmax_desc, argmax_data),
            *(grad_desc, grad_data, *grad_in_tensor),
        )
    return grad_in


@operator(
    definition=definitions.roipoint_pool3d,
    derivative=no_derivative("roipoint_pool3d"),
    precision=Precision.WIDEST,
)
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

    Raises:
        MluOpError: a shape or dtype differs from the list above.

    Source: mluOpRoiPointPool3d; PointRCNN, arXiv:1812.04244; mmcv RoIPointPool3d.
    """
    points_desc, points_data = arrays.tensor("points", points, "B N 3")
    feature_desc, feature_data = arrays.tensor("point_features", point_features, "B N C")
    boxes_desc, boxes_data = arrays.tensor("boxes3d", boxes3d, "B M 7")
    (B, N, C), M = feature_desc.shape, boxes_desc.shape[1]
    S = int32("num_sampled_points", num_sampled_points)
    pooled, *pooled_tensor = arrays.output(
        "pooled_features", (B, M, extent(S), 3 + C), point_features
    )
    flag, *flag_tensor = arrays.output("pooled_empty_flag", (B, M))
    rows = pooled
    if (pooled_tensor[0].is_empty or feature_desc.is_empty) and S >= 0:
        declaration = "points B N 3, point_features B N C, boxes3d B M 7, pooled_features B M"
        require_sizes(
            f"{declaration} {S} {3 + C}, pooled_empty_flag: B M",
            *(points_desc, feature_desc, boxes_desc, pooled_tensor[0], flag_tensor[0]),
        )
        if 0 in (B, N, M, S):
            arrays.fill(pooled, 0)
            arrays.fill(flag, 1)
            return pooled, flag
        C, one_channel = 1, arrays.zeros((B, N, 1), point_features)
        rows = arrays.zeros((B, M, S, 4), point_features)
        feature_desc, feature_data = arrays.tensor("point_features", one_channel)
        pooled_tensor = list(arrays.tensor("pooled_features", rows))
    with arrays.handle() as own:
        workspace = own.workspace(
            *(_query_points, B, N, M, C, S, points_desc, feature_desc, boxes_desc),
            *(pooled_tensor[0], flag_tensor[0]),
        )
        own.call(
            *(_pool_points, B, N, M, C, S, points_desc, points_data),
            *(feature_desc, feature_data, boxes_desc, boxes_data, *workspace),
            *(*pooled_tensor, *flag_tensor),
        )
    if rows is not pooled:
        pooled[...] = rows[..., :3]
    return pooled, flag
