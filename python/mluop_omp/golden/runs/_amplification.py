"""How much a module amplifies relative errors of its inputs and parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from mluop_omp.golden._numbers import root_mean_square
from mluop_omp.golden.comparison._values import Tensor
from mluop_omp.golden.runs._run import Call, Run, Value


def amplification(run: Run, call: Call, state: Mapping[str, Value], output: Value) -> float:
    """Returns the factor of relative errors from an input to an output of a call, at least 1.

    In a product of inputs and weights, independent errors add up by the norm of the weights. Where
    the terms of a sum cancel, the result is smaller than this, and its relative error larger. A
    batch normalization subtracts the mean of a channel, which may be far larger than the rest.
    Calls without recorded parameters, or with another layout of weights, have the factor 1.

    state: the recorded parameters and buffers of the module.
    """
    source = next(iter(call.inputs.values()), None)
    names = [each.tensor for each in (source, output, state.get("weight")) if each is not None]
    if source is None or not all(run.tensors[name].is_whole for name in names):
        return 1.0
    inputs, outputs = _numbers(run, source), _numbers(run, output)
    if not root_mean_square(outputs):
        return 1.0
    if "running_var" in state and inputs.shape == outputs.shape and inputs.ndim > 1:
        return max(_of_channels(inputs, outputs), 1.0)
    if "weight" not in state or source.is_sparse:
        return 1.0
    weights = _numbers(run, state["weight"])
    # [channels, ...], as in nn.Linear and nn.Conv2d.
    if weights.ndim < 2 or len(weights) not in outputs.shape[1:2] + outputs.shape[-1:]:
        return 1.0
    norm = math.sqrt((weights**2).sum() / len(weights))
    return max(norm * root_mean_square(inputs) / root_mean_square(outputs), 1.0)


def _of_channels(inputs: np.ndarray, outputs: np.ndarray) -> float:
    """Returns the largest factor of the channels, whose outputs are a * input + b."""
    x, y = (np.moveaxis(each, 1, 0).reshape(each.shape[1], -1) for each in (inputs, outputs))
    whole = root_mean_square(outputs)
    with np.errstate(invalid="ignore", over="ignore"):
        slopes = y.std(1) / np.maximum(x.std(1), np.finfo(np.float64).tiny)
        magnitudes = np.sqrt([(x**2).mean(1), np.maximum((y**2).mean(1), whole**2)])
        return float((slopes * magnitudes[0] / magnitudes[1]).max())


def _numbers(run: Run, value: Value) -> np.ndarray:
    tensor = Tensor(run.array(value.tensor), run.tensors[value.tensor].dtype)
    return tensor.numbers().astype(np.float64)
