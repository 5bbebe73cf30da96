"""Neighborhoods of pixels: weighted sums (CARAFE) and products (correlation)."""

from __future__ import annotations

import numpy as np


def _inside(shift, size):
    """Returns the pixels whose neighbor at a distance of `shift` is in an axis of `size` pixels."""
    return range(max(0, -shift), max(min(size, size - shift), max(0, -shift)))


def _taps(kernel_size, H, W, scale):
    """Yields each weight of a kernel, the index of the pixels of the output whose neighbor is in
    the image, and the index of these neighbors.
    """
    for i, j in np.ndindex(kernel_size, kernel_size):
        down, right = i - kernel_size // 2, j - kernel_size // 2
        rows, columns = _inside(down, H), _inside(right, W)
        y, x = (slice(scale * each.start, scale * each.stop) for each in (rows, columns))
        h = slice(rows.start + down, rows.stop + down)
        w = slice(columns.start + right, columns.stop + right)
        yield i * kernel_size + j, (..., y, x), (..., h, w)


def _upsampled(array, scale):
    return array.repeat(scale, -2).repeat(scale, -1)


def carafe(features, masks, kernel_size, group_size, scale_factor):
    (N, C, H, W), (height, width) = features.shape, masks.shape[2:]
    groups = features.reshape(N, group_size, C // group_size, H, W)
    weights = masks.reshape(N, group_size, 1, kernel_size**2, height, width)
    output = np.zeros((*groups.shape[:3], height, width))
    for tap, pixels, neighbors in _taps(kernel_size, H, W, scale_factor):
        read = _upsampled(groups[neighbors], scale_factor).astype(np.float64)
        output[pixels] += read * weights[:, :, :, tap][pixels]
    return output.reshape(N, C, height, width)


def carafe_backward(grad_output, features, masks, kernel_size, group_size, scale_factor):
    (N, C, H, W), (height, width), s = features.shape, masks.shape[2:], scale_factor
    groups = features.reshape(N, group_size, C // group_size, H, W)
    weights = masks.reshape(N, group_size, 1, kernel_size**2, height, width)
    grad = grad_output.reshape(*groups.shape[:3], height, width).astype(np.float64)
    grad_features, grad_masks = np.zeros(groups.shape), np.zeros(weights.shape)
    for tap, pixels, neighbors in _taps(kernel_size, H, W, s):
        read = _upsampled(groups[neighbors], s)
        grad_masks[:, :, 0, tap][pixels] = (grad[pixels] * read).sum(2)
        products = grad[pixels] * weights[:, :, :, tap][pixels]
        rows, columns = (size // s for size in products.shape[3:])
        products = products.reshape(*products.shape[:3], rows, s, columns, s)
        grad_features[neighbors] += products.sum((4, 6))
    return grad_features.reshape(features.shape), grad_masks.reshape(masks.shape)


def carafe_arguments(random, N=2, G=2, C=3, H=3, W=4, kernel_size=(3, 1, 5), scale_factor=(2, 1)):
    groups, pixels = max(G, 1), (H * scale_factor, W * scale_factor)
    masks = random.floats(N, groups * kernel_size**2, *pixels)
    return random.floats(N, G * C, H, W), masks, kernel_size, groups, scale_factor


def carafe_backward_arguments(
    random, N=2, G=2, C=3, H=3, W=4, kernel_size=(3, 1, 5), scale_factor=(2, 1)
):
    arguments = carafe_arguments(random, N, G, C, H, W, kernel_size, scale_factor)
    grad = random.floats(N, G * C, H * scale_factor, W * scale_factor)
    return grad, *arguments
