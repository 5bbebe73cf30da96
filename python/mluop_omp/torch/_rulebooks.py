"""Index pairs and filters of other libraries, as the operators take them."""

from __future__ import annotations

import torch
from torch import Tensor

from mluop_omp._operators import sparse_conv
from mluop_omp.torch._arrays import TORCH


def fit_columns(pairs: Tensor, rows: int) -> Tensor:
    """Returns pairs [K, 2, rows]: cut, as no offset has more pairs than rows, or padded with -1."""
    columns = pairs.shape[2]
    if columns >= rows:
        return pairs[:, :, :rows].contiguous()
    return torch.nn.functional.pad(pairs, (0, rows - columns), value=-1)


def directed_pairs(pairs: Tensor, inverse: bool, rows: int) -> Tensor:
    """Returns the pairs [K, 2, rows] of a convolution of `rows` input rows, or of its inverse."""
    if inverse:
        pairs = pairs.flip(1)
    return pairs.contiguous() if pairs.shape[2] == rows else fit_columns(pairs, rows)


def convolve(
    feats: Tensor, filters: Tensor, pairs: Tensor, num: Tensor, num_out: int, layout: str
) -> Tensor:
    torch.get_num_threads()
    return sparse_conv.indice_conv(
        TORCH, feats.contiguous(), filters.contiguous(), pairs, num, num_out, False, layout
    )


def convolve_backward(
    feats: Tensor, filters: Tensor, grad: Tensor, pairs: Tensor, num: Tensor, layout: str
) -> tuple[Tensor, Tensor]:
    """Returns the gradients of feats and of the filters, the latter as [K, Ci, Co]."""
    torch.get_num_threads()
    grad, kernel = grad.contiguous(), (pairs.shape[0], 1, 1)
    grad_feats = sparse_conv.indice_conv_backward_data(
        TORCH, grad, filters.contiguous(), pairs, num, False, layout
    )
    grad_filters = sparse_conv.indice_conv_backward_filter(
        TORCH, feats.contiguous(), grad, pairs, num, kernel
    )
    return grad_feats, grad_filters.flatten(0, 2)
