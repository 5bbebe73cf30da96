"""Copies and sums by index, and runs of rows."""

from __future__ import annotations

import numpy as np


def sum_rows(rows, index, size):
    """Returns float64 [size, C]: the sums of the rows [P, C] of each index [P], in order."""
    channels = rows.shape[1]
    flat = index[:, np.newaxis] * np.intp(channels) + np.arange(channels)
    weights = rows.astype(np.float64).ravel()
    sums = np.bincount(flat.ravel(), weights, size * channels)
    return sums.astype(np.float64).reshape(size, channels)  # bincount of nothing is of integers.


def take_columns(columns, index):
    """Returns [B, C, ...]: the columns [B, C, N] at each index [B, ...], in order."""
    shape = (*columns.shape[:2], *index.shape[1:])
    if 0 in shape:  # The indices may have any value.
        return np.zeros(shape, columns.dtype)
    return np.take_along_axis(columns, index.reshape(len(index), 1, -1), 2).reshape(shape)


def sum_columns(columns, index, size):
    """Returns float64 [B, C, size]: the sums of the columns [B, C, ...] of each index [B, ...]."""
    B, C = columns.shape[:2]
    if columns.size == 0:  # The indices may have any value.
        return np.zeros((B, C, size))
    rows = np.arange(B * C).reshape(B, C, 1)
    flat = rows * size + index.reshape(B, 1, -1)
    return sum_rows(columns.reshape(-1, 1), flat.ravel(), B * C * size).reshape(B, C, size)


def places_in_runs(counts):
    """Returns the places 0, 1, ... of elements in their runs, which have these lengths."""
    return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)


def first_members(is_member, count):
    """Returns the first `count` columns of each row that are true [R, count], then zeros, and how
    many there are [R].
    """
    row, column = np.nonzero(is_member)
    found = np.bincount(row, minlength=len(is_member))
    slot = places_in_runs(found)
    kept = slot < count
    members = np.zeros((len(is_member), count), np.int32)
    members[row[kept], slot[kept]] = column[kept]
    return members, np.minimum(found, count)


def counts_of_clouds(rows, clouds):
    """Returns the counts of clouds that have these rows in all."""
    counts = np.full(clouds, rows // max(clouds, 1), np.int32)
    counts[clouds - 1 :] += rows % max(clouds, 1)
    return counts
