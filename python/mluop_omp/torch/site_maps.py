"""Sums, maxima and convolutions over the index pairs of two lists of sites.

Results have the same bits at any number of threads. Sums of float16 and bfloat16 are float32,
rounded once. Every function but `max_pool` and `segment_max` is linear in each of its
floating-point tensors, and all have derivatives of any order in reverse mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from mluop_omp._library import bad_param
from mluop_omp._operators._derivative import in_float32
from mluop_omp._operators._torch import ops
from mluop_omp.torch._arrays import require_integers, to_index, to_int32
from mluop_omp.torch._bags import Sum, all_rows, maxima, means
from mluop_omp.torch.rulebooks import directed_pairs


class KernelMap(NamedTuple):
    """The index pairs of each offset of a kernel: rows of the input and of the output.

    pairs: int32 [K, 2, L], -1 past the pairs of an offset; pairs[k, 0] are rows of the input.
    num: int32 [K], the pairs of each offset.
    num_in, num_out: the sites of the input and of the output.
    """

    pairs: Tensor
    num: Tensor
    num_in: int
    num_out: int


def kernel_map(inputs: Tensor, outputs: Tensor, offsets: Tensor) -> KernelMap:
    """Pairs input i and output o of offset k where inputs[i] = outputs[o] + offsets[k].

    inputs [N, 1 + D] and outputs [M, 1 + D] are sites, offsets [K, D]; see `site_pairs`.
    """
    sites = to_int32("inputs", inputs), to_int32("outputs", outputs)
    pairs, num = ops.site_pairs(*sites, to_int32("offsets", offsets))
    return KernelMap(pairs, num, len(inputs), len(outputs))


def exchanged(map: KernelMap) -> KernelMap:
    """Returns the map of the transposed kernel: input and output change places."""
    return KernelMap(map.pairs.flip(1), map.num, map.num_out, map.num_in)


def themselves(rows: int) -> KernelMap:
    """Returns the map of one offset that pairs each row with itself."""
    own = torch.arange(rows, dtype=torch.int32, device="cpu").expand(1, 2, rows).contiguous()
    return KernelMap(own, torch.tensor([rows], dtype=torch.int32, device="cpu"), rows, rows)


def cube_offsets(
    kernel: Sequence[int], first_fastest: bool, lowest: Sequence[int], steps: Sequence[int]
) -> Tensor:
    """Returns int32 [K, D], the offsets of a kernel that is a box.

    Along an axis they are (lowest + i) * step for i = 0 .. kernel - 1. The first axis varies
    fastest, or the last one.
    """
    if not len(kernel) == len(lowest) == len(steps) > 0:
        raise bad_param(
            f"kernel, lowest and steps have {len(kernel)}, {len(lowest)} and {len(steps)} "
            "elements, expected one for each axis"
        )
    axes = [
        (torch.arange(size, device="cpu") + low) * step
        for size, low, step in zip(kernel, lowest, steps)
    ]
    if first_fastest:
        axes.reverse()
    offsets = torch.stack(torch.meshgrid(*axes, indexing="ij"), -1).view(-1, len(axes))
    return to_int32("offsets", offsets.flip(1) if first_fastest else offsets)


def _require_rows(feats: Tensor, rows: int) -> None:
    if feats.dim() != 2 or feats.shape[0] != rows:
        raise bad_param(f"feats has shape {list(feats.shape)}, expected [{rows}, C]")


def convolve(feats: Tensor, kernel: Tensor, map: KernelMap) -> Tensor:
    """Adds feats[i] @ kernel[k] to row o of the result for each pair (i, o) of offset k.

    kernel: [K, Ci, Co], or [Ci, Co] of one offset. Under torch.autocast, computes its type.
    """
    _require_rows(feats, map.num_in)
    K = map.pairs.shape[0]
    if kernel.dim() not in (2, 3) or kernel.numel() == 0:
        raise bad_param(f"kernel has shape {list(kernel.shape)}, expected [{K}, Ci, Co]")
    filters = kernel.reshape(-1, 1, 1, *kernel.shape[-2:])
    rows = _operator_rows(map)
    if rows > map.num_in:
        feats = torch.nn.functional.pad(feats, (0, 0, 0, rows - map.num_in))
    pairs = directed_pairs(map.pairs, False, rows)
    convolved: Tensor = ops.indice_conv(feats, filters, pairs, map.num, map.num_out, False, "ARRAY")
    return convolved


def _operator_rows(map: KernelMap) -> int:
    """Returns the rows of features that `indice_conv` requires: at least the pairs of an offset."""
    if map.pairs.shape[2] <= map.num_in:
        return map.num_in
    return max(map.num_in, *map.num.tolist())


def listed(map: KernelMap) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the offset, input row and output row of each pair, ascending by offset."""
    columns = torch.arange(map.pairs.shape[2], device=map.num.device)
    is_pair = columns < map.num.unsqueeze(1)
    offsets = is_pair.nonzero()[:, 0]
    return offsets, map.pairs[:, 0][is_pair].long(), map.pairs[:, 1][is_pair].long()


@in_float32
def sum_pool(feats: Tensor, map: KernelMap) -> Tensor:
    """Adds the inputs of each output: [num_out, C] from feats [num_in, C]."""
    _require_rows(feats, map.num_in)
    _, rows, outputs = listed(map)
    return Sum.apply(feats, None, rows, outputs, map.num_out)


@in_float32
def average_pool(feats: Tensor, map: KernelMap) -> Tensor:
    """Divides the sum of the inputs of each output by their number; 0 without an input."""
    _require_rows(feats, map.num_in)
    _, rows, outputs = listed(map)
    return means(Sum.apply(feats, None, rows, outputs, map.num_out), outputs)


@in_float32
def max_pool(feats: Tensor, map: KernelMap) -> Tensor:
    """Returns the greatest input of each output and channel, which alone has a gradient.

    Among equal inputs, the input of the lowest offset is selected, then the lowest row. NaN is
    greater than all numbers. An output without an input is 0.
    """
    _require_rows(feats, map.num_in)
    return maxima(feats, *listed(map), map.num_out)


def gather_sum(feats: Tensor, index: Tensor, weights: Tensor) -> Tensor:
    """Returns sum_j weights[n, j] * feats[index[n, j]]: [N, C] of the dtype of feats.

    feats: [R, C]; index: integers [N, J], skipped where negative; weights: [N, J], whose elements
    without an index are not read. Sums are of the widest type of feats and weights, at least
    float32.
    """
    _require_rows(feats, len(feats))
    if index.dim() != 2 or index.shape != weights.shape:
        raise bad_param(
            f"index and weights have shapes {list(index.shape)} and {list(weights.shape)}, "
            "expected [N, J] for both"
        )
    is_given = require_integers("index", index) >= 0
    samples = is_given.nonzero()[:, 0]
    rows = to_index("index", index[is_given], len(feats))
    widest = torch.promote_types(feats.dtype, weights.dtype)
    dtype = torch.promote_types(widest, torch.float32)
    given = weights.masked_select(is_given).to(dtype)
    return Sum.apply(feats.to(dtype), given, rows, samples, len(index)).to(feats.dtype)


def _segments(feats: Tensor, segments: Tensor, count: int) -> Tensor:
    """Returns segments as int64. Raises MluOpError unless there is one for each row of feats."""
    if segments.dim() != 1:
        raise bad_param(f"segments has {segments.dim()} dimensions, expected 1")
    _require_rows(feats, len(segments))
    return to_index("segments", segments, count)


def _segment_sums(feats: Tensor, segments: Tensor, count: int) -> Tensor:
    """Returns the sums in float64: a segment may have all rows of a tensor."""
    rows = all_rows(feats)
    return Sum.apply(feats.double(), None, rows, segments, count)


def segment_sum(feats: Tensor, segments: Tensor, count: int) -> Tensor:
    """Adds the rows of each segment: [count, C] of the dtype of feats, whose sums are float64.

    feats: [N, C]; segments: integers [N], 0 to count - 1.
    """
    segments = _segments(feats, segments, count)
    return _segment_sums(feats, segments, count).to(feats.dtype)


def segment_mean(feats: Tensor, segments: Tensor, count: int) -> Tensor:
    """As `segment_sum`, divided by the number of rows; 0 without a row."""
    segments = _segments(feats, segments, count)
    return means(_segment_sums(feats, segments, count), segments).to(feats.dtype)


@in_float32
def segment_max(feats: Tensor, segments: Tensor, count: int) -> Tensor:
    """As `max_pool` of one offset: the greatest row of each segment and channel, the first of
    equals; 0 without a row.
    """
    segments = _segments(feats, segments, count)
    rows = all_rows(feats)
    return maxima(feats, torch.zeros_like(rows), rows, segments, count)
