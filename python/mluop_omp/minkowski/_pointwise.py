"""Layers and functions on the features of each site: MinkowskiFunctional, activations, linear."""

from __future__ import annotations

from typing import Any, Callable, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mluop_omp.minkowski._convolutions import MinkowskiModuleBase
from mluop_omp.minkowski._fields import TensorField
from mluop_omp.minkowski._tensors import SparseTensor
from mluop_omp.torch._precision import of_convolution

AnyTensor = TypeVar("AnyTensor", SparseTensor, TensorField)


class MinkowskiNonlinearityBase(MinkowskiModuleBase):
    """A layer `module` of PyTorch on the features of a SparseTensor or TensorField."""

    MODULE: type[nn.Module]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self.module = self.MODULE(*args, **kwargs)

    def forward(self, input: AnyTensor) -> AnyTensor:
        return input._with(self.module(input.F))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


_MODULES = (
    *("ELU", "Hardshrink", "Hardsigmoid", "Hardtanh", "Hardswish", "LeakyReLU", "LogSigmoid"),
    *("PReLU", "ReLU", "ReLU6", "RReLU", "SELU", "CELU", "GELU", "Sigmoid", "SiLU", "Softplus"),
    *("Softshrink", "Softsign", "Tanh", "Tanhshrink", "Threshold", "Softmin", "Softmax"),
    *("LogSoftmax", "Dropout", "AlphaDropout"),
)


def _layer(name: str) -> type[MinkowskiNonlinearityBase]:
    members = {
        "MODULE": getattr(nn, name),
        "__module__": __name__,
        "__doc__": f"torch.nn.{name} on the features of a SparseTensor or TensorField.",
    }
    return type(f"Minkowski{name}", (MinkowskiNonlinearityBase,), members)


# Activations and dropouts, by name: MinkowskiReLU ...
LAYERS = {f"Minkowski{name}": _layer(name) for name in _MODULES}
globals().update(LAYERS)


class MinkowskiSinusoidal(MinkowskiModuleBase):
    """sin(x kernel + bias) coef."""

    def __init__(self, in_channel: int, out_channel: int) -> None:
        super().__init__()
        self.in_channel, self.out_channel = in_channel, out_channel
        self.kernel = nn.Parameter(torch.rand(in_channel, out_channel))
        self.bias = nn.Parameter(torch.rand(1, out_channel))
        self.coef = nn.Parameter(torch.rand(1, out_channel))

    def forward(self, input: AnyTensor) -> AnyTensor:
        features, kernel = of_convolution(input.F, self.kernel)
        phases = features.mm(kernel) + self.bias.to(features.dtype)
        return input._with(phases.sin() * self.coef.to(features.dtype))


class MinkowskiLinear(nn.Module):
    """torch.nn.Linear, the attribute `linear`, on the features."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__()
        self.linear = nn.Linear(in_features, out_features, bias=bias)

    def forward(self, input: AnyTensor) -> AnyTensor:
        return input._with(self.linear(input.F))

    def __repr__(self) -> str:
        linear = self.linear
        return (
            f"{type(self).__name__}(in_features={linear.in_features}, "
            f"out_features={linear.out_features}, bias={linear.bias is not None})"
        )


def _of_features(name: str) -> Callable[..., Any]:
    """Returns a function of PyTorch on features, whose result has the sites of the input."""
    function = getattr(F, name)

    def call(input: AnyTensor, *args: Any, **kwargs: Any) -> AnyTensor:
        return input._with(function(input.F, *args, **kwargs))

    return _named(call, name)


def _loss(name: str) -> Callable[..., Any]:
    """Returns a loss of PyTorch on features, whose result is a tensor."""
    function = getattr(F, name)

    def call(input: Any, target: Tensor, *args: Any, **kwargs: Any) -> Any:
        return function(input.F, target, *args, **kwargs)

    return _named(call, name)


def _named(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"torch.nn.functional.{name} of the features."
    return function


_FUNCTIONS = (
    *("threshold", "relu", "hardtanh", "hardswish", "relu6", "elu", "selu", "celu", "leaky_relu"),
    *("prelu", "rrelu", "glu", "gelu", "logsigmoid", "hardshrink", "tanhshrink", "softsign"),
    *("softplus", "softmin", "softmax", "softshrink", "gumbel_softmax", "log_softmax", "tanh"),
    *("sigmoid", "hardsigmoid", "silu", "batch_norm", "normalize", "linear", "dropout"),
    "alpha_dropout",
)
_LOSSES = (
    *("binary_cross_entropy", "binary_cross_entropy_with_logits", "poisson_nll_loss"),
    *("cross_entropy", "hinge_embedding_loss", "kl_div", "l1_loss", "mse_loss"),
    *("multilabel_margin_loss", "multilabel_soft_margin_loss", "multi_margin_loss", "nll_loss"),
    *("smooth_l1_loss", "soft_margin_loss"),
)

# The module MinkowskiFunctional.
FUNCTIONS = {name: _of_features(name) for name in _FUNCTIONS}
FUNCTIONS |= {name: _loss(name) for name in _LOSSES}
