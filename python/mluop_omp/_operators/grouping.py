"""Operators that copy the features of points."""

from __future__ import annotations

from typing import Any

from mluop_omp._arrays import Arrays, Tensor, size
from mluop_omp._definitions import grouping as definitions
from mluop_omp._library import bad_param, function
from mluop_omp._operators._declaration import Array, Precision, operator
from mluop_omp._operators._derivative import Linear
from mluop_omp._operators._tensors import output_of
from mluop_omp._operators._torch import ops

__all__ = [
    "gather_points",
    "gather_points_backward",
    "stack_group_points",
    "stack_group_points_backward",
]

_gather = function("mluOpOmpGatherPointsForward", "ppppppp")
_gather_backward = function("mluOpOmpGatherPointsBackward", "ppppppp")
_stack_group = function("mluOpOmpStackGroupPointsForward", "ppppppppppp")
_stack_group_backward = function("mluOpOmpStackGroupPointsBackward", "ppppppppppp")


def _indices(arrays: Arrays, indices: Any) -> Tensor:
    descriptor, data = arrays.tensor("indices", indices)
    dimensions = len(descriptor.shape)
    if dimensions not in (2, 3):
        raise bad_param(f"indices has {dimensions} dimensions, expected 2 or 3")
    return descriptor, data


@operator(
    definitions,
    derivative=Linear(
        features=lambda grad, shape, indices: ops.gather_points_backward(grad, indices, shape[2])
    ),
    precision=Precision.WIDEST,
)
def gather_points(arrays: Arrays, features: Array, indices: Array) -> Array:
    """Copies the features of points (PointNet++).

    ``output[b, c, m] = features[b, c, indices[b, m]]``; for groups of points, ``output[b, c, p, s]
    = features[b, c, indices[b, p, s]]``, which mmcv calls grouping_operation.

    Args:
        features: float16, bfloat16, float32 or float64 [B, C, N].
        indices: int32 [B, M] or [B, P, S], 0 to N - 1.

    Returns:
        [B, C, M] or [B, C, P, S] of the dtype of features.

    Raises:
        MluOpError: an index is outside [0, N - 1]; N is 0 and there are results.

    Source: mluOpOmpGatherPointsForward; PointNet++, arXiv:1706.02413; mmcv gather_points,
        grouping_operation.
    """
    features_tensor = arrays.tensor("features", features, "B C N")
    indices_tensor = _indices(arrays, indices)
    shape = (*features_tensor[0].shape[:2], *indices_tensor[0].shape[1:])
    inputs = (*features_tensor, *indices_tensor)
    return output_of(arrays, _gather, inputs, "output", shape, features)


@operator(
    definitions,
    derivative=Linear(grad_output=lambda grad, _, indices, N: ops.gather_points(grad, indices)),
    precision=Precision.WIDEST,
)
def gather_points_backward(arrays: Arrays, grad_output: Array, indices: Array, N: int) -> Array:
    """Returns the gradient of the features of `gather_points`.

    Args:
        grad_output: float16, bfloat16, float32 or float64 [B, C, M] or [B, C, P, S].
        indices: int32 [B, M] or [B, P, S], 0 to N - 1.
        N: the number of points.

    Returns:
        [B, C, N] of the dtype of grad_output. Sums are fp32 (fp64 for float64), in the order of the
            indices.

    Raises:
        MluOpError: an index is outside [0, N - 1]; N is negative, or 0 and there are gradients.

    Source: mluOpOmpGatherPointsBackward; PointNet++, arXiv:1706.02413; mmcv gather_points,
        grouping_operation.
    """
    grad_tensor = arrays.tensor("grad_output", grad_output)
    indices_tensor = _indices(arrays, indices)
    dimensions = grad_tensor[0].shape
    if len(dimensions) < 2:
        raise bad_param(f"grad_output has {len(dimensions)} dimensions, expected 3 or 4")
    shape = (*dimensions[:2], size("N", N))
    inputs = (*grad_tensor, *indices_tensor)
    return output_of(arrays, _gather_backward, inputs, "grad_features", shape, grad_output)


@operator(
    definitions,
    derivative=Linear(
        features=lambda grad, shape, features_cnt, *indices: ops.stack_group_points_backward(
            grad, *indices, features_cnt, shape[0]
        )
    ),
    precision=Precision.WIDEST,
)
def stack_group_points(
    arrays: Arrays,
    features: Array,
    features_batch_cnt: Array,
    indices: Array,
    indices_batch_cnt: Array,
) -> Array:
    """Copies the features of the points in groups of stacked clouds (PV-RCNN).

    ``output[m, c, s] = features[first + indices[m, s], c]``, where ``first`` is the first row of
    the cloud of group m.

    Args:
        features: float16, bfloat16, float32 or float64 [N, C], of all clouds.
        features_batch_cnt: int32 [B], the number of features of each cloud.
        indices: int32 [M, S], counted within the cloud, from 0.
        indices_batch_cnt: int32 [B], the number of groups of each cloud.

    Returns:
        [M, C, S] of the dtype of features.

    Raises:
        MluOpError: an index is outside its cloud; the counts do not add up to the rows.

    Source: mluOpOmpStackGroupPointsForward; PV-RCNN, arXiv:1912.13192; mmcv
        grouping_operation.
    """
    features_tensor = arrays.tensor("features", features, "N C")
    indices_tensor = arrays.tensor("indices", indices, "M S")
    (M, S), C = indices_tensor[0].shape, features_tensor[0].shape[1]
    inputs = (
        *features_tensor,
        *arrays.tensor("features_batch_cnt", features_batch_cnt, "B"),
        *indices_tensor,
        *arrays.tensor("indices_batch_cnt", indices_batch_cnt, "B"),
    )
    return output_of(arrays, _stack_group, inputs, "output", (M, C, S), features)


@operator(
    definitions,
    derivative=Linear(
        grad_output=lambda grad, _, indices, indices_cnt, features_cnt, N: ops.stack_group_points(
            grad, features_cnt, indices, indices_cnt
        )
    ),
    precision=Precision.WIDEST,
)
def stack_group_points_backward(
    arrays: Arrays,
    grad_output: Array,
    indices: Array,
    indices_batch_cnt: Array,
    features_batch_cnt: Array,
    N: int,
) -> Array:
    """Returns the gradient of the features of `stack_group_points`.

    Args:
        grad_output: float16, bfloat16, float32 or float64 [M, C, S].
        indices, indices_batch_cnt, features_batch_cnt: as in `stack_group_points`.
        N: the number of features of all clouds.

    Returns:
        [N, C] of the dtype of grad_output. Sums are fp32 (fp64 for float64), in the order of the
            indices.

    Source: mluOpOmpStackGroupPointsBackward; PV-RCNN, arXiv:1912.13192; mmcv
        grouping_operation.
    """
    grad_tensor = arrays.tensor("grad_output", grad_output, "M C S")
    inputs = (
        *grad_tensor,
        *arrays.tensor("indices", indices, "M S"),
        *arrays.tensor("indices_batch_cnt", indices_batch_cnt, "B"),
        *arrays.tensor("features_batch_cnt", features_batch_cnt, "B"),
    )
    shape = (size("N", N), grad_tensor[0].shape[1])
    return output_of(arrays, _stack_group_backward, inputs, "grad_features", shape, grad_output)
