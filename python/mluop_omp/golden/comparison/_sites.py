"""Matches the rows of two sparse tensors, or of a sparse and a dense one, by site.

A site is a row of numbers: the batch, then a coordinate for each axis. Coordinates of points are
floating-point numbers, which are joined by their exact values; NaN equals NaN.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any, Union

import numpy as np

from mluop_omp.golden.comparison._values import Deferred, Sparse, Tensor, convert

_INT64_MAX = 2**63 - 1
# Fewer wrong sites may share a coordinate by chance.
_MIN_LOCATED, _MAX_CHANCE = 8, 1e-3
# Elements that are searched at a time.
_BLOCK = 1 << 22

# Orders of columns: one, or one for each number of columns.
Columns = Union[Iterable[int], Iterable[Iterable[int]], None]


def check_columns(columns: Columns) -> tuple[tuple[int, ...], ...]:
    """Returns the orders of columns. Raises ValueError unless each is a permutation."""
    listed = [] if columns is None else list(columns)
    is_one = any(isinstance(each, (int, np.integer)) for each in listed)
    orders: tuple[tuple[int, ...], ...] = tuple(map(tuple, [listed] if is_one else listed))  # type: ignore[arg-type]
    for order in orders:
        if len(order) < 2 or sorted(order) != list(range(len(order))):
            raise ValueError(
                f"columns is {order!r}, expected each column of the coordinates once, the batch "
                "first, such as (0, 3, 2, 1)"
            )
    if len(set(map(len, orders))) < len(orders):
        raise ValueError(f"columns is {orders!r}, expected one order for a number of columns")
    return orders


def with_columns(value: Any, orders: tuple[tuple[int, ...], ...]) -> Any:
    """Returns a sparse tensor with its columns in one of the orders; other values as they are."""
    return Deferred(lambda: _reordered(convert(value), orders)) if orders else value


def _reordered(value: Any, orders: tuple[tuple[int, ...], ...]) -> Any:
    columns = value.indices.shape[1] if isinstance(value, Sparse) else 0
    for order in orders:
        if len(order) == columns:
            # An extent for each column other than the batch, in the order of the columns.
            batch, *spatial = value.extents
            axes = sorted(order[1:])
            extents = batch, *(spatial[axes.index(column)] for column in order[1:])
            return dataclasses.replace(value, indices=value.indices[:, order], extents=extents)
    return value


@dataclasses.dataclass(frozen=True)
class Match:
    """Two tensors at their common sites.

    Attributes:
        found, expected: the values at the common sites.
        rows: the rows of these sites in expected, or in found if expected is dense.
        sites: their coordinates.
        others: coordinates of further rows, by attribute of `SiteReport`.
        same_order: whether common rows are in the same order.
        dense: the dense one of the two tensors, as [N, C, ...].
    """

    found: Tensor
    expected: Tensor
    rows: np.ndarray
    sites: np.ndarray
    others: dict[str, np.ndarray]
    same_order: bool = True
    dense: Tensor | None = None


def match(found: Sparse | Tensor, expected: Sparse | Tensor) -> Match:
    """Matches two sparse tensors, or a sparse and a dense one.

    The k-th row at a site of found is matched with the k-th row at that site of expected. Raises
    ValueError if the shapes do not fit.
    """
    if isinstance(found, Tensor):
        assert isinstance(expected, Sparse)
        return _match_dense(expected, found, "expected", "found")
    if isinstance(expected, Tensor):
        return _match_dense(found, expected, "found", "expected")
    if found.indices.shape[1] != expected.indices.shape[1]:
        raise ValueError(
            f"numbers of columns of the indices differ: found {found.indices.shape[1]}, expected "
            f"{expected.indices.shape[1]}"
        )
    if found.features.shape[1:] != expected.features.shape[1:]:
        raise ValueError(
            f"channels differ: found has features {list(found.features.shape)}, expected has "
            f"{list(expected.features.shape)}"
        )
    keys = linear_keys(np.concatenate([found.indices, expected.indices]))
    keys_found, keys_expected = np.split(keys, [len(found.indices)])
    order_found, repeats_found = _ordered(keys_found)
    order_expected, repeats_expected = _ordered(keys_expected)
    keys_found, keys_expected = keys_found[order_found], keys_expected[order_expected]
    position = np.searchsorted(keys_expected, keys_found) + repeats_found
    is_common = position < len(keys_expected)
    is_common[is_common] = keys_expected[position[is_common]] == keys_found[is_common]
    # The row of found for each row of expected, or -1.
    partners = np.full(len(keys_expected), -1)
    partners[order_expected[position[is_common]]] = order_found[is_common]
    rows = np.flatnonzero(partners >= 0)
    others = {
        "only_found": found.indices[np.sort(order_found[~is_common])],
        "repeated_found": found.indices[np.sort(order_found[repeats_found > 0])],
        "only_expected": expected.indices[partners < 0],
        "repeated_expected": expected.indices[np.sort(order_expected[repeats_expected > 0])],
        "outside_found": found.indices[out_of_range(found.indices, found.extents)],
        "outside_expected": expected.indices[out_of_range(expected.indices, expected.extents)],
    }
    return Match(
        found.features.rows(partners[rows]),
        expected.features.rows(rows),
        rows,
        expected.indices[rows],
        others,
        same_order=bool((np.diff(partners[rows]) > 0).all()),
    )


def _ordered(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the order of keys, and the number of equal keys before each of the ordered keys."""
    order = np.argsort(keys, kind="stable")
    return order, np.arange(len(keys)) - np.searchsorted(keys[order], keys[order])


def _match_dense(sparse: Sparse, dense: Tensor, side: str, other: str) -> Match:
    """side, other: which of found and expected is sparse, and which is dense."""
    features = sparse.features
    if len(features.shape) == 1 and dense.shape:
        # A tensor without channels, such as a COO tensor of PyTorch.
        features, dense = features[:, None], dense[:, None]
    channels, columns = features.shape[1:], sparse.indices.shape[1]
    if len(dense.shape) != columns + 1 or (dense.shape[1],) != channels:
        text = Sparse(features, sparse.indices, sparse.extents)
        raise ValueError(
            f"the shape of {other} is {list(dense.shape)}, expected [batches, "
            f"{', '.join(map(str, channels))}, and {columns - 1} extents], as the other is {text}"
        )
    if sparse.indices.dtype.kind == "f":
        raise ValueError(f"{other} is dense, and the coordinates of {side} are not integers")
    outside = out_of_range(sparse.indices, (dense.shape[0], *dense.shape[2:]))
    rows = np.delete(np.arange(len(sparse.indices)), outside)
    sites = sparse.indices[rows]
    gathered = dense[(sites[:, 0], slice(None), *sites[:, 1:].T)]
    pair = {side: features.rows(rows), other: gathered}
    order, repeats = _ordered(linear_keys(sparse.indices))
    others = {
        f"only_{side}": sparse.indices[outside],
        f"repeated_{side}": sparse.indices[np.sort(order[repeats > 0])],
        f"outside_{side}": sparse.indices[out_of_range(sparse.indices, sparse.extents)],
    }
    return Match(pair["found"], pair["expected"], rows, sites, others, dense=dense)


def nonzero_elsewhere(dense: Tensor, sites: np.ndarray) -> Iterator[tuple[int, int, np.ndarray]]:
    """Yields each batch and channel with a mask of its nonzero elements outside the sites."""
    for batch in range(dense.shape[0]):
        at_sites = tuple(sites[sites[:, 0] == batch, 1:].T)
        for channel in range(dense.shape[1]):
            plane = dense.array[batch, channel]
            # bfloat16 is held as bits: mask the sign.
            is_nonzero = (plane & 0x7FFF if dense.dtype == "bfloat16" else plane) != 0
            is_nonzero[at_sites] = False
            yield batch, channel, is_nonzero


def first_true(values: np.ndarray, count: int) -> np.ndarray:
    """Returns the positions [n, dims] of the first true values, n <= count."""
    flat, found = values.reshape(-1), np.zeros(0, np.int64)
    for start in range(0, len(flat), _BLOCK):
        found = np.append(found, start + np.flatnonzero(flat[start : start + _BLOCK]))
        if len(found) >= count:
            break
    return np.stack(np.unravel_index(found[:count], values.shape), axis=1)


def linear_keys(indices: np.ndarray) -> np.ndarray:
    """Returns int64 keys that order rows as the rows themselves do; equal rows have equal keys.

    A key is a linear position in the bounding box of all rows. Where such positions exceed int64,
    ranks replace the coordinates, or the keys of the first columns.
    """
    keys, bound = np.zeros(len(indices), np.int64), 1
    if len(indices) == 0:
        return keys
    for column in indices.T:
        if column.dtype.kind == "f":
            column = np.unique(column, return_inverse=True)[1].reshape(-1)
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


def out_of_range(indices: np.ndarray, extents: tuple[int | None, ...]) -> np.ndarray:
    """Returns the rows outside the known extents."""
    is_outside = np.zeros(len(indices), bool)
    for column, extent in zip(indices.T, extents):
        if extent is not None:
            is_outside |= (column < 0) | (column >= extent)
    return np.flatnonzero(is_outside)


def location(indices: np.ndarray, is_wrong: np.ndarray) -> list[str]:
    """Returns a note on the columns of indices in which all wrong sites lie in a short range."""
    wrong, parts = indices[is_wrong], []
    if len(wrong) < _MIN_LOCATED or indices.dtype.kind == "f":
        return []
    for position, (column, of_all) in enumerate(zip(wrong.T, indices.T)):
        low, high = int(column.min()), int(column.max())
        share = np.count_nonzero((of_all >= low) & (of_all <= high)) / len(of_all)
        # How likely the wrong sites lie in a range of this share of all sites by chance.
        chance = len(wrong) * share ** (len(wrong) - 1)
        if 2 * share <= 1 and chance <= _MAX_CHANCE:
            values = f"{low}" if low == high else f"{low} to {high}"
            parts.append(f"{values} in column {position}")
    if not parts:
        return []
    return [f"{len(wrong)} of {len(indices)} sites are wrong; their indices are {', '.join(parts)}"]
