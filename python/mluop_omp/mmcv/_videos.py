"""The functions of mmcv._ext on videos, with the names, arguments and outputs of mmcv."""

from __future__ import annotations

from typing import Any

from mluop_omp._adapters import Args, writes
from mluop_omp._operators._declaration import operators


@writes("output", "input, shift, output")
def tin_shift_forward(args: Args) -> Any:
    """Writes all elements of output."""
    return operators.tin_shift, args.input, args.int32("shift")


@writes("grad_input", "grad_output, shift, grad_input")
def tin_shift_backward(args: Args) -> Any:
    """Shifts the gradient in the direction of the input, as mmcv's kernels for devices do."""
    return operators.tin_shift_backward, args.grad_output, args.int32("shift")
