"""Deformable convolution."""

from __future__ import annotations

import ctypes
import functools
import itertools
from collections.abc import Sequence
from typing import Any, Callable, NamedTuple

from mluop_omp import _library
from mluop_omp._arrays import DTYPES, NHWC, Arrays, Descriptor, extent, handle, int32, int32s
from mluop_omp._library import bad_param, functions, require
from mluop_omp._operators import _double
from mluop_omp._operators._double import also_double
from mluop_omp._operators._empty import require_sizes

_PAIR, _NONE = ctypes.c_int * 2, (None, None)


class _Descriptor(_library.Object):
    """A descriptor of a convolution. It is never modified, so calls of all threads may share it."""

    _destroy = functions.mluOpDestroyDCNDescriptor


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


class _Convolution(NamedTuple):
    descriptor: _Descriptor
    groups: int
    deformable_groups: int
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]

    def output_size(self, input_size: Sequence[int], kernel: Sequence[int]) -> list[int]:
        return output_size(input_size, kernel, self.stride, self.padding, self.dilation)

    def is_empty(self, filters: Sequence[int], **tensors: Sequence[Any]) -> bool:
        """Returns whether no product has a factor, although outputs may have elements.

        `filters` are Co, kh, kw, Ci / groups; tensors are descriptors and addresses.
        """
        N, H, W, Ci = tensors["input"][0].shape
        Co, kh, kw, Cg = filters
        if 0 not in (N, H, W, Ci, *filters):
            return False
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


@functools.lru_cache(maxsize=256)
def _convolution_of(
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int,
    deformable_groups: int,
) -> _Convolution:
    descriptor = _Descriptor.create(functions.mluOpCreateDCNDescriptor)
    (ph, pw), vectors = padding, (_PAIR(*stride), _PAIR(*dilation))
    pads, images = (ctypes.c_int * 4)(ph, ph, pw, pw), 1
    require(
        functions.mluOpSetDCNDescriptor(
            *(descriptor, 4, pads, *vectors, deformable_groups, groups, images, DTYPES["float32"])
        )
    )
    return _Convolution(descriptor, groups, deformable_groups, stride, padding, dilation)


def _convolution(
    stride: Any, padding: Any, dilation: Any, groups: int, deformable_groups: int
) -> _Convolution:
    return _convolution_of(
        int32s("stride", stride, 2),
        int32s("padding", padding, 2),
        int32s("dilation", dilation, 2),
        int32("groups", groups),
        int32("deformable_groups", deformable_groups),
    )


def _optional(arrays: Arrays, name: str, array: Any) -> tuple[Any, Descriptor | None, int | None]:
    return (None, *_NONE) if array is None else arrays.to_nhwc(name, array)


def _call(
    descriptor: _Descriptor,
    function: Callable[..., int],
    query: Callable[..., int],
    inputs: Sequence[Sequence[Any]],
    outputs: Sequence[Sequence[Any]],
) -> None:
    """Calls a function of the library; tensors are descriptors and addresses."""
    with handle() as own:
        descriptors = (desc for desc, _ in (*inputs, *outputs))
        workspace = own.workspace(query, descriptor, *descriptors)
        require(
            function(
                *(own.pointer, descriptor, *itertools.chain(*inputs)),
                *(*workspace, *itertools.chain(*outputs)),
            )
        )


def _parts(out: Any, count: int) -> tuple[Any, ...]:
    return (None,) * count if out is None else out


@also_double(_double.deform_conv2d, 0)
def deform_conv2d(
    arrays: Arrays,
    input: Any,
    offset: Any,
    weight: Any,
    mask: Any = None,
    bias: Any = None,
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
    deformable_groups: int = 1,
    out: Any = None,
) -> Any:
    convolution = _convolution(stride, padding, dilation, groups, deformable_groups)
    # The arrays are held until the call returns.
    input_nhwc, *input_tensor = arrays.to_nhwc("input", input)
    offset_nhwc, *offset_tensor = arrays.to_nhwc("offset", offset)
    mask_nhwc, *mask_tensor = _optional(arrays, "mask", mask)
    weight_nhwc, *weight_tensor = arrays.to_nhwc("weight", weight)
    bias_tensor = _NONE if bias is None else arrays.tensor("bias", bias, "Co")
    (N, H, W, _), (Co, *kernel, _) = input_tensor[0].shape, weight_tensor[0].shape
    shape = N, *convolution.output_size((H, W), kernel), Co
    output, *output_tensor = arrays.output("output", shape, input_nhwc, layout=NHWC)
    tensors = (input_tensor, offset_tensor, mask_tensor, weight_tensor, bias_tensor)
    names = ("input", "offset", "mask", "weight", "bias")
    if convolution.is_empty(weight_tensor[0].shape, **dict(zip(names, tensors))):
        output[...] = 0 if bias is None else bias
    else:
        _call(
            *(convolution.descriptor, functions.mluOpDCNForward),
            *(functions.mluOpGetDCNForwardWorkspaceSize, tensors, (output_tensor,)),
        )
    return arrays.from_nhwc(output, input, out)


@also_double(_double.deform_conv2d_backward_data, 0)
def deform_conv2d_backward_data(
    arrays: Arrays,
    grad_output: Any,
    input: Any,
    offset: Any,
    weight: Any,
    mask: Any = None,
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
    deformable_groups: int = 1,
    out: Any = None,
) -> tuple[Any, Any, Any]:
    convolution = _convolution(stride, padding, dilation, groups, deformable_groups)
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
    if convolution.is_empty(weight_tensor[0].shape, **dict(zip(names, inputs))):
        for gradient in (grad_input, grad_offset, grad_mask):
            arrays.fill(gradient, 0)
    else:
        _call(
            *(convolution.descriptor, functions.mluOpDCNBackwardData),
            *(functions.mluOpGetDCNBakcwardDataWorkspaceSize, inputs, outputs),
        )
    of_input, of_offset, of_mask = _parts(out, 3)
    return (
        arrays.from_nhwc(grad_input, input, of_input),
        arrays.from_nhwc(grad_offset, offset, of_offset),
        arrays.from_nhwc(grad_mask, offset if mask is None else mask, of_mask),
    )


@also_double(_double.deform_conv2d_backward_weight, 0)
def deform_conv2d_backward_weight(
    arrays: Arrays,
    grad_output: Any,
    input: Any,
    offset: Any,
    mask: Any = None,
    kernel: Sequence[int] = (1, 1),
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
    deformable_groups: int = 1,
    out: Any = None,
) -> tuple[Any, Any]:
    convolution = _convolution(stride, padding, dilation, groups, deformable_groups)
    grad_nhwc, *grad_tensor = arrays.to_nhwc("grad_output", grad_output)
    input_nhwc, *input_tensor = arrays.to_nhwc("input", input)
    offset_nhwc, *offset_tensor = arrays.to_nhwc("offset", offset)
    mask_nhwc, *mask_tensor = _optional(arrays, "mask", mask)
    sizes = [extent(size) for size in int32s("kernel", kernel, 2)]
    Co, Ci = grad_tensor[0].shape[3], input_tensor[0].shape[3]
    grad_weight, *grad_weight_tensor = arrays.output(
        "grad_weight", (Co, *sizes, Ci // groups), input_nhwc, layout=NHWC
    )
    of_weight, of_bias = _parts(out, 2)
    grad_bias, *grad_bias_tensor = arrays.output("grad_bias", (Co,), input_nhwc, of_bias)
    inputs = (input_tensor, offset_tensor, mask_tensor, grad_tensor)
    outputs = (grad_weight_tensor, grad_bias_tensor)
    names = ("input", "offset", "mask", "grad_output")
    if convolution.is_empty(grad_weight_tensor[0].shape, **dict(zip(names, inputs))):
        arrays.fill(grad_weight, 0)
        grad_bias[...] = arrays.sum_rows(grad_nhwc)
    else:
        _call(
            *(convolution.descriptor, functions.mluOpDCNBackwardWeight),
            *(functions.mluOpGetDCNBackwardWeightWorkspaceSize, inputs, outputs),
        )
    return arrays.from_nhwc(grad_weight, grad_output, of_weight), grad_bias
