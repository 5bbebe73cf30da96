"""Shifts of the frames of videos: temporal interlacing networks."""

from __future__ import annotations

from typing import Any

from mluop_omp._arrays import Arrays
from mluop_omp._definitions import videos as definitions
from mluop_omp._library import function
from mluop_omp._operators._declaration import Array, Precision, operator
from mluop_omp._operators._derivative import Linear
from mluop_omp._operators._tensors import output_of
from mluop_omp._operators._torch import ops

__all__ = ["tin_shift", "tin_shift_backward"]

_shift = function("mluOpTinShiftForward", "ppppppp")
_shift_backward = function("mluOpTinShiftBackward", "ppppppp")


def _shifted(arrays: Arrays, move: Any, name: str, array: Any, shifts: Any) -> Any:
    tensor = arrays.tensor(name, array, "N T C L")
    inputs = (*tensor, *arrays.tensor("shifts", shifts, "N G"))
    return output_of(arrays, move, inputs, "output", tensor[0].shape, array)


@operator(
    definitions,
    derivative=Linear(input=lambda grad, _, shifts: ops.tin_shift(grad, -shifts)),
    precision=Precision.WIDEST,
)
def tin_shift(arrays: Arrays, input: Array, shifts: Array) -> Array:
    """Shifts the frames of each group of channels of each video (TIN).

    ``output[n, t, c, l] = input[n, t - d, c, l]``, with ``d = shifts[n, c // (C // G)]``; 0 if
    there is no such frame.

    The derivative is the transpose, a shift by -d. The gradient of mmcv's tin_shift is
    `tin_shift_backward`, which differs: networks of mmaction2 are trained with it.

    Args:
        input: float16, bfloat16, float32 or float64 [N, T, C, L]: T frames of L pixels.
        shifts: int32 [N, G], in frames; a positive shift delays. G divides C.

    Returns:
        [N, T, C, L] of the dtype of input: copies, exact.

    Raises:
        MluOpError: C is not a multiple of G.

    Source: mluOpTinShiftForward; TIN, arXiv:2001.06499; mmcv tin_shift.
    """
    return _shifted(arrays, _shift, "input", input, shifts)


@operator(
    definitions,
    derivative=Linear(grad_output=lambda grad, _, shifts: ops.tin_shift(grad, -shifts)),
    precision=Precision.WIDEST,
)
def tin_shift_backward(arrays: Arrays, grad_output: Array, shifts: Array) -> Array:
    """Returns what mmcv and MLU-OPS use as the gradient of the input of `tin_shift`.

    It shifts the gradient by d, in the direction of the input. The derivative of `tin_shift` shifts
    it by -d.

    Args:
        grad_output: float16, bfloat16, float32 or float64 [N, T, C, L].
        shifts: int32 [N, G], in frames. G divides C.

    Returns:
        [N, T, C, L] of the dtype of grad_output: copies, exact.

    Source: mluOpTinShiftBackward; mmcv tin_shift.
    """
    return _shifted(arrays, _shift_backward, "grad_output", grad_output, shifts)
