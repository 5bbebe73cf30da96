"""Bilinear interpolation by differentiable operators of PyTorch."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

from mluop_omp._operators._torch import Tensor, torch


class Corner(NamedTuple):
    """One of the four pixels around each sample."""

    pixel: Tensor  # among the pixels of the image, row by row; 0 outside of the image
    exists: Tensor
    weight: Tensor
    slopes: tuple[Tensor, Tensor]  # of the weight, along height and width


def corners(y: Tensor, x: Tensor, height: Any, width: Any) -> Iterator[Corner]:
    """Yields the pixels around samples; none exists if a sample is a pixel outside of the image."""
    inside = (y > -1) & (y < height) & (x > -1) & (x < width)
    y, x = torch.where(inside, y, 0), torch.where(inside, x, 0)
    top, left = y.detach().floor(), x.detach().floor()
    for down, right in itertools.product((0, 1), (0, 1)):
        row, column = top.long() + down, left.long() + right
        exists = inside & (row >= 0) & (row < height) & (column >= 0) & (column < width)
        along_y = y - top if down else 1 - (y - top)
        along_x = x - left if right else 1 - (x - left)
        slopes = (2 * down - 1) * along_x, (2 * right - 1) * along_y
        pixel = torch.where(exists, row * width + column, 0)
        yield Corner(pixel, exists, along_y * along_x, slopes)
