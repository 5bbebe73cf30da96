"""Chooses the elements and sites of a large tensor that a run records, alike on every machine.

A sample depends on the seed and the shape only, not on module names, element types or the order of
rows. Samples of one seed are nested: the smaller of two is contained in the larger.

A sample of a dense tensor consists of parts, one for each dimension with more than one index. A
part has many indices of its dimension, often all, and few of the others. A defect of a single
channel, row or column is thus in a sample of any size, and a part is a tensor of as many
dimensions, in which the patterns of channels, rows and tiles can be found.
"""

from __future__ import annotations

import functools
import math

import numpy as np

_GAMMA = 0x9E3779B97F4A7C15
SEEDS = 2**64
# Indices that a part has of its own dimension, for each index that it has of another one.
_RATIO = 64

Shape = tuple[int, ...]
# The indices of each dimension that a part has, ascending.
Part = tuple[np.ndarray, ...]


def _splitmix64(states: np.ndarray) -> np.ndarray:
    """Returns the next number of SplitMix64 from each state, modulo 2^64."""
    mixed = states + np.uint64(_GAMMA)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _scaled(numbers: np.ndarray, extent: int) -> np.ndarray:
    """Returns floor(numbers * extent / 2^64)."""
    half, low = np.uint64(32), np.uint64(2**32 - 1)
    a, b = numbers >> half, numbers & low
    c, d = np.uint64(extent >> 32), np.uint64(extent & (2**32 - 1))
    middle = a * d + (b * d >> half)
    return a * c + (middle >> half) + ((middle & low) + b * c >> half)


@functools.lru_cache(maxsize=64)
def chosen(seed: int, extent: int, count: int) -> np.ndarray:
    """Returns the first `count` indices of a dimension that samples have, ascending.

    The order is w_0, w_1, w_2, extent - 1, 0, w_3, w_4, ... without repetitions, with
    w_j = floor(h_j * extent / 2^64) and h_j = SplitMix64(seed) + j * 0x9E3779B97F4A7C15: multiples
    of the golden ratio, which leave no long gaps.
    """
    if count >= extent:
        return np.arange(extent)
    start = _splitmix64(np.array([seed], np.uint64))
    draws = 3 * count + 8
    while True:
        states = start + np.arange(draws, dtype=np.uint64) * np.uint64(_GAMMA)
        order = np.insert(_scaled(states, extent).astype(np.int64), 3, (extent - 1, 0))
        indices, first = np.unique(order, return_index=True)
        if len(indices) >= count:
            return np.sort(indices[np.argsort(first)[:count]])
        draws *= 2


def _few(count: int, shape: Shape) -> list[int]:
    """Returns the numbers of indices that parts have of the dimensions of others.

    They grow one dimension after the other, so that a sample of any number of elements exists.
    """
    several = [extent > 1 for extent in shape]
    ranks = [_RATIO * sum(several[:dim]) // max(sum(several), 1) for dim in range(len(shape))]
    return [min(n, 1 + (count - 1 + rank) // _RATIO) for n, rank in zip(shape, ranks)]


def _extents(count: int, shape: Shape) -> list[list[int]]:
    """Returns the numbers of indices of each part of a sample."""
    few = _few(count, shape)
    return [
        [*few[:dim], min(extent, count), *few[dim + 1 :]]
        for dim, extent in enumerate(shape)
        if extent > 1
    ]


def size(count: int, shape: Shape) -> int:
    """Returns the number of elements in a file of a sample."""
    return sum(map(math.prod, _extents(count, shape)))


def fitting(elements: int, shape: Shape) -> int:
    """Returns the largest count, at least 1, whose sample does not exceed a number of elements."""
    low, high = 1, _RATIO * max(shape, default=1) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if size(middle, shape) <= elements else (low, middle)
    return low


def parts(seed: int, count: int, shape: Shape) -> list[Part]:
    """Returns the parts of a sample."""
    return [
        tuple(chosen(seed, extent, number) for extent, number in zip(shape, extents))
        for extents in _extents(count, shape)
    ]


def core(seed: int, count: int, shape: Shape) -> Part:
    """Returns what all parts of a sample have in common, as many indices of each dimension."""
    few = -(-count // _RATIO)
    return tuple(chosen(seed, extent, min(extent, few)) for extent in shape)


def positions(part: Part, shape: Shape) -> np.ndarray:
    """Returns the positions of the elements of a part in the flattened tensor."""
    found = np.zeros((1,) * len(shape), np.int64)
    for indices, extent in zip(np.ix_(*part), shape):
        found = found * extent + indices
    return found


def elements(seed: int, count: int, shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    """Returns the positions of the elements of a sample, ascending, and their places in the file.

    Parts have elements in common: the file has them several times.
    """
    sample = [positions(part, shape).reshape(-1) for part in parts(seed, count, shape)]
    return np.unique(np.concatenate(sample), return_index=True)


def site_hashes(seed: int, indices: np.ndarray) -> np.ndarray:
    """Returns a hash of each site [N, 1 + dims].

    The hash h is initially the seed; then h = SplitMix64(h xor c) for each column c in order, as a
    64-bit two's complement, or as a float64 where sites are floating-point numbers; -0 is +0.
    """
    hashes = np.full(len(indices), seed, np.uint64)
    kind = np.float64 if indices.dtype.kind == "f" else np.int64
    for column in indices.T:
        hashes = _splitmix64(hashes ^ (column.astype(kind) + kind(0)).view(np.uint64))
    return hashes


def site_limit(hashes: np.ndarray, count: int) -> int:
    """Returns the largest limit that at most `count` hashes are below; there are more hashes."""
    return int(np.partition(hashes, count)[count])


def checksum(hashes: np.ndarray) -> int:
    """Returns the sum of the hashes modulo 2^64, whatever their order."""
    return int(np.add.reduce(hashes, dtype=np.uint64))
