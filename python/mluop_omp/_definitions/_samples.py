"""Bilinear samples of images, clamped at their borders, and their gradients."""

from __future__ import annotations

import numpy as np


def _interpolation(position, pixels):
    """Returns the two pixels of each position, and their weights, along an axis."""
    zero = position.dtype.type(0)
    position = np.maximum(position, zero)
    floor = np.minimum(np.floor(position), position.dtype.type(pixels - 1))
    above = np.where(floor == pixels - 1, zero, position - floor)
    low = floor.astype(np.int64)
    return (low, 1 - above), (np.minimum(low + 1, pixels - 1), above)


def taps(y, x, H, W):
    """Yields pixels, row by row, and weights of the four pixels of each position.

    Positions outside have no pixels: the weight is 0, the pixel -1. With a NaN coordinate, the
    pixel is 0 and the weight NaN.
    """
    outside = (y < -1) | (y > H) | (x < -1) | (x > W)
    is_nan = np.isnan(y + x) & ~outside
    used = ~outside & ~is_nan
    zero, nan = y.dtype.type(0), y.dtype.type(np.nan)
    y, x = np.where(used, y, zero), np.where(used, x, zero)
    for row, of_row in _interpolation(y, H):
        for column, of_column in _interpolation(x, W):
            weight = np.where(is_nan, nan, np.where(used, of_row * of_column, zero))
            yield np.where(used, row * W + column, np.where(is_nan, 0, -1)), weight


def samples(image, y, x):
    """Returns the samples [C, positions] of an image [C, H, W]."""
    C, H, W = image.shape
    pixels = image.reshape(C, -1)
    zero = image.dtype.type(0)
    return sum(np.where(at < 0, zero, weight * pixels[:, at]) for at, weight in taps(y, x, H, W))


def add_samples(grad, y, x, grad_image):
    """Adds the gradients [C, positions] of samples to the gradient [C, H, W] of an image."""
    C, H, W = grad_image.shape
    for at, weight in taps(y, x, H, W):
        used = np.nonzero((at >= 0) & ~np.isnan(weight))
        np.add.at(grad_image.reshape(C, -1).T, at[used], (grad * weight)[:, used[-1]].T)
