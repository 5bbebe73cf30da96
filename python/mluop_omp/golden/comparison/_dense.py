"""A sparse tensor joined with a dense one: values at the sites, elements outside of them."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import operator
from collections.abc import Iterator

import numpy as np

from mluop_omp.golden.comparison import _sites
from mluop_omp.golden.comparison._values import Sparse, Tensor

# Elements that are searched at a time.
_BLOCK = 1 << 22


def sides(found: Sparse | Tensor, expected: Sparse | Tensor) -> tuple[Sparse, Tensor, str]:
    """Returns the sparse tensor, the dense tensor, and which of found and expected is sparse.

    A sparse tensor without channels, such as a COO tensor of PyTorch, gets one, as does the other.
    """
    is_found = isinstance(found, Sparse)
    sparse, dense = (found, expected) if is_found else (expected, found)
    if len(sparse.features.shape) == 1 and dense.shape:
        features = sparse.features.with_array(sparse.features.array[:, None])
        sparse = dataclasses.replace(sparse, features=features)
        dense = dense.with_array(dense.array[:, None])
    return sparse, dense, "found" if is_found else "expected"


def gather(sparse: Sparse, dense: Tensor, side: str) -> tuple[np.ndarray, np.ndarray, Tensor]:
    """Returns the rows of sites inside a dense tensor, the rows outside, and its values inside.

    Raises ValueError if the shapes do not fit.
    """
    columns = sparse.indices.shape[1]
    channels = sparse.features.shape[1:]
    if len(dense.shape) != columns + 1 or (dense.shape[1],) != channels:
        name = "expected" if side == "found" else "found"
        raise ValueError(
            f"the shape of {name} is {list(dense.shape)}, expected [batches, "
            f"{', '.join(map(str, channels))}, and {columns - 1} extents], as the other is {sparse}"
        )
    extents = (dense.shape[0], *dense.shape[2:])
    is_inside = np.ones(len(sparse.indices), bool)
    is_inside[_sites.out_of_range(sparse.indices, extents)] = False
    rows, outside = np.flatnonzero(is_inside), np.flatnonzero(~is_inside)
    sites = sparse.indices[rows]
    at = (sites[:, 0], slice(None), *sites[:, 1:].T)
    return rows, outside, dense.with_array(dense.array[at])


def sites_elsewhere(dense: Tensor, sites: np.ndarray, count: int) -> np.ndarray:
    """Returns the first coordinates, batch first, of nonzero elements that are not in `sites`."""
    found = [np.zeros((0, len(dense.shape) - 1), np.int64)]
    planes = nonzero_elsewhere(dense, sites)
    for batch, of_batch in itertools.groupby(planes, operator.itemgetter(0)):
        is_nonzero = functools.reduce(np.logical_or, (plane for _, _, plane in of_batch))
        found.append(np.insert(first_true(is_nonzero, count), 0, batch, axis=1))
        count -= len(found[-1])
    return np.concatenate(found)


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
