"""Filters of rotated kernels: ORConv2d."""

from __future__ import annotations

from collections.abc import Sequence

from mluop_omp._arrays import Arrays
from mluop_omp._definitions import rotated_filters as definitions
from mluop_omp._library import bad_param, function
from mluop_omp._operators._declaration import Array, Precision, operator
from mluop_omp._operators._derivative import Linear
from mluop_omp._operators._torch import Tensor, ops

__all__ = ["active_rotated_filter", "active_rotated_filter_backward"]

_query = function("mluOpGetActiveRotatedFilterForwardWorkspaceSize", "ppp")
_rotate = function("mluOpActiveRotatedFilterForward", "ppppppspp")
_rotate_backward = function("mluOpOmpActiveRotatedFilterBackward", "ppppppp")


def _sum_rotations(grad: Tensor, shape: Sequence[int], indices: Tensor) -> Tensor:
    if 0 in shape or 0 in indices.shape:
        return grad.new_zeros(shape)
    return ops.active_rotated_filter_backward(grad, indices)


@operator(
    definitions,
    derivative=Linear(input=_sum_rotations),
    precision=Precision.WIDEST,
)
def active_rotated_filter(arrays: Arrays, input: Array, indices: Array) -> Array:
    """Copies each filter once for each rotation, with its entries moved (ORConv2d, S2ANet).

    Entry l of a filter, the element (m, y, x) of its n orientations of KH x KW, is number ``(m * KH
    + y) * KW + x``. Rotation t moves it to entry ``indices[m, y, x, t] - 1``, which is numbered in
    the same way.

    Args:
        input: float16, bfloat16, float32 or float64 [O, I, n, KH, KW].
        indices: int32 [n, KH, KW, R], from 1 to n KH KW.

    Returns:
        [O R, I n, KH, KW] of the dtype of input: rotation t of filter o is number o R + t. Copies,
            exact. An entry that no index names is 0; of several entries with one target, the last
            one is copied, and the derivative is the sum for all of them, as in mmcv.

    Raises:
        MluOpError: an index is outside of the filter.

    Source: mluOpActiveRotatedFilterForward; S2ANet, arXiv:2008.09397; mmcv active_rotated_filter.
    """
    input_tensor = arrays.tensor("input", input, "O I n KH KW")
    indices_tensor = arrays.tensor("indices", indices, "n KH KW R")
    O, I, n, KH, KW = input_tensor[0].shape  # noqa: E741
    shape = (O * indices_tensor[0].shape[3], I * n, KH, KW)
    output, *output_tensor = arrays.output("output", shape, input)
    with arrays.handle() as own:
        workspace = own.workspace(_query, input_tensor[0])
        own.call(_rotate, *input_tensor, *indices_tensor, *workspace, *output_tensor)
    return output


@operator(
    definitions,
    derivative=Linear(
        grad_output=lambda grad, _, indices: ops.active_rotated_filter(grad, indices)
    ),
    precision=Precision.WIDEST,
)
def active_rotated_filter_backward(arrays: Arrays, grad_output: Array, indices: Array) -> Array:
    """Returns the gradient of the input of `active_rotated_filter`.

    Args:
        grad_output: float16, bfloat16, float32 or float64 [O R, I n, KH, KW].
        indices: int32 [n, KH, KW, R], from 1 to n KH KW. n and R are at least 1.

    Returns:
        [O, I, n, KH, KW] of the dtype of grad_output. Sums are fp32 (fp64 for float64), in the
            order of rotations: bit-identical across runs and thread counts.

    Source: mluOpOmpActiveRotatedFilterBackward; mmcv active_rotated_filter.
    """
    grad_tensor = arrays.tensor("grad_output", grad_output, "OR In KH KW")
    indices_tensor = arrays.tensor("indices", indices, "n KH KW R")
    n, KH, KW, R = indices_tensor[0].shape
    if 0 in (n, R):
        raise bad_param(f"indices has shape [{n}, {KH}, {KW}, {R}], expected n and R of at least 1")
    rotated, inputs = grad_tensor[0].shape[:2]
    shape = (rotated // R, inputs // n, n, KH, KW)
    grad_input, *input_tensor = arrays.output("grad_input", shape, grad_output)
    with arrays.handle() as own:
        own.call(_rotate_backward, *grad_tensor, *indices_tensor, *input_tensor)
    return grad_input
