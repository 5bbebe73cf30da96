"""Pools, and the means of PointToVoxel. PyTorch computes them, but for a gradient."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, Callable

import torch
from torch import Tensor

from mluop_omp._adapters import Args, compute, takes
from mluop_omp._operators._declaration import operators
from mluop_omp.spconv._convolutions import GEOMETRY
from mluop_omp.torch import rulebooks
from mluop_omp.torch._precision import LOWER_PRECISION


def _offsets(pairs: Tensor, num: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Yields the input and output rows of each offset of pairs [2, K, L]."""
    for k, count in enumerate(num.tolist()):
        inputs, outputs = pairs[:, k, :count].long()
        yield inputs, outputs


# Pairs of this many places are taken at once: the calls of PyTorch for each offset take longer.
_FEW = 2**16


def _groups(pairs: Tensor, num: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Yields the input and output rows of all offsets, in few groups."""
    _, K, L = pairs.shape
    if K * L > _FEW:
        yield from _offsets(pairs, num)
    else:
        inputs, outputs = pairs[:, torch.arange(L) < num.unsqueeze(1)].long()
        yield inputs, outputs


def indice_maxpool(
    features: Tensor, indice_pairs: Tensor, indice_pair_num: Tensor, num_activate_out: int
) -> Tensor:
    maxima = features.new_full((num_activate_out, features.shape[1]), -torch.inf)
    for inputs, outputs in _groups(indice_pairs, indice_pair_num):
        rows = outputs.unsqueeze(1).expand(-1, features.shape[1])
        maxima.scatter_reduce_(0, rows, features[inputs], "amax")
    return maxima


@takes("features, out_features, out_bp, indice_pairs, indice_pair_num")
def indice_maxpool_backward(args: Args) -> Tensor:
    """Every input that equals the maximum has its whole gradient, as in spconv."""
    features = args.features
    pairs = rulebooks.directed_pairs(args.indice_pairs.transpose(0, 1), False, len(features))
    arguments = features, args.out_features, args.out_bp, pairs, args.indice_pair_num
    return compute(operators.indice_maxpool_backward, *arguments).to(features.dtype)


def pairs_of_implicit_gemm(get_indice_pairs: Callable[..., Any]) -> Callable[..., Any]:
    """The pairs by output and by input; of the other results of spconv, CPUs need none.

    get_indice_pairs computes them by offset.
    """

    @takes(f"{GEOMETRY}, *_, **__")
    def get_indice_pairs_implicit_gemm(args: Args) -> tuple[Any, ...]:
        *geometry, _, _ = vars(args).values()
        sites, pairs, num = get_indice_pairs(*geometry)
        by_output = pairs.new_full((pairs.shape[1], len(sites)), -1)
        by_input = pairs.new_full((pairs.shape[1], len(args.indices)), -1)
        for k, (inputs, outputs) in enumerate(_offsets(pairs, num)):
            by_output[k, outputs] = inputs.to(pairs.dtype)
            by_input[k, inputs] = outputs.to(pairs.dtype)
        return sites, num, by_output, by_input, [], [], [], [], []

    return get_indice_pairs_implicit_gemm


def _get_indice_pairs_implicit_gemm(original: Callable[..., Any]) -> Callable[..., Any]:
    from spconv.pytorch import ops

    return pairs_of_implicit_gemm(lambda *arguments: ops.get_indice_pairs(*arguments))


def _sum_rows(rows: Tensor, pairs: Tensor) -> Tensor:
    """Returns the sum over the offsets of the rows of pairs [K, M], which may be -1."""
    dtype = torch.float32 if rows.dtype in LOWER_PRECISION else rows.dtype
    sums = rows.new_zeros(pairs.shape[1], rows.shape[1], dtype=dtype)
    for row in pairs.long():
        has_row = row >= 0
        sums[has_row] += rows[row[has_row]]
    return sums


def indice_avgpool_implicit_gemm(
    features: Tensor, indice_pairs: Tensor, num_activate_out: int, calc_count: bool
) -> tuple[Tensor, Tensor]:
    """Averages the active sites of each window. Their number is returned for the gradient."""
    count = (indice_pairs >= 0).sum(0, dtype=torch.int32)
    averages = _sum_rows(features, indice_pairs) / count.clamp(min=1).unsqueeze(1)
    return averages.to(features.dtype), count


def indice_avgpool_implicit_gemm_backward(
    out_bp: Tensor, indice_pairs: Tensor, count_out: Tensor
) -> Tensor:
    shares = out_bp / count_out.clamp(min=1).unsqueeze(1)
    return _sum_rows(shares, indice_pairs).to(out_bp.dtype)


def global_pool_rearrange(coords: Tensor, batch_size: int) -> tuple[Tensor, Tensor]:
    """Returns the rows [batch_size, N] of each batch, ascending, and their numbers."""
    rows = coords.new_zeros(batch_size, len(coords), dtype=torch.int32)
    counts = coords.new_zeros(batch_size, dtype=torch.int32)
    for batch in range(batch_size):
        (own,) = torch.nonzero(coords[:, 0] == batch, as_tuple=True)
        rows[batch, : len(own)] = own.int()
        counts[batch] = len(own)
    return rows, counts


def with_means(generate: Callable[..., Any]) -> Callable[..., Any]:
    """PointToVoxel on CPUs with `empty_mean`: the places past the points hold their mean."""

    @functools.wraps(generate)
    def generate_voxel_with_id(
        self: Any, pc: Tensor, clear_voxels: bool = True, empty_mean: bool = False
    ) -> tuple[Tensor, ...]:
        if pc.device.type != "cpu" or not empty_mean:
            return generate(self, pc, clear_voxels, empty_mean)
        voxels, indices, num, ids = generate(self, pc, clear_voxels, False)
        places = torch.arange(voxels.shape[1], device=voxels.device)
        has_point = places < num.unsqueeze(1)
        points = torch.where(has_point.unsqueeze(2), voxels, 0)
        means = points.sum(1, keepdim=True) / num.clamp(min=1).view(-1, 1, 1)
        return torch.where(has_point.unsqueeze(2), voxels, means), indices, num, ids

    return generate_voxel_with_id


# By name: takes the original, returns the function in its place.
OPS: dict[str, Callable[..., Any]] = {
    "get_indice_pairs_implicit_gemm": _get_indice_pairs_implicit_gemm,
    "global_pool_rearrange": lambda _: global_pool_rearrange,
    "indice_avgpool_implicit_gemm": lambda _: indice_avgpool_implicit_gemm,
    "indice_avgpool_implicit_gemm_backward": lambda _: indice_avgpool_implicit_gemm_backward,
    "indice_maxpool": lambda _: indice_maxpool,
    "indice_maxpool_backward": lambda _: indice_maxpool_backward,
}
