"""Operators that add the features of neighbors."""

from __future__ import annotations

import itertools
from typing import Any

from mluop_omp._arrays import Arrays, extent, int32
from mluop_omp._definitions import interpolation as definitions
from mluop_omp._library import function
from mluop_omp._operators._declaration import Array, Precision, operator
from mluop_omp._operators._derivative import (
    Derivative,
    Linear,
    NoDerivative,
    differentiable,
    in_float32,
    linear_terms,
    total,
)
from mluop_omp._operators._tensors import output_of, require_sizes
from mluop_omp._operators._torch import Tensor, ops, torch

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


@in_float32
def _grad_weights(features: Tensor, grad: Tensor, indices: Tensor) -> Tensor:
    (B, C, _), N = features.shape, indices.shape[1]
    flat = indices.reshape(B, 1, 3 * N).expand(-1, C, -1).long()
    return (features.gather(2, flat).view(B, C, N, 3) * grad.unsqueeze(3)).sum(1)


@operator(
    definitions,
    derivative=Linear(
        features=lambda grad, features, indices, weights: ops.three_interpolate_backward(
            grad, indices, weights, features.shape[2]
        ),
        weights=lambda grad, features, indices, _: _grad_weights(features, grad, indices),
    ),
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
    features_tensor = arrays.tensor("features", features, "B C M")
    indices_tensor = arrays.tensor("indices", indices, "B N 3")
    weights_tensor = arrays.tensor("weights", weights)
    (B, C, _), N = features_tensor[0].shape, indices_tensor[0].shape[1]
    output, *output_tensor = arrays.output("output", (B, C, N), features)
    if output_tensor[0].is_empty:
        declaration = "features B C M, indices: B N 3, weights B N 3, output B C N"
        require_sizes(declaration, features_tensor, indices_tensor, weights_tensor, output_tensor)
        return output
    with arrays.handle() as own:
        own.call(_interpolate, *features_tensor, *indices_tensor, *weights_tensor, *output_tensor)
    return output


@operator(
    definitions,
    derivative=Linear(
        grad_output=lambda grad, _, indices, weights, M: ops.three_interpolate(
            grad, indices, weights
        ),
        weights=lambda grad, grad_output, indices, *_: _grad_weights(grad, grad_output, indices),
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
    inputs = (
        arrays.tensor("grad_output", grad_output, "B C N"),
        arrays.tensor("indices", indices),
        arrays.tensor("weights", weights),
    )
    (B, C, _), M = inputs[0][0].shape, int32("M", M)
    grad_features, *features_tensor = arrays.output("grad_features", (B, C, extent(M)), grad_output)
    if inputs[0][0].is_empty and M >= 0:
        declaration = "grad_output B C N, indices: B N 3, weights B N 3, grad_features B C M"
        require_sizes(declaration, *inputs, features_tensor)
        arrays.fill(grad_features, 0)
        return grad_features
    with arrays.handle() as own:
        own.call(_interpolate_backward, *itertools.chain(*inputs), *features_tensor)
    return grad_features


def _score_inputs(
    arrays: Arrays, scores: Any, points: Any, centers: Any, knn_idx: Any
) -> tuple[tuple[Any, int], ...]:
    return (
        arrays.tensor("points", points, "B N0 M O"),
        arrays.tensor("centers", centers, "B N0 M O"),
        arrays.tensor("scores", scores, "B N1 K M"),
        arrays.tensor("knn_idx", knn_idx, "B N1 K"),
    )


@in_float32
def _assign_gradients(
    grad: Tensor, scores: Tensor, points: Tensor, centers: Tensor, knn_idx: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
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


def _assign_jvp(inputs: tuple, tangents: tuple, output: Tensor) -> Tensor:
    terms = linear_terms("assign_score_withk", inputs, tangents, [0])
    # The output is linear in points and centers, if both change.
    if tangents[1] is not None or tangents[2] is not None:
        scores, *points, knn_idx = inputs
        both = (torch.zeros_like(p) if t is None else t for p, t in zip(points, tangents[1:3]))
        terms.append(ops.assign_score_withk(scores, *both, knn_idx))
    return total(terms, output)


@operator(
    definitions,
    derivative=Derivative(
        lambda needs, grad, *inputs: differentiable(
            "assign_score_withk_backward", _assign_gradients, grad, *inputs
        ),
        _assign_jvp,
    ),
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
        MluOpError: an index is outside [0, N0 - 1].

    Source: mluOpOmpAssignScoreWithkForward; PAConv, arXiv:2103.14635; mmcv assign_score_withk.
    """
    tensors = _score_inputs(arrays, scores, points, centers, knn_idx)
    (B, N1, K, _), channels = tensors[2][0].shape, tensors[0][0].shape[3]
    inputs = itertools.chain(*tensors)
    return output_of(arrays, _assign, inputs, "output", (B, channels, N1, K), scores)


@operator(definitions, derivative=NoDerivative(), precision=Precision.WIDEST)
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

    Source: mluOpOmpAssignScoreWithkBackward; PAConv, arXiv:2103.14635; mmcv assign_score_withk.
    """
    grad_tensor = arrays.tensor("grad_output", grad_output, "B O N1 K")
    inputs = _score_inputs(arrays, scores, points, centers, knn_idx)
    shapes = inputs[2][0].shape, inputs[0][0].shape
    grad_scores, *scores_tensor = arrays.output("grad_scores", shapes[0], grad_output)
    grad_points, *points_tensor = arrays.output("grad_points", shapes[1], grad_output)
    grad_centers, *centers_tensor = arrays.output("grad_centers", shapes[1], grad_output)
    with arrays.handle() as own:
        own.call(
            *(_assign_backward, *grad_tensor, *itertools.chain(*inputs)),
            *(*points_tensor, *centers_tensor, *scores_tensor),
        )
    return grad_scores, grad_points, grad_centers
