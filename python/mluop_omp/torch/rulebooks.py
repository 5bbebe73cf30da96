"""Index pairs and filters of other libraries, as the operators take them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from mluop_omp._library import bad_param
from mluop_omp._operators._declaration import operators
from mluop_omp._operators.sparse_conv import find_pairs
from mluop_omp._operators.sparse_conv import output_space as output_space
from mluop_omp.torch._arrays import TORCH, apply_num_threads, to_int32
from mluop_omp.torch._precision import of_convolution, of_gradients


def directed_pairs(pairs: Tensor, inverse: bool, rows: int) -> Tensor:
    """Returns the pairs [K, 2, rows] of a convolution of `rows` input rows, or of its inverse.

    They are cut, as no offset has more pairs than rows, or padded with -1.
    """
    if inverse:
        pairs = pairs.flip(1)
    columns = pairs.shape[2]
    if columns < rows:
        return torch.nn.functional.pad(pairs, (0, rows - columns), value=-1)
    return (pairs if columns == rows else pairs[:, :, :rows]).contiguous()


def complete_pairs(pairs: Tensor, num: Tensor, rows: int, subm: bool) -> tuple[Tensor, Tensor]:
    """Returns spconv's pairs [2, K, L] and their numbers, completed for all offsets.

    spconv leaves out two parts of a submanifold convolution: the pairs of the middle offset, which
    pairs each site with itself, and the numbers of the offsets after it, whose pairs are the mirror
    images of those before it.
    """
    middle = len(num) // 2
    if not subm or int(num[middle]) == rows:
        return pairs, num
    pairs, num = pairs.clone(), num.clone()
    num[middle + 1 :] = num[:middle].flip(0)
    num[middle] = rows
    pairs[:, middle, :rows] = torch.arange(rows, dtype=pairs.dtype, device=pairs.device)
    return pairs, num


def pairs_of_spconv(
    pairs: Tensor, num: Tensor, rows: int, inverse: bool, subm: bool
) -> tuple[Tensor, Tensor]:
    """Returns the pairs [K, 2, rows] and numbers of spconv's pairs [2, K, L]."""
    pairs, num = complete_pairs(pairs, num, rows, subm)
    return directed_pairs(pairs.transpose(0, 1), inverse, rows), num


def pairs_by_output(pair_fwd: Tensor, rows: int) -> tuple[Tensor, Tensor]:
    """Returns pairs [K, 2, L] and their numbers.

    pair_fwd: [K, N], the input row of each offset and output row, or -1. rows: of the input.
    """
    valid = pair_fwd >= 0
    most = int(valid.sum(1).max()) if len(valid) else 0
    return _listed(valid, 1, pair_fwd, max(rows, most))


def _listed(valid: Tensor, end: int, others: Tensor, columns: int) -> tuple[Tensor, Tensor]:
    """Returns pairs [K, 2, columns] and their numbers.

    A pair for each k and row of valid [K, N]: the row at this end, and others[k, row] at the other.
    """
    num = valid.sum(1)
    k, rows = valid.nonzero(as_tuple=True)
    column = torch.arange(len(k), device=valid.device) - (num.cumsum(0) - num)[k]
    shape = (len(valid), 2, columns)
    pairs = torch.full(shape, -1, dtype=torch.int32, device=valid.device)
    pairs[k, end, column] = rows.int()
    pairs[k, 1 - end, column] = others[valid].int()
    return pairs, num.int()


def directed_by_output(pair_fwd: Tensor, rows: int) -> tuple[Tensor, Tensor]:
    """Returns the pairs [K, 2, rows] of `pairs_by_output`, and their numbers."""
    pairs, num = pairs_by_output(pair_fwd, rows)
    return directed_pairs(pairs, False, rows), num


def filters_of_spconv(filters: Tensor) -> Tensor:
    """Returns spconv's filters [Co, ..., Ci] as [Co, K, 1, 1, Ci]."""
    shape = filters.shape
    return filters.reshape(shape[0], math.prod(shape[1:-1]), 1, 1, shape[-1])


def filters_of_mmcv(filters: Tensor, pairs: Tensor) -> Tensor:
    """Returns mmcv's filters [..., Ci, Co] of any number of axes as [K, 1, 1, Ci, Co].

    K is the number of offsets of the pairs. A layer that shares the indice_key of another may have
    filters of more offsets; the last ones have no pairs, as in mmcv.
    """
    flat = filters.reshape(math.prod(filters.shape[:-2]), 1, 1, *filters.shape[-2:])
    return flat[: pairs.shape[0]]


def pair_sites_with_themselves(pairs: Tensor, num: Tensor, kernel: Sequence[int]) -> None:
    """Pairs each row of a submanifold convolution with itself at the middle offset, in place.

    Rows of repeated sites were paired with the first of them.
    """
    if all(size % 2 for size in kernel):
        middle, rows = pairs.shape[0] // 2, pairs.shape[2]
        pairs[middle] = torch.arange(rows, dtype=pairs.dtype, device=pairs.device)
        num[middle] = rows


def pair_as_spconv(pairs: Tensor, num: Tensor) -> None:
    """Changes the pairs of a submanifold convolution to the pairs of spconv, in place.

    They differ for repeated sites only: the middle offset pairs each row with itself, and the pairs
    of each offset after it are the pairs of its mirror image with the rows exchanged.
    """
    middle = pairs.shape[0] // 2
    rows = torch.arange(pairs.shape[2], dtype=pairs.dtype, device=pairs.device)
    if torch.equal(pairs[middle, 1], rows):
        return
    pairs[middle] = rows
    pairs[middle + 1 :] = pairs[:middle].flip(0, 1)
    num[middle + 1 :] = num[:middle].flip(0)


def _check_sites(indices: Tensor, batch_size: int, space: Sequence[int]) -> None:
    bounds = torch.tensor([batch_size, *space], device=indices.device)
    if indices.shape[1] != len(bounds):
        raise bad_param(f"indices dim 1 is {indices.shape[1]}, expected {len(bounds)}")
    outside = ((indices < 0) | (indices >= bounds)).any(1)
    if outside.any():
        row = int(outside.nonzero()[0])
        raise bad_param(
            f"indices[{row}] is {indices[row].tolist()}, expected a batch and coordinates of at "
            f"least 0 and less than {bounds.tolist()}"
        )


def general_indice_pairs(
    indices: Tensor,
    batch_size: int,
    space: Sequence[int],
    out_space: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    pad: Sequence[int],
    dilation: Sequence[int],
    subm: bool,
    transposed: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the results of `mluop_omp.indice_pairs` for any number of axes, by PyTorch.

    A transposed convolution takes site i through offset k to i * stride - pad + k * dilation.
    """
    indices = to_int32("indices", indices)
    _check_sites(indices, batch_size, space)
    batch, *site = indices.long().unbind(1)
    K, axes, L = math.prod(kernel), len(kernel), len(indices)
    device = indices.device
    steps = (torch.arange(size, device=device) for size in kernel)
    offsets = torch.cartesian_prod(*steps).view(K, axes)
    # The output cell of each offset and site, and whether there is one.
    cells, valid = batch.expand(K, L), torch.ones(K, L, dtype=torch.bool, device=device)
    linear = batch
    for axis in range(axes):
        shift = dilation[axis] * offsets[:, axis : axis + 1] - pad[axis]
        if transposed:
            output = site[axis] * stride[axis] + shift
        else:
            scaled = site[axis] - shift
            output = torch.div(scaled, stride[axis], rounding_mode="floor")
            valid &= scaled == output * stride[axis]
        valid &= (output >= 0) & (output < out_space[axis])
        cells = cells * out_space[axis] + output
        linear = linear * out_space[axis] + site[axis]
    if subm:
        ascending, order = linear.sort(stable=True)
        place = torch.searchsorted(ascending, cells).clamp_(max=max(L - 1, 0))
        valid &= ascending[place] == cells
        rows, out_indices = order[place], indices
    else:
        distinct = cells[valid].unique()
        rows = torch.searchsorted(distinct, cells)
        coordinates = torch.unravel_index(distinct, (batch_size, *out_space))
        out_indices = torch.stack(coordinates, 1).int()
    return out_indices, *_listed(valid, 0, rows, L)


def transposed_indice_pairs(
    indices: Tensor,
    batch_size: int,
    space: Sequence[int],
    out_space: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    pad: Sequence[int],
    dilation: Sequence[int],
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns output sites, pairs [K, 2, L] and their numbers of a transposed convolution.

    Offset k takes site i to i * stride - pad + k * dilation. A convolution of stride 1 takes the
    sites i * stride there through its offsets in the opposite order.
    """
    pads = [(size - 1) * step - p for size, step, p in zip(kernel, dilation, pad)]
    if len(kernel) not in (2, 3) or min(pads) < 0:
        sites = indices, batch_size, space, out_space
        return general_indice_pairs(*sites, kernel, stride, pad, dilation, False, True)
    indices = to_int32("indices", indices)
    _check_sites(indices, batch_size, space)
    spread = indices * torch.tensor([1, *stride], dtype=torch.int32)
    cells = [(size - 1) * step + 1 for size, step in zip(space, stride)]
    geometry = kernel, [1] * len(kernel), pads, dilation, False, out_space
    reached, pairs, num = find_pairs(TORCH, spread, batch_size, cells, *geometry)
    return reached, pairs.flip(0), num.flip(0)


def convolve(
    feats: Tensor, filters: Tensor, pairs: Tensor, num: Tensor, num_out: int, layout: str
) -> Tensor:
    apply_num_threads()
    feats, filters = of_convolution(feats, filters)
    return operators.indice_conv(TORCH, feats, filters, pairs, num, num_out, False, layout)


def convolve_backward(
    feats: Tensor, filters: Tensor, grad: Tensor, pairs: Tensor, num: Tensor, layout: str
) -> tuple[Tensor, Tensor]:
    """Returns the gradients of feats and of the filters, the latter as [K, Ci, Co]."""
    apply_num_threads()
    (grad, feats, filters), kernel = of_gradients(grad, feats, filters), (pairs.shape[0], 1, 1)
    grad_feats = operators.indice_conv_backward_data(TORCH, grad, filters, pairs, num, layout)
    grad_filters = operators.indice_conv_backward_filter(TORCH, feats, grad, pairs, num, kernel)
    return grad_feats, grad_filters.flatten(0, 2)
