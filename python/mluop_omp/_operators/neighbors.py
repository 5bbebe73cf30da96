"""Operators that find the neighbors of points."""

from __future__ import annotations

import math

from mluop_omp._arrays import Arrays, extent, int32
from mluop_omp._definitions import neighbors as definitions
from mluop_omp._library import function
from mluop_omp._operators._declaration import Array, operator
from mluop_omp._operators._derivative import Derivative, in_float32
from mluop_omp._operators._tensors import output_of, require_sizes
from mluop_omp._operators._torch import Tensor, torch

__all__ = ["ball_query", "knn", "stack_ball_query", "three_nn"]

_ball_query = function("mluOpBallQuery", "pppppffipp")
_stack_ball_query = function("mluOpOmpStackBallQuery", "pppppppppfipp")
_three_nn = function("mluOpThreeNNForward", "ppppppspppp")
_three_nn_size = function("mluOpGetThreeNNForwardWorkspaceSize", "ppp")
_knn = function("mluOpOmpKnn", "pipppppspppp")
_knn_size = function("mluOpOmpGetKnnWorkspaceSize", "pippp")


@operator(definitions)
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
    new_xyz_tensor = arrays.tensor("new_xyz", new_xyz, "B M 3")
    B, M, _ = new_xyz_tensor[0].shape
    nsample = int32("nsample", nsample)
    xyz_tensor = arrays.tensor("xyz", xyz, "B N 3")
    idx, *idx_tensor = arrays.zeros_output("idx", (B, M, extent(nsample)))
    if new_xyz_tensor[0].is_empty and min(nsample, min_radius, max_radius) >= 0:
        declaration = f"new_xyz B M 3, xyz B N 3, idx: B M {nsample}"
        require_sizes(declaration, new_xyz_tensor, xyz_tensor, idx_tensor)
        return idx
    numbers = float(min_radius), float(max_radius), nsample
    with arrays.handle() as own:
        own.call(_ball_query, *new_xyz_tensor, *xyz_tensor, *numbers, *idx_tensor)
    return idx


@operator(definitions)
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
    new_xyz_tensor = arrays.tensor("new_xyz", new_xyz, "M 3")
    nsample = int32("nsample", nsample)
    inputs = (
        *new_xyz_tensor,
        *arrays.tensor("new_xyz_batch_cnt", new_xyz_batch_cnt, "B"),
        *arrays.tensor("xyz", xyz, "N 3"),
        *arrays.tensor("xyz_batch_cnt", xyz_batch_cnt, "B"),
        *(float(max_radius), nsample),
    )
    shape = (new_xyz_tensor[0].shape[0], extent(nsample))
    return output_of(arrays, _stack_ball_query, inputs, "idx", shape)


def _rows(idx: Tensor) -> Tensor:
    """Returns indices [B, N, K] for the rows of points: [B, N K, 3]."""
    return idx.flatten(1).unsqueeze(2).expand(-1, -1, 3).long()


def _neighbors(known: Tensor, idx: Tensor) -> Tensor:
    """Returns the known points [B, N, K, 3] of indices [B, N, K]."""
    return known.gather(1, _rows(idx)).view(*idx.shape, 3)


@in_float32
def _gradients(
    grad: Tensor, unknown: Tensor, known: Tensor, dist2: Tensor, idx: Tensor, missing: float
) -> tuple[Tensor, Tensor]:
    """Returns the gradients of both points. `missing` is the distance where there is no point."""
    if known.shape[1] == 0:
        return torch.zeros_like(unknown), torch.zeros_like(known)
    difference = unknown.unsqueeze(2) - _neighbors(known, idx)
    weight = torch.where(dist2 < missing, 2 * grad, 0).unsqueeze(3)
    grads = torch.where(weight == 0, 0, weight * difference)
    rows = _rows(idx)
    grad_known = torch.zeros_like(known).scatter_add(1, rows, -grads.view(rows.shape))
    return grads.sum(2), grad_known


@in_float32
def _tangent(points: tuple, tangents: tuple, outputs: tuple, missing: float) -> Tensor:
    """As `_gradients`; points and tangents are of the unknown and the known points."""
    (unknown, known), (dist2, idx) = points, outputs
    if known.shape[1] == 0:
        return torch.zeros_like(dist2)
    unknown_tangent, known_tangent = tangents
    tangent = torch.zeros_like(unknown) if unknown_tangent is None else unknown_tangent
    tangent = tangent.unsqueeze(2)
    if known_tangent is not None:
        tangent = tangent - _neighbors(known_tangent, idx)
    difference = unknown.unsqueeze(2) - _neighbors(known, idx)
    return torch.where(dist2 < missing, 2 * (difference * tangent).sum(3), 0)


def _derivative(points: slice, missing: float) -> Derivative:
    """Returns the derivative of squared distances.

    points: the unknown and the known points among the inputs.
    missing: the distance where there is no point.
    """
    return Derivative(
        lambda needs, grad, *kept: _gradients(grad, *kept, missing)[points],
        lambda inputs, tangents, outputs: _tangent(
            inputs[points], tangents[points], outputs, missing
        ),
        lambda inputs, outputs: ((), (*inputs[points], *outputs), ()),
    )


@operator(definitions, derivative=_derivative(slice(2), math.inf))
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

    Source: mluOpThreeNNForward; PointNet++, arXiv:1706.02413; mmcv three_nn.
    """
    unknown_tensor = arrays.tensor("unknown", unknown, "B N 3")
    known_tensor = arrays.tensor("known", known, "B M 3")
    dist2, *dist2_tensor = arrays.output("dist2", unknown_tensor[0].shape, unknown)
    idx, *idx_tensor = arrays.output("idx", unknown_tensor[0].shape)
    if unknown_tensor[0].is_empty:
        declaration = "unknown B N 3, known B M 3, dist2 B N 3, idx: B N 3"
        require_sizes(declaration, unknown_tensor, known_tensor, dist2_tensor, idx_tensor)
        return dist2, idx
    with arrays.handle() as own:
        workspace = own.workspace(_three_nn_size, known_tensor[0])
        own.call(
            *(_three_nn, *unknown_tensor, *known_tensor, *workspace, *dist2_tensor, *idx_tensor)
        )
    return dist2, idx


@operator(definitions, derivative=_derivative(slice(1, None, -1), 1e10))
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
        MluOpError: k is outside [1, 100].

    Source: mluOpOmpKnn; PAConv, arXiv:2103.14635; mmcv knn.
    """
    xyz_tensor = arrays.tensor("xyz", xyz, "B N 3")
    new_xyz_tensor = arrays.tensor("new_xyz", new_xyz, "B M 3")
    k = int32("k", k)
    shape = (*new_xyz_tensor[0].shape[:2], extent(k))
    with arrays.handle() as own:
        # Refuses a k for which there may be no memory.
        workspace = own.workspace(_knn_size, k, xyz_tensor[0], new_xyz_tensor[0])
        dist2, *dist2_tensor = arrays.output("dist2", shape, xyz)
        idx, *idx_tensor = arrays.output("idx", shape)
        own.call(*(_knn, k, *xyz_tensor, *new_xyz_tensor, *workspace, *idx_tensor, *dist2_tensor))
    return dist2, idx
