"""Operators that find the neighbors of points."""

from __future__ import annotations

import math
from typing import Any

from mluop_omp._arrays import Arrays, extent, int32
from mluop_omp._definitions import neighbors as definitions
from mluop_omp._library import function
from mluop_omp._operators._declaration import Array, operator
from mluop_omp._operators._derivative import Derivative, in_float32
from mluop_omp._operators._empty import require_sizes
from mluop_omp._operators._torch import torch

__all__ = ["ball_query", "knn", "stack_ball_query", "three_nn"]

_ball_query = function("mluOpBallQuery", "pppppffipp")
_stack_ball_query = function("mluOpOmpStackBallQuery", "pppppppppfipp")
_three_nn = function("mluOpThreeNNForward", "ppppppspppp")
_three_nn_size = function("mluOpGetThreeNNForwardWorkspaceSize", "ppp")
_knn = function("mluOpOmpKnn", "pipppppspppp")
_knn_size = function("mluOpOmpGetKnnWorkspaceSize", "pippp")


@operator(definition=definitions.ball_query)
def ball_query(
    arrays: Arrays, new_xyz: Array, xyz: Array, min_radius: float, max_radius: float, nsample: int
) -> Array:
    """Finds the first points in the ball, or the shell, around each center (PointNet++).

    The members of a center are the points at distance 0 or with ``min_radius**2 <= d**2 <
    max_radius**2``, in ascending order. Differences, squares and sums are rounded to the dtype of
    the points; for bfloat16, to float32.

    Args:
        new_xyz: float16, bfloat16, float32 or float64 [B, M, 3], the centers. (mmcv's ball_query
            takes the points first.)
        xyz: [B, N, 3] of the dtype of new_xyz, the points.
        min_radius, max_radius: in the unit of the coordinates.
        nsample: members to return of a center.

    Returns:
        int32 [B, M, nsample]: the first members; if there are fewer, the first member repeats; if
        there are none, 0.

    Raises:
        MluOpError: a radius is negative or NaN; nsample is negative.

    Source: mluOpBallQuery; PointNet++, arXiv:1706.02413; mmcv ball_query.
    """
    new_xyz_desc, new_xyz_data = arrays.tensor("new_xyz", new_xyz, "B M 3")
    B, M, _ = new_xyz_desc.shape
    nsample = int32("nsample", nsample)
    xyz_desc, xyz_data = arrays.tensor("xyz", xyz, "B N 3")
    idx, *idx_tensor = arrays.zeros_output("idx", (B, M, extent(nsample)))
    if new_xyz_desc.is_empty and min(nsample, min_radius, max_radius) >= 0:
        declaration = f"new_xyz B M 3, xyz B N 3, idx: B M {nsample}"
        require_sizes(declaration, new_xyz_desc, xyz_desc, idx_tensor[0])
        return idx
    with arrays.handle() as own:
        own.call(
            *(_ball_query, new_xyz_desc, new_xyz_data, xyz_desc, xyz_data),
            *(float(min_radius), float(max_radius), nsample),
            *idx_tensor,
        )
    return idx


@operator(definition=definitions.stack_ball_query)
def stack_ball_query(
    arrays: Arrays,
    new_xyz: Array,
    new_xyz_batch_cnt: Array,
    xyz: Array,
    xyz_batch_cnt: Array,
    max_radius: float,
    nsample: int,
) -> Array:
    """Finds the first points in the ball around each center of stacked clouds (PV-RCNN).

    Centers and points are stored cloud after cloud. The members of a center are the
    points of its cloud with ``d**2 < max_radius**2``, in ascending order. Differences, squares and
    sums are rounded to the dtype of the points; for bfloat16, to float32.

    Args:
        new_xyz: float16, bfloat16, float32 or float64 [M, 3], the centers of all clouds.
        new_xyz_batch_cnt: int32 [B], the number of centers of each cloud.
        xyz: [N, 3] of the dtype of new_xyz, the points of all clouds.
        xyz_batch_cnt: int32 [B], the number of points of each cloud.
        max_radius: in the unit of the coordinates.
        nsample: members to return of a center.

    Returns:
        int32 [M, nsample]: the first members, counted within their cloud; if there are fewer, the
        first member repeats; if there are none, -1, 0, 0, ...

    Raises:
        MluOpError: the counts do not add up to the rows; max_radius is negative or NaN; nsample is
            negative.

    Source: mluOpOmpStackBallQuery; PV-RCNN, arXiv:1912.13192; mmcv ball_query with counts.
    """
    new_xyz_desc, new_xyz_data = arrays.tensor("new_xyz", new_xyz, "M 3")
    nsample = int32("nsample", nsample)
    idx, *idx_tensor = arrays.output("idx", (new_xyz_desc.shape[0], extent(nsample)))
    with arrays.handle() as own:
        own.call(
            *(_stack_ball_query, new_xyz_desc, new_xyz_data),
            *arrays.tensor("new_xyz_batch_cnt", new_xyz_batch_cnt, "B"),
            *arrays.tensor("xyz", xyz, "N 3"),
            *arrays.tensor("xyz_batch_cnt", xyz_batch_cnt, "B"),
            *(float(max_radius), nsample),
            *idx_tensor,
        )
    return idx


def _neighbors(known: torch.Tensor, idx: torch.Tensor) -> torch.Tensor:
    """Returns the known points [B, N, K, 3] of indices [B, N, K]."""
    B, N, K = idx.shape
    flat = idx.reshape(B, N * K, 1).expand(-1, -1, 3).long()
    return known.gather(1, flat).view(B, N, K, 3)


@in_float32
def _gradients(
    grad: torch.Tensor,
    unknown: torch.Tensor,
    known: torch.Tensor,
    dist2: torch.Tensor,
    idx: torch.Tensor,
    missing: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the gradients of both points. `missing` is the distance where there is no point."""
    B, N, K = idx.shape
    if known.shape[1] == 0:
        return torch.zeros_like(unknown), torch.zeros_like(known)
    difference = unknown.unsqueeze(2) - _neighbors(known, idx)
    weight = torch.where(dist2 < missing, 2 * grad, 0).unsqueeze(3)
    grads = torch.where(weight == 0, 0, weight * difference)
    flat = idx.reshape(B, N * K, 1).expand(-1, -1, 3).long()
    grad_known = torch.zeros_like(known).scatter_add(1, flat, -grads.view(B, N * K, 3))
    return grads.sum(2), grad_known


@in_float32
def _tangent(points: tuple, tangents: tuple, outputs: tuple, missing: float) -> torch.Tensor:
    """As `_gradients`; points and tangents are of the unknown and the known points."""
    unknown, known = points
    dist2, idx = outputs
    if known.shape[1] == 0:
        return torch.zeros_like(dist2)
    unknown_tangent, known_tangent = tangents
    tangent = torch.zeros_like(unknown) if unknown_tangent is None else unknown_tangent
    tangent = tangent.unsqueeze(2)
    if known_tangent is not None:
        tangent = tangent - _neighbors(known_tangent, idx)
    difference = unknown.unsqueeze(2) - _neighbors(known, idx)
    return torch.where(dist2 < missing, 2 * (difference * tangent).sum(3), 0)


class _ThreeNN:
    @staticmethod
    def save(ctx: Any, inputs: tuple, output: tuple) -> None:
        ctx.save_for_backward(*inputs, *output)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple:
        return _gradients(grad, *ctx.saved_tensors, math.inf)

    @staticmethod
    def jvp(inputs: tuple, tangents: tuple, outputs: tuple) -> torch.Tensor:
        return _tangent(inputs, tangents, outputs, math.inf)


@operator(
    definition=definitions.three_nn,
    derivative=Derivative(_ThreeNN.save, _ThreeNN.backward, _ThreeNN.jvp),
)
def three_nn(arrays: Arrays, unknown: Array, known: Array) -> tuple[Array, Array]:
    """Finds the three known points nearest to each unknown point (PointNet++).

    Among equal distances, the lower index comes first. Differences, squares and sums are rounded to
    the dtype of the points; for bfloat16, to float32, and dist2 is rounded once.

    Args:
        unknown: float16, bfloat16, float32 or float64 [B, N, 3].
        known: [B, M, 3] of the dtype of unknown.

    Returns:
        dist2: [B, N, 3] of the dtype of unknown, the squared distances, ascending (mmcv's three_nn
            returns their roots). Infinity where fewer than three known points have a finite
            distance.
        idx: int32 [B, N, 3], the known points; 0 where dist2 is infinity.

    Raises:
        MluOpError: a shape or dtype differs from the list above.

    Source: mluOpThreeNNForward; PointNet++, arXiv:1706.02413; mmcv three_nn.
    """
    unknown_desc, unknown_data = arrays.tensor("unknown", unknown, "B N 3")
    known_desc, known_data = arrays.tensor("known", known, "B M 3")
    dist2, *dist2_tensor = arrays.output("dist2", unknown_desc.shape, unknown)
    idx, *idx_tensor = arrays.output("idx", unknown_desc.shape)
    if unknown_desc.is_empty:
        declaration = "unknown B N 3, known B M 3, dist2 B N 3, idx: B N 3"
        require_sizes(declaration, unknown_desc, known_desc, dist2_tensor[0], idx_tensor[0])
        return dist2, idx
    with arrays.handle() as own:
        own.call(
            *(_three_nn, unknown_desc, unknown_data, known_desc, known_data),
            *own.workspace(_three_nn_size, known_desc),
            *dist2_tensor,
            *idx_tensor,
        )
    return dist2, idx


_NO_POINT = 1e10  # the distance where there is none


class _Knn:
    """The inputs are the known points, then the unknown ones."""

    @staticmethod
    def save(ctx: Any, inputs: tuple, output: tuple) -> None:
        ctx.save_for_backward(*inputs[1::-1], *output)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple:
        grad_new_xyz, grad_xyz = _gradients(grad, *ctx.saved_tensors, _NO_POINT)
        return grad_xyz, grad_new_xyz, None

    @staticmethod
    def jvp(inputs: tuple, tangents: tuple, outputs: tuple) -> torch.Tensor:
        return _tangent(inputs[1::-1], tangents[1::-1], outputs, _NO_POINT)


@operator(definition=definitions.knn, derivative=Derivative(_Knn.save, _Knn.backward, _Knn.jvp))
def knn(arrays: Arrays, xyz: Array, new_xyz: Array, k: int) -> tuple[Array, Array]:
    """Finds the k points nearest to each center (PAConv).

    Differences, squares and sums ``(dx**2 + dy**2) + dz**2`` are rounded to the dtype of the
    points.

    Ties follow mmcv's kernels, in which points are found and in their order: a heap of the k
    nearest points, the farthest at its root, takes the points in ascending order of indices if they
    are nearer than the root; a heap sort follows.

    Args:
        xyz: float32 or float64 [B, N, 3], the points.
        new_xyz: [B, M, 3] of the dtype of xyz, the centers.
        k: 1 to 100.

    Returns:
        dist2: [B, M, k] of the dtype of xyz, the squared distances, ascending. 1e10 where fewer
            than k points have a squared distance below 1e10.
        idx: int32 [B, M, k], the points; 0 where dist2 is 1e10. (mmcv's knn returns [B, k, M], and
            no distances.)

    Raises:
        MluOpError: k is outside [1, 100]; a shape or dtype differs from the list above.

    Source: mluOpOmpKnn; PAConv, arXiv:2103.14635; mmcv knn.
    """
    xyz_desc, xyz_data = arrays.tensor("xyz", xyz, "B N 3")
    new_xyz_desc, new_xyz_data = arrays.tensor("new_xyz", new_xyz, "B M 3")
    k = int32("k", k)
    shape = (*new_xyz_desc.shape[:2], extent(k))
    with arrays.handle() as own:
        # Refuses a k for which there may be no memory.
        workspace = own.workspace(_knn_size, k, xyz_desc, new_xyz_desc)
        dist2, *dist2_tensor = arrays.output("dist2", shape, xyz)
        idx, *idx_tensor = arrays.output("idx", shape)
        own.call(
            *(_knn, k, xyz_desc, xyz_data, new_xyz_desc, new_xyz_data),
            *(*workspace, *idx_tensor, *dist2_tensor),
        )
    return dist2, idx
