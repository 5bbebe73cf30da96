"""Finds a transformation that maps the sites of a sparse tensor to the sites of another one."""

from __future__ import annotations

import itertools
import math
from typing import Callable

import numpy as np

from mluop_omp.golden.comparison._data import SiteMapping

# Rows of found on which each mapping is tried.
_SAMPLE = 1024


def apply(mapping: SiteMapping, indices: np.ndarray) -> np.ndarray:
    """Returns the sites of found in the coordinates of expected."""
    mapped = indices[:, mapping.columns].copy()
    mapped[:, 1:] = mapped[:, 1:] * mapping.multiply // mapping.divide + np.array(mapping.offset)
    return mapped


def propose(found: np.ndarray, expected: np.ndarray) -> SiteMapping | None:
    """Returns the mapping with the most matches in a sample of found.

    Mappings combine a permutation of the axes, the batch in the last column, a factor of 2, 4 or 8,
    and an offset of 1.
    """
    if found.dtype.kind == "f" or expected.dtype.kind == "f":
        return None
    # More columns have too many permutations; larger coordinates would overflow when multiplied.
    if len(found) == 0 or found.shape[1] > 5 or found.min() < -(2**59) or found.max() > 2**59:
        return None
    matches_of = _counter(expected)
    if matches_of is None:
        return None
    rows = np.linspace(0, len(found) - 1, min(len(found), _SAMPLE)).astype(np.int64)
    return max(_mappings(found.shape[1]), key=lambda each: matches_of(apply(each, found[rows])))


def _counter(sites: np.ndarray) -> Callable[[np.ndarray], int] | None:
    """Returns a function that counts rows among the sites; None if there are none, or their box
    exceeds int64.
    """
    if len(sites) == 0:
        return None
    low, high = sites.min(axis=0), sites.max(axis=0)
    extents = [int(last) - int(first) + 1 for first, last in zip(low, high)]
    if math.prod(extents) >= 2**63 - 1:
        return None

    def keys_of(rows: np.ndarray) -> np.ndarray:
        return np.ravel_multi_index(tuple((rows - low).T), extents)

    known = np.unique(keys_of(sites))

    def count(rows: np.ndarray) -> int:
        keys = keys_of(rows[((rows >= low) & (rows <= high)).all(axis=1)])
        position = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        return int((known[position] == keys).sum())

    return count


def _mappings(columns: int) -> list[SiteMapping]:
    """Returns the mappings to try, the simplest first; the first one changes nothing."""
    axes = columns - 1
    orders = [
        (batch, *order)
        for batch in (0, axes)
        for order in itertools.permutations([c for c in range(columns) if c != batch])
    ]
    factors = [(1, 1), *((1, factor) for factor in (2, 4, 8)), *((f, 1) for f in (2, 4, 8))]
    steps = np.eye(axes, dtype=int).tolist() if axes > 1 else []
    offsets = [[0] * axes, [-1] * axes, [1] * axes]
    offsets += [[sign * step for step in each] for each in steps for sign in (-1, 1)]
    tried = [
        SiteMapping(order, *factor, tuple(offset))
        for offset, factor, order in itertools.product(offsets, factors, orders)
    ]

    def changes(mapping: SiteMapping) -> int:
        is_permuted = mapping.columns != tuple(range(columns))
        return is_permuted + (mapping.multiply * mapping.divide != 1) + any(mapping.offset)

    return sorted(tried, key=changes)
