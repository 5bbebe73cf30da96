"""Samples of maps at rotated RoIs, at the boxes of pixels and at the borders of boxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mluop_omp._arrays import NHWC, Arrays, extent, int32
from mluop_omp._definitions import rotated_rois as definitions
from mluop_omp._library import function
from mluop_omp._operators._declaration import Array, Pair, Precision, Triple, operator
from mluop_omp._operators._derivative import Kept, Linear, in_float32
from mluop_omp._operators._torch import Tensor, ops, torch

__all__ = [
    "border_align",
    "border_align_backward",
    "riroi_align_rotated",
    "riroi_align_rotated_backward",
    "roi_align_rotated",
    "roi_align_rotated_backward",
    "rotated_feature_align",
    "rotated_feature_align_backward",
]

_rotated = function("mluOpRoiAlignRotatedForward", "pppppiiifbbpp")
_rotated_backward = function("mluOpRoiAlignRotatedBackward", "pppppiiifbbpp")
_oriented = function("mluOpOmpRiroiAlignRotatedForward", "pppppiifiibpp")
_oriented_backward = function("mluOpOmpRiroiAlignRotatedBackward", "pppppiifiibpp")
_features = function("mluOpRotatedFeatureAlignForward", "pppppfipp")
_features_backward = function("mluOpRotatedFeatureAlignBackward", "pppppfipp")
_border = function("mluOpBorderAlignForward", "pppppipppp")
_border_backward = function("mluOpBorderAlignBackward", "pppppppipp")


def _pool(
    arrays: Arrays, pool: Any, input: Any, rois: Any, size: Pair, *numbers: Any, columns: int = 6
) -> Any:
    """Calls a forward function, which takes the numbers after the sizes."""
    held, *input_tensor = arrays.to_nhwc("input", input)
    rois_tensor = arrays.tensor("rois", rois, f"R {columns}")
    height, width = arrays.int32s("output_size", size, 2)
    shape = (rois_tensor[0].shape[0], extent(height), extent(width), input_tensor[0].shape[3])
    output, *output_tensor = arrays.output("output", shape, held, layout=NHWC)
    with arrays.handle() as own:
        own.call(pool, *input_tensor, *rois_tensor, height, width, *numbers, *output_tensor)
    return arrays.from_nhwc(output, input)


def _pool_backward(
    arrays: Arrays, pool: Any, grad: Any, rois: Any, size: Triple, *numbers: Any, columns: int = 6
) -> Any:
    held, *grad_tensor = arrays.to_nhwc("grad_output", grad)
    rois_tensor = arrays.tensor("rois", rois, f"R {columns}")
    B, H, W = map(extent, arrays.int32s("image_size", size, 3))
    _, height, width, C = grad_tensor[0].shape
    output, *output_tensor = arrays.output("grad_input", (B, H, W, C), held, layout=NHWC)
    with arrays.handle() as own:
        own.call(pool, *grad_tensor, *rois_tensor, height, width, *numbers, *output_tensor)
    return arrays.from_nhwc(output, grad)


def _image_size(shape: Sequence[int]) -> tuple[int, int, int]:
    return shape[0], shape[2], shape[3]


@operator(
    definitions,
    derivative=Linear(
        input=lambda grad, shape, rois, _, *numbers: ops.roi_align_rotated_backward(
            grad, rois, _image_size(shape), *numbers
        )
    ),
    precision=Precision.WIDEST,
    channels_last=True,
)
def roi_align_rotated(
    arrays: Arrays,
    input: Array,
    rois: Array,
    output_size: Pair,
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    aligned: bool = True,
    clockwise: bool = False,
) -> Array:
    """Pools interpolated samples of an image in each bin of each rotated RoI, and averages them.

    The bins lie along the sides of a RoI; each has n samples along a side, in the middle of n equal
    parts. A sample is interpolated from the four pixels around it; a sample more than a pixel
    outside of the image is 0. The output has a derivative with respect to input; the derivative
    for rois is 0.

    Args:
        input: float16, bfloat16, float32 or float64 [B, C, H, W]. float16 and bfloat16 are computed
            in float32. Images in the memory format channels_last are taken as they are. Messages of
            errors number the dimensions as B, H, W, C, the order of the library.
        rois: [R, 6], of the dtype of input: image, center x, center y, width, height, angle in
            radians, which turns counter-clockwise on an image whose y axis points down.
        output_size: PH, PW, the bins of a RoI.
        spatial_scale: pixels of input for each unit of rois.
        sampling_ratio: n; 0 for the number of pixels of the bin, rounded up.
        aligned: whether pixels are at the middle of their cells. If not, sizes are at least 1.
        clockwise: whether angles turn clockwise; mmrotate's do.

    Returns:
        [R, C, PH, PW], of the dtype of input; 0 without samples.

    Raises:
        MluOpError: the image of a RoI does not exist.

    Source: mluOpRoiAlignRotatedForward; FOTS, arXiv:1801.01671; mmcv roi_align_rotated.
    """
    ratio = int32("sampling_ratio", sampling_ratio)
    flags = bool(aligned), bool(clockwise)
    return _pool(arrays, _rotated, input, rois, output_size, ratio, float(spatial_scale), *flags)


@operator(
    definitions,
    derivative=Linear(
        grad_output=lambda grad, shape, rois, _, *numbers: ops.roi_align_rotated(
            grad, rois, shape[2:], *numbers
        )
    ),
    precision=Precision.WIDEST,
    channels_last=True,
)
def roi_align_rotated_backward(
    arrays: Arrays,
    grad_output: Array,
    rois: Array,
    image_size: Triple,
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    aligned: bool = True,
    clockwise: bool = False,
) -> Array:
    """Returns the gradient of `roi_align_rotated` for input.

    Args:
        grad_output: float16, bfloat16, float32 or float64 [R, C, PH, PW].
        rois: [R, 6], of the dtype of grad_output.
        image_size: B, H, W of input.
        spatial_scale, sampling_ratio, aligned, clockwise: as in `roi_align_rotated`.

    Returns:
        [B, C, H, W], of the dtype of grad_output. Sums are fp32 (fp64 for float64), in the order of
            RoIs: bit-identical across runs and thread counts.

    Raises:
        MluOpError: the image of a RoI does not exist.

    Source: mluOpRoiAlignRotatedBackward; mmcv roi_align_rotated.
    """
    ratio = int32("sampling_ratio", sampling_ratio)
    numbers = ratio, float(spatial_scale), bool(aligned), bool(clockwise)
    return _pool_backward(arrays, _rotated_backward, grad_output, rois, image_size, *numbers)


@operator(
    definitions,
    derivative=Linear(
        input=lambda grad, shape, rois, _, *numbers: ops.riroi_align_rotated_backward(
            grad, rois, _image_size(shape), *numbers
        )
    ),
    precision=Precision.WIDEST,
    channels_last=True,
)
def riroi_align_rotated(
    arrays: Arrays,
    input: Array,
    rois: Array,
    output_size: Pair,
    spatial_scale: float = 1.0,
    num_samples: int = 0,
    num_orientations: int = 8,
    clockwise: bool = False,
) -> Array:
    """Pools as `roi_align_rotated`, and shifts orientations by the angle of the RoI (ReDet).

    Positions are not aligned. Channel g * num_orientations + o is orientation o of group g. It is
    interpolated from orientations o - i and o - i + 1, modulo num_orientations, where i + l =
    angle * num_orientations / (2 pi), with the weights 1 - l and l. The output has a derivative
    with respect to input; the derivative for rois is 0.

    Args:
        input: float16, bfloat16, float32 or float64 [B, C, H, W]; C is a multiple of
            num_orientations. float16 and bfloat16 are computed in float32. Messages of errors
            number the dimensions as B, H, W, C, the order of the library.
        rois: [R, 6], of the dtype of input: image, center x, center y, width, height, angle.
        output_size: PH, PW, the bins of a RoI.
        spatial_scale: pixels of input for each unit of rois.
        num_samples: along a side of a bin; 0 for the number of its pixels, rounded up.
        num_orientations: of a group of channels.
        clockwise: whether the angle of samples turns clockwise; the shift does not depend on it.

    Returns:
        [R, C, PH, PW], of the dtype of input; 0 without samples.

    Raises:
        MluOpError: the image of a RoI does not exist; C is not a multiple of num_orientations.

    Source: mluOpOmpRiroiAlignRotatedForward; ReDet, arXiv:2103.07733; mmcv riroi_align_rotated.
    """
    samples = int32("num_samples", num_samples)
    orientations = int32("num_orientations", num_orientations)
    numbers = float(spatial_scale), samples, orientations, bool(clockwise)
    return _pool(arrays, _oriented, input, rois, output_size, *numbers)


@operator(
    definitions,
    derivative=Linear(
        grad_output=lambda grad, shape, rois, _, *numbers: ops.riroi_align_rotated(
            grad, rois, shape[2:], *numbers
        )
    ),
    precision=Precision.WIDEST,
    channels_last=True,
)
def riroi_align_rotated_backward(
    arrays: Arrays,
    grad_output: Array,
    rois: Array,
    image_size: Triple,
    spatial_scale: float = 1.0,
    num_samples: int = 0,
    num_orientations: int = 8,
    clockwise: bool = False,
) -> Array:
    """Returns the gradient of `riroi_align_rotated` for input.

    Args:
        grad_output: float16, bfloat16, float32 or float64 [R, C, PH, PW].
        rois: [R, 6], of the dtype of grad_output.
        image_size: B, H, W of input.
        spatial_scale, num_samples, num_orientations, clockwise: as in `riroi_align_rotated`.

    Returns:
        [B, C, H, W], of the dtype of grad_output. Sums are fp32 (fp64 for float64), in the order of
            RoIs: bit-identical across runs and thread counts.

    Raises:
        MluOpError: the image of a RoI does not exist; C is not a multiple of num_orientations.

    Source: mluOpOmpRiroiAlignRotatedBackward; mmcv riroi_align_rotated.
    """
    samples = int32("num_samples", num_samples)
    orientations = int32("num_orientations", num_orientations)
    numbers = float(spatial_scale), samples, orientations, bool(clockwise)
    return _pool_backward(arrays, _oriented_backward, grad_output, rois, image_size, *numbers)


def _align(
    arrays: Arrays, align: Any, name: str, array: Any, boxes: Any, scale: float, points: int
) -> Any:
    held, *tensor = arrays.to_nhwc(name, array)
    boxes = arrays.to_nchw(boxes)
    boxes_tensor = arrays.tensor("boxes", boxes, "B H W 5")
    output, *output_tensor = arrays.output("output", tensor[0].shape, held, layout=NHWC)
    numbers = float(scale), int32("points", points)
    with arrays.handle() as own:
        own.call(align, *tensor, *boxes_tensor, *numbers, *output_tensor)
    return arrays.from_nhwc(output, array)


@operator(
    definitions,
    derivative=Linear(input=lambda grad, _, *kept: ops.rotated_feature_align_backward(grad, *kept)),
    precision=Precision.WIDEST,
    channels_last=True,
)
def rotated_feature_align(
    arrays: Arrays, input: Array, boxes: Array, spatial_scale: float = 0.125, points: int = 1
) -> Array:
    """Adds to each pixel samples of the image at the center of its box, and at the corners (R3Det).

    A sample is interpolated from the four pixels around it; a sample more than a pixel outside of
    the image is 0. The output has a derivative with respect to input; the derivative for boxes is
    0.

    Args:
        input: float16, bfloat16, float32 or float64 [B, C, H, W]. float16 and bfloat16 are computed
            in float32. Images in the memory format channels_last are taken as they are. Messages of
            errors number the dimensions as B, H, W, C, the order of the library.
        boxes: [B, H, W, 5], of the dtype of input: y, x, width, height, angle in radians. mmrotate
            passes x first, so that its samples are transposed.
        spatial_scale: pixels of input for each unit of boxes.
        points: 1, the center, or 5, with the corners.

    Returns:
        [B, C, H, W], of the dtype of input.

    Raises:
        MluOpError: points is another number; spatial_scale is not positive.

    Source: mluOpRotatedFeatureAlignForward; R3Det, arXiv:1908.05612; mmcv rotated_feature_align.
    """
    return _align(arrays, _features, "input", input, boxes, spatial_scale, points)


@operator(
    definitions,
    derivative=Linear(grad_output=lambda grad, _, *kept: ops.rotated_feature_align(grad, *kept)),
    precision=Precision.WIDEST,
    channels_last=True,
)
def rotated_feature_align_backward(
    arrays: Arrays, grad_output: Array, boxes: Array, spatial_scale: float = 0.125, points: int = 1
) -> Array:
    """Returns the gradient of `rotated_feature_align` for input.

    Args:
        grad_output: float16, bfloat16, float32 or float64 [B, C, H, W].
        boxes: [B, H, W, 5], of the dtype of grad_output.
        spatial_scale, points: as in `rotated_feature_align`.

    Returns:
        [B, C, H, W], of the dtype of grad_output. Sums are fp32 (fp64 for float64), in the order of
            pixels, each with its own gradient first: bit-identical across runs and thread counts.

    Source: mluOpRotatedFeatureAlignBackward; mmcv rotated_feature_align.
    """
    name = "grad_output"
    return _align(arrays, _features_backward, name, grad_output, boxes, spatial_scale, points)


def _keep(inputs: tuple, outputs: tuple) -> Kept:
    input, boxes, pool_size = inputs
    return (outputs[0].shape,), (boxes, outputs[1]), (input.shape[2:], pool_size)


@in_float32
def _sample_as(
    values: Tensor,
    shape: Sequence[int],
    boxes: Tensor,
    argmax: Tensor,
    image_size: Pair,
    pool_size: int,
) -> Tensor:
    """Samples values [B, 4 C, H, W] where border_align found its maxima; the transpose of its
    backward operator.
    """
    if values.numel() == 0 or 0 in shape:
        return values.new_zeros(shape)
    B, C, K, _ = shape
    H, W = image_size
    x1, y1, x2, y2 = (each[:, None] for each in boxes.unbind(2))
    width, height, zero = (x2 - x1) / pool_size, (y2 - y1) / pool_size, torch.zeros_like(x1)
    y = torch.stack((y1, y1, y2, y2), 3) + argmax * torch.stack((zero, height, zero, -height), 3)
    x = torch.stack((x1, x1, x2, x2), 3) + argmax * torch.stack((width, zero, -width, zero), 3)
    inside = (y >= -1) & (y <= H) & (x >= -1) & (x <= W) & (argmax >= 0) & (argmax <= pool_size)
    y, x = (torch.where(inside, p, 0).clamp(0, n - 1) for p, n in ((y, H), (x, W)))
    pixels = values.reshape(B, 4, C, H * W).permute(0, 2, 1, 3)  # [B, C, 4, H W]
    top, left = y.floor(), x.floor()
    sampled = torch.zeros_like(y)
    for down in (0, 1):
        for right in (0, 1):
            row, column = (top + down).clamp(max=H - 1), (left + right).clamp(max=W - 1)
            of_row, of_column = (
                p - q if far else 1 - (p - q) for p, q, far in ((y, top, down), (x, left, right))
            )
            at = (row * W + column).long().transpose(2, 3)  # [B, C, 4, K]
            sampled = sampled + of_row * of_column * pixels.gather(3, at).transpose(2, 3)
    return torch.where(inside, sampled, 0)


@operator(
    definitions,
    derivative=Linear(
        input=lambda grad, _, *kept: ops.border_align_backward(grad, *kept),
        keep=_keep,
        tangent=_sample_as,
    ),
    precision=Precision.WIDEST,
    channels_last=True,
)
def border_align(
    arrays: Arrays, input: Array, boxes: Array, pool_size: int = 10
) -> tuple[Array, Array]:
    """Returns the maximum of samples of the image along each border of each box (BorderDet).

    A border has pool_size + 1 samples, from corner to corner. A sample is interpolated from the
    four pixels around it; a sample more than a pixel outside of the image is 0. The first output
    has a derivative with respect to input; the derivative for boxes is 0.

    Args:
        input: float16, bfloat16, float32 or float64 [B, 4 C, H, W]: the channels of the borders
            top, left, bottom and right. float16 and bfloat16 are computed in float32. Images in the
            memory format channels_last are taken as they are. Messages of errors number the
            dimensions as B, H, W, C, the order of the library.
        boxes: [B, K, 4], of the dtype of input: x1, y1, x2, y2, in pixels of input.
        pool_size: parts of a border.

    Returns:
        output: [B, C, K, 4], of the dtype of input: a maximum for each border.
        argmax_idx: int32 [B, C, K, 4], the number of the first sample that is the maximum. Top and
            left start at (x1, y1), bottom and right at (x2, y2).

    Raises:
        MluOpError: pool_size is not positive; the channels are not a multiple of 4.

    Source: mluOpBorderAlignForward; BorderDet, arXiv:2007.11056; mmcv border_align.
    """
    held, *input_tensor = arrays.to_nhwc("input", input)
    boxes_tensor = arrays.tensor("boxes", boxes, "B K 4")
    (B, K, _), channels = boxes_tensor[0].shape, input_tensor[0].shape[3]
    shape = (B, K, 4, channels // 4)
    output, *output_tensor = arrays.output("output", shape, held, layout=NHWC)
    argmax, *argmax_tensor = arrays.output("argmax_idx", shape, layout=NHWC)
    size = int32("pool_size", pool_size)
    with arrays.handle() as own:
        own.call(_border, *input_tensor, *boxes_tensor, size, *output_tensor, *argmax_tensor)
    return arrays.from_nhwc(output, input), arrays.from_nhwc(argmax, input)


@operator(
    definitions,
    derivative=Linear(grad_output=_sample_as),
    precision=Precision.WIDEST,
    channels_last=True,
)
def border_align_backward(
    arrays: Arrays,
    grad_output: Array,
    boxes: Array,
    argmax_idx: Array,
    image_size: Pair,
    pool_size: int = 10,
) -> Array:
    """Returns the gradient of `border_align` for input.

    Args:
        grad_output: float16, bfloat16, float32 or float64 [B, C, K, 4].
        boxes: [B, K, 4], of the dtype of grad_output.
        argmax_idx: int32 [B, C, K, 4], of `border_align`. Numbers outside of [0, pool_size] add
            nothing.
        image_size: H, W of input.
        pool_size: as in `border_align`.

    Returns:
        [B, 4 C, H, W], of the dtype of grad_output. Sums are fp32 (fp64 for float64), in the order
            of boxes: bit-identical across runs and thread counts.

    Raises:
        MluOpError: pool_size is not positive.

    Source: mluOpBorderAlignBackward; mmcv border_align.
    """
    held, *grad_tensor = arrays.to_nhwc("grad_output", grad_output)
    boxes_tensor = arrays.tensor("boxes", boxes, "B K 4")
    argmax_held, *argmax_tensor = arrays.to_nhwc("argmax_idx", argmax_idx)
    H, W = map(extent, arrays.int32s("image_size", image_size, 2))
    B, _, _, C = grad_tensor[0].shape
    output, *output_tensor = arrays.output("grad_input", (B, H, W, 4 * C), held, layout=NHWC)
    size = int32("pool_size", pool_size)
    with arrays.handle() as own:
        own.call(
            *(_border_backward, *grad_tensor, *boxes_tensor, *argmax_tensor),
            *(size, *output_tensor),
        )
    return arrays.from_nhwc(output, grad_output)
