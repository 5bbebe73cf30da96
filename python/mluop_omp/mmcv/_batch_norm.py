"""The functions of mmcv._ext that normalize batches, with the names, arguments and outputs of mmcv.

mmcv passes [N, C, S], a view of the user's tensor, which may be in the memory format channels_last.
Its kernels read the memory as if it were contiguous; these functions read the elements.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from mluop_omp._adapters import Args, takes, writes
from mluop_omp._operators._declaration import operators
from mluop_omp.torch._precision import at_least_float32


def _rows(args: Args, *names: str) -> None:
    """Replaces images that are all in the memory format channels_last by views: rows [M, C]."""
    images = [getattr(args, name) for name in names]
    if images[0].dim() != 3 or images[0].is_contiguous():
        return
    rows = [each.mT for each in images if each.shape == images[0].shape]
    if len(rows) == len(images) and all(each.is_contiguous() for each in rows):
        vars(args).update((name, each.flatten(0, 1)) for name, each in zip(names, rows))


@writes("mean", "input, mean", at_least_float32)
def sync_bn_forward_mean(args: Args) -> Any:
    _rows(args, "input")
    return operators.sync_bn_forward_mean, args.input


@writes("var", "input, mean, var", at_least_float32)
def sync_bn_forward_var(args: Args) -> Any:
    _rows(args, "input")
    return operators.sync_bn_forward_var, args.input, args.mean


@writes(
    "norm, std, output",
    "input, mean, var, weight, bias, norm, std, output, eps",
    at_least_float32,
)
def _normalize(args: Args) -> Any:
    _rows(args, "input", "norm", "output")
    numbers = args.mean, args.var, args.weight, args.bias
    return operators.sync_bn_forward_output, args.input, *numbers, float(args.eps)


@takes(
    "input, mean, var, weight, bias, running_mean, running_var, norm, std, output, "
    "eps, momentum, group_size"
)
def sync_bn_forward_output(args: Args) -> None:
    """weight, bias and the running statistics may be None; momentum is a number, or its tensor."""
    images = args.norm, args.std, args.output
    _normalize(args.input, args.mean, args.var, args.weight, args.bias, *images, args.eps)
    count = args.input.numel() // max(args.input.shape[1], 1) * args.group_size
    unbiased = args.var * (count / (count - 1)) if count > 1 else args.var
    for running, now in ((args.running_mean, args.mean), (args.running_var, unbiased)):
        _move(running, now, float(args.momentum))


def _move(running: Tensor | None, now: Tensor, momentum: float) -> None:
    if running is not None:
        running.lerp_(now.to(running.dtype), momentum)


@writes("grad_weight, grad_bias", "grad_output, norm, grad_weight, grad_bias", at_least_float32)
def sync_bn_backward_param(args: Args) -> Any:
    _rows(args, "grad_output", "norm")
    return operators.sync_bn_backward_param, args.grad_output, args.norm


@writes(
    "grad_input",
    "grad_output, weight, grad_weight, grad_bias, norm, std, grad_input",
    at_least_float32,
)
def sync_bn_backward_data(args: Args) -> Any:
    """weight may be None."""
    _rows(args, "grad_output", "norm", "grad_input")
    gradients = args.weight, args.grad_weight, args.grad_bias
    return operators.sync_bn_backward_data, args.grad_output, *gradients, args.norm, args.std
