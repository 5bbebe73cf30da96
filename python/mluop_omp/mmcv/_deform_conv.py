"""The functions of mmcv._ext on deformable convolutions, with the names, arguments and outputs of
mmcv. Gradients are added to what their tensors hold. mmcv converts all tensors to the element type
of the offsets: under torch.autocast, to the type of the convolution that computes them.
"""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor

from mluop_omp._adapters import Args, adds, compute, takes, writes
from mluop_omp._library import bad_param
from mluop_omp._operators._declaration import operators
from mluop_omp._operators.deform_conv import output_size
from mluop_omp.torch._arrays import TORCH, add
from mluop_omp.torch._precision import dense, widened

_GEOMETRY = "kW, kH, dW, dH, padW, padH, dilationW, dilationH, group, deformable_group"
_MODULATED_GEOMETRY = (
    "kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, group, "
    "deformable_group, with_bias"
)
# The sizes of kernel, stride, padding and dilation along h, and along w.
_SIZES = "kH dH padH dilationH", "kW dW padW dilationW"
_MODULATED_SIZES = "kernel_h stride_h pad_h dilation_h", "kernel_w stride_w pad_w dilation_w"
_Pair = tuple[int, int]


def _geometry(args: Args, weight: Tensor, *names: str) -> tuple[_Pair, tuple[Any, ...]]:
    """Returns the sizes of the kernel, and the operator's numbers from the stride on."""
    sizes = ([getattr(args, name) for name in of_axis.split()] for of_axis in names)
    kernel, *pairs = zip(*sizes)
    if tuple(weight.shape[2:]) != kernel:
        found = list(weight.shape[2:])
        raise bad_param(f"weight has a kernel of {found}, expected {list(kernel)}")
    return kernel, (*pairs, args.group, args.deformable_group)


@writes(
    "output",
    f"input, weight, offset, output, columns, ones, {_GEOMETRY}, im2col_step",
)
def deform_conv_forward(args: Args) -> Any:
    _, geometry = _geometry(args, args.weight, *_SIZES)
    tensors = args.input, args.offset, args.weight
    return operators.deform_conv2d, *tensors, None, None, *geometry


@adds(
    "gradInput, gradOffset",
    f"input, offset, gradOutput, gradInput, gradOffset, weight, columns, {_GEOMETRY}, im2col_step",
)
def deform_conv_backward_input(args: Args) -> Any:
    _, geometry = _geometry(args, args.weight, *_SIZES)
    tensors = args.gradOutput, args.input, args.offset, args.weight
    return operators.deform_conv2d_backward_data, *tensors, None, *geometry


@takes(f"input, offset, gradOutput, gradWeight, columns, ones, {_GEOMETRY}, scale, im2col_step")
def deform_conv_backward_parameters(args: Args) -> None:
    kernel, geometry = _geometry(args, args.gradWeight, *_SIZES)
    arguments = args.gradOutput, args.input, args.offset, None, kernel, *geometry
    grad_weight, _ = compute(operators.deform_conv2d_backward_weight, *arguments)
    add({"gradWeight": args.gradWeight}, grad_weight, args.scale)


def _steps(
    input: Tensor, kernel: _Pair, geometry: tuple[Any, ...], tensors: dict[str, Tensor]
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
    return dense(tensor).as_strided((images, channels, height, width), strides).contiguous()


def _write(tensor: Tensor, result: Tensor, step: int) -> None:
    """Writes gradients where mmcv's kernel does; images whose memory overlaps in their order."""
    memory = tensor.flatten().clone()
    for image, row in enumerate(result.flatten(1).to(tensor.dtype)):
        memory[image * step :][: len(row)] = row
    tensor.copy_(memory.view(tensor.shape))


@writes(
    "output",
    f"input, weight, bias, ones, offset, mask, output, columns, {_MODULATED_GEOMETRY}",
)
def modulated_deform_conv_forward(args: Args) -> Any:
    kernel, geometry = _geometry(args, args.weight, *_MODULATED_SIZES)
    read = {"offset": args.offset, "mask": args.mask}
    steps = _steps(args.input, kernel, geometry, read)
    offset, mask = (_read(tensor, steps.get(name)) for name, tensor in read.items())
    bias = args.bias if args.with_bias else None
    return operators.deform_conv2d, args.input, offset, args.weight, mask, bias, *geometry


@takes(
    "input, weight, bias, ones, offset, mask, columns, "
    "grad_input, grad_weight, grad_bias, grad_offset, grad_mask, grad_output, "
    f"{_MODULATED_GEOMETRY}"
)
def modulated_deform_conv_backward(args: Args) -> None:
    kernel, geometry = _geometry(args, args.weight, *_MODULATED_SIZES)
    tensors = args.grad_output, args.input, args.offset, args.weight, args.mask
    grad, images, offsets, filters, masks = widened(*tensors)
    read = {"offset": offsets, "mask": masks}
    written = {"grad_offset": args.grad_offset, "grad_mask": args.grad_mask}
    steps = _steps(images, kernel, geometry, read | written)
    offsets, masks = (_read(tensor, steps.get(name)) for name, tensor in read.items())
    of_data = operators.deform_conv2d_backward_data(
        TORCH, grad, images, offsets, filters, masks, *geometry
    )
    of_weight = operators.deform_conv2d_backward_weight(
        TORCH, grad, images, offsets, masks, kernel, *geometry
    )
    outputs = {"grad_input": args.grad_input, **written, "grad_weight": args.grad_weight}
    if args.with_bias:
        outputs["grad_bias"] = args.grad_bias
    results = dict(zip(outputs, (*of_data, *of_weight)))
    added = outputs.keys() - steps.keys()
    add({name: outputs[name] for name in added}, tuple(results[name] for name in added))
    for name in written.keys() & steps.keys():
        _write(written[name], results[name], steps[name][0])
