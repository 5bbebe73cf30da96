"""Index pairs and filters of other libraries, as the operators take them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from mluop_omp._operators import sparse_conv
from mluop_omp.torch._arrays import TORCH, to_int32, widened


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


def general_indice_pairs(
    indices: Tensor,
    batch_size: int,
    out_space: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    pad: Sequence[int],
    dilation: Sequence[int],
    subm: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the results of `mluop_omp.indice_pairs` for any number of axes, by PyTorch."""
    indices = to_int32("indices", indices)
    if len(indices) == 0:
        K = math.prod(kernel)
        none = torch.zeros(K, dtype=torch.int32)
        return indices, torch.full((K, 2, 0), -1, dtype=torch.int32), none
    batch, *site = indices.long().unbind(1)
    offsets = torch.cartesian_prod(*map(torch.arange, kernel))
    (K, axes), L = offsets.shape, len(indices)
    # The output cell of each offset and site, and whether there is one.
    cells, valid = batch.expand(K, L), torch.ones(K, L, dtype=torch.bool)
    linear = batch
    for axis in range(axes):
        scaled = site[axis] + pad[axis] - dilation[axis] * offsets[:, axis : axis + 1]
        output = torch.div(scaled, stride[axis], rounding_mode="floor")
        valid &= (scaled == output * stride[axis]) & (output >= 0) & (output < out_space[axis])
        cells = cells * out_space[axis] + output
        linear = linear * out_space[axis] + site[axis]
    if subm:
        ascending, order = linear.sort()
        place = torch.searchsorted(ascending, cells).clamp_(max=L - 1)
        valid &= ascending[place] == cells
        rows, out_indices = order[place], indices
    else:
        distinct = cells[valid].unique()
        rows = torch.searchsorted(distinct, cells)
        coordinates = torch.unravel_index(distinct, (batch_size, *out_space))
        out_indices = torch.stack(coordinates, 1).int()
    num = valid.sum(1)
    k, inputs = valid.nonzero(as_tuple=True)
    column = torch.arange(len(k)) - (num.cumsum(0) - num)[k]
    pairs = torch.full((K, 2, L), -1, dtype=torch.int32)
    pairs[k, 0, column] = inputs.int()
    pairs[k, 1, column] = rows[valid].int()
    return out_indices, pairs, num.int()


def convolve(
    feats: Tensor, filters: Tensor, pairs: Tensor, num: Tensor, num_out: int, layout: str
) -> Tensor:
    torch.get_num_threads()
    feats, filters = widened(feats, filters)
    return sparse_conv.indice_conv(TORCH, feats, filters, pairs, num, num_out, False, layout)


def convolve_backward(
    feats: Tensor, filters: Tensor, grad: Tensor, pairs: Tensor, num: Tensor, layout: str
) -> tuple[Tensor, Tensor]:
    """Returns the gradients of feats and of the filters, the latter as [K, Ci, Co]."""
    torch.get_num_threads()
    (feats, filters, grad), kernel = widened(feats, filters, grad), (pairs.shape[0], 1, 1)
    grad_feats = sparse_conv.indice_conv_backward_data(
        TORCH, grad, filters, pairs, num, False, layout
    )
    grad_filters = sparse_conv.indice_conv_backward_filter(TORCH, feats, grad, pairs, num, kernel)
    return grad_feats, grad_filters.flatten(0, 2)
