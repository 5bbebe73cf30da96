"""The functions of mmcv._ext that compute losses, with the names, arguments and outputs of mmcv."""

from __future__ import annotations

from typing import Any

from mluop_omp._adapters import Args, writes
from mluop_omp._operators._declaration import operators
from mluop_omp.torch._precision import precise


def _arguments(args: Args) -> tuple[Any, ...]:
    weight = args.weight if args.weight.numel() else None
    return args.input, args.int32("target"), weight, args.gamma, args.alpha


@writes("output", "input, target, weight, output, gamma, alpha", precise)
def sigmoid_focal_loss_forward(args: Args) -> Any:
    return operators.sigmoid_focal_loss, *_arguments(args)


@writes("grad_input", "input, target, weight, grad_input, gamma, alpha", precise)
def sigmoid_focal_loss_backward(args: Args) -> Any:
    return operators.sigmoid_focal_loss_backward, *_arguments(args)


@writes("output", "input, target, weight, output, gamma, alpha", precise)
def softmax_focal_loss_forward(args: Args) -> Any:
    """input is the softmax. A target of -1 has the loss 0; mmcv's kernel reads other memory."""
    return operators.softmax_focal_loss, *_arguments(args)


@writes("buff, grad_input", "input, target, weight, buff, grad_input, gamma, alpha", precise)
def softmax_focal_loss_backward(args: Args) -> Any:
    """Writes the factors of the rows to buff [N]."""
    return operators.softmax_focal_loss_backward, *_arguments(args)
