"""RoI align: pools samples of an image in the bins of each RoI."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from mluop_omp._arrays import NCHW, NHWC, Arrays, Descriptor, enumerator, extent, int32
from mluop_omp._definitions import rois as definitions
from mluop_omp._library import function
from mluop_omp._operators._bilinear import corners
from mluop_omp._operators._declaration import Array, Pair, Precision, Triple, operator
from mluop_omp._operators._derivative import Kept, Linear, in_float32
from mluop_omp._operators._descriptors import descriptors
from mluop_omp._operators._tensors import require_sizes
from mluop_omp._operators._torch import Tensor, ops, torch

__all__ = ["roi_align", "roi_align_backward"]

_METHODS = {"max": 0, "mean": 1}
_pooling = functools.lru_cache(maxsize=256)(
    descriptors("RoiAlignForward", "mluOpSetRoiAlignForwardDescriptor_v2", "piiifib")
)
_align = function("mluOpRoiAlignForward_v2", "pppppppppppp")
_align_backward = function("mluOpRoiAlignBackward_v2", "pppppppppfibipp")


class _Pixels:
    """The arrays [N, C, H, W] of a call: in NHWC, if the first one is in the memory format
    channels_last or the operator prefers NHWC, else in NCHW.
    """

    def __init__(self, arrays: Arrays, first: Any, prefers_last: bool = False) -> None:
        self._arrays, self._first = arrays, first
        self._is_last = prefers_last or arrays.is_channels_last(first)

    def sizes(self, images: str, height: Any = "H", width: Any = "W") -> str:
        """Returns the dimensions of an array in the layout."""
        pixels = f"{height} {width}"
        return f"{images} {pixels} C" if self._is_last else f"{images} C {pixels}"

    def tensor(
        self, name: str, array: Any, dimensions: str = "", has_pixels: bool = True
    ) -> tuple[Any, Descriptor, int]:
        """Returns the array in the layout, which is held until the call returns, its descriptor and
        its address. Without `has_pixels`, the call does not need the array.
        """
        if not has_pixels:
            return array, *self._arrays.tensor(name, array)
        if self._is_last:
            return self._arrays.to_nhwc(name, array)
        array = self._arrays.to_nchw(array)
        return array, *self._arrays.tensor(name, array, dimensions, NCHW)

    def output(
        self, name: str, shape: tuple[int, ...], integers: bool = False
    ) -> tuple[Any, Descriptor, int]:
        like = None if integers else self._first
        if not self._is_last:
            return self._arrays.output(name, shape, like, layout=NCHW)
        N, C, H, W = shape
        return self._arrays.output(name, (N, H, W, C), like, layout=NHWC)

    def nchw(self, output: Any) -> Any:
        """Returns an output as [N, C, H, W]."""
        if self._is_last and len(output.shape) == 4:
            return self._arrays.from_nhwc(output, self._first)
        return output


def _keep(inputs: tuple, outputs: tuple) -> Kept:
    input, rois, _, *numbers = inputs
    (B, _, *size), (output, *argmax) = input.shape, outputs
    return (output.shape,), (rois, *argmax), ((B, *size), *numbers)


@in_float32
def _pool_as(
    values: Tensor,
    shape: Sequence[int],
    rois: Tensor,
    argmax_y: Tensor,
    argmax_x: Tensor,
    image_size: Triple,
    *numbers: Any,
) -> Tensor:
    """Pools values [B, C, H, W] as roi_align pooled its input; the transpose of its backward
    operator.
    """
    if values.numel() == 0 or 0 in shape:
        return values.new_zeros(shape)
    if numbers[2] == "mean":
        return ops.roi_align(values, rois, shape[2:], *numbers)[0]
    H, W = values.shape[2:]
    inside = (argmax_y >= -1) & (argmax_y <= H) & (argmax_x >= -1) & (argmax_x <= W)
    inside = inside & (argmax_y != -1)
    image = rois[:, 0].long().view(-1, 1, 1, 1)
    channel = torch.arange(values.shape[1], device=values.device).view(1, -1, 1, 1)
    pixels, pooled = values.reshape(*values.shape[:2], H * W), torch.zeros_like(argmax_y)
    for corner in corners(argmax_y.clamp(0, H - 1), argmax_x.clamp(0, W - 1), H, W):
        read = pixels[image, channel, corner.pixel]
        pooled = pooled + torch.where(corner.exists, corner.weight * read, 0)
    return torch.where(inside, pooled, 0)


@operator(
    definitions,
    derivative=Linear(
        input=lambda grad, _, *kept: ops.roi_align_backward(grad, *kept),
        keep=_keep,
        tangent=_pool_as,
    ),
    precision=Precision.WIDEST,
    channels_last=True,
)
def roi_align(
    arrays: Arrays,
    input: Array,
    rois: Array,
    output_size: Pair,
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    method: str = "mean",
    aligned: bool = True,
) -> tuple[Array, Array, Array]:
    """Pools interpolated samples of an image in each bin of each RoI (Mask R-CNN).

    Along each axis, a RoI starts at ``low * spatial_scale - offset``, where offset is 0.5 if
    aligned, else 0. Each bin has n samples, in the middle of n equal parts. A sample is
    interpolated from the four pixels around it; a sample more than a pixel outside of the image is
    0. The first output has a derivative with respect to input; the derivative for rois is 0.

    Args:
        input: float16, bfloat16, float32 or float64 [B, C, H, W]. float16 and bfloat16 are computed
            in float32. Images in the memory format channels_last are taken as they are.
        rois: [R, 5], of the dtype of input: image, x1, y1, x2, y2.
        output_size: PH, PW, the bins of a RoI.
        spatial_scale: pixels of input for each unit of rois.
        sampling_ratio: n; 0 for the number of pixels of the bin, rounded up.
        method: "mean", which mmcv calls 'avg', or "max".
        aligned: whether pixels are at the middle of their cells. If not, sizes are at least 1.

    Returns:
        output: [R, C, PH, PW], of the dtype of input; 0 for a RoI of a negative size.
        argmax_y, argmax_x: of "max", [R, C, PH, PW], of the dtype of input: the first sample that
            is the maximum, -1 without samples. Of "mean", without elements.

    Raises:
        MluOpError: the image of a RoI does not exist; method is another word.

    Source: mluOpRoiAlignForward_v2; Mask R-CNN, arXiv:1703.06870; mmcv roi_align.
    """
    pixels = _Pixels(arrays, input)
    held, *input_tensor = pixels.tensor("input", input, "B C H W")
    rois_tensor = arrays.tensor("rois", rois, "R 5")
    size = arrays.int32s("output_size", output_size, 2)
    ratio = int32("sampling_ratio", sampling_ratio)
    code = enumerator("method", method, _METHODS)
    shape = (rois_tensor[0].shape[0], input.shape[1], *map(extent, size))
    output, *output_tensor = pixels.output("output", shape)
    argmax = pixels.output if method == "max" else functools.partial(arrays.output, like=input)
    shape_of_argmax = shape if method == "max" else (0,)
    argmax_y, *y_tensor = argmax("argmax_y", shape_of_argmax)
    argmax_x, *x_tensor = argmax("argmax_x", shape_of_argmax)
    if output_tensor[0].is_empty and min(size) >= 0:  # The images of RoIs need not exist.
        declaration = f"input {pixels.sizes('B')}, rois R 5, output {pixels.sizes('R', *size)}"
        require_sizes(declaration, input_tensor, rois_tensor, output_tensor)
        return pixels.nchw(output), pixels.nchw(argmax_y), pixels.nchw(argmax_x)
    pooling = arrays.made(_pooling, *size, ratio, float(spatial_scale), code, bool(aligned))
    with arrays.handle() as own:
        own.call(
            *(_align, pooling, *input_tensor, *rois_tensor),
            *(*output_tensor, *x_tensor, *y_tensor),
        )
    return pixels.nchw(output), pixels.nchw(argmax_y), pixels.nchw(argmax_x)


@operator(
    definitions,
    derivative=Linear(grad_output=_pool_as),
    precision=Precision.WIDEST,
    channels_last=True,
)
def roi_align_backward(
    arrays: Arrays,
    grad_output: Array,
    rois: Array,
    argmax_y: Array,
    argmax_x: Array,
    image_size: Triple,
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    method: str = "mean",
    aligned: bool = True,
) -> Array:
    """Returns the gradient of `roi_align` for input.

    Args:
        grad_output: float16, bfloat16, float32 or float64 [R, C, PH, PW].
        rois: [R, 5], of the dtype of grad_output.
        argmax_y, argmax_x: of `roi_align`, of the dtype of grad_output.
        image_size: B, H, W of input.
        spatial_scale, sampling_ratio, method, aligned: as in `roi_align`.

    Returns:
        [B, C, H, W], of the dtype of grad_output. Sums are fp32 (fp64 for float64), in the order of
            RoIs: bit-identical across runs and thread counts.

    Raises:
        MluOpError: the image of a RoI does not exist; method is another word.

    Source: mluOpRoiAlignBackward_v2; mmcv roi_align.
    """
    # The library computes gradients of means in NHWC in a half to a fifth of the time.
    pixels = _Pixels(arrays, grad_output, prefers_last=method == "mean")
    grad_held, *grad_tensor = pixels.tensor("grad_output", grad_output, "R C PH PW")
    code, ratio = enumerator("method", method, _METHODS), int32("sampling_ratio", sampling_ratio)
    x_held, *x_tensor = pixels.tensor("argmax_x", argmax_x, has_pixels=method == "max")
    y_held, *y_tensor = pixels.tensor("argmax_y", argmax_y, has_pixels=method == "max")
    rois_tensor = arrays.tensor("rois", rois, "R 5")
    sizes = arrays.int32s("image_size", image_size, 3)
    B, H, W = map(extent, sizes)
    grad_input, *input_tensor = pixels.output("grad_input", (B, grad_output.shape[1], H, W))
    if grad_tensor[0].is_empty and min(sizes) >= 0:
        outputs = pixels.sizes(str(B), H, W)
        declaration = f"grad_output {pixels.sizes('R')}, rois R 5, grad_input {outputs}"
        require_sizes(declaration, grad_tensor, rois_tensor, input_tensor)
        arrays.fill(grad_input, 0)
        return pixels.nchw(grad_input)
    with arrays.handle() as own:
        own.call(
            *(_align_backward, *grad_tensor, *rois_tensor, *x_tensor, *y_tensor),
            *(float(spatial_scale), ratio, bool(aligned), code, *input_tensor),
        )
    return pixels.nchw(grad_input)
