"""RoI align."""

from __future__ import annotations

import numpy as np

from mluop_omp._definitions._precision import at_least_float32


def _positions(low, high, bins, scale, sampling_ratio, aligned):
    """Returns the positions [bins, samples] along an axis, and whether the size is negative or NaN.

    `low` and `high` have one element.
    """
    dtype = low.dtype.type
    offset = dtype(0.5 if aligned else 0)
    start = low * dtype(scale) - offset
    size = high * dtype(scale) - offset - start
    size = size if aligned else np.maximum(size, dtype(1))
    width = size / dtype(bins)
    wanted = np.minimum(np.ceil(width), 2**24).item()
    samples = sampling_ratio if sampling_ratio > 0 else int(wanted) if wanted >= 1 else 0
    parts = (np.arange(samples, dtype=dtype) + dtype(0.5)) * width / dtype(samples or 1)
    first = start + np.arange(bins, dtype=dtype) * width
    return first[:, np.newaxis] + parts, not (size >= 0).all()


def _bins_of_rois(rois, output_size, image_size, spatial_scale, sampling_ratio, aligned):
    """Yields number, image and positions along y and x of each RoI that has samples."""
    if 0 in image_size:
        raise ValueError("images have no pixels")
    numbers = spatial_scale, sampling_ratio, aligned
    for r, roi in enumerate(at_least_float32(rois)):
        y, has_no_height = _positions(roi[2:3], roi[4:5], output_size[0], *numbers)
        x, has_no_width = _positions(roi[1:2], roi[3:4], output_size[1], *numbers)
        if y.size and x.size and not (has_no_height or has_no_width):
            yield r, int(roi[0]), y, x


def _interpolation(position, pixels):
    """Returns which positions are used, and the two pixels of each with their weights."""
    is_used = (position >= -1) & (position <= pixels)
    position = np.clip(np.where(is_used, position, 0), 0, pixels - 1)
    low = np.floor(position)
    above = position - low
    pixel = low.astype(np.int64)
    return is_used, [(pixel, 1 - above), (np.minimum(pixel + 1, pixels - 1), above)]


def _taps(positions, pixels):
    """Returns the pixels that each bin uses along an axis, and their mean weights."""
    is_used, ((low, of_low), (high, of_high)) = _interpolation(positions, pixels)
    taps = []
    for used, *sides in zip(is_used, low, of_low, high, of_high):
        if not used.any():
            taps.append((slice(0, 0), np.zeros(0)))
            continue
        at, of_at, at_next, of_next = (each[used] for each in sides)
        first, count = at.min(), at_next.max() + 1 - at.min()
        weights = np.bincount(at - first, of_at, count) + np.bincount(
            at_next - first, of_next, count
        )
        taps.append((slice(first, first + count), weights / len(used)))
    return taps


def _samples(image, y, x):
    """Returns the samples [C, PH, PW, samples] of the bins of a RoI."""
    places = y[:, np.newaxis, :, np.newaxis], x[:, np.newaxis]
    (used_y, rows), (used_x, columns) = map(_interpolation, places, image.shape[1:])
    samples = sum(
        (of_row * of_column) * image[:, row, column]
        for row, of_row in rows
        for column, of_column in columns
    )
    samples = np.where(used_y & used_x, samples, image.dtype.type(0))
    return samples.reshape(*samples.shape[:3], -1)


@np.errstate(all="ignore")
def roi_align(input, rois, output_size, spatial_scale, sampling_ratio, method, aligned):
    input, sizes = at_least_float32(input), input.shape[2:]
    shape, is_max = (len(rois), input.shape[1], *output_size), method == "max"
    output, maxima = np.zeros(shape), np.full((2, *(shape if is_max else (0,))), -1, input.dtype)
    if output.size == 0:  # The images of RoIs need not exist.
        return output, *maxima
    bins = _bins_of_rois(rois, output_size, sizes, spatial_scale, sampling_ratio, aligned)
    for r, image, y, x in bins:
        pixels = input[image]
        if is_max:
            samples = _samples(pixels, y, x)
            samples = np.where(np.isnan(samples), -np.inf, samples)  # NaN is never selected.
            best, lowest = samples.argmax(3), np.finfo(input.dtype).min
            output[r] = np.maximum(samples.max(3), lowest)
            p, q = np.ogrid[: len(y), : len(x)]
            at_best = y[p, best // x.shape[1]], x[q, best % x.shape[1]]
            maxima[:, r] = np.where(samples.max(3) > lowest, at_best, -1)
            continue
        of_rows = np.stack([weights @ pixels[:, at] for at, weights in _taps(y, sizes[0])])
        means = [of_rows[:, :, at] @ weights for at, weights in _taps(x, sizes[1])]
        output[r] = np.stack(means, 2).transpose(1, 0, 2)
    return output, *maxima


@np.errstate(all="ignore")
def roi_align_backward(
    grad, rois, argmax_y, argmax_x, image_size, spatial_scale, sampling_ratio, method, aligned
):
    (B, H, W), (C, *output_size) = image_size, grad.shape[1:]
    grad_input, grads = np.zeros((B, C, H, W)), grad.astype(np.float64)
    if grad.size == 0:
        return grad_input
    bins = _bins_of_rois(rois, output_size, (H, W), spatial_scale, sampling_ratio, aligned)
    if method != "max":
        for r, image, y, x in bins:
            of_rows = np.zeros((C, len(y), W))
            for q, (at, weights) in enumerate(_taps(x, W)):
                of_rows[:, :, at] += grads[r, :, :, q, np.newaxis] * weights
            for p, (at, weights) in enumerate(_taps(y, H)):
                grad_input[image, :, at] += of_rows[:, p, np.newaxis] * weights[:, np.newaxis]
        return grad_input
    if 0 in (H, W):
        raise ValueError("images have no pixels")
    places = at_least_float32(argmax_y), at_least_float32(argmax_x)
    (used_y, rows), (used_x, columns) = map(_interpolation, places, (H, W))
    used = np.nonzero(used_y & used_x & (places[0] != -1))
    image = rois[used[0], 0].astype(np.int64)
    for row, of_row in rows:
        for column, of_column in columns:
            weights = (of_row * of_column)[used]
            pixel = image, used[1], row[used], column[used]
            index = np.ravel_multi_index(pixel, grad_input.shape)
            np.add.at(grad_input.reshape(-1), index, weights * grads[used])
    return grad_input


def roi_align_arguments(
    random, B=2, C=3, H=8, W=9, R=5, PH=2, PW=3, method=("mean", "max"), aligned=(True, False)
):
    numbers = (PH, PW), 0.5, 0 if aligned else 2, method, aligned
    return random.floats(B, C, H, W), random.rois(R, B), *numbers


def roi_align_backward_arguments(
    random, B=2, C=3, H=8, W=9, R=5, PH=2, PW=3, method=("mean", "max"), aligned=(True, False)
):
    grad, rois = random.floats(R, C, PH, PW), random.rois(R, B)
    maxima = [3 * random.positive(*(grad.shape if method == "max" else (0,))) for _ in range(2)]
    return grad, rois, *maxima, (B, H, W), 0.5, 0 if aligned else 2, method, aligned
