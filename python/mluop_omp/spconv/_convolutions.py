"""Convolutions: functions of spconv.pytorch.ops and spconv.pytorch.functional."""

from __future__ import annotations

import contextvars
import functools
import math
from collections.abc import Sequence
from numbers import Real
from typing import Any, Callable

import torch
from torch import Tensor

from mluop_omp._operators import sparse_conv
from mluop_omp.torch import _rulebooks
from mluop_omp.torch._arrays import TORCH, apply_num_threads
from mluop_omp.torch._precision import dense

# By the names of cumm's tensorview.gemm.Activation.
_ACTIVATIONS: dict[str, Callable[[Tensor, float], Tensor]] = {
    "None_": lambda output, _: output,
    "ReLU": lambda output, _: output.relu(),
    "Sigmoid": lambda output, _: output.sigmoid(),
    "LeakyReLU": lambda output, alpha: torch.nn.functional.leaky_relu(output, alpha),
}


def activate(output: Tensor, bias: Tensor | None, act_type: Any, act_alpha: Any) -> Tensor:
    if bias is not None:
        # Under autocast, the output has its type.
        output = output + bias.to(output.dtype)
    if not isinstance(act_alpha, Real):
        # Regular convolutions pass the type of the activation in place of its parameter.
        act_alpha = _alpha_of_layer.get()
    return _ACTIVATIONS["None_" if act_type is None else act_type.name](output, act_alpha)


_alpha_of_layer: contextvars.ContextVar[float] = contextvars.ContextVar("act_alpha", default=0.0)


def with_activation_of_layer(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Lets `activate` know the parameter of the activation of a layer."""

    @functools.wraps(forward)
    def call(self: Any, *arguments: Any, **named: Any) -> Any:
        token = _alpha_of_layer.set(self.act_alpha)
        try:
            return forward(self, *arguments, **named)
        finally:
            _alpha_of_layer.reset(token)

    return call


def _complete(pairs: Tensor, num: Tensor, rows: int, subm: bool) -> tuple[Tensor, Tensor]:
    """Returns pairs [2, K, L] and numbers of all offsets.

    Those of spconv's submanifold convolutions lack the pairs of the middle, which are all sites,
    and the numbers of the offsets after it, which are those of their mirror images.
    """
    middle = len(num) // 2
    if not subm or int(num[middle]) == rows:
        return pairs, num
    pairs, num = pairs.clone(), num.clone()
    num[middle + 1 :] = num[:middle].flip(0)
    num[middle] = rows
    pairs[:, middle, :rows] = torch.arange(rows, dtype=pairs.dtype, device=pairs.device)
    return pairs, num


def _rulebook(
    pairs: Tensor, num: Tensor, rows: int, inverse: bool, subm: bool
) -> tuple[Tensor, Tensor]:
    pairs, num = _complete(pairs, num, rows, subm)
    # spconv has [2, K, L].
    return _rulebooks.directed_pairs(pairs.transpose(0, 1), inverse, rows), num


def _filters(filters: Tensor) -> Tensor:
    """Returns the filters [Co, ..., Ci] as [Co, K, 1, 1, Ci]."""
    shape = filters.shape
    return filters.reshape(shape[0], math.prod(shape[1:-1]), 1, 1, shape[-1])


def _pairs(
    indices: Tensor,
    batch_size: int,
    space: Sequence[int],
    out_space: Sequence[int],
    geometry: tuple[Sequence[int], ...],
    subm: bool,
    transposed: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns output sites, pairs [K, 2, L] and their numbers."""
    kernel, _, _, dilation = geometry
    if len(indices) == 0:
        # Also of an empty batch or space, which the library refuses.
        K = math.prod(kernel)
        return indices.int(), indices.new_empty(K, 2, 0).int(), indices.new_zeros(K).int()
    dilated = subm and any(d != 1 for d in dilation)
    if transposed or dilated or len(kernel) not in (2, 3):
        arguments = (indices, batch_size, space, out_space, *geometry, subm, transposed)
        return _rulebooks.general_indice_pairs(*arguments)
    apply_num_threads()
    arguments = (dense(indices), batch_size, space, *geometry, subm)
    return sparse_conv.indice_pairs(TORCH, *arguments)


def _get_indice_pairs(original: Callable[..., Any]) -> Callable[..., Any]:
    from spconv.pytorch.ops import get_deconv_output_size

    def get_indice_pairs(
        indices: Tensor,
        batch_size: int,
        spatial_shape: Sequence[int],
        algo: Any,
        ksize: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        out_padding: Sequence[int],
        subm: bool = False,
        transpose: bool = False,
        num_out_act_bound: int = -1,
    ) -> tuple[Tensor, Tensor, Tensor]:
        even = subm and any(size % 2 == 0 for size in ksize)
        if even or num_out_act_bound > 0:  # spconv refuses the first.
            arguments = (ksize, stride, padding, dilation, out_padding, subm, transpose)
            return original(indices, batch_size, spatial_shape, algo, *arguments, num_out_act_bound)
        if subm:
            stride = [1] * len(ksize)
            padding = [size // 2 * step for size, step in zip(ksize, dilation)]
            out_space = spatial_shape
        elif transpose:
            arguments = (ksize, stride, padding, dilation, out_padding)
            out_space = get_deconv_output_size(spatial_shape, *arguments)
        else:
            geometry = (spatial_shape, ksize, stride, padding, dilation)
            out_space = sparse_conv.output_space(*geometry)
        geometry = (ksize, stride, padding, dilation)
        arguments = (indices, batch_size, spatial_shape, out_space, geometry, subm, transpose)
        sites, pairs, num = _pairs(*arguments)
        if subm:
            _rulebooks.pair_as_spconv(pairs, num)
        return indices if subm else sites, pairs.transpose(0, 1), num

    return get_indice_pairs


def indice_conv(
    features: Tensor,
    filters: Tensor,
    indice_pairs: Tensor,
    indice_pair_num: Tensor,
    num_activate_out: int,
    inverse: bool = False,
    subm: bool = False,
    algo: Any = None,
    timer: Any = None,
    bias: Tensor | None = None,
    act_alpha: float = 0.0,
    act_beta: float = 0.0,
    act_type: Any = None,
) -> Tensor:
    pairs, num = _rulebook(indice_pairs, indice_pair_num, len(features), inverse, subm)
    output = _rulebooks.convolve(features, _filters(filters), pairs, num, num_activate_out, "NDHWC")
    return activate(output, bias, act_type, act_alpha)


def indice_conv_backward(
    features: Tensor,
    filters: Tensor,
    out_bp: Tensor,
    indice_pairs: Tensor,
    indice_pair_num: Tensor,
    inverse: bool = False,
    subm: bool = False,
    algo: Any = None,
    timer: Any = None,
) -> tuple[Tensor, Tensor]:
    pairs, num = _rulebook(indice_pairs, indice_pair_num, len(features), inverse, subm)
    grad_feats, grad_filters = _rulebooks.convolve_backward(
        features, _filters(filters), out_bp, pairs, num, "NDHWC"
    )
    return grad_feats, grad_filters.permute(2, 0, 1).reshape(filters.shape)


def _differentiable(original: Callable[..., Any]) -> Callable[..., Any]:
    """A convolution of spconv.pytorch.functional, whose formula of the gradient leaves out the bias
    and the activation of the evaluation mode: here they follow it.
    """

    def convolve(
        features: Tensor,
        filters: Tensor,
        indice_pairs: Tensor,
        indice_pair_num: Tensor,
        num_activate_out: int,
        algo: Any,
        timer: Any,
        bias: Tensor | None = None,
        act_alpha: float = 0.0,
        act_beta: float = 0.0,
        act_type: Any = None,
    ) -> Tensor:
        arguments = (features, filters, indice_pairs, indice_pair_num, num_activate_out)
        return activate(original(*arguments, algo, timer), bias, act_type, act_alpha)

    return convolve


# By name: takes the original, returns the function in its place.
OPS = {
    "get_indice_pairs": _get_indice_pairs,
    "indice_conv": lambda _: indice_conv,
    "indice_conv_backward": lambda _: indice_conv_backward,
}
FUNCTIONAL = {
    name: _differentiable for name in ("indice_conv", "indice_inverse_conv", "indice_subm_conv")
}
