"""Bilinear interpolation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Corner(NamedTuple):
    """One of the four pixels around each position."""

    exists: np.ndarray
    index: np.ndarray  # row by row; 0 if it does not exist
    weight: np.ndarray
    slopes: tuple[np.ndarray, np.ndarray]  # of the weight, along y and x


def are_inside(y, x, H, W):
    """Returns which positions are less than a pixel outside of an image of H x W pixels."""
    return (y > -1) & (y < H) & (x > -1) & (x < W)


def corners(y, x, H, W):
    """Yields the corners of positions, which exist if the position and the pixel are inside."""
    used = are_inside(y, x, H, W)
    y, x = (np.where(used, each, 0).astype(np.float64) for each in (y, x))
    top, left = np.floor(y), np.floor(x)
    for down, right in np.ndindex(2, 2):
        row, column = top + down, left + right
        exists = used & (row >= 0) & (row < H) & (column >= 0) & (column < W)
        index = np.where(exists, row * W + column, 0).astype(np.int64)
        of_y, of_x = 1 - abs(y - row), 1 - abs(x - column)
        yield Corner(exists, index, of_y * of_x, ((2 * down - 1) * of_x, (2 * right - 1) * of_y))
