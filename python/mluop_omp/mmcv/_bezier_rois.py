"""The functions of mmcv._ext on RoIs of curved text, with the names and arguments of mmcv."""

from __future__ import annotations

from typing import Any

from mluop_omp._adapters import Args, writes
from mluop_omp._operators._declaration import operators

_ALIGNMENT = "aligned_height, aligned_width, spatial_scale, sampling_ratio, aligned"


def _alignment(args: Args) -> tuple[Any, ...]:
    return args.spatial_scale, args.sampling_ratio, args.aligned


@writes("output", f"input, rois, output, {_ALIGNMENT}")
def bezier_align_forward(args: Args) -> Any:
    """Half and bfloat16 are computed in float32."""
    size = args.aligned_height, args.aligned_width
    return operators.bezier_align, args.input, args.rois, size, *_alignment(args)


@writes("grad_input", f"grad_output, rois, grad_input, {_ALIGNMENT}")
def bezier_align_backward(args: Args) -> Any:
    """Writes all elements of grad_input, to which mmcv's kernel adds."""
    images, _, *pixels = args.grad_input.shape
    tensors = args.grad_output, args.rois
    return operators.bezier_align_backward, *tensors, (images, *pixels), *_alignment(args)
