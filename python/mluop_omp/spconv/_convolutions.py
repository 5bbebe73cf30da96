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

from mluop_omp._library import not_supported
from mluop_omp._operators._declaration import operators
from mluop_omp._operators.sparse_conv import output_space
from mluop_omp.torch import rulebooks
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
        return rulebooks.general_indice_pairs(*arguments)
    apply_num_threads()
    arguments = (dense(indices), batch_size, space, *geometry, subm)
    return operators.indice_pairs(TORCH, *arguments)


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
            out_space = output_space(*geometry)
        geometry = (ksize, stride, padding, dilation)
        arguments = (indices, batch_size, spatial_shape, out_space, geometry, subm, transpose)
        sites, pairs, num = _pairs(*arguments)
        if subm:
            rulebooks.pair_as_spconv(pairs, num)
        return indices if subm else sites, pairs.transpose(0, 1), num

    return get_indice_pairs


def _convolve(features: Tensor, filters: Tensor, pairs: Tensor, num: Tensor, rows: int) -> Tensor:
    flat = rulebooks.filters_of_spconv(filters)
    return rulebooks.convolve(features, flat, pairs, num, rows, "NDHWC")


def _gradients(
    features: Tensor, filters: Tensor, grad: Tensor, pairs: Tensor, num: Tensor
) -> tuple[Tensor, Tensor]:
    flat = rulebooks.filters_of_spconv(filters)
    grads = rulebooks.convolve_backward(features, flat, grad, pairs, num, "NDHWC")
    return grads[0], grads[1].permute(2, 0, 1).reshape(filters.shape)


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
    arguments = (indice_pairs, indice_pair_num, len(features), inverse, subm)
    output = _convolve(features, filters, *rulebooks.pairs_of_spconv(*arguments), num_activate_out)
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
    arguments = (indice_pairs, indice_pair_num, len(features), inverse, subm)
    return _gradients(features, filters, out_bp, *rulebooks.pairs_of_spconv(*arguments))


def _require_no_quantization(features: Tensor, *others: Any) -> None:
    if not features.is_floating_point() or any(other is not None for other in others):
        raise not_supported("implicit_gemm: neither integers, scales nor sums with other outputs")


def implicit_gemm(
    features: Tensor,
    filters: Tensor,
    pair_fwd: Tensor,
    pair_mask_fwd_splits: Any,
    mask_argsort_fwd_splits: Any,
    num_activate_out: int,
    masks: Any,
    is_train: bool,
    is_subm: bool,
    timer: Any = None,
    fp32_accum: bool | None = None,
    bias: Tensor | None = None,
    act_alpha: float = 0.0,
    act_beta: float = 0.0,
    act_type: Any = None,
    output_scale: float = 1.0,
    scale: Tensor | None = None,
    output_add: Tensor | None = None,
    output_add_scale: float = 0.0,
    output_dtype: Any = None,
) -> tuple[Tensor]:
    """spconv's function of this name, which has the input row of each offset and output row."""
    _require_no_quantization(features, scale, output_add)
    pairs = rulebooks.directed_by_output(pair_fwd, len(features))
    output = _convolve(features, filters, *pairs, num_activate_out)
    return (activate(output, bias, act_type, act_alpha),)


def implicit_gemm_backward(
    features: Tensor, filters: Tensor, out_bp: Tensor, pair_fwd: Tensor, *_: Any, **__: Any
) -> tuple[Tensor, Tensor]:
    pairs = rulebooks.directed_by_output(pair_fwd, len(features))
    return _gradients(features, filters, out_bp, *pairs)


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
