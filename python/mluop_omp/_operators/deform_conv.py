"""Deformable convolution."""

from __future__ import annotations

import ctypes
import functools
import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from mluop_omp import _library
from mluop_omp._arrays import DTYPES, NHWC, Arrays, Descriptor, extent, int32
from mluop_omp._definitions import deform_conv as definitions
from mluop_omp._library import bad_param, function, require
from mluop_omp._operators import _deformable
from mluop_omp._operators._declaration import Array, Pair, Precision, operator
from mluop_omp._operators._derivative import Derivative, no_derivative
from mluop_omp._operators._empty import require_sizes
from mluop_omp._operators._torch import ops, torch

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["deform_conv2d", "deform_conv2d_backward_data", "deform_conv2d_backward_weight"]

_create = function("mluOpCreateDCNDescriptor", "p")
_destroy = function("mluOpDestroyDCNDescriptor", "p")
_set = function("mluOpSetDCNDescriptor", "pipppiiii")
_query = function("mluOpGetDCNForwardWorkspaceSize", "ppppppppp")
_convolve = function("mluOpDCNForward", "pppppppppppppspp")
_query_data = function("mluOpGetDCNBakcwardDataWorkspaceSize", "ppppppppppp")
_convolve_data = function("mluOpDCNBackwardData", "pppppppppppppspppppp")
_query_weight = function("mluOpGetDCNBackwardWeightWorkspaceSize", "ppppppppp")
_convolve_weight = function("mluOpDCNBackwardWeight", "pppppppppppspppp")

_PAIR, _NONE = ctypes.c_int * 2, (None, None)


class _Descriptor(_library.Object):
    """A descriptor of a convolution. It is never modified, so calls of all threads may share it."""

    _destroy = _destroy


@functools.lru_cache(maxsize=256)
def _descriptor(
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int,
    deformable_groups: int,
) -> _Descriptor:
    descriptor = _Descriptor.create(_create)
    (ph, pw), vectors = padding, (_PAIR(*stride), _PAIR(*dilation))
    pads, images, dtype = (ctypes.c_int * 4)(ph, ph, pw, pw), 1, DTYPES["float32"]
    require(_set(descriptor, 4, pads, *vectors, deformable_groups, groups, images, dtype))
    return descriptor


def output_size(
    input_size: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> list[int]:
    """Returns the extents to allocate along height and width."""
    return [
        extent((size + 2 * p - d * (k - 1) - 1) // s + 1)
        for size, k, s, p, d in zip(input_size, kernel, stride, padding, dilation)
    ]


class _Geometry(NamedTuple):
    descriptor: _Descriptor
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int
    deformable_groups: int

    def output_size(self, input_size: Sequence[int], kernel: Sequence[int]) -> list[int]:
        return output_size(input_size, kernel, self.stride, self.padding, self.dilation)

    def is_empty(self, filters: Sequence[int], **tensors: Sequence[Any]) -> bool:
        """Returns whether no product has a factor, although outputs may have elements.

        `filters` are Co, kh, kw, Ci / groups; tensors are descriptors and addresses.
        """
        N, H, W, Ci = tensors["input"][0].shape
        Co, kh, kw, Cg = filters
        Ho, Wo = self.output_size((H, W), (kh, kw))
        if 0 in (Ho, Wo):
            return False  # The library refuses an output without pixels.
        for name, count, parts in (
            ("weight", Co, self.groups),
            ("input", Ci, self.deformable_groups),
        ):
            if count % parts:
                raise bad_param(f"{name} has {count} channels, expected a multiple of {parts}")
        samples = self.deformable_groups * kh * kw
        sizes = {
            "input": f"{N} {H} {W} {Cg * self.groups}",
            "offset": f"{N} {Ho} {Wo} {2 * samples}",
            "mask": f"{N} {Ho} {Wo} {samples}",
            "weight": f"{Co} {kh} {kw} {Cg}",
            "bias": f"{Co}",
            "grad_output": f"{N} {Ho} {Wo} {Co}",
        }
        found = {name: desc for name, (desc, _) in tensors.items() if desc is not None}
        require_sizes(", ".join(f"{name} {sizes[name]}" for name in found), *found.values())
        return True


def _geometry(
    arrays: Arrays, stride: Any, padding: Any, dilation: Any, groups: int, deformable_groups: int
) -> _Geometry:
    numbers = (
        arrays.int32s("stride", stride, 2),
        arrays.int32s("padding", padding, 2),
        arrays.int32s("dilation", dilation, 2),
        int32("groups", groups),
        int32("deformable_groups", deformable_groups),
    )
    return _Geometry(arrays.made(_descriptor, *numbers), *numbers)


def _optional(arrays: Arrays, name: str, array: Any) -> tuple[Any, Descriptor | None, int | None]:
    return (None, *_NONE) if array is None else arrays.to_nhwc(name, array)


def _call(
    arrays: Arrays,
    geometry: _Geometry,
    function: Callable[..., int],
    query: Callable[..., int],
    inputs: Sequence[Sequence[Any]],
    outputs: Sequence[Sequence[Any]],
) -> None:
    """Calls a function of the library; tensors are descriptors and addresses."""
    with arrays.handle() as own:
        descriptors = (desc for desc, _ in (*inputs, *outputs))
        workspace = own.workspace(query, geometry.descriptor, *descriptors)
        own.call(
            *(function, geometry.descriptor, *itertools.chain(*inputs)),
            *(*workspace, *itertools.chain(*outputs)),
        )


def _save(ctx: Any, inputs: tuple, output: Tensor) -> None:
    ctx.save_for_backward(*inputs[:4])
    ctx.geometry = inputs[5:]


def _backward(ctx: Any, grad: Tensor) -> tuple:
    input, offset, weight, mask = ctx.saved_tensors
    needs, none = ctx.needs, (None,) * len(ctx.geometry)
    grad_bias = grad.sum((0, 2, 3)) if needs[4] else None
    if torch.is_grad_enabled():
        # The gradients have no derivatives of their own: derivatives of higher order are PyTorch's.
        geometry = _deformable.Geometry(*ctx.geometry)
        gradients = _deformable.backward(grad, input, offset, weight, mask, geometry)
        return (*gradients[:3], None if mask is None else gradients[3], grad_bias, *none)
    grad_input = grad_offset = grad_weight = grad_mask = None
    if needs[0] or needs[1] or needs[3]:
        grad_input, grad_offset, grad_mask = ops.deform_conv2d_backward_data(
            grad, input, offset, weight, mask, *ctx.geometry
        )
    if needs[2]:
        kernel = weight.shape[2:]
        grad_weight, grad_bias = ops.deform_conv2d_backward_weight(
            grad, input, offset, mask, kernel, *ctx.geometry
        )
    of_mask = grad_mask if needs[3] else None
    return grad_input, grad_offset, grad_weight, of_mask, grad_bias if needs[4] else None, *none


def _jvp(inputs: tuple, tangents: tuple, output: Tensor) -> Tensor:
    input, offset, weight, mask, _, *geometry = inputs
    of_input, of_offset, of_weight, of_mask, of_bias, *_ = tangents
    terms = [
        ops.deform_conv2d(*tensors, None, *geometry)
        for tangent, tensors in (
            (of_input, (of_input, offset, weight, mask)),
            (of_weight, (input, offset, of_weight, mask)),
            (of_mask, (input, offset, weight, of_mask)),
        )
        if tangent is not None
    ]
    if of_offset is not None:
        arguments = (of_offset, input, offset, weight, mask, _deformable.Geometry(*geometry))
        terms.append(_deformable.tangent_along_offset(*arguments))
    if of_bias is not None:
        terms.append(of_bias[:, None, None].expand_as(output))
    return sum(terms[1:], terms[0])


@operator(
    definition=definitions.deform_conv2d,
    derivative=Derivative(_save, _backward, _jvp),
    precision=Precision.CONVOLUTION,
    channels_last=True,
)
def deform_conv2d(
    arrays: Arrays,
    input: Array,
    offset: Array,
    weight: Array,
    mask: Array | None = None,
    bias: Array | None = None,
    stride: Pair = (1, 1),
    padding: Pair = (0, 0),
    dilation: Pair = (1, 1),
    groups: int = 1,
    deformable_groups: int = 1,
) -> Array:
    """Convolves images at positions that offsets move: DCNv1, and with mask DCNv2.

    Output pixel ``(ho, wo)`` reads channel c, of deformable group d, for offset ``(i, j)`` of the
    filter, number ``k = i * kernel_w + j`` of K, at the position

    - ``y = ho * stride[0] - padding[0] + i * dilation[0] + offset[n, 2 * s, ho, wo]``,
    - ``x = wo * stride[1] - padding[1] + j * dilation[1] + offset[n, 2 * s + 1, ho, wo]``,

    s = d * K + k, and multiplies the bilinear interpolation there by ``mask[n, s, ho, wo]``. Pixels
    outside of the image count as 0, and so does a sample unless ``-1 < y < H`` and ``-1 < x < W``.

    Args:
        input: float16, bfloat16, float32 or float64 [N, Ci, H, W]. Images in the memory format
            channels_last are taken as they are.
        offset: [N, deformable_groups * K * 2, Ho, Wo], in pixels, along height and width.
        weight: [Co, Ci / groups, kernel_h, kernel_w].
        mask: [N, deformable_groups * K, Ho, Wo]; None: 1.
        bias: [Co]; None: 0. All arrays have the dtype of input.
        stride, padding, dilation: along height and width, in pixels.
        groups: groups of channels that are convolved independently.
        deformable_groups: groups of channels of input with positions of their own.

    Returns:
        [N, Co, Ho, Wo], of the dtype of input. Ho is
            (H + 2 * padding[0] - dilation[0] * (kernel_h - 1) - 1) // stride[0] + 1, Wo likewise.
            Sums are fp32 (fp64 for float64): on a given instruction set, bit-identical across runs
            and thread counts.

    Raises:
        MluOpError: a number of channels is not a multiple of a number of groups; the filter exceeds
            the padded image; a shape or dtype differs from the list above. Messages number the
            dimensions of the arrays as N, H, W, C, the order of the library.

    Source: mluOpDCNForward; arXiv:1703.06211, arXiv:1811.11168; mmcv deform_conv2d and
    modulated_deform_conv2d.
    """
    geometry = _geometry(arrays, stride, padding, dilation, groups, deformable_groups)
    # The arrays are held until the call returns.
    input_nhwc, *input_tensor = arrays.to_nhwc("input", input)
    offset_nhwc, *offset_tensor = arrays.to_nhwc("offset", offset)
    mask_nhwc, *mask_tensor = _optional(arrays, "mask", mask)
    weight_nhwc, *weight_tensor = arrays.to_nhwc("weight", weight)
    bias_tensor = _NONE if bias is None else arrays.tensor("bias", bias, "Co")
    (N, H, W, _), (Co, *kernel, _) = input_tensor[0].shape, weight_tensor[0].shape
    shape = N, *geometry.output_size((H, W), kernel), Co
    output, *output_tensor = arrays.output("output", shape, input_nhwc, layout=NHWC)
    tensors = (input_tensor, offset_tensor, mask_tensor, weight_tensor, bias_tensor)
    names = ("input", "offset", "mask", "weight", "bias")
    has_products = not (input_tensor[0].is_empty or weight_tensor[0].is_empty)
    if has_products or not geometry.is_empty(weight_tensor[0].shape, **dict(zip(names, tensors))):
        _call(arrays, geometry, _convolve, _query, tensors, (output_tensor,))
    else:
        output[...] = 0 if bias is None else bias
    return arrays.from_nhwc(output, input)


@operator(
    definition=definitions.deform_conv2d_backward_data,
    derivative=no_derivative("deform_conv2d_backward_data"),
    precision=Precision.CONVOLUTION,
    channels_last=True,
)
def deform_conv2d_backward_data(
    arrays: Arrays,
    grad_output: Array,
    input: Array,
    offset: Array,
    weight: Array,
    mask: Array | None = None,
    stride: Pair = (1, 1),
    padding: Pair = (0, 0),
    dilation: Pair = (1, 1),
    groups: int = 1,
    deformable_groups: int = 1,
) -> tuple[Array, Array, Array]:
    """Returns the gradients of `deform_conv2d` for input, offset and mask.

    Args:
        grad_output: float16, bfloat16, float32 or float64 [N, Co, Ho, Wo].
        input, offset, weight, mask, stride, padding, dilation, groups, deformable_groups: as in
            `deform_conv2d`.

    Returns:
        grad_input: [N, Ci, H, W].
        grad_offset: [N, deformable_groups * K * 2, Ho, Wo]: the gradient of the interpolation,
            whose slope at a pixel is the slope to the next one.
        grad_mask: [N, deformable_groups * K, Ho, Wo], without channels if mask is None. All have
            the dtype of grad_output. Sums are as in `deform_conv2d`.

    Raises:
        MluOpError: as `deform_conv2d`.

    Source: mluOpDCNBackwardData; mmcv deform_conv_backward_input, modulated_deform_conv_backward.
    """
    geometry = _geometry(arrays, stride, padding, dilation, groups, deformable_groups)
    grad_nhwc, *grad_tensor = arrays.to_nhwc("grad_output", grad_output)
    input_nhwc, *input_tensor = arrays.to_nhwc("input", input)
    offset_nhwc, *offset_tensor = arrays.to_nhwc("offset", offset)
    mask_nhwc, *mask_tensor = _optional(arrays, "mask", mask)
    weight_nhwc, *weight_tensor = arrays.to_nhwc("weight", weight)
    grad_input, *grad_input_tensor = arrays.output(
        "grad_input", input_tensor[0].shape, input_nhwc, layout=NHWC
    )
    grad_offset, *grad_offset_tensor = arrays.output(
        "grad_offset", offset_tensor[0].shape, input_nhwc, layout=NHWC
    )
    # Without mask, its gradient has no channels.
    mask_shape = (*offset_tensor[0].shape[:3], 0) if mask is None else mask_tensor[0].shape
    grad_mask, *grad_mask_tensor = arrays.output("grad_mask", mask_shape, input_nhwc, layout=NHWC)
    inputs = (input_tensor, offset_tensor, mask_tensor, weight_tensor, grad_tensor)
    outputs = (
        grad_input_tensor,
        grad_offset_tensor,
        _NONE if mask is None else grad_mask_tensor,
    )
    names = ("input", "offset", "mask", "weight", "grad_output")
    has_products = not (input_tensor[0].is_empty or weight_tensor[0].is_empty)
    if has_products or not geometry.is_empty(weight_tensor[0].shape, **dict(zip(names, inputs))):
        _call(arrays, geometry, _convolve_data, _query_data, inputs, outputs)
    else:
        for gradient in (grad_input, grad_offset, grad_mask):
            arrays.fill(gradient, 0)
    return (
        arrays.from_nhwc(grad_input, input),
        arrays.from_nhwc(grad_offset, offset),
        arrays.from_nhwc(grad_mask, offset if mask is None else mask),
    )


@operator(
    definition=definitions.deform_conv2d_backward_weight,
    derivative=no_derivative("deform_conv2d_backward_weight"),
    precision=Precision.CONVOLUTION,
    channels_last=True,
)
def deform_conv2d_backward_weight(
    arrays: Arrays,
    grad_output: Array,
    input: Array,
    offset: Array,
    mask: Array | None,
    kernel: Pair,
    stride: Pair = (1, 1),
    padding: Pair = (0, 0),
    dilation: Pair = (1, 1),
    groups: int = 1,
    deformable_groups: int = 1,
) -> tuple[Array, Array]:
    """Returns the gradients of `deform_conv2d` for weight and bias.

    Args:
        grad_output: float16, bfloat16, float32 or float64 [N, Co, Ho, Wo].
        kernel: (kernel_h, kernel_w), of weight.
        input, offset, mask, stride, padding, dilation, groups, deformable_groups: as in
            `deform_conv2d`.

    Returns:
        grad_weight: [Co, Ci / groups, kernel_h, kernel_w].
        grad_bias: [Co]. Both have the dtype of grad_output. Sums are as in `deform_conv2d`.

    Raises:
        MluOpError: as `deform_conv2d`.

    Source: mluOpDCNBackwardWeight; mmcv deform_conv_backward_parameters,
    modulated_deform_conv_backward.
    """
    geometry = _geometry(arrays, stride, padding, dilation, groups, deformable_groups)
    grad_nhwc, *grad_tensor = arrays.to_nhwc("grad_output", grad_output)
    input_nhwc, *input_tensor = arrays.to_nhwc("input", input)
    offset_nhwc, *offset_tensor = arrays.to_nhwc("offset", offset)
    mask_nhwc, *mask_tensor = _optional(arrays, "mask", mask)
    sizes = [extent(size) for size in arrays.int32s("kernel", kernel, 2)]
    Co, Ci = grad_tensor[0].shape[3], input_tensor[0].shape[3]
    grad_weight, *grad_weight_tensor = arrays.output(
        "grad_weight", (Co, *sizes, Ci // groups), input_nhwc, layout=NHWC
    )
    grad_bias, *grad_bias_tensor = arrays.output("grad_bias", (Co,), input_nhwc)
    inputs = (input_tensor, offset_tensor, mask_tensor, grad_tensor)
    outputs = (grad_weight_tensor, grad_bias_tensor)
    names, filters = ("input", "offset", "mask", "grad_output"), grad_weight_tensor[0]
    has_products = not (input_tensor[0].is_empty or filters.is_empty)
    if has_products or not geometry.is_empty(filters.shape, **dict(zip(names, inputs))):
        _call(arrays, geometry, _convolve_weight, _query_weight, inputs, outputs)
    else:
        arrays.fill(grad_weight, 0)
        grad_bias[...] = arrays.sum_rows(grad_nhwc)
    return arrays.from_nhwc(grad_weight, grad_output), grad_bias
