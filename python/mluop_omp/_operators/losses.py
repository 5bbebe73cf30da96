"""The loss of classifications."""

from __future__ import annotations

from typing import Any

from mluop_omp._arrays import Arrays, handle
from mluop_omp._library import functions, require
from mluop_omp._operators import _double
from mluop_omp._operators._double import also_double

# Enumerators of mlu_op.h.
_HIGH_PRECISION, _REDUCTION_NONE = 1, 0


def _compute(
    function: Any,
    output_name: str,
    arrays: Arrays,
    input: Any,
    target: Any,
    weight: Any,
    gamma: float,
    alpha: float,
    out: Any,
) -> Any:
    input_desc, input_data = arrays.tensor("input", input, "N C")
    output, *output_tensor = arrays.output(output_name, input_desc.shape, input, out)
    weights = (None, None) if weight is None else arrays.tensor("weight", weight, "C")
    with handle() as own:
        require(
            function(
                *(own.pointer, _HIGH_PRECISION, _REDUCTION_NONE, input_desc, input_data),
                *arrays.tensor("target", target, "N"),
                *(*weights, float(alpha), float(gamma), *output_tensor),
            )
        )
    return output


@also_double(_double.sigmoid_focal_loss, 0)
def sigmoid_focal_loss(
    arrays: Arrays,
    input: Any,
    target: Any,
    weight: Any = None,
    gamma: float = 2.0,
    alpha: float = 0.25,
    out: Any = None,
) -> Any:
    function = functions.mluOpFocalLossSigmoidForward
    return _compute(function, "output", arrays, input, target, weight, gamma, alpha, out)


@also_double(_double.sigmoid_focal_loss_backward, 0)
def sigmoid_focal_loss_backward(
    arrays: Arrays,
    input: Any,
    target: Any,
    weight: Any = None,
    gamma: float = 2.0,
    alpha: float = 0.25,
    out: Any = None,
) -> Any:
    function = functions.mluOpFocalLossSigmoidBackward
    return _compute(function, "grad_input", arrays, input, target, weight, gamma, alpha, out)
