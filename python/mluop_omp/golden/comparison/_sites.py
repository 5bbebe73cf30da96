"""Joins the rows of two sparse tensors by site, and finds transformations that make sites match.

A site is a row of integers: the batch, then a coordinate for each axis.
"""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np

from mluop_omp.golden.comparison._data import SiteMapping

_INT64_MAX = 2**63 - 1
# Rows of found on which each mapping is tried; the best mapping is counted on all rows.
_SAMPLE = 1024
# Fewer wrong sites may share a coordinate by chance.
_MIN_LOCATED = 8


def linear_keys(indices: np.ndarray) -> np.ndarray:
    """Returns int64 keys that order rows as the rows themselves do; equal rows have equal keys.

    A key is a linear position in the bounding box of all rows. Where such positions exceed int64,
    ranks replace the coordinates, or the keys of the first columns.
    """
    keys, bound = np.zeros(len(indices), np.int64), 1
    if len(indices) == 0:
        return keys
    for column in indices.T:
        low, extent = int(column.min()), int(column.max()) - int(column.min()) + 1
        if extent > 2**31:
            column = np.unique(column, return_inverse=True)[1].reshape(-1)
            low, extent = 0, int(column.max()) + 1
        if bound * extent > _INT64_MAX:
            keys = np.unique(keys, return_inverse=True)[1].reshape(-1)
            bound = int(keys.max()) + 1
        keys = keys * extent + (column - low)
        bound *= extent
    return keys


def occurrences(ordered: np.ndarray) -> np.ndarray:
    """Returns for each of the ascending keys the number of equal keys before it."""
    positions = np.arange(len(ordered))
    is_first = np.ones(len(ordered), bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return positions - np.maximum.accumulate(np.where(is_first, positions, 0))


def repeated_rows(indices: np.ndarray) -> np.ndarray:
    """Returns the rows whose site an earlier row has."""
    keys = linear_keys(indices)
    order = np.argsort(keys, kind="stable")
    return np.sort(order[occurrences(keys[order]) > 0])


class Join:
    """The rows of two lists of sites, joined by coordinate.

    The k-th row at a site of found is joined with the k-th row at that site of expected.

    Attributes:
        found, expected: the joined rows, in the order of expected.
        only_found, only_expected: the rows that are not joined.
        repeated_found, repeated_expected: rows whose site an earlier row has.
    """

    def __init__(self, found: np.ndarray, expected: np.ndarray) -> None:
        keys = linear_keys(np.concatenate([found, expected]))
        keys_found, keys_expected = keys[: len(found)], keys[len(found) :]
        order_found = np.argsort(keys_found, kind="stable")
        order_expected = np.argsort(keys_expected, kind="stable")
        keys_found, keys_expected = keys_found[order_found], keys_expected[order_expected]
        repeats = occurrences(keys_found)
        position = np.searchsorted(keys_expected, keys_found) + repeats
        is_common = position < len(expected)
        is_common[is_common] = keys_expected[position[is_common]] == keys_found[is_common]
        # The row of found for each row of expected, or -1.
        rows = np.full(len(expected), -1)
        rows[order_expected[position[is_common]]] = order_found[is_common]
        self.expected = np.flatnonzero(rows >= 0)
        self.found = rows[self.expected]
        self.only_expected = np.flatnonzero(rows < 0)
        self.only_found = np.sort(order_found[~is_common])
        self.repeated_found = np.sort(order_found[repeats > 0])
        self.repeated_expected = np.sort(order_expected[occurrences(keys_expected) > 0])


def out_of_range(indices: np.ndarray, extents: tuple[int | None, ...]) -> np.ndarray:
    """Returns the rows outside the known extents."""
    is_outside = np.zeros(len(indices), bool)
    for column, extent in zip(indices.T, extents):
        if extent is not None:
            is_outside |= (column < 0) | (column >= extent)
    return np.flatnonzero(is_outside)


class _Lookup:
    """Counts rows that are among given sites."""

    def __init__(self, sites: np.ndarray) -> None:
        self.low, self.high = sites.min(axis=0), sites.max(axis=0)
        extents = [int(high) - int(low) + 1 for low, high in zip(self.low, self.high)]
        self.is_possible = math.prod(extents) < _INT64_MAX
        self.extents = extents
        self.keys = np.unique(self._keys(sites)) if self.is_possible else None

    def _keys(self, rows: np.ndarray) -> np.ndarray:
        keys = np.zeros(len(rows), np.int64)
        for column, low, extent in zip(rows.T, self.low, self.extents):
            keys = keys * extent + (column - low)
        return keys

    def count(self, rows: np.ndarray) -> int:
        inside = ((rows >= self.low) & (rows <= self.high)).all(axis=1)
        keys = self._keys(rows[inside])
        position = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return int((self.keys[position] == keys).sum())


def apply(mapping: SiteMapping, indices: np.ndarray) -> np.ndarray:
    """Returns the sites of found in the coordinates of expected."""
    mapped = indices[:, mapping.columns].copy()
    mapped[:, 1:] = mapped[:, 1:] * mapping.multiply // mapping.divide + np.array(mapping.offset)
    return mapped


def _mappings(columns: int) -> list[SiteMapping]:
    """Returns the mappings to try, the simplest first."""
    axes = columns - 1
    orders = [
        (batch, *order)
        for batch in (0, axes)
        for order in itertools.permutations([c for c in range(columns) if c != batch])
    ]
    factors = [(1, 1), *((1, factor) for factor in (2, 4, 8)), *((f, 1) for f in (2, 4, 8))]
    offsets = [(0,) * axes, (-1,) * axes, (1,) * axes]
    if axes > 1:
        for axis, step in itertools.product(range(axes), (-1, 1)):
            offsets.append(tuple(step * (each == axis) for each in range(axes)))

    def changes(mapping: SiteMapping) -> int:
        is_permuted = mapping.columns != tuple(range(columns))
        is_scaled = mapping.multiply * mapping.divide != 1
        return is_permuted + is_scaled + any(mapping.offset)

    tried = [
        SiteMapping(order, *factor, offset)
        for offset, factor, order in itertools.product(offsets, factors, orders)
    ]
    # The first one changes nothing.
    return sorted(tried, key=changes)[1:]


def propose_mapping(found: np.ndarray, expected: np.ndarray, common: int) -> SiteMapping | None:
    """Returns the mapping with the most matches; None if these are under half or at most `common`.

    Mappings combine a permutation of the axes, the batch in the last column, a factor of 2, 4 or 8,
    and an offset of 1.
    """
    fewest = min(len(found), len(expected))
    # More columns have too many permutations; larger coordinates would overflow when multiplied.
    if fewest == 0 or found.shape[1] > 5 or found.min() < -(2**59) or found.max() > 2**59:
        return None
    lookup = _Lookup(expected)
    if not lookup.is_possible:
        return None
    rows = np.linspace(0, len(found) - 1, min(len(found), _SAMPLE)).astype(np.int64)
    sample = found[rows]
    best, most = None, lookup.count(sample)
    for mapping in _mappings(found.shape[1]):
        matches = lookup.count(apply(mapping, sample))
        if matches > most:
            best, most = mapping, matches
    if best is None:
        return None
    # Several sites of found may map to one site, so count joined rows.
    matches = len(Join(apply(best, found), expected).found)
    if 2 * matches < fewest or matches <= common:
        return None
    return dataclasses.replace(best, matches=matches)


def location(indices: np.ndarray, is_wrong: np.ndarray) -> list[str]:
    """Returns a note on the columns of indices in which all wrong sites lie in a short range."""
    wrong, parts = indices[is_wrong], []
    if len(wrong) < _MIN_LOCATED:
        return []
    for position, (column, of_all) in enumerate(zip(wrong.T, indices.T)):
        low, high = int(column.min()), int(column.max())
        if 2 * (high - low + 1) <= int(of_all.max()) - int(of_all.min()) + 1:
            values = f"{low}" if low == high else f"{low} to {high}"
            parts.append(f"{values} in column {position}")
    if not parts:
        return []
    return [f"{len(wrong)} of {len(indices)} sites are wrong; their indices are {', '.join(parts)}"]
