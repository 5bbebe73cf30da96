"""Chooses the elements and sites of a large tensor that a run records, alike on every machine.

A sample depends on the seed and the shape only, not on module names, element types or the order of
rows. Samples of one seed are nested: the smaller of two is contained in the larger.
"""

from __future__ import annotations

import numpy as np

_GAMMA = 0x9E3779B97F4A7C15
SEEDS = 2**64


def _splitmix64(states: np.ndarray) -> np.ndarray:
    """Returns the next number of SplitMix64 from each state, modulo 2^64."""
    mixed = states + np.uint64(_GAMMA)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def elements(seed: int, count: int, size: int) -> np.ndarray:
    """Returns the elements of a tensor of this size that are recorded, ascending.

    These are the distinct values of the first `count` numbers of SplitMix64 with this seed, modulo
    the size.
    """
    states = np.arange(count, dtype=np.uint64) * np.uint64(_GAMMA) + np.uint64(seed)
    return np.unique(_splitmix64(states) % np.uint64(size)).astype(np.int64)


def site_hashes(seed: int, indices: np.ndarray) -> np.ndarray:
    """Returns a hash of each site of integers [N, 1 + dims].

    The hash h is initially the seed; then h = SplitMix64(h xor c) for each column c in order, as a
    64-bit two's complement.
    """
    hashes = np.full(len(indices), seed, np.uint64)
    for column in indices.T:
        hashes = _splitmix64(hashes ^ column.astype(np.int64).view(np.uint64))
    return hashes


def site_limit(hashes: np.ndarray, count: int) -> int:
    """Returns the largest limit that at most `count` hashes are below; there are more hashes."""
    return int(np.partition(hashes, count)[count])


def checksum(hashes: np.ndarray) -> int:
    """Returns the sum of the hashes modulo 2^64, whatever their order."""
    return int(np.add.reduce(hashes, dtype=np.uint64))
