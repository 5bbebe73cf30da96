"""Distances between two sets of points in a plane."""

from __future__ import annotations

import itertools

from mluop_omp._arrays import Arrays
from mluop_omp._definitions import chamfer as definitions
from mluop_omp._library import function
from mluop_omp._operators._declaration import Array, operator
from mluop_omp._operators._derivative import (
    Derivative,
    NoDerivative,
    differentiable,
    in_float32,
)
from mluop_omp._operators._torch import Tensor, torch

__all__ = ["chamfer_distance", "chamfer_distance_backward"]

_chamfer_distance = function("mluOpOmpChamferDistanceForward", "p" * 13)
_chamfer_distance_backward = function("mluOpOmpChamferDistanceBackward", "p" * 17)


def _rows(idx: Tensor) -> Tensor:
    """Returns indices [B, N] for the rows of points: [B, N, 2]."""
    return idx.unsqueeze(2).expand(-1, -1, 2).long()


@in_float32
def _gradients(
    xyz1: Tensor, xyz2: Tensor, idx1: Tensor, idx2: Tensor, grad1: Tensor, grad2: Tensor
) -> tuple[Tensor, Tensor]:
    """Returns the result of chamfer_distance_backward, by operators of PyTorch."""
    zeros1, zeros2 = torch.zeros_like(xyz1), torch.zeros_like(xyz2)
    if xyz1.shape[1] == 0 or xyz2.shape[1] == 0:
        return zeros1, zeros2
    rows1, rows2 = _rows(idx1), _rows(idx2)
    terms1 = 2 * grad1.unsqueeze(2) * (xyz1 - xyz2.gather(1, rows1))
    terms2 = 2 * grad2.unsqueeze(2) * (xyz2 - xyz1.gather(1, rows2))
    return (
        terms1 - zeros1.scatter_add(1, rows2, terms2),
        terms2 - zeros2.scatter_add(1, rows1, terms1),
    )


@in_float32
def _tangents(points: tuple, tangents: tuple, outputs: tuple) -> tuple[Tensor, Tensor]:
    (xyz1, xyz2), (dist1, dist2, idx1, idx2) = points, outputs
    if xyz1.shape[1] == 0 or xyz2.shape[1] == 0:
        return torch.zeros_like(dist1), torch.zeros_like(dist2)
    change1, change2 = (torch.zeros_like(p) if t is None else t for p, t in zip(points, tangents))

    def tangent(difference: Tensor, change: Tensor) -> Tensor:
        return 2 * (difference * change).sum(2)

    rows1, rows2 = _rows(idx1), _rows(idx2)
    return (
        tangent(xyz1 - xyz2.gather(1, rows1), change1 - change2.gather(1, rows1)),
        tangent(xyz2 - xyz1.gather(1, rows2), change2 - change1.gather(1, rows2)),
    )


@operator(
    definitions,
    derivative=Derivative(
        lambda needs, grad1, grad2, *kept: differentiable(
            "chamfer_distance_backward", _gradients, *kept, grad1, grad2
        ),
        _tangents,
        lambda inputs, outputs: ((), (*inputs, *outputs[2:]), ()),
        outputs=2,
    ),
)
def chamfer_distance(arrays: Arrays, xyz1: Array, xyz2: Array) -> tuple[Array, Array, Array, Array]:
    """Finds the nearest point of the other set for each point of two sets in a plane (mmcv).

    The squared distance is ``(x1 - x2)**2 + (y1 - y2)**2``; each step is rounded to float32, for
    float64 to float64. Among equal distances, the lower index counts. A NaN distance is greater
    than all numbers.

    Both distances have derivatives, in which the indices are constants.

    Args:
        xyz1: float16, bfloat16, float32 or float64 [B, N, 2]: x, y.
        xyz2: [B, M, 2] of the dtype of xyz1.

    Returns:
        dist1: [B, N] of the dtype of xyz1, the squared distances to the nearest points of xyz2; 0
            if M is 0. Exact: the same bits at any number of threads.
        dist2: [B, M], the squared distances to the nearest points of xyz1; 0 if N is 0.
        idx1: int32 [B, N], the nearest points of xyz2; 0 if all distances are NaN, or M is 0.
        idx2: int32 [B, M], the nearest points of xyz1.

    Source: mluOpOmpChamferDistanceForward; mmcv chamfer_distance.
    """
    xyz1_tensor = arrays.tensor("xyz1", xyz1, "B N 2")
    xyz2_tensor = arrays.tensor("xyz2", xyz2, "B M 2")
    shape1, shape2 = xyz1_tensor[0].shape[:2], xyz2_tensor[0].shape[:2]
    dist1, *dist1_tensor = arrays.output("dist1", shape1, xyz1)
    dist2, *dist2_tensor = arrays.output("dist2", shape2, xyz1)
    idx1, *idx1_tensor = arrays.output("idx1", shape1)
    idx2, *idx2_tensor = arrays.output("idx2", shape2)
    outputs = *dist1_tensor, *dist2_tensor, *idx1_tensor, *idx2_tensor
    with arrays.handle() as own:
        own.call(_chamfer_distance, *xyz1_tensor, *xyz2_tensor, *outputs)
    return dist1, dist2, idx1, idx2


@operator(definitions, derivative=NoDerivative())
def chamfer_distance_backward(
    arrays: Arrays,
    xyz1: Array,
    xyz2: Array,
    idx1: Array,
    idx2: Array,
    grad_dist1: Array,
    grad_dist2: Array,
) -> tuple[Array, Array]:
    """Returns the gradients of both sets of points of `chamfer_distance`.

    Args:
        xyz1: float16, bfloat16, float32 or float64 [B, N, 2].
        xyz2: [B, M, 2] of the dtype of xyz1.
        idx1: int32 [B, N], 0 to M - 1.
        idx2: int32 [B, M], 0 to N - 1.
        grad_dist1, grad_dist2: [B, N] and [B, M] of the dtype of xyz1.

    Returns:
        Gradients of the shapes of xyz1 and xyz2. They are computed in double, in a fixed order, and
            rounded once. 0 if either set is empty; the indices are not read then.

    Raises:
        MluOpError: an index is out of its range.

    Source: mluOpOmpChamferDistanceBackward; mmcv chamfer_distance.
    """
    points = arrays.tensor("xyz1", xyz1, "B N 2"), arrays.tensor("xyz2", xyz2, "B M 2")
    others = (
        arrays.tensor("idx1", idx1, "B N"),
        arrays.tensor("idx2", idx2, "B M"),
        arrays.tensor("grad_dist1", grad_dist1, "B N"),
        arrays.tensor("grad_dist2", grad_dist2, "B M"),
    )
    grad_xyz1, *xyz1_tensor = arrays.output("grad_xyz1", points[0][0].shape, xyz1)
    grad_xyz2, *xyz2_tensor = arrays.output("grad_xyz2", points[1][0].shape, xyz1)
    inputs = itertools.chain(*points, *others)
    with arrays.handle() as own:
        own.call(_chamfer_distance_backward, *inputs, *xyz1_tensor, *xyz2_tensor)
    return grad_xyz1, grad_xyz2
