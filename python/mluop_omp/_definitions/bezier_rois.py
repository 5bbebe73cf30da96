"""RoIs between Bezier curves."""

from __future__ import annotations

import numpy as np

from mluop_omp._definitions._precision import at_least_float32
from mluop_omp._definitions._samples import add_samples, samples


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


def _grids(rois, size, images, scale, ratio, aligned):
    """Yields number, image and positions along y and x [PH PW, samples] of each RoI."""
    for r, roi in enumerate(at_least_float32(rois)):
        if not 0 <= roi[0] < images:
            raise IndexError("the image of a RoI does not exist")
        y, x = _positions(roi, size, scale, ratio, aligned)
        grid = np.broadcast_arrays(y[:, :, np.newaxis], x[:, np.newaxis])
        yield r, int(roi[0]), *(each.reshape(len(y), -1) for each in grid)


@np.errstate(all="ignore")
def bezier_align(input, rois, output_size, spatial_scale, sampling_ratio, aligned):
    output = np.zeros((len(rois), input.shape[1], *output_size))
    if output.size == 0:
        return output
    numbers = len(input), spatial_scale, sampling_ratio, aligned
    for r, image, y, x in _grids(rois, output_size, *numbers):
        if y.size:
            output[r] = (
                samples(input[image].astype(np.float64), y, x).mean(-1).reshape(output[r].shape)
            )
    return output


@np.errstate(all="ignore")
def bezier_align_backward(grad_output, rois, image_size, spatial_scale, sampling_ratio, aligned):
    (_, C, *size), (B, H, W) = grad_output.shape, image_size
    grad_input = np.zeros((B, C, H, W))
    if grad_input.size == 0 or grad_output.size == 0:
        return grad_input
    for r, image, y, x in _grids(rois, size, B, spatial_scale, sampling_ratio, aligned):
        grad = grad_output[r].astype(np.float64).reshape(C, -1, 1) / max(y.shape[1], 1)
        grad = np.broadcast_to(grad, (C, *y.shape)).reshape(C, -1)
        add_samples(grad, y.reshape(-1), x.reshape(-1), grad_input[image])
    return grad_input


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
