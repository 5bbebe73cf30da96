"""Sites of sparse tensors: rows int32 [N, 1 + D] of a batch and D coordinates."""

from __future__ import annotations

import itertools

import numpy as np


def unique_rows(rows, ascending):
    if not 1 <= rows.shape[1] <= 8:
        raise ValueError(f"rows has {rows.shape[1]} columns, expected 1 to 8")
    order = np.lexsort(rows.T[::-1])  # stable: equal rows remain in their order
    is_new = np.ones(len(rows), bool)
    is_new[1:] = (rows[order[1:]] != rows[order[:-1]]).any(1)
    first = order[is_new]
    inverse = np.empty(len(rows), np.int64)
    inverse[order] = np.cumsum(is_new) - 1
    if not ascending:
        position = np.argsort(first)
        first, inverse = first[position], np.argsort(position)[inverse]
    return first.astype(np.int32), inverse.astype(np.int32)


def union_rows(a, b):
    rows = np.concatenate((a, b))
    first, inverse = unique_rows(rows, False)
    return rows[first], inverse[: len(a)], inverse[len(a) :]


def _find(sites, sought):
    """Returns the first row of sites that equals each row of `sought`, or -1."""
    if len(sites) == 0:
        return np.full(len(sought), -1, np.int32)
    # Numbers of equal rows: of the first column, then of the first two, and so on.
    number, candidate = np.zeros(len(sites), np.int64), np.zeros(len(sought), np.int64)
    is_found = np.ones(len(sought), bool)
    for column, wanted in zip(sites.T, sought.T):
        values, of_column = np.unique(column, return_inverse=True)
        place = np.minimum(np.searchsorted(values, wanted), len(values) - 1)
        is_found &= values[place] == wanted
        keys, number = np.unique(number * len(values) + of_column, return_inverse=True)
        key = candidate * len(values) + place
        candidate = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
        is_found &= keys[candidate] == key
    first = np.unique(number, return_index=True)[1]
    return np.where(is_found, first[candidate], -1).astype(np.int32)


def _moved(sites, offsets):
    """Returns int64 [K, N, 1 + D]: the sites plus each of the offsets."""
    steps = np.pad(offsets.astype(np.int64), ((0, 0), (1, 0)))
    return sites.astype(np.int64) + steps[:, np.newaxis]


def site_pairs(inputs, outputs, offsets):
    K, M = len(offsets), len(outputs)
    moved = _moved(outputs, offsets)
    found = _find(inputs, moved.reshape(K * M, inputs.shape[1])).reshape(K, M)
    offset, row = np.nonzero(found >= 0)
    num = (found >= 0).sum(1, dtype=np.int32)
    if num.max(initial=0) > len(inputs):
        raise ValueError(f"outputs repeat: {num.max()} pairs of an offset exceed {len(inputs)}")
    slot = np.arange(len(offset)) - (np.cumsum(num) - num)[offset]
    pairs = np.full((K, 2, len(inputs)), -1, np.int32)
    pairs[offset, 0, slot], pairs[offset, 1, slot] = found[offset, row], row
    return pairs, num


def _ascending(sites):
    """Returns the distinct of int64 sites, as int32, and the position of each among them."""
    limits = np.iinfo(np.int32)
    if (sites < limits.min).any() or (sites > limits.max).any():
        raise ValueError("a coordinate exceeds int32")
    first, inverse = unique_rows(sites, True)
    return sites[first].astype(np.int32), inverse


def reached_sites(sites, offsets, multiples):
    moved = _moved(sites, offsets).reshape(-1, sites.shape[1])
    is_multiple = (moved[:, 1:] % np.array(multiples, np.int64) == 0).all(1)
    _ascending(moved)  # checks every sum
    return _ascending(moved[is_multiple])[0]


def floor_sites(sites, multiples):
    floors = sites.astype(np.int64)
    floors[:, 1:] -= floors[:, 1:] % np.array(multiples, np.int64)
    return _ascending(floors)


@np.errstate(invalid="ignore", over="ignore")
def corners(points, sites, strides):
    points, steps = points.astype(np.float64), np.array(strides, np.int64)
    if (steps < 1).any() or len(steps) != points.shape[1] - 1:
        raise ValueError(f"strides is {strides}, expected positive integers, one for each axis")
    batch, lower = np.rint(points[:, :1]), np.floor(points[:, 1:] / steps) * steps
    lowest, highest = (np.concatenate((batch, each), 1) for each in (lower, lower + steps))
    # A comparison with NaN is False.
    is_inside = ((lowest >= -(2.0**31)) & (highest < 2.0**31)).all(1)
    lowest[~is_inside] = 0
    rows, weights = [], []
    for upper in itertools.product((0, 1), repeat=len(steps)):
        corner = lowest.astype(np.int64) + np.array((0, *upper * steps))
        shares = 1 - np.abs(points[:, 1:] - corner[:, 1:]) / steps
        rows.append(np.where(is_inside, _find(sites, corner), -1))
        weights.append(np.where(is_inside, shares.prod(1), 0))
    return np.stack(rows, 1).astype(np.int32), np.stack(weights, 1)


def unique_rows_arguments(random, N=20, C=3, ascending=(False, True)):
    return random.integers(-1, 2, N, C), ascending


def union_rows_arguments(random, N=14, M=9, C=3):
    return random.integers(-1, 2, N, C), random.integers(-1, 2, M, C)


def _sites(random, N, D=3):
    """Returns sites of two batches about the origin, some of them equal."""
    return np.concatenate((random.integers(0, 2, N, 1), random.integers(-3, 4, N, D)), 1)


def site_pairs_arguments(random, N=20, M=12, K=7):
    outputs = _sites(random, M)
    distinct = outputs[unique_rows(outputs, False)[0]]
    return _sites(random, N), distinct, random.integers(-2, 3, K, 3)


def reached_sites_arguments(random, N=20, K=5, multiples=((1, 2, 3), (1, 1, 1))):
    return _sites(random, N), random.integers(-2, 3, K, 3), multiples


def floor_sites_arguments(random, N=20, multiples=((1, 2, 3), (4, 4, 4))):
    return _sites(random, N), multiples


def corners_arguments(random, N=20, M=30, strides=((1, 1, 1), (2, 1, 4))):
    points = 2 * random.floats(N, 4)
    points[:, 0] = random.integers(0, 2, N)
    return points, _sites(random, M), strides
