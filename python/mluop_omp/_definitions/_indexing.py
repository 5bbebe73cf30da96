"""Sums by index, and the first members of rows."""

from __future__ import annotations

import numpy as np


def sum_rows(rows, index, size):
    """Returns float64 [size, C]: the sums of the rows [P, C] of each index [P], in order."""
    channels = rows.shape[1]
    flat = index[:, np.newaxis] * np.intp(channels) + np.arange(channels)
    weights = rows.astype(np.float64).ravel()
    sums = np.bincount(flat.ravel(), weights, size * channels)
    return sums.astype(np.float64).reshape(size, channels)  # bincount of nothing is of integers.


def sum_columns(columns, index, size):
    """Returns float64 [B, C, size]: the sums of the columns [B, C, K] of each index [B, K]."""
    B, C, K = columns.shape
    rows = np.arange(B * C).reshape(B, C, 1)
    flat = rows * size + index[:, np.newaxis]
    sums = sum_rows(columns.reshape(-1, 1), flat.ravel(), B * C * size)
    return sums.reshape(B, C, size)


def first_members(is_member, count):
    """Returns the first `count` columns of each row that are true [R, count], then zeros, and how
    many there are [R].
    """
    row, column = np.nonzero(is_member)
    found = np.bincount(row, minlength=len(is_member))
    slot = np.arange(len(row)) - np.repeat(np.cumsum(found) - found, found)
    kept = slot < count
    members = np.zeros((len(is_member), count), np.int32)
    members[row[kept], slot[kept]] = column[kept]
    return members, np.minimum(found, count)
