"""The functions of mmcv._ext on filters, with the names, arguments and outputs of mmcv."""

from __future__ import annotations

from typing import Any

from mluop_omp._adapters import Args, writes
from mluop_omp._operators._declaration import operators


@writes("output", "input, indices, output")
def active_rotated_filter_forward(args: Args) -> Any:
    """Writes all elements of output. An index outside of the filter is an error."""
    return operators.active_rotated_filter, args.input, args.int32("indices")


@writes("grad_in", "grad_out, indices, grad_in")
def active_rotated_filter_backward(args: Args) -> Any:
    """Writes all elements of grad_in."""
    if not args.grad_in.numel() or not args.indices.numel():
        args.grad_in.zero_()
        return None
    return operators.active_rotated_filter_backward, args.grad_out, args.int32("indices")
