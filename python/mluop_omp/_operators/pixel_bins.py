"""Pools over the bins of RoIs: maxima and means of whole pixels, and integrals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mluop_omp._arrays import NHWC, Arrays, extent, int32
from mluop_omp._definitions import pixel_bins as definitions
from mluop_omp._library import function
from mluop_omp._operators._declaration import Array, Pair, Precision, Triple, operator
from mluop_omp._operators._derivative import (
    Derivative,
    Kept,
    Linear,
    NoDerivative,
    differentiable,
    in_float32,
    linear_terms,
    total,
)
from mluop_omp._operators._torch import Tensor, ops, torch
from mluop_omp._operators.rois import _Pixels

__all__ = [
    "prroi_pool",
    "prroi_pool_backward",
    "prroi_pool_coor_backward",
    "psroi_pool",
    "psroi_pool_backward",
    "roi_pool",
    "roi_pool_backward",
]

_maxima = function("mluOpOmpRoiPoolForward", "pbfpppppppp")
_maxima_backward = function("mluOpRoiPoolingBackward", "pippppppfpp")
_position_sensitive = function("mluOpPsRoiPoolForward", "piifiipppppppp")
_position_sensitive_backward = function("mluOpPsRoiPoolBackward", "piifipppppppp")
_precise = function("mluOpOmpPrroiPoolForward", "pfpppppp")
_precise_backward = function("mluOpOmpPrroiPoolBackward", "pfpppppp")
_precise_coor_backward = function("mluOpOmpPrroiPoolCoorBackward", "pfpppppppppp")
_MAX = 0  # MLUOP_POOLING_MAX


def _keep_maxima(inputs: tuple, outputs: tuple) -> Kept:
    input, rois, *_ = inputs
    (B, _, *size), (output, argmax) = input.shape, outputs
    return (output.shape,), (rois, argmax), ((B, *size),)


def _pool_maxima_as(
    values: Tensor, shape: Sequence[int], rois: Tensor, argmax: Tensor, image_size: Triple
) -> Tensor:
    """Pools values [B, C, H, W] as roi_pool pooled its input; the transpose of its backward
    operator.
    """
    if values.numel() == 0 or 0 in shape:
        return values.new_zeros(shape)
    pixels = values.reshape(*values.shape[:2], -1)
    image = rois[:, 0].long().view(-1, 1, 1, 1)
    channel = torch.arange(values.shape[1], device=values.device).view(1, -1, 1, 1)
    used = (argmax >= 0) & (argmax < pixels.shape[2])
    return torch.where(used, pixels[image, channel, torch.where(used, argmax, 0).long()], 0)


@operator(
    definitions,
    derivative=Linear(
        input=lambda grad, _, *kept: ops.roi_pool_backward(grad, *kept),
        keep=_keep_maxima,
        tangent=_pool_maxima_as,
    ),
    precision=Precision.WIDEST,
    channels_last=True,
)
def roi_pool(
    arrays: Arrays,
    input: Array,
    rois: Array,
    output_size: Pair,
    spatial_scale: float = 1.0,
    rounded: bool = False,
) -> tuple[Array, Array]:
    """Returns the maximum of the pixels in each bin of each RoI (Fast R-CNN).

    Along each axis, a RoI starts at ``low * spatial_scale`` and ends at ``(high + 1) *
    spatial_scale``; bin i has the pixels from ``floor(i * bin + start)`` to ``ceil((i + 1) * bin +
    start) - 1``. If rounded, as in torchvision and MLU-OPS, ``low * spatial_scale`` and ``high *
    spatial_scale`` are rounded to the first and the last pixel, halves away from 0, and a RoI has
    at least one pixel. The first output has a derivative with respect to input.

    Args:
        input: float16, bfloat16, float32 or float64 [B, C, H, W]. Images in the memory format
            channels_last are taken as they are.
        rois: [R, 5], of the dtype of input: image, x1, y1, x2, y2. The geometry of float16 and
            bfloat16 is computed in float32.
        output_size: PH, PW, the bins of a RoI.
        spatial_scale: pixels of input for each unit of rois.
        rounded: whether corners are rounded to pixels. mmcv does not round them.

    Returns:
        output: [R, C, PH, PW], of the dtype of input; 0 for a bin without pixels. NaN is never
            selected.
        argmax: int32 [R, C, PH, PW]: the first maximum, as y * W + x; -1 if there is none.

    Raises:
        MluOpError: the image of a RoI does not exist.

    Source: mluOpOmpRoiPoolForward; Fast R-CNN, arXiv:1504.08083; mmcv roi_pool.
    """
    pixels = _Pixels(arrays, input)
    held, *input_tensor = pixels.tensor("input", input, "B C H W")
    rois_tensor = arrays.tensor("rois", rois, "R 5")
    size = arrays.int32s("output_size", output_size, 2)
    shape = (rois_tensor[0].shape[0], input.shape[1], *map(extent, size))
    output, *output_tensor = pixels.output("output", shape)
    argmax, *argmax_tensor = pixels.output("argmax", shape, integers=True)
    with arrays.handle() as own:
        own.call(
            *(_maxima, bool(rounded), float(spatial_scale), *input_tensor, *rois_tensor),
            *(*output_tensor, *argmax_tensor),
        )
    return pixels.nchw(output), pixels.nchw(argmax)


@operator(
    definitions,
    derivative=Linear(grad_output=_pool_maxima_as),
    precision=Precision.WIDEST,
    channels_last=True,
)
def roi_pool_backward(
    arrays: Arrays, grad_output: Array, rois: Array, argmax: Array, image_size: Triple
) -> Array:
    """Returns the gradient of `roi_pool` for input.

    Args:
        grad_output: float16, bfloat16, float32 or float64 [R, C, PH, PW].
        rois: [R, 5], of the dtype of grad_output; only the image is read.
        argmax: int32 [R, C, PH, PW], of `roi_pool`.
        image_size: B, H, W of input.

    Returns:
        [B, C, H, W], of the dtype of grad_output. Sums are fp32 (fp64 for float64), in the order of
            RoIs and bins: bit-identical across runs and thread counts.

    Raises:
        MluOpError: the image of a RoI does not exist.

    Source: mluOpRoiPoolingBackward; mmcv roi_pool.
    """
    pixels = _Pixels(arrays, grad_output)
    grad_held, *grad_tensor = pixels.tensor("grad_output", grad_output, "R C PH PW")
    argmax_held, *argmax_tensor = pixels.tensor("argmax", argmax, "R C PH PW")
    rois_tensor = arrays.tensor("rois", rois, "R 5")
    B, H, W = map(extent, arrays.int32s("image_size", image_size, 3))
    grad_input, *input_tensor = pixels.output("grad_input", (B, grad_output.shape[1], H, W))
    with arrays.handle() as own:
        own.call(
            *(_maxima_backward, _MAX, *grad_tensor, *rois_tensor, *argmax_tensor, 1.0),
            *input_tensor,
        )
    return pixels.nchw(grad_input)


@operator(
    definitions,
    derivative=Linear(
        input=lambda grad, shape, rois, output_dim, pooled_size, scale: ops.psroi_pool_backward(
            grad, rois, (shape[0], *shape[2:]), scale
        )
    ),
    precision=Precision.WIDEST,
    channels_last=True,
)
def psroi_pool(
    arrays: Arrays,
    input: Array,
    rois: Array,
    output_dim: int,
    pooled_size: int,
    spatial_scale: float = 1.0,
) -> tuple[Array, Array]:
    """Returns the mean of the pixels in each bin of each RoI, of channels of its own (R-FCN).

    With P = pooled_size, bin (i, j) of channel k of the output pools channel ``k * P**2 + i * P +
    j`` of the input. Along each axis, a RoI starts at ``round(low) * spatial_scale`` and ends at
    ``(round(high) + 1) * spatial_scale``, halves rounded away from 0; its size is at least 0.1. Bin
    i has the pixels from ``floor(i * bin + start)`` to ``ceil((i + 1) * bin + start) - 1``.

    Args:
        input: float16, bfloat16, float32 or float64 [B, output_dim * P**2, H, W].
        rois: [R, 5], of the dtype of input: image, x1, y1, x2, y2. The geometry of float16 and
            bfloat16 is computed in float32.
        output_dim: channels of the output.
        pooled_size: P, the bins of a RoI along each axis.
        spatial_scale: pixels of input for each unit of rois.

    Returns:
        output: [R, output_dim, P, P], of the dtype of input; 0 for a bin without pixels. Sums are
            fp32 (fp64 for float64).
        mapping_channel: int32 [R, output_dim, P, P]: the channel of input of each element.

    Raises:
        MluOpError: the image of a RoI does not exist; a size is not positive.

    Source: mluOpPsRoiPoolForward; R-FCN, arXiv:1605.06409.
    """
    K, P = int32("output_dim", output_dim), int32("pooled_size", pooled_size)
    held, *input_tensor = arrays.to_nhwc("input", input)
    rois_tensor = arrays.tensor("rois", rois, "R 5")
    shape = (rois_tensor[0].shape[0], extent(P), extent(P), extent(K))
    output, *output_tensor = arrays.output("output", shape, held, layout=NHWC)
    mapping, *mapping_tensor = arrays.output("mapping_channel", shape, layout=NHWC)
    with arrays.handle() as own:
        own.call(
            *(_position_sensitive, P, P, float(spatial_scale), P, K, *input_tensor),
            *(*rois_tensor, *output_tensor, *mapping_tensor),
        )
    return arrays.from_nhwc(output, input), arrays.from_nhwc(mapping, input)


def _pool_means(values: Tensor, shape: Any, rois: Tensor, _: Triple, scale: float) -> Tensor:
    if values.numel() == 0:
        return values.new_zeros(shape)
    return ops.psroi_pool(values, rois, *shape[1:3], scale)[0]


@operator(
    definitions,
    derivative=Linear(grad_output=_pool_means),
    precision=Precision.WIDEST,
    channels_last=True,
)
def psroi_pool_backward(
    arrays: Arrays,
    grad_output: Array,
    rois: Array,
    image_size: Triple,
    spatial_scale: float = 1.0,
) -> Array:
    """Returns the gradient of `psroi_pool` for input.

    Args:
        grad_output: float16, bfloat16, float32 or float64 [R, output_dim, P, P].
        rois: [R, 5], of the dtype of grad_output.
        image_size: B, H, W of input.
        spatial_scale: as in `psroi_pool`.

    Returns:
        [B, output_dim * P**2, H, W], of the dtype of grad_output. Sums are fp32 (fp64 for float64),
            in the order of RoIs and bins: bit-identical across runs and thread counts.

    Raises:
        MluOpError: the image of a RoI does not exist; a size is not positive.

    Source: mluOpPsRoiPoolBackward; R-FCN, arXiv:1605.06409.
    """
    held, *grad_tensor = arrays.to_nhwc("grad_output", grad_output)
    _, PH, PW, K = grad_tensor[0].shape
    rois_tensor = arrays.tensor("rois", rois, "R 5")
    B, H, W = map(extent, arrays.int32s("image_size", image_size, 3))
    shape = (B, H, W, K * PH * PW)
    grad_input, *input_tensor = arrays.output("grad_input", shape, held, layout=NHWC)
    with arrays.handle() as own:
        own.call(
            *(_position_sensitive_backward, PH, PW, float(spatial_scale), K, *grad_tensor),
            *(*rois_tensor, None, None, *input_tensor),
        )
    return arrays.from_nhwc(grad_input, grad_output)


def _bin_edges(
    low: Tensor, high: Tensor, count: Any, scale: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the edges [R, count] of the bins along an axis, and the sizes of a bin [R, 1]."""
    start = (low * scale).unsqueeze(1)
    size = (high.unsqueeze(1) * scale - start) / count
    begin = start + size * torch.arange(count, device=low.device, dtype=low.dtype)
    return begin, begin + size, size


def _hats(positions: Tensor, pixels: Any) -> Tensor:
    """Returns the weights [..., pixels] from which positions are interpolated."""
    at = torch.arange(pixels, device=positions.device, dtype=positions.dtype)
    return (1 - (positions.unsqueeze(-1) - at).abs()).clamp(min=0)


def _hat_integrals(begin: Tensor, end: Tensor, pixels: Any) -> Tensor:
    """Returns the integrals [R, bins, pixels] of the weights of the pixels over the bins."""
    at = torch.arange(pixels, device=begin.device, dtype=begin.dtype)
    begin, end = begin.unsqueeze(-1), end.unsqueeze(-1)
    parts = []
    for low, high, sign in ((at - 1, at, 1), (at, at + 1, -1)):
        first, last = torch.maximum(begin, low), torch.minimum(end, high)
        height = 1 + sign * ((first - at) + (last - at)) / 2
        parts.append(torch.where(last > first, (last - first) * height, 0))
    return parts[0] + parts[1]


class _Precise:
    """The weights of the bins of RoIs; RoIs without area have the area infinity."""

    def __init__(self, rois: Tensor, sizes: Sequence[Any], image_size: Any, scale: float) -> None:
        self.image, self.rois, self.sizes, self.scale = rois[:, 0].long(), rois, sizes, scale
        (PH, PW), (self.H, self.W) = sizes, image_size
        self.y = _bin_edges(rois[:, 2], rois[:, 4], PH, scale)
        self.x = _bin_edges(rois[:, 1], rois[:, 3], PW, scale)
        self.of_y = _hat_integrals(*self.y[:2], self.H)
        self.of_x = _hat_integrals(*self.x[:2], self.W)
        has_area = (self.y[2] > 0) & (self.x[2] > 0)
        area = torch.where(has_area, self.y[2] * self.x[2], torch.inf)
        self.area = area.view(-1, 1, 1, 1)

    def pool(self, input: Tensor, of_y: Tensor, of_x: Tensor) -> Tensor:
        return torch.einsum("rcyx,rpy,rqx->rcpq", input[self.image], of_y, of_x) / self.area

    def spread(self, grad: Tensor, of_y: Tensor, of_x: Tensor, images: int) -> Tensor:
        share = torch.einsum("rcpq,rpy,rqx->rcyx", grad / self.area, of_y, of_x)
        return share.new_zeros(images, *share.shape[1:]).index_add(0, self.image, share)

    def tangents(self, rois: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Returns the tangents of of_y and of_x, and of the area, divided by it."""
        y = _bin_edges(rois[:, 2], rois[:, 4], self.sizes[0], self.scale)
        x = _bin_edges(rois[:, 1], rois[:, 3], self.sizes[1], self.scale)

        def weights(edges: Any, tangents: Any, pixels: Any) -> Tensor:
            begin, end = (
                _hats(edge, pixels) * tangent.unsqueeze(-1)
                for edge, tangent in zip(edges[:2], tangents)
            )
            return end - begin

        relative = (y[2] * self.x[2] + x[2] * self.y[2]).view(-1, 1, 1, 1) / self.area
        return weights(self.y, y, self.H), weights(self.x, x, self.W), relative


@in_float32
def _coor_formula(
    output: Tensor, grad: Tensor, input: Tensor, rois: Tensor, scale: float
) -> Tensor:
    """Returns the result of prroi_pool_coor_backward, by operators of PyTorch."""
    if grad.numel() == 0 or input.numel() == 0:
        return torch.zeros_like(rois)
    PH, PW = grad.shape[2:]
    bins = _Precise(rois, (PH, PW), input.shape[2:], scale)
    mean = bins.pool(input, bins.of_y, bins.of_x)
    height, width = bins.y[2].view(-1, 1, 1, 1), bins.x[2].view(-1, 1, 1, 1)
    whole_x, whole_y = height * mean / bins.area, width * mean / bins.area
    at_x = [bins.pool(input, bins.of_y, _hats(edge, bins.W)) for edge in bins.x[:2]]
    at_y = [bins.pool(input, _hats(edge, bins.H), bins.of_x) for edge in bins.y[:2]]
    factor = scale * grad
    column = torch.arange(PW, device=grad.device, dtype=grad.dtype)
    row = torch.arange(PH, device=grad.device, dtype=grad.dtype).view(-1, 1)
    gradients = [torch.zeros_like(rois[:, 0])]
    sides = []
    for at, whole, place, count in ((at_x, whole_x, column, PW), (at_y, whole_y, row, PH)):
        first, second = factor * (whole - at[0]), factor * (at[1] - whole)
        low = first * (1 - place / count) + second * (1 - (place + 1) / count)
        high = first * (place / count) + second * ((place + 1) / count)
        sides.append([each.sum((1, 2, 3)) for each in (low, high)])
    gradients += [side[end] for end in (0, 1) for side in sides]
    return torch.stack(gradients, 1)


def _keep_precise(inputs: tuple, output: Tensor) -> Kept:
    return (), (*inputs[:2], output), inputs[3:]


def _precise_gradients(
    needs: Any, grad: Tensor, input: Tensor, rois: Tensor, output: Tensor, scale: float
) -> tuple[Tensor | None, ...]:
    (B, _, *size), name = input.shape, "prroi_pool_coor_backward"
    of_input = ops.prroi_pool_backward(grad, rois, (B, *size), scale) if needs[0] else None
    arguments = output, grad, input, rois, scale
    return of_input, differentiable(name, _coor_formula, *arguments) if needs[1] else None


@in_float32
def _precise_tangent(input: Tensor, rois: Tensor, tangent: Tensor, size: Any, scale: Any) -> Tensor:
    bins = _Precise(rois, size, input.shape[2:], scale)
    of_y, of_x, of_area = bins.tangents(tangent)
    moved = bins.pool(input, of_y, bins.of_x) + bins.pool(input, bins.of_y, of_x)
    return moved - bins.pool(input, bins.of_y, bins.of_x) * of_area


def _precise_jvp(inputs: tuple, tangents: tuple, output: Tensor) -> Tensor:
    terms = linear_terms("prroi_pool", inputs, tangents, (0,))
    if tangents[1] is not None and output.numel() and inputs[0].numel():
        terms.append(_precise_tangent(*inputs[:2], tangents[1], *inputs[2:]))
    return total(terms, output)


@operator(
    definitions,
    derivative=Derivative(_precise_gradients, _precise_jvp, _keep_precise),
    precision=Precision.WIDEST,
    channels_last=True,
)
def prroi_pool(
    arrays: Arrays, input: Array, rois: Array, output_size: Pair, spatial_scale: float = 1.0
) -> Array:
    """Returns the mean of the interpolated image over each bin of each RoI (IoU-Net).

    The mean is the exact integral of the bilinearly interpolated image, whose pixels are at
    integers; outside of the image it falls to 0 within a pixel. Along each axis, a RoI extends from
    ``low * spatial_scale`` to ``high * spatial_scale``. The output has derivatives with respect to
    input and rois.

    Args:
        input: float16, bfloat16, float32 or float64 [B, C, H, W].
        rois: [R, 5], of the dtype of input: image, x1, y1, x2, y2. The geometry of float16 and
            bfloat16 is computed in float32.
        output_size: PH, PW, the bins of a RoI.
        spatial_scale: pixels of input for each unit of rois.

    Returns:
        [R, C, PH, PW], of the dtype of input; 0 for a RoI without area. Sums are fp32 (fp64 for
        float64).

    Raises:
        MluOpError: the image of a RoI does not exist.

    Source: mluOpOmpPrroiPoolForward; IoU-Net, arXiv:1807.11590; mmcv prroi_pool.
    """
    held, *input_tensor = arrays.to_nhwc("input", input)
    rois_tensor = arrays.tensor("rois", rois, "R 5")
    size = map(extent, arrays.int32s("output_size", output_size, 2))
    shape = (rois_tensor[0].shape[0], *size, input.shape[1])
    output, *output_tensor = arrays.output("output", shape, held, layout=NHWC)
    with arrays.handle() as own:
        own.call(_precise, float(spatial_scale), *input_tensor, *rois_tensor, *output_tensor)
    return arrays.from_nhwc(output, input)


def _backward_gradients(
    needs: Any, grad: Tensor, grad_output: Tensor, rois: Tensor, _: Triple, scale: float
) -> tuple[Tensor | None, ...]:
    if grad.numel() == 0:
        return torch.zeros_like(grad_output), torch.zeros_like(rois) if needs[1] else None
    pooled = ops.prroi_pool(grad, rois, grad_output.shape[2:], scale)
    arguments = pooled, grad_output, grad, rois, scale
    name = "prroi_pool_coor_backward"
    return pooled, differentiable(name, _coor_formula, *arguments) if needs[1] else None


@in_float32
def _backward_tangent(
    grad: Tensor, rois: Tensor, tangent: Tensor, image_size: Triple, scale: float
) -> Tensor:
    B, *size = image_size
    bins = _Precise(rois, grad.shape[2:], size, scale)
    of_y, of_x, of_area = bins.tangents(tangent)
    moved = bins.spread(grad, of_y, bins.of_x, B) + bins.spread(grad, bins.of_y, of_x, B)
    return moved - bins.spread(grad * of_area, bins.of_y, bins.of_x, B)


def _backward_jvp(inputs: tuple, tangents: tuple, output: Tensor) -> Tensor:
    terms = linear_terms("prroi_pool_backward", inputs, tangents, (0,))
    if tangents[1] is not None and output.numel() and inputs[0].numel():
        terms.append(_backward_tangent(*inputs[:2], tangents[1], *inputs[2:]))
    return total(terms, output)


@operator(
    definitions,
    derivative=Derivative(_backward_gradients, _backward_jvp),
    precision=Precision.WIDEST,
    channels_last=True,
)
def prroi_pool_backward(
    arrays: Arrays,
    grad_output: Array,
    rois: Array,
    image_size: Triple,
    spatial_scale: float = 1.0,
) -> Array:
    """Returns the gradient of `prroi_pool` for input.

    Args:
        grad_output: float16, bfloat16, float32 or float64 [R, C, PH, PW].
        rois: [R, 5], of the dtype of grad_output.
        image_size: B, H, W of input.
        spatial_scale: as in `prroi_pool`.

    Returns:
        [B, C, H, W], of the dtype of grad_output. Sums are fp32 (fp64 for float64), in the order of
            RoIs: bit-identical across runs and thread counts.

    Raises:
        MluOpError: the image of a RoI does not exist.

    Source: mluOpOmpPrroiPoolBackward; mmcv prroi_pool.
    """
    held, *grad_tensor = arrays.to_nhwc("grad_output", grad_output)
    rois_tensor = arrays.tensor("rois", rois, "R 5")
    B, H, W = map(extent, arrays.int32s("image_size", image_size, 3))
    shape = (B, H, W, grad_output.shape[1])
    grad_input, *input_tensor = arrays.output("grad_input", shape, held, layout=NHWC)
    with arrays.handle() as own:
        own.call(_precise_backward, float(spatial_scale), *grad_tensor, *rois_tensor, *input_tensor)
    return arrays.from_nhwc(grad_input, grad_output)


@operator(definitions, derivative=NoDerivative(), precision=Precision.WIDEST, channels_last=True)
def prroi_pool_coor_backward(
    arrays: Arrays,
    output: Array,
    grad_output: Array,
    input: Array,
    rois: Array,
    spatial_scale: float = 1.0,
) -> Array:
    """Returns the gradient of `prroi_pool` for rois.

    Args:
        output: float16, bfloat16, float32 or float64 [R, C, PH, PW], of `prroi_pool`.
        grad_output: [R, C, PH, PW], of the dtype of output. Elements that are 0 add nothing.
        input: [B, C, H, W], of the dtype of output.
        rois: [R, 5], of the dtype of output.
        spatial_scale: as in `prroi_pool`.

    Returns:
        [R, 5], of the dtype of output: 0, and the gradients of x1, y1, x2 and y2. Sums are fp64.

    Raises:
        MluOpError: the image of a RoI does not exist.

    Source: mluOpOmpPrroiPoolCoorBackward; mmcv prroi_pool.
    """
    output_held, *output_tensor = arrays.to_nhwc("output", output)
    grad_held, *grad_tensor = arrays.to_nhwc("grad_output", grad_output)
    held, *input_tensor = arrays.to_nhwc("input", input)
    rois_tensor = arrays.tensor("rois", rois, "R 5")
    grad_rois, *grad_rois_tensor = arrays.output("grad_rois", rois_tensor[0].shape, output)
    with arrays.handle() as own:
        own.call(
            *(_precise_coor_backward, float(spatial_scale), *output_tensor, *grad_tensor),
            *(*input_tensor, *rois_tensor, *grad_rois_tensor),
        )
    return grad_rois
