"""Pools over the bins of RoIs: maxima and means of whole pixels, and integrals."""

from __future__ import annotations

import numpy as np

from mluop_omp._definitions._precision import at_least_float32


def _round(number):
    """Rounds to an integer, halves away from 0."""
    whole = np.trunc(number)
    return whole + np.sign(number) * (np.abs(number - whole) >= 0.5)


def _bins(start, size, count, pixels, offset=0.0):
    """Returns the pixels of each bin along an axis: slices."""
    if not (np.isfinite([start, size, offset]).all() and size > 0):
        return [slice(0, 0)] * count
    bin, numbers = size / size.dtype.type(count), np.arange(count + 1, dtype=size.dtype)
    first = np.floor(numbers[:-1] * bin + start).astype(np.float64) + offset
    last = np.ceil(numbers[1:] * bin + start).astype(np.float64) + offset
    edges = np.clip([first, last], 0, pixels).astype(np.int64)
    return [slice(low, max(low, high)) for low, high in edges.T]


def _exact(low, high, scale, count, pixels):
    start = low * scale
    return _bins(start, (high + 1) * scale - start, count, pixels)


def _rounded_pixels(low, high, scale, count, pixels):
    first, last = _round(low * scale).astype(np.float64), _round(high * scale).astype(np.float64)
    size = low.dtype.type(np.maximum(last - first + 1, 1))
    return _bins(low.dtype.type(0), size, count, pixels, first)


def _rounded_corners(low, high, scale, count, pixels):
    start = _round(low) * scale
    size = np.maximum((_round(high) + 1) * scale - start, low.dtype.type(0.1))
    return _bins(start, size, count, pixels)


def _rois(rois, spatial_scale, output_size, image_size, bins):
    """Yields number, image, rows of bins and columns of bins of each RoI."""
    rois = at_least_float32(rois)
    scale = rois.dtype.type(spatial_scale)
    for r, roi in enumerate(rois):
        y = bins(roi[2], roi[4], scale, output_size[0], image_size[0])
        x = bins(roi[1], roi[3], scale, output_size[1], image_size[1])
        yield r, int(roi[0]), y, x


@np.errstate(all="ignore")
def roi_pool(input, rois, output_size, spatial_scale, rounded):
    input, (C, H, W) = at_least_float32(input), input.shape[1:]
    shape = (len(rois), C, *output_size)
    output, argmax = np.zeros(shape, input.dtype), np.full(shape, -1, np.int32)
    if output.size == 0:  # The images of RoIs need not exist.
        return output, argmax
    rule = _rounded_pixels if rounded else _exact
    for r, image, y, x in _rois(rois, spatial_scale, output_size, (H, W), rule):
        for p, rows in enumerate(y):
            for q, columns in enumerate(x):
                pixels = input[image, :, rows, columns]
                if pixels.size == 0:
                    continue
                lowest, width = np.finfo(input.dtype).min, pixels.shape[2]
                values = np.where(np.isnan(pixels), -np.inf, pixels).reshape(C, -1)
                best = values.argmax(1)
                output[r, :, p, q] = np.maximum(values.max(1), lowest)
                place = (rows.start + best // width) * W + columns.start + best % width
                argmax[r, :, p, q] = np.where(values.max(1) > lowest, place, -1)
    return output, argmax


def roi_pool_backward(grad_output, rois, argmax, image_size):
    (B, H, W), C = image_size, grad_output.shape[1]
    grad_input = np.zeros((B, C, H * W))
    r, c, *_ = used = np.nonzero((argmax >= 0) & (argmax < H * W))
    image = rois[r, 0].astype(np.int64)
    if grad_output.size and grad_input.size:
        np.add.at(grad_input, (image, c, argmax[used]), grad_output[used].astype(np.float64))
    return grad_input.reshape(B, C, H, W)


def _group(image, p, q, pooled_size, rows, columns):
    """Returns a view of the channels [K, height, width] of a bin."""
    return image[p * pooled_size + q :: pooled_size**2, rows, columns]


@np.errstate(all="ignore")
def psroi_pool(input, rois, output_dim, pooled_size, spatial_scale):
    R, size = len(rois), (pooled_size, pooled_size)
    if output_dim < 1 or pooled_size < 1:
        raise ValueError("the output has no channels or no bins")
    output = np.zeros((R, output_dim, *size))
    channels = np.arange(output_dim * pooled_size**2, dtype=np.int32).reshape(output_dim, *size)
    mapping_channel = np.broadcast_to(channels, output.shape).copy()
    pixels = input.astype(np.float64)
    for r, image, y, x in _rois(rois, spatial_scale, size, input.shape[2:], _rounded_corners):
        for p, rows in enumerate(y):
            for q, columns in enumerate(x):
                values = _group(pixels[image], p, q, pooled_size, rows, columns)
                if values.size:
                    output[r, :, p, q] = values.mean((1, 2))
    return output, mapping_channel


@np.errstate(all="ignore")
def psroi_pool_backward(grad_output, rois, image_size, spatial_scale):
    (B, H, W), (_, K, P, _) = image_size, grad_output.shape
    if K < 1 or P < 1:
        raise ValueError("the gradient has no channels or no bins")
    grad_input, grads = np.zeros((B, K * P * P, H, W)), grad_output.astype(np.float64)
    if grad_input.size == 0:  # The images of RoIs need not exist.
        return grad_input
    for r, image, y, x in _rois(rois, spatial_scale, (P, P), (H, W), _rounded_corners):
        for p, rows in enumerate(y):
            for q, columns in enumerate(x):
                to = _group(grad_input[image], p, q, P, rows, columns)
                if to.size:
                    to += (grads[r, :, p, q] / (to.shape[1] * to.shape[2]))[:, None, None]
    return grad_input


def _hat_integrals(low, high, pixels):
    """Returns the integrals [bins, pixels] of max(0, 1 - |t - pixel|) over bins."""
    low, high = low.astype(np.float64)[:, None], high.astype(np.float64)[:, None]
    at = np.arange(pixels, dtype=np.float64)
    weights = np.zeros((len(low), pixels))
    for begin, end, sign in ((at - 1, at, 1), (at, at + 1, -1)):
        first, last = np.maximum(low, begin), np.minimum(high, end)
        heights = 1 + sign * ((first - at) + (last - at)) / 2
        weights += np.where(last > first, (last - first) * heights, 0)
    return weights


def _hats(positions, pixels):
    """Returns the weights [positions, pixels] from which positions are interpolated."""
    return np.maximum(1 - np.abs(positions.astype(np.float64)[:, None] - np.arange(pixels)), 0)


def _edges(low, high, scale, count):
    """Returns the edges of the bins along an axis, and the size of a bin."""
    start = low * scale
    size = np.maximum(high * scale - start, low.dtype.type(0)) / low.dtype.type(count)
    begin = start + size * np.arange(count, dtype=low.dtype)
    return begin, begin + size, size


def _areas(rois, output_size, image_size, spatial_scale):
    """Yields number, image, edges along y and x, and the area of a bin of each RoI that has one."""
    rois = at_least_float32(rois)
    scale = rois.dtype.type(spatial_scale)
    for r, roi in enumerate(rois):
        *y, height = _edges(roi[2], roi[4], scale, output_size[0])
        *x, width = _edges(roi[1], roi[3], scale, output_size[1])
        area = height * width
        if area > 0 and np.isfinite(area):
            yield r, int(roi[0]), y, x, np.float64(area)


def _product(image, of_y, of_x):
    """Returns the sums [..., PH, PW] of pixels, of which only those with a weight are read."""
    rows, columns = of_y.any(0), of_x.any(0)
    pixels = image[..., rows, :][..., columns]
    return np.einsum("cyx,py,qx->cpq", pixels, of_y[:, rows], of_x[:, columns])


@np.errstate(all="ignore")
def prroi_pool(input, rois, output_size, spatial_scale):
    H, W = input.shape[2:]
    output, pixels = np.zeros((len(rois), input.shape[1], *output_size)), input.astype(np.float64)
    if output.size == 0:
        return output
    for r, image, y, x, area in _areas(rois, output_size, (H, W), spatial_scale):
        weights = _hat_integrals(*y, H), _hat_integrals(*x, W)
        output[r] = _product(pixels[image], *weights) / area
    return output


@np.errstate(all="ignore")
def prroi_pool_backward(grad_output, rois, image_size, spatial_scale):
    (B, H, W), (_, C, *output_size) = image_size, grad_output.shape
    grad_input, grads = np.zeros((B, C, H, W)), grad_output.astype(np.float64)
    if grads.size == 0 or grad_input.size == 0:
        return grad_input
    for r, image, y, x, area in _areas(rois, output_size, (H, W), spatial_scale):
        of_y, of_x = _hat_integrals(*y, H), _hat_integrals(*x, W)
        rows, columns = np.nonzero(of_y.any(0))[0], np.nonzero(of_x.any(0))[0]
        share = np.einsum("cpq,py,qx->cyx", grads[r] / area, of_y[:, rows], of_x[:, columns])
        grad_input[image][:, rows[:, None], columns] += share
    return grad_input


@np.errstate(all="ignore")
def prroi_pool_coor_backward(output, grad_output, input, rois, spatial_scale):
    grad_rois = np.zeros((len(rois), 5))
    (PH, PW), (H, W) = grad_output.shape[2:], input.shape[2:]
    means, grads = output.astype(np.float64), grad_output.astype(np.float64)
    pixels = input.astype(np.float64)
    if not ((rois[:, 0] >= 0) & (rois[:, 0] < len(input))).all():
        raise IndexError("the image of a RoI does not exist")
    if grads.size == 0:
        return grad_rois
    for r, image, y, x, area in _areas(rois, (PH, PW), (H, W), spatial_scale):
        of_y, of_x = _hat_integrals(*y, H), _hat_integrals(*x, W)
        height, width = ((each[1] - each[0]).astype(np.float64) for each in (y, x))
        at_x = [_product(pixels[image], of_y, _hats(each, W)) for each in x]
        at_y = [_product(pixels[image], _hats(each, H), of_x) for each in y]
        whole_x, whole_y = height[:, None] * means[r], width * means[r]
        factor = np.float64(spatial_scale) / area
        used = grads[r] != 0
        x1, x2, y1, y2 = (
            np.where(used, grads[r] * factor * each, 0).sum(0)
            for each in (whole_x - at_x[0], at_x[1] - whole_x, whole_y - at_y[0], at_y[1] - whole_y)
        )
        left, top = np.arange(PW) / PW, (np.arange(PH) / PH)[:, None]
        right, bottom = np.arange(1, PW + 1) / PW, (np.arange(1, PH + 1) / PH)[:, None]
        grad_rois[r, 1] = (x1 * (1 - left) + x2 * (1 - right)).sum()
        grad_rois[r, 2] = (y1 * (1 - top) + y2 * (1 - bottom)).sum()
        grad_rois[r, 3] = (x1 * left + x2 * right).sum()
        grad_rois[r, 4] = (y1 * top + y2 * bottom).sum()
    return grad_rois


def roi_pool_arguments(random, B=2, C=3, H=8, W=9, R=5, PH=2, PW=3, rounded=(False, True)):
    return random.floats(B, C, H, W), random.rois(R, B), (PH, PW), 0.5, rounded


def roi_pool_backward_arguments(random, B=2, C=3, H=8, W=9, R=5, PH=2, PW=3):
    argmax = random.integers(-1, H * W, R, C, PH, PW)
    return random.floats(R, C, PH, PW), random.rois(R, B), argmax, (B, H, W)


def psroi_pool_arguments(random, B=2, K=3, H=8, W=9, R=5, P=2):
    return random.floats(B, K * P * P, H, W), random.rois(R, B), K, P, 0.5


def psroi_pool_backward_arguments(random, B=2, K=3, H=8, W=9, R=5, P=2):
    return random.floats(R, K, P, P), random.rois(R, B), (B, H, W), 0.5


def prroi_pool_arguments(random, B=2, C=3, H=8, W=9, R=5, PH=2, PW=3):
    return random.floats(B, C, H, W), random.rois(R, B), (PH, PW), 0.5


def prroi_pool_backward_arguments(random, B=2, C=3, H=8, W=9, R=5, PH=2, PW=3):
    return random.floats(R, C, PH, PW), random.rois(R, B), (B, H, W), 0.5


def prroi_pool_coor_backward_arguments(random, B=2, C=3, H=8, W=9, R=5, PH=2, PW=3):
    bins = random.floats(R, C, PH, PW), random.floats(R, C, PH, PW)
    return *bins, random.floats(B, C, H, W), random.rois(R, B), 0.5
