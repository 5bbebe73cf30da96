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


def _products(
    size, output_size, kernel_size, patch_size, stride, padding, dilation, dilation_patch
):
    """Yields each displacement along an axis, and of its products with an element of the kernel the
    pixels of the output, of the first image and of the second.
    """
    for p, i in np.ndindex(patch_size, kernel_size):
        output = np.arange(output_size)
        first = output * stride - padding + i * dilation
        second = first + (p - patch_size // 2) * dilation_patch
        inside = (np.minimum(first, second) >= 0) & (np.maximum(first, second) < size)
        yield p, output[inside], first[inside], second[inside]


def _pairs(image_size, output_size, *geometry):
    """Yields the indices of the products in the output, the first and the second image."""
    along_y, along_x = (list(_products(*axis)) for axis in zip(image_size, output_size, *geometry))
    for p, h, i1, i2 in along_y:
        for q, w, j1, j2 in along_x:
            h, i1, i2 = (each.reshape(-1, 1) for each in (h, i1, i2))
            yield (..., p, q, h, w), (..., i1, j1), (..., i2, j2)


def _output_size(image_size, kernel_size, patch_size, stride, padding, dilation, dilation_patch):
    axes = zip(image_size, kernel_size, stride, padding, dilation)
    return tuple(max((n + 2 * p - d * (k - 1) - 1) // s + 1, 0) for n, k, s, p, d in axes)


def correlation(input1, input2, *geometry):
    N, _, *image_size = input1.shape
    size, patch_size = _output_size(image_size, *geometry), geometry[1]
    output = np.zeros((N, *patch_size, *size))
    for to, first, second in _pairs(image_size, size, *geometry):
        output[to] += (input1[first].astype(np.float64) * input2[second]).sum(1)
    return output


def correlation_backward(grad_output, input1, input2, *geometry):
    image_size, size = input1.shape[2:], grad_output.shape[3:]
    of_input1, of_input2 = np.zeros(input1.shape), np.zeros(input2.shape)
    grad = grad_output[:, np.newaxis].astype(np.float64)
    for to, first, second in _pairs(image_size, size, *geometry):
        of_input1[first] += grad[to] * input2[second]
        of_input2[second] += grad[to] * input1[first]
    return of_input1, of_input2


def correlation_arguments(
    random,
    N=2,
    C=3,
    H=4,
    W=5,
    kernel_size=((1, 1), (3, 2)),
    patch_size=((3, 5), (1, 1)),
    stride=((1, 1), (2, 3)),
    padding=((1, 0), (0, 2)),
    dilation=((1, 1), (2, 1)),
    dilation_patch=((1, 1), (2, 3)),
):
    geometry = kernel_size, patch_size, stride, padding, dilation, dilation_patch
    return random.floats(N, C, H, W), random.floats(N, C, H, W), *geometry


def correlation_backward_arguments(
    random,
    N=2,
    C=3,
    H=4,
    W=5,
    kernel_size=((1, 1), (3, 2)),
    patch_size=((3, 5), (1, 1)),
    stride=((1, 1), (2, 3)),
    padding=((1, 0), (0, 2)),
    dilation=((1, 1), (2, 1)),
    dilation_patch=((1, 1), (2, 3)),
):
    geometry = kernel_size, patch_size, stride, padding, dilation, dilation_patch
    grad = random.floats(N, *patch_size, *_output_size((H, W), *geometry))
    return grad, *correlation_arguments(random, N, C, H, W, *geometry)
