"""The functions of mmcv._ext that compute losses, with the names, arguments and outputs of mmcv."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from mluop_omp._operators._declaration import operators
from mluop_omp.torch._arrays import apply_num_threads, to_int32, write
from mluop_omp.torch._precision import precise

__all__ = ["sigmoid_focal_loss_backward", "sigmoid_focal_loss_forward"]


def _compute(
    outputs: dict[str, Tensor], operator: Any, tensors: tuple[Tensor, ...], *numbers: float
) -> None:
    apply_num_threads()
    input, target, weight = tensors
    values, weights = precise(input, weight)
    arguments = (values, to_int32("target", target), weights if weight.numel() else None, *numbers)
    write(outputs, values.dtype, operator, *arguments)


def sigmoid_focal_loss_forward(
    input: Tensor, target: Tensor, weight: Tensor, output: Tensor, gamma: float, alpha: float
) -> None:
    tensors = input, target, weight
    _compute({"output": output}, operators.sigmoid_focal_loss, tensors, gamma, alpha)


def sigmoid_focal_loss_backward(
    input: Tensor, target: Tensor, weight: Tensor, grad_input: Tensor, gamma: float, alpha: float
) -> None:
    tensors, outputs = (input, target, weight), {"grad_input": grad_input}
    _compute(outputs, operators.sigmoid_focal_loss_backward, tensors, gamma, alpha)
