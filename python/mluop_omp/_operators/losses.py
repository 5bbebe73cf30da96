"""The losses of classifications."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable

from mluop_omp._arrays import Arrays
from mluop_omp._definitions import losses as definitions
from mluop_omp._library import function
from mluop_omp._operators._declaration import Array, operator
from mluop_omp._operators._derivative import (
    Derivative,
    NoDerivative,
    differentiable,
    in_float32,
    sum_by_index,
    total,
)
from mluop_omp._operators._tensors import output_of
from mluop_omp._operators._torch import Tensor, ops, torch

__all__ = [
    "sigmoid_focal_loss",
    "sigmoid_focal_loss_backward",
    "softmax_focal_loss",
    "softmax_focal_loss_backward",
]

_loss = function("mluOpFocalLossSigmoidForward", "piippppppffpp")
_loss_backward = function("mluOpFocalLossSigmoidBackward", "piippppppffpp")
_row_loss = function("mluOpOmpSoftmaxFocalLossForward", "pppppppffpp")
_row_loss_backward = function("mluOpOmpSoftmaxFocalLossBackward", "pppppppffpppp")
# Enumerators of mlu_op.h.
_HIGH_PRECISION, _REDUCTION_NONE = 1, 0


def _compute(
    function: Callable[..., int],
    output_name: str,
    arrays: Arrays,
    input: Any,
    target: Any,
    weight: Any,
    gamma: float,
    alpha: float,
) -> Any:
    input_tensor = arrays.tensor("input", input, "N C")
    inputs = (
        *(_HIGH_PRECISION, _REDUCTION_NONE, *input_tensor),
        *arrays.tensor("target", target, "N"),
        *((None, None) if weight is None else arrays.tensor("weight", weight, "C")),
        *(float(alpha), float(gamma)),
    )
    return output_of(arrays, function, inputs, output_name, input_tensor[0].shape, input)


@in_float32
def _slopes(
    input: Tensor, target: Tensor, weight: Tensor | None, gamma: float, alpha: float
) -> Tensor:
    """Returns the result of sigmoid_focal_loss_backward, by operators of PyTorch."""
    p = input.sigmoid()
    classes = torch.arange(input.shape[1], device=input.device)
    is_target = target.unsqueeze(1) == classes
    right, wrong = torch.where(is_target, p, 1 - p), torch.where(is_target, 1 - p, p)
    log = right.clamp(min=torch.finfo(torch.float32).tiny).log()
    factor = torch.where(is_target, -alpha, 1 - alpha) * wrong**gamma
    if weight is not None:
        factor = factor * _weights_of_rows(weight, target, 1)
    return (factor * (wrong - gamma * right * log)).to(input.dtype)


def _weights_of_rows(weight: Tensor, target: Tensor, background: float) -> Tensor:
    has_class = (target >= 0) & (target < len(weight))
    if len(weight) == 0:
        return weight.new_full((len(target), 1), background)
    rows = weight[torch.where(has_class, target, 0).long()]
    return torch.where(has_class, rows, background).unsqueeze(1)


def _gradients(
    needs: Sequence[bool], grad: Tensor, input: Tensor, target: Tensor, weight: Any, *numbers: float
) -> tuple[Tensor | None, ...]:
    grad_input = grad_weight = None
    if needs[0]:
        arguments = input, target, weight, *numbers
        grad_input = grad * differentiable("sigmoid_focal_loss_backward", _slopes, *arguments)
    if needs[2]:
        losses = ops.sigmoid_focal_loss(input, target, None, *numbers)
        classes = torch.where((target >= 0) & (target < len(weight)), target, len(weight))
        grad_weight = sum_by_index((grad * losses).sum(1), classes, len(weight) + 1)[:-1]
    return grad_input, None, grad_weight


def _jvp(inputs: tuple, tangents: tuple, output: Tensor) -> Tensor:
    input, target, weight, *numbers = inputs
    terms = []
    if tangents[0] is not None:
        terms.append(tangents[0] * _slopes(input, target, weight, *numbers))
    if tangents[2] is not None:
        losses = ops.sigmoid_focal_loss(input, target, None, *numbers)
        terms.append(losses * _weights_of_rows(tangents[2], target, 0))
    return total(terms, output)


@operator(definitions, derivative=Derivative(_gradients, _jvp))
def sigmoid_focal_loss(
    arrays: Arrays,
    input: Array,
    target: Array,
    weight: Array | None = None,
    gamma: float = 2.0,
    alpha: float = 0.25,
) -> Array:
    """Returns the sigmoid focal loss of each class of each row (RetinaNet).

    With p = 1 / (1 + exp(-input)), the loss of the class that is the target of its row is
    ``-w alpha (1 - p)^gamma log(p)``, and the loss of any other class
    ``-w (1 - alpha) p^gamma log(1 - p)``. mmcv takes gamma and alpha before weight, and sums or
    averages the losses. The output has derivatives with respect to input and weight.

    Args:
        input: float16, bfloat16, float32 or float64 [N, C], logits. float16 and bfloat16 are
            computed in float32.
        target: int32 [N]: the class of a row, 0 to C - 1; other values, such as C, are background.
        weight: [C], of the dtype of input: w is the weight of the target of the row; 1 for
            background, and for all rows if weight is None.
        gamma: the exponent, at least 0.
        alpha: the share of targets.

    Returns:
        [N, C], of the dtype of input. The argument of a logarithm is at least 2^-126, as in mmcv's
        kernels: from input = 17.33 on (float64: 36.74), p is 1, and the loss of a class that is not
        the target is ``87.3 w (1 - alpha)``, where the formula gives ``input w (1 - alpha)``.
        mmcv's kernels, which also round 1 + exp(-input), reach this value from 16.64 on.

    Raises:
        MluOpError: gamma is negative.

    Source: mluOpFocalLossSigmoidForward; arXiv:1708.02002; mmcv sigmoid_focal_loss.
    """
    return _compute(_loss, "output", arrays, input, target, weight, gamma, alpha)


@operator(definitions, derivative=NoDerivative())
def sigmoid_focal_loss_backward(
    arrays: Arrays,
    input: Array,
    target: Array,
    weight: Array | None = None,
    gamma: float = 2.0,
    alpha: float = 0.25,
) -> Array:
    """Returns the derivative of each loss of `sigmoid_focal_loss` with respect to its input.

    Args:
        input: float16, bfloat16, float32 or float64 [N, C].
        target: int32 [N].
        weight: [C], of the dtype of input, or None.
        gamma: the exponent, 0 to 10000.
        alpha: the share of targets.

    Returns:
        [N, C], of the dtype of input: for the target of a row
        ``-w alpha (1 - p)^gamma (1 - p - gamma p log(p))``, else
        ``w (1 - alpha) p^gamma (p - gamma (1 - p) log(1 - p))``.

    Raises:
        MluOpError: gamma is out of range.

    Source: mluOpFocalLossSigmoidBackward; mmcv sigmoid_focal_loss.
    """
    return _compute(_loss_backward, "grad_input", arrays, input, target, weight, gamma, alpha)


def _row_inputs(
    arrays: Arrays, softmax: Any, target: Any, weight: Any, gamma: float, alpha: float
) -> tuple[Any, ...]:
    return (
        *arrays.tensor("softmax", softmax, "N C"),
        *arrays.tensor("target", target, "N"),
        *((None, None) if weight is None else arrays.tensor("weight", weight, "C")),
        *(float(alpha), float(gamma)),
    )


@operator(definitions, derivative=NoDerivative())
def softmax_focal_loss(
    arrays: Arrays,
    softmax: Array,
    target: Array,
    weight: Array | None = None,
    gamma: float = 2.0,
    alpha: float = 0.25,
) -> Array:
    """Returns the softmax focal loss of each row.

    With p the softmax of the target, the loss is ``-w alpha (1 - p)^gamma log(p)``. As the function
    of mmcv._ext, it takes the softmax; mmcv.ops.softmax_focal_loss takes logits, gamma and alpha
    before weight, and sums or averages the losses. alpha multiplies the losses of all classes. The
    function has no derivative; `softmax_focal_loss_backward` returns the gradient for the logits,
    and mmcv.ops.softmax_focal_loss uses it.

    Args:
        softmax: float16, bfloat16, float32 or float64 [N, C], probabilities; a number outside
            [0, 1] counts as the nearer bound. float16 and bfloat16 are computed in float32.
        target: int32 [N]: the class of a row, 0 to C - 1; the loss of a row with -1 is 0.
        weight: [C], of the dtype of softmax: w is the weight of the target; 1 for all if weight is
            None.
        gamma: the exponent, 0 to 10000.
        alpha: the factor of all losses.

    Returns:
        [N], of the dtype of softmax. The argument of the logarithm is at least 2^-126.

    Raises:
        MluOpError: gamma is out of range; a target is outside [-1, C - 1].

    Source: mluOpOmpSoftmaxFocalLossForward; arXiv:1708.02002; mmcv softmax_focal_loss.
    """
    inputs = _row_inputs(arrays, softmax, target, weight, gamma, alpha)
    return output_of(arrays, _row_loss, inputs, "output", inputs[0].shape[:1], softmax)


@operator(definitions, derivative=NoDerivative())
def softmax_focal_loss_backward(
    arrays: Arrays,
    softmax: Array,
    target: Array,
    weight: Array | None = None,
    gamma: float = 2.0,
    alpha: float = 0.25,
) -> tuple[Array, Array]:
    """Returns the gradient of each loss of `softmax_focal_loss` with respect to the logits.

    Args:
        softmax: float16, bfloat16, float32 or float64 [N, C], the softmax of the logits.
        target: int32 [N].
        weight: [C], of the dtype of softmax, or None.
        gamma: the exponent, 0 to 10000.
        alpha: the factor of all losses.

    Returns:
        buff: [N], of the dtype of softmax, the factor of the row:
            ``w alpha (gamma (1 - p)^(gamma - 1) p log(p) - (1 - p)^gamma)``, and its limit for
            p = 1: -w alpha if gamma is 0, otherwise 0.
        grad_input: [N, C], of the dtype of softmax: buff (1 - softmax) for the target of the row,
            -buff softmax for other classes. Rows with the target -1 are 0 in both.

    Raises:
        MluOpError: gamma is out of range; a target is outside [-1, C - 1].

    Source: mluOpOmpSoftmaxFocalLossBackward; mmcv softmax_focal_loss.
    """
    inputs = _row_inputs(arrays, softmax, target, weight, gamma, alpha)
    N, C = inputs[0].shape
    buff, *buff_tensor = arrays.output("buff", (N,), softmax)
    grad, *grad_tensor = arrays.output("grad_input", (N, C), softmax)
    with arrays.handle() as own:
        own.call(_row_loss_backward, *inputs, *buff_tensor, *grad_tensor)
    return buff, grad
