"""RoIs whose bins move by offsets: Deformable ConvNets."""

from __future__ import annotations

from typing import Any

from mluop_omp._arrays import NHWC, Arrays, extent, int32
from mluop_omp._definitions import deformable_rois as definitions
from mluop_omp._library import function
from mluop_omp._operators._declaration import Array, Pair, Precision, operator
from mluop_omp._operators._derivative import (
    Derivative,
    NoDerivative,
    differentiable,
    in_float32,
    linear_terms,
    total,
)
from mluop_omp._operators._torch import Tensor, torch

__all__ = ["deform_roi_pool", "deform_roi_pool_backward"]

_pool = function("mluOpDeformRoiPoolForward", "pppppppiififpp")
_pool_backward = function("mluOpDeformRoiPoolBackward", "pppppppppiififpppp")


def _offset(arrays: Arrays, offset: Any) -> tuple[Any, Any, Any]:
    """Returns the array, which is held until the call returns, its descriptor and its address."""
    if offset is None:
        return None, None, None
    offset = arrays.to_nchw(offset)
    return offset, *arrays.tensor("offset", offset, "R 2 PH PW")


class _Axis:
    """The samples of the bins along an axis, by operators of PyTorch: sums over the samples.

    weights [R, PH, PW, pixels]: from which the samples are interpolated.
    lengths: the same with distances that are not clamped to the image.
    slopes: the derivatives of the lengths along the position.
    """

    def __init__(
        self,
        low: Tensor,
        high: Tensor,
        number: Tensor,
        offset: Tensor | None,
        ratio: Any,
        gamma: float,
        pixels: Any,
    ) -> None:
        size = high - low
        bin = size / number.numel()
        wanted = torch.where(bin.isfinite(), bin.ceil().clamp(0, 2**24), 0)
        self.count = torch.full_like(wanted, ratio) if ratio > 0 else wanted
        samples = ratio if ratio > 0 else int(wanted.max())
        i = torch.arange(samples, device=low.device, dtype=low.dtype)
        self.per_offset = gamma * size
        start = low if offset is None else low + self.per_offset * offset
        within = (i + 0.5) * bin.unsqueeze(3) / self.count.clamp(min=1).unsqueeze(3)
        position = (start + number * bin).unsqueeze(3) + within
        inside = (position >= -1) & (position <= pixels) & (i < self.count.unsqueeze(3))
        position = torch.where(inside, position, 0).unsqueeze(4)
        clamped = position.clamp(0, pixels - 1)
        first = clamped.detach().floor()
        last = (first + 1).clamp(max=pixels - 1)
        at = torch.arange(pixels, device=low.device, dtype=low.dtype)
        at_first, at_last = ((each == at) & inside.unsqueeze(4) for each in (first, last))
        share = clamped - first
        self.weights = (at_first * (1 - share) + at_last * share).sum(3)
        self.lengths = (at_first * (last - position) + at_last * (position - first)).sum(3)
        self.slopes = (at_last.to(low.dtype) - at_first.to(low.dtype)).sum(3)


class _Samples:
    """The samples of the bins of RoIs, along both axes."""

    def __init__(
        self,
        rois: Tensor,
        offset: Tensor | None,
        size: Any,
        image_size: Any,
        scale: float,
        *numbers: Any,
    ) -> None:
        self.image = rois[:, 0].long()
        axes = []
        for axis, (bins, pixels) in enumerate(zip(size, image_size)):
            low, high = (
                rois[:, column].view(-1, 1, 1) * scale - 0.5 for column in (2 - axis, 4 - axis)
            )
            number = torch.arange(bins, device=rois.device, dtype=rois.dtype)
            number = number.view((-1, 1) if axis == 0 else (1, -1))
            moves = None if offset is None else offset[:, 1 - axis]
            axes.append(_Axis(low, high, number, moves, *numbers, pixels))
        self.y, self.x = axes
        self.count = (self.y.count * self.x.count).clamp(min=1)

    def slopes(self, input: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the derivatives [R, C, PH, PW] of the output along the offsets x and y."""
        values, sums = input[self.image], "rcyx,rpqy,rpqx->rcpq"
        along_x = torch.einsum(sums, values, self.y.lengths, self.x.slopes)
        along_y = torch.einsum(sums, values, self.y.slopes, self.x.lengths)
        of_x, of_y = ((each.per_offset / self.count).unsqueeze(1) for each in (self.x, self.y))
        return of_x * along_x, of_y * along_y


@in_float32
def _formula(
    grad: Tensor, input: Tensor, rois: Tensor, offset: Tensor | None, *numbers: Any
) -> tuple[Tensor, Tensor]:
    """Returns the results of deform_roi_pool_backward, by operators of PyTorch."""
    none = input.new_zeros(0) if offset is None else torch.zeros_like(offset)
    if grad.numel() == 0 or input.numel() == 0:
        return torch.zeros_like(input), none
    samples = _Samples(rois, offset, grad.shape[2:], input.shape[2:], *numbers)
    weights, share = (samples.y.weights, samples.x.weights), grad / samples.count.unsqueeze(1)
    terms = torch.einsum("rcpq,rpqy,rpqx->rcyx", share, *weights)
    of_input = terms.new_zeros(input.shape).index_add(0, samples.image, terms)
    if offset is None:
        return of_input, none
    slopes = samples.slopes(input)
    return of_input, torch.stack([(grad * slope).sum(1) for slope in slopes], 1)


def _gradients(
    needs: Any, grad: Tensor, input: Tensor, rois: Tensor, offset: Any, _: Pair, *numbers: Any
) -> tuple[Tensor | None, ...]:
    arguments = grad, input, rois, offset, *numbers
    of_input, of_offset = differentiable("deform_roi_pool_backward", _formula, *arguments)
    return of_input, None, of_offset if needs[2] else None


@in_float32
def _tangent(
    input: Tensor, rois: Tensor, offset: Tensor, tangent: Tensor, size: Any, *numbers: Any
) -> Tensor:
    """Returns the tangent along offset."""
    samples = _Samples(rois, offset, size, input.shape[2:], *numbers)
    along_x, along_y = samples.slopes(input)
    return along_x * tangent[:, :1] + along_y * tangent[:, 1:]


def _jvp(inputs: tuple, tangents: tuple, output: Tensor) -> Tensor:
    terms = linear_terms("deform_roi_pool", inputs, tangents, (0,))
    if tangents[2] is not None and output.numel() and inputs[0].numel():
        terms.append(_tangent(*inputs[:3], tangents[2], *inputs[3:]))
    return total(terms, output)


@operator(
    definitions,
    derivative=Derivative(_gradients, _jvp),
    precision=Precision.WIDEST,
    channels_last=True,
)
def deform_roi_pool(
    arrays: Arrays,
    input: Array,
    rois: Array,
    offset: Array | None,
    output_size: Pair,
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    gamma: float = 0.1,
) -> Array:
    """Pools interpolated samples of an image in each bin of each RoI, which offsets move.

    Along each axis, a RoI extends from ``low * spatial_scale - 0.5`` to ``high * spatial_scale -
    0.5``; bin (i, j) moves by ``gamma * width * offset[r, 0, i, j]`` along x and ``gamma * height *
    offset[r, 1, i, j]`` along y. Each bin has n samples along an axis, in the middle of n equal
    parts. A sample is interpolated from the four pixels around it; a sample more than a pixel
    outside of the image is 0. The output has derivatives with respect to input and offset; the
    derivative for rois is 0.

    Args:
        input: float16, bfloat16, float32 or float64 [B, C, H, W]. float16 and bfloat16 are computed
            in float32. Images in the memory format channels_last are taken as they are. Messages of
            errors number the dimensions as N, H, W, C, the order of the library.
        rois: [R, 5], of the dtype of input: image, x1, y1, x2, y2.
        offset: [R, 2, PH, PW], of the dtype of input: x, y; None: 0.
        output_size: PH, PW, the bins of a RoI.
        spatial_scale: pixels of input for each unit of rois.
        sampling_ratio: n; 0 for the number of pixels of the bin, rounded up.
        gamma: factor of the offsets.

    Returns:
        [R, C, PH, PW], of the dtype of input: means of the samples of each bin; 0 without samples.

    Raises:
        MluOpError: the image of a RoI does not exist; a size is negative; sampling_ratio exceeds
            64.

    Source: mluOpDeformRoiPoolForward; Deformable ConvNets, arXiv:1703.06211; mmcv deform_roi_pool.
    """
    held, *input_tensor = arrays.to_nhwc("input", input)
    rois_tensor = arrays.tensor("rois", rois, "R 5")
    offset_held, *offset_tensor = _offset(arrays, offset)
    size = arrays.int32s("output_size", output_size, 2)
    shape = (rois_tensor[0].shape[0], *map(extent, size), input_tensor[0].shape[3])
    output, *output_tensor = arrays.output("output", shape, held, layout=NHWC)
    numbers = float(spatial_scale), int32("sampling_ratio", sampling_ratio), float(gamma)
    with arrays.handle() as own:
        own.call(
            *(_pool, *input_tensor, *rois_tensor, *offset_tensor, *size, *numbers),
            *output_tensor,
        )
    return arrays.from_nhwc(output, input)


@operator(definitions, derivative=NoDerivative(), precision=Precision.WIDEST, channels_last=True)
def deform_roi_pool_backward(
    arrays: Arrays,
    grad_output: Array,
    input: Array,
    rois: Array,
    offset: Array | None,
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    gamma: float = 0.1,
) -> tuple[Array, Array]:
    """Returns the gradients of `deform_roi_pool` for input and offset.

    Args:
        grad_output: float16, bfloat16, float32 or float64 [R, C, PH, PW].
        input, rois, offset, spatial_scale, sampling_ratio, gamma: as in `deform_roi_pool`, of the
            dtype of grad_output.

    Returns:
        grad_input: [B, C, H, W], of the dtype of grad_output. Sums are fp32 (fp64 for float64), in
            the order of RoIs: bit-identical across runs and thread counts.
        grad_offset: as offset, [0] if it is None; sums are fp64. Within a pixel of the border of
            the image it is not the derivative, as in mmcv: distances to pixels are not clamped.

    Source: mluOpDeformRoiPoolBackward; mmcv deform_roi_pool.
    """
    held, *grad_tensor = arrays.to_nhwc("grad_output", grad_output)
    input_held, *input_tensor = arrays.to_nhwc("input", input)
    rois_tensor = arrays.tensor("rois", rois, "R 5")
    offset_held, *offset_tensor = _offset(arrays, offset)
    _, PH, PW, _ = grad_tensor[0].shape
    of_input, *of_input_tensor = arrays.output(
        "grad_input", input_tensor[0].shape, held, layout=NHWC
    )
    shape = (0,) if offset is None else offset_tensor[0].shape
    of_offset, *of_offset_tensor = arrays.output("grad_offset", shape, held)
    numbers = float(spatial_scale), int32("sampling_ratio", sampling_ratio), float(gamma)
    with arrays.handle() as own:
        own.call(
            *(_pool_backward, *grad_tensor, *input_tensor, *rois_tensor, *offset_tensor),
            *(PH, PW, *numbers, *of_input_tensor, *of_offset_tensor),
        )
    return arrays.from_nhwc(of_input, input), of_offset
