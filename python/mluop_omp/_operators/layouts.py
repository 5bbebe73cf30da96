"""Copies of images in another layout."""

from __future__ import annotations

from mluop_omp._arrays import Arrays
from mluop_omp._definitions import layouts as definitions
from mluop_omp._library import function
from mluop_omp._operators._declaration import Array, Precision, operator
from mluop_omp._operators._derivative import Linear
from mluop_omp._operators._tensors import output_of
from mluop_omp._operators._torch import ops

__all__ = ["transpose"]

_transpose = function("mluOpOmpTranspose", "ppppp")


@operator(
    definitions,
    derivative=Linear(input=lambda grad, _: ops.transpose(grad)),
    precision=Precision.WIDEST,
)
def transpose(arrays: Arrays, input: Array) -> Array:
    """Transposes matrices: ``output[n, j, i] = input[n, i, j]``.

    Converts images between NCHW, as [N, C, H * W], and NHWC, as [N, H * W, C].

    Args:
        input: float16, bfloat16, float32 or float64 [N, A, B].

    Returns:
        [N, B, A] of the dtype of input, contiguous: copies, exact.

    Source: mluOpOmpTranspose.
    """
    tensor = arrays.tensor("input", input, "N A B")
    N, A, B = tensor[0].shape
    return output_of(arrays, _transpose, tensor, "output", (N, B, A), input)
