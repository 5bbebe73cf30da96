"""Operators that pool points into the cells of a bird's-eye grid."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from mluop_omp._arrays import Arrays, extent, int32, int32s, size
from mluop_omp._definitions import bev_pools as definitions
from mluop_omp._library import function
from mluop_omp._operators._declaration import Array, Precision, Triple, operator
from mluop_omp._operators._derivative import (
    Derivative,
    Linear,
    NoDerivative,
    differentiable,
    in_float32,
    linear_terms,
    sum_by_index,
    total,
)
from mluop_omp._operators._tensors import output_of, require_sizes
from mluop_omp._operators._torch import Tensor, ops, torch

__all__ = ["bev_pool", "bev_pool_backward", "voxel_pooling", "voxel_pooling_backward"]

_voxel_pooling = function("mluOpVoxelPoolingForward", "piiiiiipppppppp")
_voxel_pooling_backward = function("mluOpOmpVoxelPoolingBackward", "ppppppp")
_bev_pool = function("mluOpOmpBevPoolForward", "ppppppppppppp")
_bev_pool_backward = function("mluOpOmpBevPoolBackward", "ppppppppppppppppp")


def _sums_of_points(grad: Tensor, shape: Sequence[int], pos_memo: Tensor) -> Tensor:
    batch, y, x = pos_memo.flatten(0, 1).unbind(1)
    B, Y, X, C = shape
    # One batch of one row: pos_memo may name any batch.
    cell = torch.where(batch < 0, -1, (batch * Y + y) * X + x)
    geom_xyz = torch.nn.functional.pad(cell.view(1, -1, 1), (0, 2))
    pooled, _ = ops.voxel_pooling(geom_xyz, grad.reshape(1, len(batch), C), (B * Y * X, 1, 1))
    return pooled.view(shape)


def _shapes(arrays: Arrays, geom_xyz: Any, features: Any, voxel_num: Any) -> tuple[Any, Any]:
    (B, N, C), (X, Y, _) = features.shape, voxel_num
    output, *_ = arrays.output("output", (B, Y, X, C), features)
    pos_memo, *_ = arrays.output("pos_memo", (B, N, 3))
    return output, pos_memo


@operator(
    definitions,
    derivative=Linear(
        features=lambda grad, pos_memo: ops.voxel_pooling_backward(grad, pos_memo),
        keep=lambda inputs, outputs: ((), outputs[1:], ()),
    ),
    precision=Precision.WIDEST,
    fake=_shapes,
)
def voxel_pooling(
    arrays: Arrays, geom_xyz: Array, features: Array, voxel_num: Triple
) -> tuple[Array, Array]:
    """Sums the features of the points of each cell of a bird's-eye grid (BEVDepth).

    A point ``p`` of batch ``b`` at ``geom_xyz[b, p] = (x, y, z)`` is in range if ``0 <= x < X``,
    ``0 <= y < Y`` and ``0 <= z < Z``. ``output[b, y, x]`` is the sum of the features of the points
    of batch ``b`` in range at ``(x, y)``, in ascending order.

    Args:
        geom_xyz: int32 [B, N, 3], the voxel of each point: x, y, z; any value.
        features: float16, bfloat16, float32 or float64 [B, N, C]. Sums are fp32 (fp64 for float64),
            rounded once.
        voxel_num: (X, Y, Z), the extents of the grid in voxels. Z only bounds z; the output has no
            z dimension.

    Returns:
        output: [B, Y, X, C] of the dtype of features.
        pos_memo: int32 [B, N, 3], ``(b, y, x)`` of a point in range, else ``(-1, -1, -1)``.

    Raises:
        MluOpError: there are 2**31 points or cells; with the device algorithm, a tensor has 2**31
            elements.

    Source: mluOpVoxelPoolingForward; BEVDepth, arXiv:2206.10092.
    """
    geom_xyz_tensor = arrays.tensor("geom_xyz", geom_xyz, "B N 3")
    features_tensor = arrays.tensor("features", features, "B N C")
    B, N, C = features_tensor[0].shape
    X, Y, Z = int32s("voxel_num", voxel_num, 3)
    output, *output_tensor = arrays.output("output", (B, extent(Y), extent(X), C), features)
    pos_memo, *memo_tensor = arrays.output("pos_memo", (B, N, 3))
    tensors = geom_xyz_tensor, features_tensor, output_tensor, memo_tensor
    if min(X, Y, Z) >= 0 and (features_tensor[0].is_empty or 0 in (X, Y, Z)):
        declaration = f"geom_xyz: B N 3, features B N C, output B {Y} {X} C, pos_memo: B N 3"
        require_sizes(declaration, *tensors)
        arrays.fill(output, 0)
        # The cells of points do not depend on the channels.
        memo = arrays.to_numpy("pos_memo", pos_memo)
        voxels = arrays.to_numpy("geom_xyz", geom_xyz)
        _, memo[...] = definitions.voxel_pooling(voxels, np.zeros((B, N, 0)), (X, Y, Z))
        return output, pos_memo
    with arrays.handle() as own:
        own.call(
            *(_voxel_pooling, int32("B", B), int32("N", N), int32("C", C), X, Y, Z),
            *itertools.chain(*tensors),
        )
    return output, pos_memo


@operator(definitions, derivative=Linear(grad_output=_sums_of_points), precision=Precision.WIDEST)
def voxel_pooling_backward(arrays: Arrays, grad_output: Array, pos_memo: Array) -> Array:
    """Returns the gradient of the features of `voxel_pooling`: the gradient of a point's cell, or 0
    for a point outside the grid.

    Args:
        grad_output: float16, bfloat16, float32 or float64 [B, Y, X, C].
        pos_memo: int32 [B, N, 3], from `voxel_pooling`.

    Returns:
        [B, N, C] of the dtype of grad_output.

    Raises:
        MluOpError: pos_memo has a value outside the range of its dimension.

    Source: mluOpOmpVoxelPoolingBackward; BEVDepth, arXiv:2206.10092.
    """
    grad_tensor = arrays.tensor("grad_output", grad_output, "B Y X C")
    memo_tensor = arrays.tensor("pos_memo", pos_memo, "B N 3")
    shape = (*memo_tensor[0].shape[:2], grad_tensor[0].shape[3])
    inputs = (*grad_tensor, *memo_tensor)
    return output_of(arrays, _voxel_pooling_backward, inputs, "grad_features", shape, grad_output)


def _pooled_points(
    arrays: Arrays, depth: Any, features: Any, ranks_depth: Any, ranks_feat: Any, ranks_bev: Any
) -> tuple[tuple[Any, int], ...]:
    return (
        arrays.tensor("depth", depth, "D"),
        arrays.tensor("features", features, "F C"),
        arrays.tensor("ranks_depth", ranks_depth, "P"),
        arrays.tensor("ranks_feat", ranks_feat, "P"),
        arrays.tensor("ranks_bev", ranks_bev, "P"),
    )


@in_float32
def _bev_pool_formula(
    grad: Tensor, depth: Tensor, features: Tensor, *ranks: Tensor
) -> tuple[Tensor, Tensor]:
    """Returns the result of bev_pool_backward, by operators of PyTorch."""
    # Points that are skipped have the index of a last row of zeros.
    is_used, tensors = ranks[2] >= 0, (depth, features, grad)
    element, row, cell = (
        torch.where(is_used, rank, len(each)).long() for rank, each in zip(ranks, tensors)
    )
    depths, rows, grads = (
        torch.cat((each, each.new_zeros(1, *each.shape[1:])))[index]
        for each, index in zip(tensors, (element, row, cell))
    )
    return (
        sum_by_index((grads * rows).sum(1), element, len(depth) + 1)[:-1],
        sum_by_index(depths.unsqueeze(1) * grads, row, len(features) + 1)[:-1],
    )


def _bev_pool_gradients(
    needs: Sequence[bool], grad: Tensor, depth: Tensor, features: Tensor, *ranks: Any
) -> tuple[Tensor, Tensor]:
    if grad.numel() == 0:  # The ranks may have any value.
        return torch.zeros_like(depth), torch.zeros_like(features)
    arguments = grad, depth, features, *ranks[:3]
    return differentiable("bev_pool_backward", _bev_pool_formula, *arguments)


def _bev_pool_jvp(inputs: tuple, tangents: tuple, output: Tensor) -> Tensor:
    return total(linear_terms("bev_pool", inputs, tangents, (0, 1)), output)


@operator(
    definitions,
    derivative=Derivative(_bev_pool_gradients, _bev_pool_jvp),
    precision=Precision.WIDEST,
)
def bev_pool(
    arrays: Arrays,
    depth: Array,
    features: Array,
    ranks_depth: Array,
    ranks_feat: Array,
    ranks_bev: Array,
    num_cells: int,
) -> Array:
    """Sums the features of the points of each cell, weighted by depth (BEVDet bev_pool_v2).

    ``output[m]`` is the sum over the points ``p`` with ``ranks_bev[p] == m``, in ascending order,
    of ``depth[ranks_depth[p]] * features[ranks_feat[p]]``. No array of the products is stored.

    Args:
        depth: float16, bfloat16, float32 or float64 [D].
        features: [F, C] of the dtype of depth.
        ranks_depth: int32 [P], the element of depth of each point, 0 to D - 1.
        ranks_feat: int32 [P], the row of features of each point, 0 to F - 1.
        ranks_bev: int32 [P], the cell of each point, 0 to num_cells - 1; a point with -1 is
            skipped, and its other ranks may have any value.
        num_cells: the rows of the output.

    Returns:
        [num_cells, C] of the dtype of depth. Products and sums are fp32 (fp64 for float64), rounded
        once.

    Raises:
        MluOpError: a rank is outside the range above; num_cells is negative; P, F or num_cells is
            2**31 or more.

    Source: mluOpOmpBevPoolForward; BEVPoolv2, arXiv:2211.17111; BEVDet bev_pool_v2.
    """
    inputs = _pooled_points(arrays, depth, features, ranks_depth, ranks_feat, ranks_bev)
    shape = (size("num_cells", num_cells), inputs[1][0].shape[1])
    return output_of(arrays, _bev_pool, itertools.chain(*inputs), "output", shape, features)


@operator(definitions, derivative=NoDerivative(), precision=Precision.WIDEST)
def bev_pool_backward(
    arrays: Arrays,
    grad_output: Array,
    depth: Array,
    features: Array,
    ranks_depth: Array,
    ranks_feat: Array,
    ranks_bev: Array,
) -> tuple[Array, Array]:
    """Returns the gradients of depth and features of `bev_pool`.

    Args:
        grad_output: float16, bfloat16, float32 or float64 [num_cells, C].
        depth, features: as in `bev_pool`, of the dtype of grad_output.
        ranks_depth, ranks_feat, ranks_bev: as in `bev_pool`.

    Returns:
        Gradients of the shapes of depth and features.

    Source: mluOpOmpBevPoolBackward; BEVPoolv2, arXiv:2211.17111; BEVDet bev_pool_v2.
    """
    grad_tensor = arrays.tensor("grad_output", grad_output, "M C")
    inputs = _pooled_points(arrays, depth, features, ranks_depth, ranks_feat, ranks_bev)
    grad_depth, *depth_tensor = arrays.output("grad_depth", inputs[0][0].shape, grad_output)
    grad_features, *features_tensor = arrays.output(
        "grad_features", inputs[1][0].shape, grad_output
    )
    tensors = grad_tensor, *inputs, depth_tensor, features_tensor
    with arrays.handle() as own:
        own.call(_bev_pool_backward, *itertools.chain(*tensors))
    return grad_depth, grad_features
