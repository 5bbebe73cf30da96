"""Operators that copy the features of points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mluop_omp._arrays import Arrays, Tensor, size
from mluop_omp._definitions import grouping as definitions
from mluop_omp._library import bad_param, function
from mluop_omp._operators._declaration import Array, Precision, operator
from mluop_omp._operators._derivative import Derivative, linear_in
from mluop_omp._operators._torch import ops

if TYPE_CHECKING:
    import torch

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


class _Gather:
    """The derivatives of gather_points, which is linear, and of its transpose."""

    @staticmethod
    def save(ctx: Any, inputs: tuple, output: torch.Tensor) -> None:
        features, indices = inputs
        ctx.points = features.shape[2]
        ctx.save_for_backward(indices)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple:
        return ops.gather_points_backward(grad, *ctx.saved_tensors, ctx.points), None

    @staticmethod
    def save_transposed(ctx: Any, inputs: tuple, output: torch.Tensor) -> None:
        ctx.save_for_backward(inputs[1])

    @staticmethod
    def backward_transposed(ctx: Any, grad: torch.Tensor) -> tuple:
        return ops.gather_points(grad, *ctx.saved_tensors), None, None


@operator(
    definition=definitions.gather_points,
    derivative=Derivative(_Gather.save, _Gather.backward, linear_in("gather_points", 0)),
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
        MluOpError: an index is outside [0, N - 1]; N is 0 and there are results; a shape or dtype
            differs from the list above.

    Source: mluOpOmpGatherPointsForward; PointNet++, arXiv:1706.02413; mmcv gather_points,
        grouping_operation.
    """
    features_desc, features_data = arrays.tensor("features", features, "B C N")
    indices_desc, indices_data = _indices(arrays, indices)
    shape = (*features_desc.shape[:2], *indices_desc.shape[1:])
    output, *output_tensor = arrays.output("output", shape, features)
    with arrays.handle() as own:
        own.call(
            *(_gather, features_desc, features_data, indices_desc, indices_data), *output_tensor
        )
    return output


@operator(
    definition=definitions.gather_points_backward,
    derivative=Derivative(
        _Gather.save_transposed,
        _Gather.backward_transposed,
        linear_in("gather_points_backward", 0),
    ),
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
        MluOpError: an index is outside [0, N - 1]; N is negative, or 0 and there are gradients; a
            shape or dtype differs from the list above.

    Source: mluOpOmpGatherPointsBackward; PointNet++, arXiv:1706.02413; mmcv gather_points,
        grouping_operation.
    """
    grad_desc, grad_data = arrays.tensor("grad_output", grad_output)
    indices_desc, indices_data = _indices(arrays, indices)
    if len(grad_desc.shape) < 2:
        raise bad_param(f"grad_output has {len(grad_desc.shape)} dimensions, expected 3 or 4")
    shape = (*grad_desc.shape[:2], size("N", N))
    grad_features, *features_tensor = arrays.output("grad_features", shape, grad_output)
    with arrays.handle() as own:
        own.call(
            *(_gather_backward, grad_desc, grad_data, indices_desc, indices_data), *features_tensor
        )
    return grad_features


class _StackGroup:
    """The derivatives of stack_group_points, which is linear, and of its transpose."""

    @staticmethod
    def save(ctx: Any, inputs: tuple, output: torch.Tensor) -> None:
        features, features_cnt, indices, indices_cnt = inputs
        ctx.points = features.shape[0]
        ctx.save_for_backward(indices, indices_cnt, features_cnt)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple:
        grad_features = ops.stack_group_points_backward(grad, *ctx.saved_tensors, ctx.points)
        return grad_features, None, None, None

    @staticmethod
    def save_transposed(ctx: Any, inputs: tuple, output: torch.Tensor) -> None:
        ctx.save_for_backward(*inputs[1:4])

    @staticmethod
    def backward_transposed(ctx: Any, grad: torch.Tensor) -> tuple:
        indices, indices_cnt, features_cnt = ctx.saved_tensors
        grad_grad = ops.stack_group_points(grad, features_cnt, indices, indices_cnt)
        return grad_grad, None, None, None, None


@operator(
    definition=definitions.stack_group_points,
    derivative=Derivative(
        _StackGroup.save, _StackGroup.backward, linear_in("stack_group_points", 0)
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
        MluOpError: an index is outside its cloud; the counts do not add up to the rows; a shape or
            dtype differs from the list above.

    Source: mluOpOmpStackGroupPointsForward; PV-RCNN, arXiv:1912.13192; mmcv
        grouping_operation.
    """
    features_desc, features_data = arrays.tensor("features", features, "N C")
    indices_desc, indices_data = arrays.tensor("indices", indices, "M S")
    (M, S), C = indices_desc.shape, features_desc.shape[1]
    output, *output_tensor = arrays.output("output", (M, C, S), features)
    with arrays.handle() as own:
        own.call(
            *(_stack_group, features_desc, features_data),
            *arrays.tensor("features_batch_cnt", features_batch_cnt, "B"),
            *(indices_desc, indices_data),
            *arrays.tensor("indices_batch_cnt", indices_batch_cnt, "B"),
            *output_tensor,
        )
    return output


@operator(
    definition=definitions.stack_group_points_backward,
    derivative=Derivative(
        _StackGroup.save_transposed,
        _StackGroup.backward_transposed,
        linear_in("stack_group_points_backward", 0),
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

    Raises:
        MluOpError: as `stack_group_points`.

    Source: mluOpOmpStackGroupPointsBackward; PV-RCNN, arXiv:1912.13192; mmcv
        grouping_operation.
    """
    grad_desc, grad_data = arrays.tensor("grad_output", grad_output, "M C S")
    shape = (size("N", N), grad_desc.shape[1])
    grad_features, *features_tensor = arrays.output("grad_features", shape, grad_output)
    with arrays.handle() as own:
        own.call(
            *(_stack_group_backward, grad_desc, grad_data),
            *arrays.tensor("indices", indices, "M S"),
            *arrays.tensor("indices_batch_cnt", indices_batch_cnt, "B"),
            *arrays.tensor("features_batch_cnt", features_batch_cnt, "B"),
            *features_tensor,
        )
    return grad_features
