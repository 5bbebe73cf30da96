"""The functions of mmcv._ext on deformable convolutions, with the names, arguments and outputs of
mmcv. Gradients are added to what their tensors hold. mmcv converts all tensors to the element type
of the offsets: under torch.autocast, to the type of the convolution that computes them.
"""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor

from mluop_omp._library import bad_param
from mluop_omp._operators._declaration import operators
from mluop_omp._operators.deform_conv import output_size
from mluop_omp.torch._arrays import TORCH, add, apply_num_threads, write
from mluop_omp.torch._precision import widened

__all__ = [
    "deform_conv_backward_input",
    "deform_conv_backward_parameters",
    "deform_conv_forward",
    "modulated_deform_conv_backward",
    "modulated_deform_conv_forward",
]


def _require_kernel(weight: Tensor, kernel_h: int, kernel_w: int) -> None:
    if tuple(weight.shape[2:]) != (kernel_h, kernel_w):
        found = list(weight.shape[2:])
        raise bad_param(f"weight has a kernel of {found}, expected {[kernel_h, kernel_w]}")


def _steps(
    input: Tensor,
    kernel: tuple[int, int],
    geometry: tuple[Any, ...],
    tensors: dict[str, Tensor],
) -> dict[str, tuple[int, tuple[int, ...]]]:
    """Returns, for offsets and masks of other sizes than the output, how mmcv's kernels read them:
    image b of the second from the memory of tensor[b] on, b times the first.

    DyHead of mmdetection passes the offsets of a finer level. Raises MluOpError if an element is
    outside of the memory.
    """
    stride, padding, dilation, _, deformable_group = geometry
    if input.dim() != 4 or min(*stride, *dilation, *kernel, deformable_group) < 1:
        return {}  # The operator refuses them.
    size = output_size(input.shape[2:], kernel, stride, padding, dilation)
    images, samples = len(input), deformable_group * kernel[0] * kernel[1]
    steps = {}
    for name, tensor in tensors.items():
        shape = images, samples * (2 if name.endswith("offset") else 1), *size
        if tensor.shape == shape or min(shape) < 1:
            continue
        rows = len(tensor) if tensor.dim() else 0
        step = tensor.numel() // max(rows, 1)
        if rows < images or (images - 1) * step + math.prod(shape[1:]) > tensor.numel():
            found = f"{list(tensor.shape)}, expected at least {list(shape)}"
            raise bad_param(f"{name} has shape {found}, in the memory of each image")
        steps[name] = step, shape
    return steps


def _read(tensor: Tensor, place: tuple[int, tuple[int, ...]] | None) -> Tensor:
    if place is None:
        return tensor
    step, (images, channels, height, width) = place
    strides = (step, height * width, width, 1)
    return tensor.as_strided((images, channels, height, width), strides).contiguous()


def _write(tensor: Tensor, result: Tensor, step: int) -> None:
    """Writes gradients where mmcv's kernel does; images whose memory overlaps in their order."""
    memory = tensor.flatten().clone()
    for image, row in enumerate(result.flatten(1).to(tensor.dtype)):
        memory[image * step :][: len(row)] = row
    tensor.copy_(memory.view(tensor.shape))


def deform_conv_forward(
    input: Tensor,
    weight: Tensor,
    offset: Tensor,
    output: Tensor,
    columns: Tensor,
    ones: Tensor,
    kW: int,
    kH: int,
    dW: int,
    dH: int,
    padW: int,
    padH: int,
    dilationW: int,
    dilationH: int,
    group: int,
    deformable_group: int,
    im2col_step: int,
) -> None:
    apply_num_threads()
    _require_kernel(weight, kH, kW)
    images, offsets, filters = widened(input, offset, weight)
    geometry = ((dH, dW), (padH, padW), (dilationH, dilationW), group, deformable_group)
    arguments = (images, offsets, filters, None, None, *geometry)
    write({"output": output}, images.dtype, operators.deform_conv2d, *arguments)


def deform_conv_backward_input(
    input: Tensor,
    offset: Tensor,
    gradOutput: Tensor,
    gradInput: Tensor,
    gradOffset: Tensor,
    weight: Tensor,
    columns: Tensor,
    kW: int,
    kH: int,
    dW: int,
    dH: int,
    padW: int,
    padH: int,
    dilationW: int,
    dilationH: int,
    group: int,
    deformable_group: int,
    im2col_step: int,
) -> None:
    apply_num_threads()
    _require_kernel(weight, kH, kW)
    grad, images, offsets, filters = widened(gradOutput, input, offset, weight)
    geometry = ((dH, dW), (padH, padW), (dilationH, dilationW), group, deformable_group)
    of_data = operators.deform_conv2d_backward_data(
        TORCH, grad, images, offsets, filters, None, *geometry
    )
    add({"gradInput": gradInput, "gradOffset": gradOffset}, of_data)


def deform_conv_backward_parameters(
    input: Tensor,
    offset: Tensor,
    gradOutput: Tensor,
    gradWeight: Tensor,
    columns: Tensor,
    ones: Tensor,
    kW: int,
    kH: int,
    dW: int,
    dH: int,
    padW: int,
    padH: int,
    dilationW: int,
    dilationH: int,
    group: int,
    deformable_group: int,
    scale: float,
    im2col_step: int,
) -> None:
    apply_num_threads()
    _require_kernel(gradWeight, kH, kW)
    grad, images, offsets = widened(gradOutput, input, offset)
    geometry = ((dH, dW), (padH, padW), (dilationH, dilationW), group, deformable_group)
    grad_weight, _ = operators.deform_conv2d_backward_weight(
        TORCH, grad, images, offsets, None, (kH, kW), *geometry
    )
    add({"gradWeight": gradWeight}, grad_weight, scale)


def modulated_deform_conv_forward(
    input: Tensor,
    weight: Tensor,
    bias: Tensor,
    ones: Tensor,
    offset: Tensor,
    mask: Tensor,
    output: Tensor,
    columns: Tensor,
    kernel_h: int,
    kernel_w: int,
    stride_h: int,
    stride_w: int,
    pad_h: int,
    pad_w: int,
    dilation_h: int,
    dilation_w: int,
    group: int,
    deformable_group: int,
    with_bias: bool,
) -> None:
    apply_num_threads()
    _require_kernel(weight, kernel_h, kernel_w)
    tensors = (input, offset, weight, mask, *([bias] if with_bias else []))
    images, offsets, filters, masks, *biases = widened(*tensors)
    geometry = ((stride_h, stride_w), (pad_h, pad_w), (dilation_h, dilation_w))
    geometry = (*geometry, group, deformable_group)
    read = {"offset": offsets, "mask": masks}
    steps = _steps(images, (kernel_h, kernel_w), geometry, read)
    offsets, masks = (_read(tensor, steps.get(name)) for name, tensor in read.items())
    arguments = (images, offsets, filters, masks, *(biases or [None]), *geometry)
    write({"output": output}, images.dtype, operators.deform_conv2d, *arguments)


def modulated_deform_conv_backward(
    input: Tensor,
    weight: Tensor,
    bias: Tensor,
    ones: Tensor,
    offset: Tensor,
    mask: Tensor,
    columns: Tensor,
    grad_input: Tensor,
    grad_weight: Tensor,
    grad_bias: Tensor,
    grad_offset: Tensor,
    grad_mask: Tensor,
    grad_output: Tensor,
    kernel_h: int,
    kernel_w: int,
    stride_h: int,
    stride_w: int,
    pad_h: int,
    pad_w: int,
    dilation_h: int,
    dilation_w: int,
    group: int,
    deformable_group: int,
    with_bias: bool,
) -> None:
    apply_num_threads()
    kernel = kernel_h, kernel_w
    _require_kernel(weight, *kernel)
    grad, images, offsets, filters, masks = widened(grad_output, input, offset, weight, mask)
    geometry = ((stride_h, stride_w), (pad_h, pad_w), (dilation_h, dilation_w))
    geometry = (*geometry, group, deformable_group)
    read = {"offset": offsets, "mask": masks}
    written = {"grad_offset": grad_offset, "grad_mask": grad_mask}
    steps = _steps(images, kernel, geometry, read | written)
    offsets, masks = (_read(tensor, steps.get(name)) for name, tensor in read.items())
    of_data = operators.deform_conv2d_backward_data(
        TORCH, grad, images, offsets, filters, masks, *geometry
    )
    of_weight = operators.deform_conv2d_backward_weight(
        TORCH, grad, images, offsets, masks, kernel, *geometry
    )
    outputs = {"grad_input": grad_input, **written, "grad_weight": grad_weight}
    if with_bias:
        outputs["grad_bias"] = grad_bias
    results = dict(zip(outputs, (*of_data, *of_weight)))
    added = outputs.keys() - steps.keys()
    add({name: outputs[name] for name in added}, tuple(results[name] for name in added))
    for name in written.keys() & steps.keys():
        _write(written[name], results[name], steps[name][0])
