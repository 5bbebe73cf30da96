"""Operators that add the features of neighbors."""

from __future__ import annotations

import itertools
from typing import Any

from mluop_omp._arrays import Arrays, Tensor, extent, int32
from mluop_omp._definitions import interpolation as definitions
from mluop_omp._library import function
from mluop_omp._operators._declaration import Array, Precision, operator
from mluop_omp._operators._derivative import (
    Derivative,
    in_float32,
    linear_in,
    no_derivative,
    save_inputs,
)
from mluop_omp._operators._empty import require_sizes
from mluop_omp._operators._torch import ops, torch

__all__ = [
    "assign_score_withk",
    "assign_score_withk_backward",
    "three_interpolate",
    "three_interpolate_backward",
]

_interpolate = function("mluOpThreeInterpolateForward", "ppppppppp")
_interpolate_backward = function("mluOpThreeInterpolateBackward", "ppppppppp")
_assign = function("mluOpOmpAssignScoreWithkForward", "ppppppppppp")
_assign_backward = function("mluOpOmpAssignScoreWithkBackward", "ppppppppppppppppp")


class _Interpolate:
    """The derivatives of three_interpolate and three_interpolate_backward. Both are linear in
    features, or gradients, and in weights.
    """

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple:
        features, indices, weights = ctx.saved_tensors
        grad_features = grad_weights = None
        if ctx.needs[0]:
            M = features.shape[2]
            grad_features = ops.three_interpolate_backward(grad, indices, weights, M)
        if ctx.needs[2]:
            grad_weights = _grad_weights(features, grad, indices)
        return grad_features, None, grad_weights

    @staticmethod
    def backward_transposed(ctx: Any, grad: torch.Tensor) -> tuple:
        grad_output, indices, weights = ctx.saved_tensors
        grad_grad = grad_weights = None
        if ctx.needs[0]:
            grad_grad = ops.three_interpolate(grad, indices, weights)
        if ctx.needs[2]:
            grad_weights = _grad_weights(grad, grad_output, indices)
        return grad_grad, None, grad_weights, None


@in_float32
def _grad_weights(
    features: torch.Tensor, grad: torch.Tensor, indices: torch.Tensor
) -> torch.Tensor:
    (B, C, _), N = features.shape, indices.shape[1]
    flat = indices.reshape(B, 1, 3 * N).expand(-1, C, -1).long()
    return (features.gather(2, flat).view(B, C, N, 3) * grad.unsqueeze(3)).sum(1)


@operator(
    definition=definitions.three_interpolate,
    derivative=Derivative(save_inputs, _Interpolate.backward, linear_in("three_interpolate", 0, 2)),
    precision=Precision.WIDEST,
)
def three_interpolate(arrays: Arrays, features: Array, indices: Array, weights: Array) -> Array:
    """Interpolates each point from three features (PointNet++).

    ``output[b, c, n] = sum over k of weights[b, n, k] * features[b, c, indices[b, n, k]]``, in fp32
    (fp64 for float64).

    Args:
        features: float16, bfloat16, float32 or float64 [B, C, M].
        indices: int32 [B, N, 3], 0 to M - 1.
        weights: [B, N, 3] of the dtype of features; any values.

    Returns:
        [B, C, N] of the dtype of features.

    Raises:
        MluOpError: an index is outside [0, M - 1].

    Source: mluOpThreeInterpolateForward; PointNet++, arXiv:1706.02413; mmcv three_interpolate.
    """
    features_desc, features_data = arrays.tensor("features", features, "B C M")
    indices_desc, indices_data = arrays.tensor("indices", indices, "B N 3")
    weights_tensor = arrays.tensor("weights", weights)
    (B, C, _), N = features_desc.shape, indices_desc.shape[1]
    output, *output_tensor = arrays.output("output", (B, C, N), features)
    if output_tensor[0].is_empty:
        declaration = "features B C M, indices: B N 3, weights B N 3, output B C N"
        descriptors = (features_desc, indices_desc, weights_tensor[0], output_tensor[0])
        require_sizes(declaration, *descriptors)
        return output
    with arrays.handle() as own:
        own.call(
            *(_interpolate, features_desc, features_data, indices_desc, indices_data),
            *(*weights_tensor, *output_tensor),
        )
    return output


@operator(
    definition=definitions.three_interpolate_backward,
    derivative=Derivative(
        save_inputs,
        _Interpolate.backward_transposed,
        linear_in("three_interpolate_backward", 0, 2),
    ),
    precision=Precision.WIDEST,
)
def three_interpolate_backward(
    arrays: Arrays, grad_output: Array, indices: Array, weights: Array, M: int
) -> Array:
    """Returns the gradient of the features of `three_interpolate`.

    Args:
        grad_output: float16, bfloat16, float32 or float64 [B, C, N].
        indices: int32 [B, N, 3], 0 to M - 1.
        weights: [B, N, 3] of the dtype of grad_output.
        M: the number of features.

    Returns:
        [B, C, M] of the dtype of grad_output. Sums are fp32 (fp64 for float64), in the order of
            points and slots.

    Raises:
        MluOpError: an index is outside [0, M - 1].

    Source: mluOpThreeInterpolateBackward; PointNet++, arXiv:1706.02413; mmcv three_interpolate.
    """
    grad_desc, grad_data = arrays.tensor("grad_output", grad_output, "B C N")
    inputs = arrays.tensor("indices", indices), arrays.tensor("weights", weights)
    B, C, _ = grad_desc.shape
    M = int32("M", M)
    grad_features, *features_tensor = arrays.output("grad_features", (B, C, extent(M)), grad_output)
    if grad_desc.is_empty and M >= 0:
        declaration = "grad_output B C N, indices: B N 3, weights B N 3, grad_features B C M"
        require_sizes(declaration, grad_desc, *(desc for desc, _ in inputs), features_tensor[0])
        arrays.fill(grad_features, 0)
        return grad_features
    with arrays.handle() as own:
        own.call(
            *(_interpolate_backward, grad_desc, grad_data, *itertools.chain(*inputs)),
            *features_tensor,
        )
    return grad_features


def _score_inputs(
    arrays: Arrays, scores: Any, points: Any, centers: Any, knn_idx: Any
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    return (
        arrays.tensor("points", points, "B N0 M O"),
        arrays.tensor("centers", centers, "B N0 M O"),
        arrays.tensor("scores", scores, "B N1 K M"),
        arrays.tensor("knn_idx", knn_idx, "B N1 K"),
    )


@in_float32
def _differentiable_assign_backward(
    grad: torch.Tensor,
    scores: torch.Tensor,
    points: torch.Tensor,
    centers: torch.Tensor,
    knn_idx: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Returns the result of assign_score_withk_backward, by operators of PyTorch."""
    (B, N0, M, channels), rows = points.shape, knn_idx.long().flatten(1)
    first = knn_idx[..., :1].expand_as(knn_idx).long().flatten(1)
    of_point, of_first = (
        each[..., None, None].expand(-1, -1, M, channels) for each in (rows, first)
    )
    differences = points.gather(1, of_point) - centers.gather(1, of_first)
    flat_grad, flat_scores = grad.flatten(2), scores.flatten(1, 2)
    grad_scores = torch.einsum("bor,brmo->brm", flat_grad, differences).view(scores.shape)
    products = torch.einsum("brm,bor->brmo", flat_scores, flat_grad)
    zeros = points.new_zeros(B, N0, M, channels)
    return (
        grad_scores,
        zeros.scatter_add(1, of_point, products),
        zeros.scatter_add(1, of_first, -products),
    )


class _Assign:
    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple:
        # assign_score_withk_backward has no derivative: PyTorch differentiates for higher orders.
        is_differentiated = torch.is_grad_enabled()
        backward = (
            _differentiable_assign_backward
            if is_differentiated
            else ops.assign_score_withk_backward
        )
        return (*backward(grad, *ctx.saved_tensors), None)

    @staticmethod
    def jvp(inputs: tuple, tangents: tuple, output: torch.Tensor) -> torch.Tensor:
        scores, points, centers, knn_idx = inputs
        of_scores, of_points, of_centers, _ = tangents
        terms = []
        if of_scores is not None:
            terms.append(ops.assign_score_withk(of_scores, points, centers, knn_idx))
        if of_points is not None or of_centers is not None:
            of_both = (
                torch.zeros_like(points) if each is None else each
                for each in (of_points, of_centers)
            )
            terms.append(ops.assign_score_withk(scores, *of_both, knn_idx))
        return sum(terms[1:], terms[0])


@operator(
    definition=definitions.assign_score_withk,
    derivative=Derivative(save_inputs, _Assign.backward, _Assign.jvp),
    precision=Precision.WIDEST,
)
def assign_score_withk(
    arrays: Arrays, scores: Array, points: Array, centers: Array, knn_idx: Array
) -> Array:
    """Assembles the features of neighbors from kernels, weighted by scores (PAConv).

    ``output[b, :, n, k]`` is the sum over m of ``scores[b, n, k, m] * (points[b, i, m] -
    centers[b, j, m])``, with ``i = knn_idx[b, n, k]`` and ``j = knn_idx[b, n, 0]``.

    Args:
        scores: float16, bfloat16, float32 or float64 [B, N1, K, M].
        points, centers: [B, N0, M, O] of the dtype of scores.
        knn_idx: int32 [B, N1, K], 0 to N0 - 1.

    Returns:
        [B, O, N1, K] of the dtype of scores. Sums are fp32 (fp64 for float64), in the order of m.

    Raises:
        MluOpError: an index is outside [0, N0 - 1]; a shape or dtype differs from the list above.

    Source: mluOpOmpAssignScoreWithkForward; PAConv, arXiv:2103.14635; mmcv assign_score_withk.
    """
    inputs = _score_inputs(arrays, scores, points, centers, knn_idx)
    (B, N1, K, _), channels = inputs[2][0].shape, inputs[0][0].shape[3]
    output, *output_tensor = arrays.output("output", (B, channels, N1, K), scores)
    with arrays.handle() as own:
        own.call(_assign, *itertools.chain(*inputs), *output_tensor)
    return output


@operator(
    definition=definitions.assign_score_withk_backward,
    derivative=no_derivative("assign_score_withk_backward"),
    precision=Precision.WIDEST,
)
def assign_score_withk_backward(
    arrays: Arrays,
    grad_output: Array,
    scores: Array,
    points: Array,
    centers: Array,
    knn_idx: Array,
) -> tuple[Array, Array, Array]:
    """Returns the gradients of scores, points and centers of `assign_score_withk`.

    Args:
        grad_output: float16, bfloat16, float32 or float64 [B, O, N1, K].
        scores, points, centers, knn_idx: as in `assign_score_withk`.

    Returns:
        Gradients of the shapes of scores, points and centers.

    Raises:
        MluOpError: as `assign_score_withk`.

    Source: mluOpOmpAssignScoreWithkBackward; PAConv, arXiv:2103.14635; mmcv assign_score_withk.
    """
    grad_desc, grad_data = arrays.tensor("grad_output", grad_output, "B O N1 K")
    inputs = _score_inputs(arrays, scores, points, centers, knn_idx)
    shapes = inputs[2][0].shape, inputs[0][0].shape
    grad_scores, *scores_tensor = arrays.output("grad_scores", shapes[0], grad_output)
    grad_points, *points_tensor = arrays.output("grad_points", shapes[1], grad_output)
    grad_centers, *centers_tensor = arrays.output("grad_centers", shapes[1], grad_output)
    with arrays.handle() as own:
        own.call(
            *(_assign_backward, grad_desc, grad_data, *itertools.chain(*inputs)),
            *(*points_tensor, *centers_tensor, *scores_tensor),
        )
    return grad_scores, grad_points, grad_centers
