"""Deformable convolution."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

from mluop_omp import _library
from mluop_omp._arrays import DTYPES, NHWC, Arrays, Descriptor, extent, handle, int32, int32s
from mluop_omp._library import functions, require
from mluop_omp._operators import _double
from mluop_omp._operators._double import also_double

_PAIR, _NONE = ctypes.c_int * 2, (None, None)


class _Descriptor(_library.Object):
    """A descriptor of a convolution. It is never modified, so calls of all threads may share it."""

    _destroy = functions.mluOpDestroyDCNDescriptor


class _Convolution(NamedTuple):
    descriptor: _Descriptor
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]

    def output_size(self, input_size: Sequence[int], kernel: Sequence[int]) -> list[int]:
        """Returns the extents to allocate along height and width."""
        return [
            extent((size + 2 * p - d * (k - 1) - 1) // s + 1)
            for size, k, s, p, d in zip(input_size, kernel, *self[1:])
        ]


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
    return _Convolution(descriptor, stride, padding, dilation)


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
    with handle() as own:
        workspace = own.workspace(
            functions.mluOpGetDCNForwardWorkspaceSize,
            *(convolution.descriptor, *(desc for desc, _ in tensors), output_tensor[0]),
        )
        require(
            functions.mluOpDCNForward(
                *(own.pointer, convolution.descriptor, *sum(map(tuple, tensors), ())),
                *(*workspace, *output_tensor),
            )
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
    with handle() as own:
        workspace = own.workspace(
            functions.mluOpGetDCNBakcwardDataWorkspaceSize,
            *(convolution.descriptor, *(desc for desc, _ in (*inputs, *outputs))),
        )
        require(
            functions.mluOpDCNBackwardData(
                *(own.pointer, convolution.descriptor, *sum(map(tuple, inputs), ())),
                *(*workspace, *sum(map(tuple, outputs), ())),
            )
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
    with handle() as own:
        workspace = own.workspace(
            functions.mluOpGetDCNBackwardWeightWorkspaceSize,
            *(convolution.descriptor, *(desc for desc, _ in (*inputs, *outputs))),
        )
        require(
            functions.mluOpDCNBackwardWeight(
                *(own.pointer, convolution.descriptor, *sum(map(tuple, inputs), ())),
                *(*workspace, *sum(map(tuple, outputs), ())),
            )
        )
    return arrays.from_nhwc(grad_weight, grad_output, of_weight), grad_bias
