"""How much a linear module amplifies errors of its inputs and weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from mluop_omp.golden._numbers import root_mean_square
from mluop_omp.golden.comparison._values import Tensor, convert
from mluop_omp.golden.runs._run import Call, Run, Value


def amplification(run: Run, call: Call, firsts: Mapping[str, Call], output: Value) -> float:
    """Returns the factor of relative errors in a product of inputs and weights, at least 1.

    Independent errors add up by the norm of the weights. Where the terms of a sum cancel, the
    result is smaller than this, and its relative error larger. Calls without recorded weights have
    the factor 1.

    firsts: the first call of each module, which has its parameters.
    """
    weight = getattr(firsts.get(call.module), "state", {}).get("weight")
    source = next(iter(call.inputs.values()), None)
    if weight is None or source is None:
        return 1.0
    values = [_numbers(run, each) for each in (weight, source, output)]
    return 1.0 if any(each is None for each in values) else of_product(*values)


def of_product(weights: np.ndarray, inputs: np.ndarray, outputs: np.ndarray) -> float:
    """Returns the amplification from the numbers of weights [channels, ...]."""
    result = root_mean_square(outputs)
    if weights.ndim < 2 or not result:
        return 1.0
    norm = math.sqrt((weights.astype(np.float64) ** 2).sum() / len(weights))
    return max(norm * root_mean_square(inputs) / result, 1.0)


def _numbers(run: Run, value: Value) -> Any:
    """Returns the numbers of a recorded tensor; None of a sample, or of one without elements."""
    recorded = run.tensors[value.tensor]
    if recorded.is_sample or not recorded.has_values or not recorded.size:
        return None
    array = run.stored(value.tensor)
    tensor = Tensor(array, recorded.dtype) if recorded.dtype == "bfloat16" else array
    return convert(tensor).numbers()
