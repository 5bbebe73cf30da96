"""RoIs between Bezier curves."""

from __future__ import annotations

import itertools

import numpy as np

from mluop_omp._definitions._precision import at_least_float32


def _samples(center, size, ratio):
    """Returns the positions [bins, samples] around the centers of bins, of the size of a bin."""
    dtype = center.dtype.type
    wanted = np.minimum(np.ceil(size), 2**24).item()
    samples = ratio if ratio > 0 else int(wanted) if wanted >= 1 else 0
    parts = (np.arange(samples, dtype=dtype) + dtype(0.5)) * size / dtype(samples or 1)
    return (center - size / dtype(2))[:, np.newaxis] + parts


def _curve(points, u):
    """Returns a cubic Bezier curve; in float64, rounded to the type of the points."""
    p, t = points.astype(np.float64), u.astype(np.float64)
    s = 1 - t
    value = s**3 * p[0] + 3 * t * s * s * p[1] + 3 * t * t * s * p[2] + t**3 * p[3]
    return value.astype(points.dtype)


def _positions(roi, size, scale, ratio, aligned):
    """Returns the positions [PH PW, samples] of the samples of a RoI, along y and x."""
    dtype = roi.dtype.type
    points = roi[1:].reshape(2, 4, 2) * dtype(scale)
    lengths = abs(points[:, 0] - points[:, 3]).max(0)
    lengths = lengths if aligned else np.maximum(lengths, dtype(1))
    i, j = (each.ravel().astype(roi.dtype) for each in np.indices(size))
    v, u = i / dtype(size[0]), j / dtype(size[1])
    positions = []
    for axis, bins in ((1, size[0]), (0, size[1])):
        upper, lower = _curve(points[0, :, axis], u), _curve(points[1, ::-1, axis], u)
        center = lower * v + upper * (dtype(1) - v) - dtype(0.5 if aligned else 0)
        positions.append(_samples(center, lengths[axis] / dtype(bins), ratio))
    return positions


def _interpolation(position, pixels):
    """Yields the two pixels of each position, with their weights in float64, 0 outside."""
    inside = ~((position < -1) | (position > pixels))
    clamped = np.clip(np.where(inside, position, 0).astype(np.float64), 0, pixels - 1)
    low = np.floor(clamped)
    for side in (0, 1):
        weight = np.where(inside, 1 - abs(clamped - low - side), 0)
        yield np.minimum(low + side, pixels - 1).astype(np.int64), weight


def _taps(rois, size, image_size, scale, ratio, aligned):
    """Yields number, image, pixels [bins, samples, samples] of a RoI, and their mean weights."""
    B, H, W = image_size
    for r, roi in enumerate(at_least_float32(rois)):
        if not 0 <= roi[0] < B:
            raise IndexError("the image of a RoI does not exist")
        y, x = _positions(roi, size, scale, ratio, aligned)
        count = max(y.shape[1] * x.shape[1], 1)
        sides = itertools.product(_interpolation(y, H), _interpolation(x, W))
        for (row, of_row), (column, of_column) in sides:
            pixel = row[:, :, np.newaxis] * W + column[:, np.newaxis]
            yield r, int(roi[0]), pixel, of_row[:, :, np.newaxis] * of_column[:, np.newaxis] / count


@np.errstate(all="ignore")
def bezier_align(input, rois, output_size, spatial_scale, sampling_ratio, aligned):
    B, C, H, W = input.shape
    PH, PW = output_size
    output = np.zeros((len(rois), C, PH * PW))
    if output.size:
        pixels = input.reshape(B, C, H * W)
        numbers = spatial_scale, sampling_ratio, aligned
        for r, image, pixel, weight in _taps(rois, output_size, (B, H, W), *numbers):
            output[r] += (pixels[image][:, pixel] * weight).sum((2, 3))
    return output.reshape(len(rois), C, PH, PW)


@np.errstate(all="ignore")
def bezier_align_backward(grad_output, rois, image_size, spatial_scale, sampling_ratio, aligned):
    (R, C, PH, PW), (B, H, W) = grad_output.shape, image_size
    grad_input, grads = np.zeros((B, H * W, C)), grad_output.reshape(R, C, PH * PW)
    if grad_input.size and grad_output.size:
        numbers = spatial_scale, sampling_ratio, aligned
        for r, image, pixel, weight in _taps(rois, (PH, PW), image_size, *numbers):
            terms = weight[..., np.newaxis] * grads[r].T[:, np.newaxis, np.newaxis]
            np.add.at(grad_input[image], pixel, terms)
    return grad_input.transpose(0, 2, 1).reshape(B, C, H, W)


def _rois(random, R, B):
    along = np.array([0, 2, 4, 6, 6, 4, 2, 0], np.float32)
    down = np.array([0, 0, 0, 0, 3, 3, 3, 3], np.float32)
    points = np.stack((along, down), 1) + random.floats(R, 8, 2)
    images = random.integers(0, B, R, 1).astype(np.float32)
    return np.concatenate((images, points.reshape(R, 16)), 1)


def bezier_align_arguments(
    random, B=2, C=3, H=5, W=6, R=3, PH=2, PW=3, sampling_ratio=(0, 1), aligned=(True, False)
):
    rois = _rois(random, R, B)
    return random.floats(B, C, H, W), rois, (PH, PW), 0.75, sampling_ratio, aligned


def bezier_align_backward_arguments(
    random, B=2, C=3, H=5, W=6, R=3, PH=2, PW=3, sampling_ratio=(0, 1), aligned=(True, False)
):
    rois = _rois(random, R, B)
    return random.floats(R, C, PH, PW), rois, (B, H, W), 0.75, sampling_ratio, aligned
