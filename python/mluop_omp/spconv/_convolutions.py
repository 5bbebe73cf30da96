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

from mluop_omp._adapters import Args, compute, takes
from mluop_omp._library import not_supported
from mluop_omp._operators._declaration import operators
from mluop_omp._operators.sparse_conv import output_space
from mluop_omp.torch import rulebooks

# By the names of cumm's tensorview.gemm.Activation.
_ACTIVATIONS: dict[str, Callable[[Tensor, float], Tensor]] = {
    "None_": lambda output, _: output,
    "ReLU": lambda output, _: output.relu(),
    "Sigmoid": lambda output, _: output.sigmoid(),
    "LeakyReLU": lambda output, alpha: torch.nn.functional.leaky_relu(output, alpha),
}


def activate(output: Tensor, args: Args) -> Tensor:
    if args.bias is not None:
        # Under autocast, the output has its type.
        output = output + args.bias.to(output.dtype)
    # Regular convolutions pass the type of the activation in place of its parameter.
    alpha = args.act_alpha if isinstance(args.act_alpha, Real) else _alpha_of_layer.get()
    return _ACTIVATIONS["None_" if args.act_type is None else args.act_type.name](output, alpha)


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


def _pairs(args: Args, space: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
    """Returns output sites, pairs [K, 2, L] and their numbers. space: of the output."""
    indices, kernel, dilation, subm = args.indices, args.ksize, args.dilation, args.subm
    if len(indices) == 0:
        # Also of an empty batch or space, which the library refuses.
        K = math.prod(kernel)
        return indices.int(), indices.new_empty(K, 2, 0).int(), indices.new_zeros(K).int()
    geometry = kernel, args.stride, args.padding, dilation, subm
    dilated = subm and any(d != 1 for d in dilation)
    sites = indices, args.batch_size, args.spatial_shape
    if args.transpose and not subm:
        return rulebooks.transposed_indice_pairs(*sites, space, *geometry[:-1])
    if dilated or len(kernel) not in (2, 3):
        return rulebooks.general_indice_pairs(*sites, space, *geometry)
    return compute(operators.indice_pairs, *sites, *geometry)


GEOMETRY = (
    "indices, batch_size, spatial_shape, algo, ksize, stride, padding, dilation, out_padding, "
    "subm=False, transpose=False"
)


def _get_indice_pairs(original: Callable[..., Any]) -> Callable[..., Any]:
    from spconv.pytorch.ops import get_deconv_output_size

    @takes(f"{GEOMETRY}, num_out_act_bound=-1")
    def get_indice_pairs(args: Args) -> tuple[Tensor, Tensor, Tensor]:
        kernel, dilation, subm = args.ksize, args.dilation, args.subm
        even = subm and any(size % 2 == 0 for size in kernel)
        if even or args.num_out_act_bound > 0:  # spconv refuses the first.
            return original(**vars(args))
        if subm:
            args.stride = [1] * len(kernel)
            args.padding = [size // 2 * step for size, step in zip(kernel, dilation)]
        geometry = args.spatial_shape, kernel, args.stride, args.padding, dilation
        if subm:
            space = args.spatial_shape
        elif args.transpose:
            space = get_deconv_output_size(*geometry, args.out_padding)
        else:
            space = output_space(*geometry)
        sites, pairs, num = _pairs(args, space)
        if subm:
            rulebooks.pair_as_spconv(pairs, num)
        return args.indices if subm else sites, pairs.transpose(0, 1), num

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


_PAIRS = "indice_pairs, indice_pair_num"
_NATIVE = "inverse=False, subm=False, algo=None, timer=None"
_ACTIVATION = "bias=None, act_alpha=0.0, act_beta=0.0, act_type=None"


def _directed_pairs(args: Args) -> tuple[Tensor, Tensor]:
    pairs = args.indice_pairs, args.indice_pair_num
    return rulebooks.pairs_of_spconv(*pairs, len(args.features), args.inverse, args.subm)


@takes(f"features, filters, {_PAIRS}, num_activate_out, {_NATIVE}, {_ACTIVATION}")
def indice_conv(args: Args) -> Tensor:
    pairs = _directed_pairs(args)
    return activate(_convolve(args.features, args.filters, *pairs, args.num_activate_out), args)


@takes(f"features, filters, out_bp, {_PAIRS}, {_NATIVE}")
def indice_conv_backward(args: Args) -> tuple[Tensor, Tensor]:
    return _gradients(args.features, args.filters, args.out_bp, *_directed_pairs(args))


@takes(
    "features, filters, pair_fwd, pair_mask_fwd_splits, mask_argsort_fwd_splits, num_activate_out, "
    f"masks, is_train, is_subm, timer=None, fp32_accum=None, {_ACTIVATION}, "
    "output_scale=1.0, scale=None, output_add=None, output_add_scale=0.0, output_dtype=None"
)
def implicit_gemm(args: Args) -> tuple[Tensor]:
    """spconv's function of this name, which has the input row of each offset and output row."""
    is_quantized = args.scale is not None or args.output_add is not None
    if is_quantized or not args.features.is_floating_point():
        raise not_supported("implicit_gemm: neither integers, scales nor sums with other outputs")
    pairs = rulebooks.directed_by_output(args.pair_fwd, len(args.features))
    output = _convolve(args.features, args.filters, *pairs, args.num_activate_out)
    return (activate(output, args),)


def implicit_gemm_backward(
    features: Tensor, filters: Tensor, out_bp: Tensor, pair_fwd: Tensor, *_: Any, **__: Any
) -> tuple[Tensor, Tensor]:
    pairs = rulebooks.directed_by_output(pair_fwd, len(features))
    return _gradients(features, filters, out_bp, *pairs)


def _differentiable(original: Callable[..., Any]) -> Callable[..., Any]:
    """A convolution of spconv.pytorch.functional, whose formula of the gradient leaves out the bias
    and the activation of the evaluation mode: here they follow it.
    """

    @takes(f"features, filters, {_PAIRS}, num_activate_out, algo, timer, {_ACTIVATION}")
    def convolve(args: Args) -> Tensor:
        pairs = args.indice_pairs, args.indice_pair_num
        arguments = args.features, args.filters, *pairs, args.num_activate_out
        return activate(original(*arguments, args.algo, args.timer), args)

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
