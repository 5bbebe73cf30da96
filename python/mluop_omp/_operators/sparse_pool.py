"""Sparse pooling by the maximum."""

from __future__ import annotations

from collections.abc import Sequence

from mluop_omp._arrays import Arrays, extent, int32
from mluop_omp._definitions import sparse_pool as definitions
from mluop_omp._library import function
from mluop_omp._operators._declaration import Array, Precision, operator
from mluop_omp._operators._derivative import Derivative, NoDerivative, sum_by_index
from mluop_omp._operators._tensors import output_of
from mluop_omp._operators._torch import Tensor, ops, torch

__all__ = ["indice_maxpool", "indice_maxpool_backward"]

_pool = function("mluOpOmpIndiceMaxpoolForward", "pppppppp")
_pool_backward = function("mluOpOmpIndiceMaxpoolBackward", "pppppppppppp")


def _pooled_pairs(
    features: Tensor, output: Tensor, pairs: Tensor, num: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the rows of the input and of the output of all pairs, and in which channels they are
    equal.
    """
    counted = torch.arange(pairs.shape[2]) < num.unsqueeze(1)
    valid = counted & (pairs >= 0).all(1)
    inputs, outputs = (torch.where(valid, pairs[:, side], 0).flatten().long() for side in (0, 1))
    return inputs, outputs, valid.flatten().unsqueeze(1) & (features[inputs] == output[outputs])


def _gradient(
    needs: Sequence[bool], grad: Tensor, features: Tensor, output: Tensor, *pairs: Tensor
) -> tuple[Tensor]:
    if not torch.is_grad_enabled() or 0 in (len(features), len(output)):
        return (ops.indice_maxpool_backward(features, output, grad, *pairs),)
    # Derivatives of higher order are PyTorch's.
    inputs, outputs, is_max = _pooled_pairs(features, output, *pairs)
    terms = torch.where(is_max, grad[outputs], 0)
    return (sum_by_index(terms, inputs, len(features)),)


def _jvp(arguments: tuple, tangents: tuple, output: Tensor) -> Tensor:
    features, pairs, num, _ = arguments
    if 0 in (len(features), len(output)):
        return torch.zeros_like(output)
    inputs, outputs, is_max = _pooled_pairs(features, output, pairs, num)
    terms = torch.where(is_max, tangents[0][inputs], 0)
    return sum_by_index(terms, outputs, len(output))


@operator(
    definitions,
    derivative=Derivative(
        _gradient, _jvp, lambda inputs, output: ((), (inputs[0], output, *inputs[1:3]), ())
    ),
    precision=Precision.WIDEST,
)
def indice_maxpool(
    arrays: Arrays, features: Array, pairs: Array, num: Array, num_out: int
) -> Array:
    """Pools the features of active sites by their maximum, which starts at 0 (mmcv, spconv).

    Args:
        features: float16, bfloat16, float32 or float64 [N, C].
        pairs: int32 [K, 2, N], as `indice_pairs` returns them. Pairs with a negative index are
            skipped.
        num: integers [K], the number of pairs of each offset.
        num_out: the number of output sites.

    Returns:
        [num_out, C] of the dtype of features. NaN is never selected.

    Raises:
        MluOpError: an index or a number is out of range.

    Source: mluOpOmpIndiceMaxpoolForward; SECOND, Sensors 2018; mmcv SparseMaxPool2d, 3d.
    """
    features_tensor = arrays.tensor("features", features, "N C")
    pairs_tensor = arrays.tensor("indice_pairs", pairs, "K 2 N")
    shape = (extent(int32("num_out", num_out)), features_tensor[0].shape[1])
    counts = arrays.pair_counts(num, pairs_tensor[0].shape[0])
    inputs = (*features_tensor, *pairs_tensor, counts)
    return output_of(arrays, _pool, inputs, "features_out", shape, features)


@operator(definitions, derivative=NoDerivative(), precision=Precision.WIDEST)
def indice_maxpool_backward(
    arrays: Arrays,
    features: Array,
    features_out: Array,
    output_grad: Array,
    pairs: Array,
    num: Array,
) -> Array:
    """Returns the gradient of the features of `indice_maxpool`.

    Every input that is equal to its output receives the gradient of that output.

    Args:
        features: float16, bfloat16, float32 or float64 [N, C].
        features_out: [num_out, C], the result of `indice_maxpool`.
        output_grad: [num_out, C], the gradient of features_out.
        pairs, num: as in `indice_maxpool`.

    Returns:
        [N, C] of the dtype of features.

    Source: mluOpOmpIndiceMaxpoolBackward; SECOND, Sensors 2018; mmcv SparseMaxPool2d, 3d.
    """
    features_tensor = arrays.tensor("features", features, "N C")
    pairs_tensor = arrays.tensor("indice_pairs", pairs, "K 2 N")
    inputs = (
        *features_tensor,
        *arrays.tensor("features_out", features_out, "M C"),
        *arrays.tensor("output_grad", output_grad, "M C"),
        *(*pairs_tensor, arrays.pair_counts(num, pairs_tensor[0].shape[0])),
    )
    shape = features_tensor[0].shape
    return output_of(arrays, _pool_backward, inputs, "input_grad", shape, features)
