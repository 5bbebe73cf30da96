"""spconv's sparse convolutions on CPUs.

    import mluop_omp.spconv
    mluop_omp.spconv.install()

makes the layers of spconv 2.3 compute tensors of the CPU with this library: the same bits at any
number of threads, where spconv's own kernels race, and gradients without CUDA, which spconv's own
require. Submanifold, regular and inverse convolutions of float and half; index pairs of two and
three dimensions. The layers need algo=ConvAlgo.Native, which is the default of spconv's CPU wheel.
The output sites of regular convolutions are in ascending order. All else is computed by spconv.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Callable

import torch
from torch import Tensor

from mluop_omp import _dispatch
from mluop_omp._operators import sparse_conv
from mluop_omp.torch import _rulebooks
from mluop_omp.torch._arrays import TORCH, dense

# By the names of cumm's tensorview.gemm.Activation.
_ACTIVATIONS: dict[str, Callable[[Tensor, float], Tensor]] = {
    "None_": lambda output, _: output,
    "ReLU": lambda output, _: output.relu_(),
    "Sigmoid": lambda output, _: output.sigmoid_(),
    "LeakyReLU": lambda output, alpha: torch.nn.functional.leaky_relu_(output, alpha),
}


def _complete(pairs: Tensor, num: Tensor, rows: int, subm: bool) -> tuple[Tensor, Tensor]:
    """Returns pairs and numbers of all offsets.

    Those of spconv's submanifold convolutions lack the pairs of the middle, which are all sites,
    and the numbers of the offsets after it, which are those of their mirror images.
    """
    middle = len(num) // 2
    if not subm or int(num[middle]) == rows:
        return pairs, num
    pairs, num = pairs.clone(), num.clone()
    num[middle + 1 :] = num[:middle].flip(0)
    num[middle] = rows
    pairs[:, middle, :rows] = torch.arange(rows, dtype=pairs.dtype)
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


def _get_indice_pairs(original: Callable[..., Any]) -> Callable[..., Any]:
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
        dilated = subm and any(d != 1 for d in dilation)
        if transpose or dilated or len(ksize) not in (2, 3) or num_out_act_bound > 0:
            arguments = (ksize, stride, padding, dilation, out_padding, subm, transpose)
            return original(indices, batch_size, spatial_shape, algo, *arguments, num_out_act_bound)
        if subm:
            stride, padding = [1] * len(ksize), [size // 2 for size in ksize]
        torch.get_num_threads()
        out_indices, pairs, num = sparse_conv.indice_pairs(
            TORCH,
            dense(indices),
            batch_size,
            spatial_shape,
            ksize,
            stride,
            padding,
            dilation,
            subm,
        )
        return indices if subm else out_indices, pairs.transpose(0, 1), num

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
    if bias is not None:
        output = output + bias
    activation = "None_" if act_type is None else act_type.name
    return _ACTIVATIONS[activation](output, act_alpha)


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


def _with_contiguous_pairs(original: Callable[..., Any]) -> Callable[..., Any]:
    """spconv's own functions take the address of the pairs."""

    def call(*arguments: Any, **named: Any) -> Any:
        def contiguous(value: Any) -> Any:
            return value.contiguous() if isinstance(value, Tensor) else value

        return original(*map(contiguous, arguments), **{k: contiguous(v) for k, v in named.items()})

    return call


# By name: takes the original, returns the function in its place.
_REPLACED = {
    "get_indice_pairs": _get_indice_pairs,
    "indice_conv": lambda _: indice_conv,
    "indice_conv_backward": lambda _: indice_conv_backward,
    "indice_maxpool": _with_contiguous_pairs,
    "indice_maxpool_backward": _with_contiguous_pairs,
}


def install() -> None:
    """Provides the functions of spconv.pytorch.ops for tensors of the CPU; once, if repeated."""
    from spconv.pytorch import ops

    for name, make in _REPLACED.items():
        _dispatch.replace(ops, name, make(getattr(ops, name)))
