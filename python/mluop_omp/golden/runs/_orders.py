"""Which rows of two tensors belong together: by coordinates, or by their values."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from mluop_omp.golden._numbers import right_elements
from mluop_omp.golden.comparison import _sites
from mluop_omp.golden.comparison._values import Sparse, Tensor
from mluop_omp.golden.runs import _sampling

# Rows that are joined although their values are rounded.
_MAX_INEXACT = 1 << 18


@dataclasses.dataclass(frozen=True, eq=False)
class Order:
    """Rows of found and of expected that belong together.

    Attributes:
        source: the tensor that joins them, such as "the coordinates of voxels output 1".
        found, expected: the extents that count the rows: (M,), or (B, N) for N rows in each of B.
        rows: [K, 2], a row of found and a row of expected, ascending in the latter.
        sites: the names of the coordinates in both runs, where coordinates join the rows.
        columns: the columns of found's coordinates in the order of expected; None if they agree.
        tensors: the names of the tensors that join the rows.
    """

    source: str
    found: tuple[int, ...]
    expected: tuple[int, ...]
    rows: np.ndarray
    tensors: tuple[str, str]
    sites: tuple[str, str] | None = None
    columns: tuple[int, ...] | None = None

    @property
    def is_complete(self) -> bool:
        return self.missing == 0

    @property
    def missing(self) -> int:
        """The number of rows of both that have no counterpart."""
        return math.prod(self.found) + math.prod(self.expected) - 2 * len(self.rows)

    @property
    def is_identity(self) -> bool:
        return self.is_complete and bool((self.rows[:, 0] == self.rows[:, 1]).all())

    def axes(self, found: tuple[int, ...], expected: tuple[int, ...]) -> list[int]:
        """Returns the dimensions of two tensors, besides the first, that may count the rows.

        [0] if the first dimension alone counts them; [] if the order does not fit the shapes.
        """
        if len(found) != len(expected) or len(found) < len(self.found):
            return []
        if (found[0], expected[0]) != (self.found[0], self.expected[0]):
            return []
        if len(self.found) == 1:
            return [0] if found[1:] == expected[1:] else []
        extents = self.found[1], self.expected[1]
        return [k for k in range(1, len(found)) if (found[k], expected[k]) == extents]

    def taken(self, array: np.ndarray, side: int, axis: int) -> Any:
        """Returns an array of found (side 0) or expected (side 1) with its rows joined.

        If the order is complete, the result has the shape of expected, else [K, ...].
        """
        rows = self.rows[:, side]
        if axis == 0:
            return array[rows]
        lead = self.expected
        moved = np.moveaxis(array, axis, 1)
        taken = moved.reshape(-1, *moved.shape[2:])[rows]
        if not self.is_complete:
            return taken
        return np.moveaxis(taken.reshape(*lead, *moved.shape[2:]), 1, axis)

    def moved(
        self, elements: np.ndarray, found: tuple[int, ...], expected: tuple[int, ...], axis: int
    ) -> np.ndarray:
        """Returns the elements of expected that belong to elements of found; -1 if there is none.

        Elements are indices in flattened tensors of these shapes.
        """
        index = list(np.unravel_index(elements, found))
        table = np.full(math.prod(self.found), -1)
        table[self.rows[:, 0]] = self.rows[:, 1]
        row = table[index[0] if axis == 0 else index[0] * found[axis] + index[axis]]
        known = np.maximum(row, 0)
        index[0] = known if axis == 0 else known // expected[axis]
        if axis:
            index[axis] = known % expected[axis]
        target = np.ravel_multi_index(tuple(index), expected)
        return np.where(row < 0, -1, target)

    def mapped(self, indices: np.ndarray) -> np.ndarray | None:
        """Returns rows of expected for rows of found; -2 for rows of found alone.

        Negative values stay. None if a value is not a row. In (B, N), values are rows of their
        batch, which is the first dimension of the indices.
        """
        batches, count = (1, self.found[0]) if len(self.found) == 1 else self.found
        if indices.size == 0 or int(indices.max()) >= count:
            return None
        if batches > 1 and (indices.ndim < 2 or indices.shape[0] != batches):
            return None
        table = np.full(batches * count, -2)
        table[self.rows[:, 0]] = self.rows[:, 1] % self.expected[-1]
        start = np.zeros(1, np.int64)
        if len(self.found) == 2:
            start = (np.arange(batches) * count).reshape(-1, *[1] * (indices.ndim - 1))
        wide = indices.astype(np.int64)
        return np.where(wide < 0, wide, table[np.maximum(wide, 0) + start])


def by_coordinates(found: np.ndarray, expected: np.ndarray) -> np.ndarray | None:
    """Returns the rows [K, 2] with equal coordinates; None unless these are coordinates.

    Coordinates differ from row to row, except in a padding of zeros or -1, and at least half of
    them are in both tensors.
    """
    rows, repeated = _join(found, expected)
    for each in repeated:
        if not any((each[:, 1:] == padding).all() for padding in (0, -1)):
            return None
    return rows if 2 * len(rows) >= min(len(found), len(expected)) > 0 else None


def by_values(
    found: np.ndarray, expected: np.ndarray, groups: np.ndarray, tolerance: np.ndarray
) -> np.ndarray | None:
    """Returns the row of found for each row of expected, within groups.

    Rows without an equal one are joined in their order. None if these are most rows.

    Args:
        found, expected: float64 [N, D].
        groups: the group [N] of each row.
        tolerance: the permitted error of each number of expected.
    """
    bits = [np.ascontiguousarray(each + 0.0).view(np.int64) for each in (found, expected)]
    hashes = [_sampling.site_hashes(0, each).view(np.int64) for each in bits]
    pair = [np.stack([groups, each], axis=1) for each in hashes]
    equal, _ = _join(pair[0], pair[1])
    equal = equal[(bits[0][equal[:, 0]] == bits[1][equal[:, 1]]).all(axis=1)]
    partner = np.full(len(expected), -1)
    partner[equal[:, 1]] = equal[:, 0]
    rest = np.flatnonzero(partner < 0)
    near = np.setdiff1d(np.arange(len(found)), equal[:, 0])
    if len(rest):
        if len(rest) > _MAX_INEXACT:
            return None
        sums = [each.sum(axis=1) for each in (found[near], expected[rest], tolerance[rest])]
        rows = _merged(groups[near], sums[0], groups[rest], sums[1], sums[2])
        e, b = near[rows[:, 0]], rest[rows[:, 1]]
        right = right_elements(found[e], expected[b], tolerance[b]).all(axis=1)
        partner[b[right]] = e[right]
    rest = np.flatnonzero(partner < 0)
    if 2 * len(rest) > len(partner):
        return None
    near = np.setdiff1d(np.arange(len(found)), partner)
    # Groups have equal numbers of rows in both.
    partner[rest[np.argsort(groups[rest], kind="stable")]] = near[
        np.argsort(groups[near], kind="stable")
    ]
    return partner


def _join(found: np.ndarray, expected: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Returns the rows [K, 2] that are equal in integers [N, D], and the repeated ones of each."""
    pair = [
        Sparse(Tensor(np.arange(len(each)), "int64"), each.astype(np.int64, copy=False), ())
        for each in (found, expected)
    ]
    match = _sites.match(pair[0], pair[1])
    repeated = [match.others[f"repeated_{side}"] for side in ("found", "expected")]
    return np.stack([match.found.array, match.rows], axis=1), repeated


def _merged(
    groups: np.ndarray,
    sums: np.ndarray,
    other_groups: np.ndarray,
    other_sums: np.ndarray,
    tolerance: np.ndarray,
) -> np.ndarray:
    """Returns pairs of positions [K, 2] whose sums differ by at most the tolerance, in a group."""
    own, other = np.lexsort((sums, groups)), np.lexsort((other_sums, other_groups))
    keys = list(zip(groups[own].tolist(), sums[own].tolist(), own.tolist()))
    pairs, k = [], 0
    for j in other.tolist():
        group, number, bound = int(other_groups[j]), float(other_sums[j]), float(tolerance[j])
        while k < len(keys) and keys[k][:2] < (group, number - bound):
            k += 1
        if k < len(keys) and keys[k][0] == group and abs(keys[k][1] - number) <= bound:
            pairs.append((keys[k][2], j))
            k += 1
    return np.array(pairs, np.int64).reshape(-1, 2)
