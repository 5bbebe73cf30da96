"""Sparse pooling by the maximum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mluop_omp._arrays import Arrays, extent, int32
from mluop_omp._definitions import sparse_pool as definitions
from mluop_omp._library import function
from mluop_omp._operators._declaration import Array, Precision, operator
from mluop_omp._operators._derivative import Derivative, no_derivative, sum_by_index
from mluop_omp._operators._torch import ops, torch

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["indice_maxpool", "indice_maxpool_backward"]

_pool = function("mluOpOmpIndiceMaxpoolForward", "pppppppp")
_pool_backward = function("mluOpOmpIndiceMaxpoolBackward", "pppppppppppp")


def _save(ctx: Any, inputs: tuple, output: Tensor) -> None:
    features, pairs, num, _ = inputs
    ctx.save_for_backward(features, output, pairs, num)


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


def _backward(ctx: Any, grad: Tensor) -> tuple:
    features, output, pairs, num = ctx.saved_tensors
    if not torch.is_grad_enabled() or 0 in (len(features), len(output)):
        return ops.indice_maxpool_backward(features, output, grad, pairs, num), None, None, None
    # Derivatives of higher order are PyTorch's.
    inputs, outputs, is_max = _pooled_pairs(features, output, pairs, num)
    terms = torch.where(is_max, grad[outputs], 0)
    return sum_by_index(terms, inputs, len(features)), None, None, None


def _jvp(arguments: tuple, tangents: tuple, output: Tensor) -> Tensor:
    features, pairs, num, _ = arguments
    if 0 in (len(features), len(output)):
        return torch.zeros_like(output)
    inputs, outputs, is_max = _pooled_pairs(features, output, pairs, num)
    terms = torch.where(is_max, tangents[0][inputs], 0)
    return sum_by_index(terms, outputs, len(output))


@operator(
    definition=definitions.indice_maxpool,
    derivative=Derivative(_save, _backward, _jvp),
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
        MluOpError: an index or a number is out of range; a shape or dtype differs from the list
            above.

    Source: mluOpOmpIndiceMaxpoolForward; SECOND, Sensors 2018; mmcv SparseMaxPool2d, 3d.
    """
    features_desc, features_data = arrays.tensor("features", features, "N C")
    pairs_desc, pairs_data = arrays.tensor("indice_pairs", pairs, "K 2 N")
    shape = (extent(int32("num_out", num_out)), features_desc.shape[1])
    output, *output_tensor = arrays.output("features_out", shape, features)
    counts = arrays.pair_counts(num, pairs_desc.shape[0])
    with arrays.handle() as own:
        own.call(
            *(_pool, features_desc, features_data, pairs_desc, pairs_data, counts), *output_tensor
        )
    return output


@operator(
    definition=definitions.indice_maxpool_backward,
    derivative=no_derivative("indice_maxpool_backward"),
    precision=Precision.WIDEST,
)
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

    Raises:
        MluOpError: as `indice_maxpool`.

    Source: mluOpOmpIndiceMaxpoolBackward; SECOND, Sensors 2018; mmcv SparseMaxPool2d, 3d.
    """
    features_desc, features_data = arrays.tensor("features", features, "N C")
    pairs_desc, pairs_data = arrays.tensor("indice_pairs", pairs, "K 2 N")
    input_grad, *grad_tensor = arrays.output("input_grad", features_desc.shape, features)
    counts = arrays.pair_counts(num, pairs_desc.shape[0])
    with arrays.handle() as own:
        own.call(
            *(_pool_backward, features_desc, features_data),
            *arrays.tensor("features_out", features_out, "M C"),
            *arrays.tensor("output_grad", output_grad, "M C"),
            *(pairs_desc, pairs_data, counts, *grad_tensor),
        )
    return input_grad
