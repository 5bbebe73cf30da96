"""Batch normalization that several processes share: the functions of mmcv's SyncBatchNorm."""

from __future__ import annotations

from typing import Any

from mluop_omp._arrays import Arrays, Tensor
from mluop_omp._definitions import batch_norm as definitions
from mluop_omp._library import function
from mluop_omp._operators._declaration import Array, operator
from mluop_omp._operators._derivative import NoDerivative
from mluop_omp._operators._tensors import output_of

__all__ = [
    "sync_bn_backward_data",
    "sync_bn_backward_param",
    "sync_bn_forward_mean",
    "sync_bn_forward_output",
    "sync_bn_forward_var",
]

_mean = function("mluOpOmpSyncBnForwardMean", "p" * 5)
_var = function("mluOpOmpSyncBnForwardVar", "p" * 7)
_output = function("mluOpOmpSyncBnForwardOutput", "p" * 15 + "ffi" + "p" * 6)
_param = function("mluOpOmpSyncBnBackwardParam", "p" * 9)
_data = function("mluOpOmpSyncBnBackwardData", "p" * 15)


def _channels(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the shape of a tensor per channel. The library refuses images of one dimension."""
    return tuple(shape[1:2]) or (0,)


def _optional(arrays: Arrays, name: str, array: Any) -> tuple[Any, ...]:
    return (None, None) if array is None else arrays.tensor(name, array, "C")


@operator(definitions, derivative=NoDerivative())
def sync_bn_forward_mean(arrays: Arrays, input: Array) -> Array:
    """Returns the mean of each channel.

    Args:
        input: float32 or float64 [N, C, S], or rows of channels [M, C].

    Returns:
        [C], of the dtype of input: sums in float64, rounded once; 0 without elements.

    Raises:
        MluOpError: input has neither 2 nor 3 dimensions.

    Source: mluOpOmpSyncBnForwardMean; mmcv sync_bn_forward_mean.
    """
    tensor: Tensor = arrays.tensor("input", input)
    return output_of(arrays, _mean, tensor, "mean", _channels(tensor[0].shape), input)


@operator(definitions, derivative=NoDerivative())
def sync_bn_forward_var(arrays: Arrays, input: Array, mean: Array) -> Array:
    """Returns the mean of (input - mean)^2 of each channel.

    Args:
        input: float32 or float64 [N, C, S], or rows of channels [M, C].
        mean: [C], of the dtype of input: the mean of all processes.

    Returns:
        [C], of the dtype of input: sums in float64, rounded once; 0 without elements.

    Raises:
        MluOpError: input has neither 2 nor 3 dimensions.

    Source: mluOpOmpSyncBnForwardVar; mmcv sync_bn_forward_var.
    """
    tensor: Tensor = arrays.tensor("input", input)
    inputs = *tensor, *arrays.tensor("mean", mean, "C")
    return output_of(arrays, _var, inputs, "var", _channels(tensor[0].shape), input)


@operator(definitions, derivative=NoDerivative())
def sync_bn_forward_output(
    arrays: Arrays,
    input: Array,
    mean: Array,
    var: Array,
    weight: Array | None = None,
    bias: Array | None = None,
    eps: float = 1e-5,
) -> tuple[Array, Array, Array]:
    """Normalizes with the statistics of all processes.

    mmcv's function also updates running statistics, as mluop_omp.mmcv and
    mluOpOmpSyncBnForwardOutput do.

    Args:
        input: float32 or float64 [N, C, S], or rows of channels [M, C].
        mean: [C], of the dtype of input.
        var: [C], of the dtype of input.
        weight: [C], of the dtype of input, or None: 1.
        bias: [C], of the dtype of input, or None: 0.
        eps: what is added to the variance.

    Returns:
        norm: of the shape and dtype of input: ``(input - mean) / sqrt(var + eps)``.
        std: [C], of the dtype of input: ``sqrt(var + eps)``.
        output: of the shape and dtype of input: ``norm * weight + bias``.

    Raises:
        MluOpError: input has neither 2 nor 3 dimensions.

    Source: mluOpOmpSyncBnForwardOutput; mmcv sync_bn_forward_output.
    """
    tensor: Tensor = arrays.tensor("input", input)
    shape = tensor[0].shape
    inputs = (
        *tensor,
        *arrays.tensor("mean", mean, "C"),
        *arrays.tensor("var", var, "C"),
        *_optional(arrays, "weight", weight),
        *_optional(arrays, "bias", bias),
        *(None, None, None, None, float(eps), 0.0, 1),
    )
    norm, *norm_tensor = arrays.output("norm", shape, input)
    std, *std_tensor = arrays.output("std", _channels(shape), input)
    output, *output_tensor = arrays.output("output", shape, input)
    with arrays.handle() as own:
        own.call(_output, *inputs, *norm_tensor, *std_tensor, *output_tensor)
    return norm, std, output


@operator(definitions, derivative=NoDerivative())
def sync_bn_backward_param(arrays: Arrays, grad_output: Array, norm: Array) -> tuple[Array, Array]:
    """Returns the gradients of weight and bias in one process.

    Args:
        grad_output: float32 or float64 [N, C, S], or rows of channels [M, C].
        norm: of the shape and dtype of grad_output.

    Returns:
        grad_weight: [C], of the dtype of grad_output: the sums of grad_output norm, in float64,
            rounded once; 0 without elements.
        grad_bias: [C], of the dtype of grad_output: the sums of grad_output.

    Raises:
        MluOpError: grad_output has neither 2 nor 3 dimensions.

    Source: mluOpOmpSyncBnBackwardParam; mmcv sync_bn_backward_param.
    """
    tensor: Tensor = arrays.tensor("grad_output", grad_output)
    inputs = *tensor, *arrays.tensor("norm", norm)
    channels = _channels(tensor[0].shape)
    grad_weight, *weight_tensor = arrays.output("grad_weight", channels, grad_output)
    grad_bias, *bias_tensor = arrays.output("grad_bias", channels, grad_output)
    with arrays.handle() as own:
        own.call(_param, *inputs, *weight_tensor, *bias_tensor)
    return grad_weight, grad_bias


@operator(definitions, derivative=NoDerivative())
def sync_bn_backward_data(
    arrays: Arrays,
    grad_output: Array,
    weight: Array | None,
    grad_weight: Array,
    grad_bias: Array,
    norm: Array,
    std: Array,
) -> Array:
    """Returns the gradient of the input, with T elements of a channel in each process:
    ``weight (grad_output - (grad_weight norm + grad_bias) / T) / std``.

    Args:
        grad_output: float32 or float64 [N, C, S], or rows of channels [M, C].
        weight: [C], of the dtype of grad_output, or None: 1.
        grad_weight: [C], of the dtype of grad_output: the mean of all processes' gradients.
        grad_bias: [C], of the dtype of grad_output, likewise.
        norm: of the shape and dtype of grad_output.
        std: [C], of the dtype of grad_output.

    Returns:
        Of the shape and dtype of grad_output.

    Raises:
        MluOpError: grad_output has neither 2 nor 3 dimensions.

    Source: mluOpOmpSyncBnBackwardData; mmcv sync_bn_backward_data.
    """
    tensor: Tensor = arrays.tensor("grad_output", grad_output)
    inputs = (
        *tensor,
        *_optional(arrays, "weight", weight),
        *arrays.tensor("grad_weight", grad_weight, "C"),
        *arrays.tensor("grad_bias", grad_bias, "C"),
        *arrays.tensor("norm", norm),
        *arrays.tensor("std", std, "C"),
    )
    return output_of(arrays, _data, inputs, "grad_input", tensor[0].shape, grad_output)
