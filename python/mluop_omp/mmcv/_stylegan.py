"""The functions of mmcv._ext for StyleGAN, with the names, arguments and outputs of mmcv.

mmcv calls them for tensors of other devices only, and PyTorch's functions for tensors of the CPU.
Here they serve direct calls, by PyTorch's functions, half and bfloat16 in float32. An empty tensor
stands for none.
"""

from __future__ import annotations

from typing import Any, Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from mluop_omp._adapters import Args, takes
from mluop_omp._library import bad_param

_SELU = 1.0507009873554805
_SELU_ALPHA = _SELU * 1.6732632423543772
# By mmcv's numbers of the activations: their values, and products of g with the first and second
# derivative, given x, the value y and the parameter a.
_VALUES: dict[int, Callable[..., Tensor]] = {
    1: lambda x, a: x,
    2: lambda x, a: x.relu(),
    3: lambda x, a: torch.where(x > 0, x, a * x),
    4: lambda x, a: x.tanh(),
    5: lambda x, a: x.sigmoid(),
    6: lambda x, a: F.elu(x),
    7: lambda x, a: F.selu(x),
    8: lambda x, a: torch.logaddexp(x, torch.zeros_like(x)),
    9: lambda x, a: x * x.sigmoid(),
}
_FIRST: dict[int, Callable[..., Tensor]] = {
    1: lambda g, x, y, a: g,
    2: lambda g, x, y, a: torch.where(y > 0, g, 0),
    3: lambda g, x, y, a: torch.where(y > 0, g, a * g),
    4: lambda g, x, y, a: g * (1 - y * y),
    5: lambda g, x, y, a: g * y * (1 - y),
    6: lambda g, x, y, a: torch.where(y >= 0, g, g * (y + 1)),
    7: lambda g, x, y, a: torch.where(y >= 0, _SELU * g, g * (y + _SELU_ALPHA)),
    8: lambda g, x, y, a: g * -torch.expm1(-y),
    9: lambda g, x, y, a: g * x.sigmoid() * (1 + x * (-x).sigmoid()),
}
_SECOND: dict[int, Callable[..., Tensor]] = {
    **dict.fromkeys((1, 2, 3), lambda g, x, y, a: torch.zeros_like(g)),
    4: lambda g, x, y, a: g * (1 - y * y) * (-2 * y),
    5: lambda g, x, y, a: g * y * (1 - y) * (1 - 2 * y),
    6: lambda g, x, y, a: torch.where(y >= 0, 0, g * (y + 1)),
    7: lambda g, x, y, a: torch.where(y >= 0, 0, g * (y + _SELU_ALPHA)),
    8: lambda g, x, y, a: g * -torch.expm1(-y) * torch.exp(-y),
    9: lambda g, x, y, a: g * x.sigmoid() * (-x).sigmoid() * (2 - x * (x / 2).tanh()),
}


def _wide(tensor: Tensor) -> Tensor:
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))


def _add_bias(x: Tensor, bias: Tensor, dim: int = 1) -> Tensor:
    if not bias.numel():
        return x
    if bias.dim() != 1 or not 0 <= dim < x.dim() or len(bias) != x.shape[dim]:
        raise bad_param(f"bias has shape {list(bias.shape)}, input {list(x.shape)}: dim is {dim}")
    return x + _wide(bias).view(-1, *[1] * (x.dim() - dim - 1))


@takes("input, bias, xref, yref, dy, grad, dim, act, alpha, gain, clamp")
def bias_act(args: Args) -> Tensor:
    """Returns the activation of input + bias; with grad 1 or 2, the product of input, dy and its
    derivative, which is 0 where the output has been clamped. A negative clamp is none.

    xref, yref: input, without bias, and output of the activation.
    """
    if args.act not in _VALUES or args.grad not in (0, 1, 2):
        raise bad_param(f"act is {args.act}, grad {args.grad}, expected 1 to 9, 0 to 2")
    x, bias, clamp = _wide(args.input), (args.bias, args.dim), args.clamp
    if args.grad == 0:
        output = _VALUES[args.act](_add_bias(x, *bias), args.alpha) * args.gain
        return (output.clamp(-clamp, clamp) if clamp >= 0 else output).to(args.input.dtype)
    given = args.xref, args.yref, args.dy
    if any(each.numel() and each.shape != x.shape for each in given):
        raise bad_param(f"xref, yref or dy has another shape than input: {list(x.shape)}")
    xref, yref, dy = (_wide(each) if each.numel() else torch.zeros_like(x) for each in given)
    xref = _add_bias(xref, *bias)
    yref = _VALUES[9](xref, 0.0) * args.gain if args.act == 9 else yref
    y = yref / args.gain if args.gain else torch.zeros_like(yref)
    product = (_FIRST if args.grad == 1 else _SECOND)[args.act]
    output = product(x, xref, y, args.alpha) * args.gain
    output = output * dy if args.dy.numel() else output
    output = output.masked_fill(yref.abs() >= clamp, 0) if clamp >= 0 else output
    return output.to(args.input.dtype)


@takes("input, bias, empty, act, grad, alpha, scale")
def fused_bias_leakyrelu(args: Args) -> Tensor:
    """Returns the activation of input + bias; empty is its output if grad is 1. act: 1 or 3."""
    x = _add_bias(_wide(args.input), args.bias)
    if args.grad == 2:
        x = torch.zeros_like(x)
    elif args.act == 3:
        x = torch.where((x if args.grad == 0 else args.empty) > 0, x, args.alpha * x)
    return (x * args.scale).contiguous().to(args.input.dtype)


@takes("input, filter, upx, upy, downx, downy, padx0, padx1, pady0, pady1, flip, gain")
def upfirdn2d(args: Args) -> Tensor:
    """Inserts zeros, pads, convolves with filter [fh, fw] (correlates if flip), and subsamples."""
    x, filter, (N, C, H, W) = _wide(args.input), args.filter, args.input.shape
    zeros = x.new_zeros(N * C, 1, H * args.upy, W * args.upx)
    zeros[:, :, :: args.upy, :: args.upx] = x.reshape(N * C, 1, H, W)
    padded = F.pad(zeros, [args.padx0, args.padx1, args.pady0, args.pady1])
    weight = (filter if args.flip else filter.flip(0, 1)).to(x.dtype) * args.gain
    output = F.conv2d(padded, weight[None, None], stride=(args.downy, args.downx))
    output = output.view(N, C, *output.shape[2:]).to(args.input.dtype)
    is_last = not x.is_contiguous() and x.is_contiguous(memory_format=torch.channels_last)
    return output.contiguous(memory_format=torch.channels_last) if is_last else output


def filtered_lrelu(x: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor, int]:
    """Returns two empty tensors and -1: mmcv then calls upfirdn2d and filtered_lrelu_act_."""
    return x.new_empty(0), x.new_empty(0, dtype=torch.uint8), -1


@takes("x, si, sx, sy, gain, slope, clamp, writeSigns")
def filtered_lrelu_act_(args: Args) -> Tensor:
    """Changes x in place; returns what happened to each element, two bits each, if writeSigns.

    1: it was negative; 2: it was clamped. Given these bits as si, applies the derivative to x.
    """
    v, (_, _, H, W) = _wide(args.x) * args.gain, args.x.shape
    shifts = torch.arange(0, 8, 2, dtype=torch.uint8)
    if args.writeSigns or not args.si.numel():
        signs = (v < 0).to(torch.uint8)
        v = torch.where(v < 0, v * args.slope, v)
        signs[v.abs() > args.clamp] = 2
        args.x.copy_(v.clamp(-args.clamp, args.clamp))
        quads = F.pad(signs, [0, -W % 16]).unflatten(3, (-1, 4))
        quads = (quads << shifts).sum(4, dtype=torch.uint8)
        return quads if args.writeSigns else quads.new_empty(0)
    if args.si.shape[:2] != args.x.shape[:2]:
        raise bad_param(f"si has shape {list(args.si.shape)}, x {list(args.x.shape)}")
    bits = ((args.si.unsqueeze(-1) >> shifts) & 3).flatten(3)
    for axis, size, shift in ((2, H, args.sy), (3, W, args.sx)):
        places, end = torch.arange(size) + shift, bits.shape[axis]
        places = torch.where((places >= 0) & (places < end), places, end)  # Zeros at the end.
        bits = F.pad(bits, [0, 1] if axis == 3 else [0, 0, 0, 1]).index_select(axis, places)
    v = torch.where(bits & 1 > 0, v * args.slope, v)
    args.x.copy_(torch.where(bits & 2 > 0, 0, v))
    return args.si.new_empty(0)
