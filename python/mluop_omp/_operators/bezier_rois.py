"""RoIs between Bezier curves: ABCNet."""

from __future__ import annotations

from typing import Any

from mluop_omp._arrays import Arrays, int32
from mluop_omp._definitions import bezier_rois as definitions
from mluop_omp._library import function
from mluop_omp._operators._declaration import Array, Pair, Precision, Triple, operator
from mluop_omp._operators._derivative import Linear
from mluop_omp._operators._torch import Tensor, ops
from mluop_omp._operators.rotated_rois import _pool, _pool_backward

__all__ = ["bezier_align", "bezier_align_backward"]

_align = function("mluOpOmpBezierAlignForward", "pppppiifibpp")
_align_backward = function("mluOpOmpBezierAlignBackward", "pppppiifibpp")


def _gradient(grad: Tensor, shape: Any, rois: Tensor, size: Any, *numbers: Any) -> Tensor:
    return ops.bezier_align_backward(grad, rois, [shape[0], *shape[2:]], *numbers)


def _transposed(grad: Tensor, shape: Any, rois: Tensor, image_size: Any, *numbers: Any) -> Tensor:
    if grad.numel() == 0:
        return grad.new_zeros(shape)
    return ops.bezier_align(grad, rois, shape[2:], *numbers)


@operator(
    definitions,
    derivative=Linear(input=_gradient),
    precision=Precision.WIDEST,
    channels_last=True,
)
def bezier_align(
    arrays: Arrays,
    input: Array,
    rois: Array,
    output_size: Pair,
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    aligned: bool = True,
) -> Array:
    """Pools interpolated samples of an image between two cubic Bezier curves (ABCNet).

    The center of bin (i, j) is ``lower(u) * v + upper(u) * (1 - v)``, with ``u = j / PW`` and ``v =
    i / PH``, minus 0.5 if aligned: the edge of the bin. Its samples are a grid around the center of
    the size of a bin, along the axes of the image; a sample more than a pixel outside of the image
    is 0. The height of a RoI is the larger distance along y of the ends of a curve, so that
    horizontal text has a height of 0: with sampling_ratio 0 and aligned, its output is 0. The
    output has a derivative with respect to input; the derivative for rois is 0.

    Args:
        input: float16, bfloat16, float32 or float64 [B, C, H, W]. float16 and bfloat16 are computed
            in float32. Images in the memory format channels_last are taken as they are. Messages of
            errors number the dimensions as N, H, W, C, the order of the library.
        rois: [R, 17], of the dtype of input: image, x and y of four points of the upper curve from
            left to right, then of the lower curve from right to left.
        output_size: PH, PW, the bins of a RoI.
        spatial_scale: pixels of input for each unit of rois.
        sampling_ratio: samples of a bin along an axis; 0 for its number of pixels, rounded up.
        aligned: whether pixels are at the middle of their cells. If not, sizes are at least 1.

    Returns:
        [R, C, PH, PW], of the dtype of input.

    Raises:
        MluOpError: the image of a RoI does not exist; a size is negative.

    Source: mluOpOmpBezierAlignForward; ABCNet, arXiv:2002.10200; mmcv bezier_align.
    """
    numbers = float(spatial_scale), int32("sampling_ratio", sampling_ratio), bool(aligned)
    return _pool(arrays, _align, input, rois, output_size, *numbers, columns=17)


@operator(
    definitions,
    derivative=Linear(grad_output=_transposed),
    precision=Precision.WIDEST,
    channels_last=True,
)
def bezier_align_backward(
    arrays: Arrays,
    grad_output: Array,
    rois: Array,
    image_size: Triple,
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    aligned: bool = True,
) -> Array:
    """Returns the gradient of `bezier_align` for input.

    Args:
        grad_output: float16, bfloat16, float32 or float64 [R, C, PH, PW].
        rois: [R, 17], of the dtype of grad_output.
        image_size: B, H, W of input.
        spatial_scale, sampling_ratio, aligned: as in `bezier_align`.

    Returns:
        [B, C, H, W], of the dtype of grad_output. Sums are fp32 (fp64 for float64), in the order of
            RoIs: bit-identical across runs and thread counts.

    Source: mluOpOmpBezierAlignBackward; mmcv bezier_align.
    """
    numbers = float(spatial_scale), int32("sampling_ratio", sampling_ratio), bool(aligned)
    return _pool_backward(
        arrays, _align_backward, grad_output, rois, image_size, *numbers, columns=17
    )
