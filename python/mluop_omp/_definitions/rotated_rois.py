"""RoI align of rotated RoIs, rotated feature align and border align."""

from __future__ import annotations

import numpy as np

from mluop_omp._definitions._precision import at_least_float32
from mluop_omp._definitions._samples import add_samples, samples, taps


def _axis(size, bins, sampling_ratio):
    """Returns the positions [bins, samples] along a side of a RoI, from its center."""
    width = size / size.dtype.type(bins)
    wanted = np.ceil(width)
    automatic = int(min(wanted, 2**24)) if wanted >= 1 and np.isfinite(wanted) else 0
    count = sampling_ratio if sampling_ratio > 0 else automatic
    parts = (np.arange(count, dtype=width.dtype) + width.dtype.type(0.5)) * width
    parts = parts / width.dtype.type(count or 1)
    first = -size / 2 + np.arange(bins, dtype=width.dtype) * width
    return first[:, np.newaxis] + parts


def _positions(rois, output_size, images, numbers):
    """Yields number, image and positions along y and x [PH, PW, samples] of each RoI."""
    spatial_scale, sampling_ratio, aligned, clockwise = numbers
    for r, roi in enumerate(at_least_float32(rois)):
        if not 0 <= roi[0] < images:
            raise ValueError("the image of a RoI does not exist")
        scale, offset = roi.dtype.type(spatial_scale), roi.dtype.type(0.5 if aligned else 0)
        center_x, center_y, *size = roi[1:5] * scale
        center_x, center_y = center_x - offset, center_y - offset
        size = size if aligned else np.maximum(size, roi.dtype.type(1))
        angle = np.float64(-roi[5] if clockwise else roi[5])
        cos, sin = roi.dtype.type(np.cos(angle)), roi.dtype.type(np.sin(angle))
        v = _axis(size[1], output_size[0], sampling_ratio)[:, np.newaxis, :, np.newaxis]
        u = _axis(size[0], output_size[1], sampling_ratio)[np.newaxis, :, np.newaxis]
        y, x = v * cos - u * sin + center_y, v * sin + u * cos + center_x
        yield r, int(roi[0]), *(each.reshape(*output_size, -1) for each in (y, x))


def _require_pixels(output_size, *image_size):
    if 0 in output_size:
        raise ValueError("RoIs have no bins")
    if 0 in image_size:
        raise ValueError("images have no pixels")


@np.errstate(all="ignore")
def roi_align_rotated(input, rois, output_size, *numbers):
    _require_pixels(output_size)
    output = np.zeros((len(rois), input.shape[1], *output_size))
    if output.size == 0:  # The images of RoIs need not exist.
        return output
    _require_pixels(output_size, *input.shape)
    images = input.astype(np.float64)
    for r, image, y, x in _positions(rois, output_size, len(input), numbers):
        if y.size:
            output[r] = samples(images[image], y, x).mean(-1)
    return output


@np.errstate(all="ignore")
def roi_align_rotated_backward(grad_output, rois, image_size, *numbers):
    (B, H, W), (_, C, *output_size) = image_size, grad_output.shape
    _require_pixels(output_size)
    grad_input = np.zeros((B, C, H, W))
    if grad_output.size == 0:
        return grad_input
    _require_pixels(output_size, B, H, W)
    for r, image, y, x in _positions(rois, output_size, B, numbers):
        if y.size:
            grad = (grad_output[r].astype(np.float64) / y.shape[-1])[..., np.newaxis]
            grad = np.broadcast_to(grad, (C, *y.shape)).reshape(C, -1)
            add_samples(grad, y.reshape(-1), x.reshape(-1), grad_input[image])
    return grad_input


def _orientations(rois, num_orientations):
    """Returns the orientations [R, n] that each orientation is interpolated from, and weights."""
    turns = rois[:, 5].astype(np.float64) * num_orientations / (2 * np.pi)
    turns = np.where(np.isfinite(turns), turns, 0)
    shift = np.floor(turns)
    first = (np.arange(num_orientations) - shift[:, np.newaxis]) % num_orientations
    return first.astype(np.int64), (turns - shift).reshape(-1, 1, 1, 1, 1)


@np.errstate(all="ignore")
def riroi_align_rotated(
    input, rois, output_size, spatial_scale, num_samples, num_orientations, clockwise
):
    if input.shape[1] % num_orientations:
        raise ValueError("channels are not a multiple of num_orientations")
    numbers = spatial_scale, num_samples, False, clockwise
    pooled = roi_align_rotated(input, rois, output_size, *numbers)
    if pooled.size == 0:
        return pooled
    first, part = _orientations(rois, num_orientations)
    groups = pooled.reshape(len(rois), -1, num_orientations, *output_size)
    at = first[:, np.newaxis, :, np.newaxis, np.newaxis]
    at_next = (at + 1) % num_orientations
    low, high = (np.take_along_axis(groups, each, 2) for each in (at, at_next))
    return ((1 - part) * low + part * high).reshape(pooled.shape)


@np.errstate(all="ignore")
def riroi_align_rotated_backward(
    grad_output, rois, image_size, spatial_scale, num_samples, num_orientations, clockwise
):
    if grad_output.shape[1] % num_orientations:
        raise ValueError("channels are not a multiple of num_orientations")
    numbers = spatial_scale, num_samples, False, clockwise
    if grad_output.size == 0:
        return roi_align_rotated_backward(grad_output, rois, image_size, *numbers)
    first, part = _orientations(rois, num_orientations)
    output_size = grad_output.shape[2:]
    grads = grad_output.astype(np.float64).reshape(len(rois), -1, num_orientations, *output_size)
    mixed = np.zeros(grads.shape)
    for r, at in enumerate(first):
        mixed[r][:, at] += (1 - part[r]) * grads[r]
        mixed[r][:, (at + 1) % num_orientations] += part[r] * grads[r]
    return roi_align_rotated_backward(mixed.reshape(grad_output.shape), rois, image_size, *numbers)


def _points(boxes, spatial_scale, points):
    """Returns the positions [pixels, points] along y and x of boxes [H, W, 5]."""
    boxes = at_least_float32(boxes).reshape(-1, 5, 1)
    dtype = boxes.dtype.type
    y, x, width, height = (boxes[:, i] * dtype(spatial_scale) for i in range(4))
    if points == 1:
        return y, x
    angle = boxes[:, 4].astype(np.float64)
    cos, sin = np.cos(angle).astype(dtype), np.sin(angle).astype(dtype)
    along = sin * (width / 2), cos * (width / 2)
    across = cos * (height / 2), -sin * (height / 2)
    signs = np.array([(1, 1), (-1, 1), (-1, -1), (1, -1)], dtype).T
    corners = (each + signs[0] * w + signs[1] * h for each, w, h in zip((y, x), along, across))
    y, x = (np.concatenate(each, -1) for each in zip((y, x), corners))
    return y, x


@np.errstate(all="ignore")
def rotated_feature_align(input, boxes, spatial_scale, points):
    output = input.astype(np.float64)
    for image, added, box in zip(input.astype(np.float64), output, boxes if output.size else ()):
        y, x = _points(box, spatial_scale, points)
        added += samples(image, y, x).sum(-1).reshape(added.shape)
    return output


@np.errstate(all="ignore")
def rotated_feature_align_backward(grad_output, boxes, spatial_scale, points):
    grads = grad_output.astype(np.float64)
    grad_input = grads.copy()
    for grad, added, box in zip(grads, grad_input, boxes if grads.size else ()):
        y, x = _points(box, spatial_scale, points)
        grad = np.repeat(grad.reshape(len(grad), -1), points, 1)
        add_samples(grad, y.reshape(-1), x.reshape(-1), added)
    return grad_input


def _borders(boxes, pool_size):
    """Yields start and step along y and x [B, K] of the borders of boxes [B, K, 4]."""
    x1, y1, x2, y2 = np.moveaxis(at_least_float32(boxes), -1, 0)
    parts, zero = x1.dtype.type(pool_size), np.zeros_like(x1)
    width, height = (x2 - x1) / parts, (y2 - y1) / parts
    yield y1, x1, zero, width
    yield y1, x1, height, zero
    yield y2, x2, zero, -width
    yield y2, x2, -height, zero


@np.errstate(all="ignore")
def border_align(input, boxes, pool_size):
    input = at_least_float32(input)
    (B, K, _), C = boxes.shape, input.shape[1] // 4
    if input.shape[1] % 4 or pool_size < 1:
        raise ValueError("channels are not a multiple of 4, or a border has no samples")
    output, argmax = np.zeros((B, C, K, 4), input.dtype), np.zeros((B, C, K, 4), np.int32)
    if output.size == 0:
        return output, argmax
    _require_pixels((), *input.shape)
    for border, (y, x, step_y, step_x) in enumerate(_borders(boxes, pool_size)):
        maps = input[:, border * C : (border + 1) * C]
        for n in range(pool_size + 1):
            for b in range(B):
                found = samples(maps[b], y[b], x[b]).astype(input.dtype)
                replaced = found > output[b, :, :, border] if n else np.ones_like(found, bool)
                output[b, :, :, border][replaced] = found[replaced]
                argmax[b, :, :, border][replaced] = n
            y, x = y + step_y, x + step_x
    return output, argmax


@np.errstate(all="ignore")
def border_align_backward(grad_output, boxes, argmax_idx, image_size, pool_size):
    B, C, K, _ = grad_output.shape
    H, W = image_size
    grad_input = np.zeros((B, 4 * C, H, W))
    if pool_size < 1:
        raise ValueError("a border has no samples")
    if grad_output.size == 0:
        return grad_input
    _require_pixels((), H, W)
    for border, (y, x, step_y, step_x) in enumerate(_borders(boxes, pool_size)):
        number = argmax_idx[:, :, :, border]
        steps = number.astype(y.dtype)
        y, x = (p[:, np.newaxis] + s[:, np.newaxis] * steps for p, s in ((y, step_y), (x, step_x)))
        valid = (number >= 0) & (number <= pool_size)
        for at, weight in taps(y, x, H, W):
            b, c, k = np.nonzero(valid & (at >= 0) & ~np.isnan(weight))
            index = np.ravel_multi_index((b, border * C + c, at[b, c, k]), (B, 4 * C, H * W))
            terms = weight[b, c, k] * grad_output[b, c, k, border].astype(np.float64)
            np.add.at(grad_input.reshape(-1), index, terms)
    return grad_input


def _rotated_rois(random, R, B):
    corners = random.rois(R, B)
    center, size = corners[:, 1:3], corners[:, 3:5] - corners[:, 1:3]
    return np.concatenate((corners[:, :1], center, size, random.floats(R, 1)), 1)


def roi_align_rotated_arguments(
    random, B=2, C=3, H=8, W=9, R=5, PH=2, PW=3, aligned=(True, False), clockwise=(False, True)
):
    numbers = (PH, PW), 0.5, 0 if aligned else 2, aligned, clockwise
    return random.floats(B, C, H, W), _rotated_rois(random, R, B), *numbers


def roi_align_rotated_backward_arguments(
    random, B=2, C=3, H=8, W=9, R=5, PH=2, PW=3, aligned=(True, False), clockwise=(False, True)
):
    numbers = (B, H, W), 0.5, 0 if aligned else 2, aligned, clockwise
    return random.floats(R, C, PH, PW), _rotated_rois(random, R, B), *numbers


def riroi_align_rotated_arguments(
    random, B=2, C=2, H=8, W=9, R=5, PH=2, PW=3, clockwise=(False, True)
):
    numbers = (PH, PW), 0.5, 2 if clockwise else 0, 4, clockwise
    return random.floats(B, 4 * C, H, W), _rotated_rois(random, R, B), *numbers


def riroi_align_rotated_backward_arguments(
    random, B=2, C=2, H=8, W=9, R=5, PH=2, PW=3, clockwise=(False, True)
):
    numbers = (B, H, W), 0.5, 2 if clockwise else 0, 4, clockwise
    return random.floats(R, 4 * C, PH, PW), _rotated_rois(random, R, B), *numbers


def _boxes_of_pixels(random, B, H, W):
    boxes = random.rotated(B * H * W).reshape(B, H, W, 5)
    return boxes * np.array([16, 16, 8, 8, 1], np.float32) + np.array([32, 32, 0, 0, 0], np.float32)


def rotated_feature_align_arguments(random, B=2, C=3, H=6, W=7, points=(5, 1)):
    return random.floats(B, C, H, W), _boxes_of_pixels(random, B, H, W), 0.125, points


def rotated_feature_align_backward_arguments(random, B=2, C=3, H=6, W=7, points=(5, 1)):
    return random.floats(B, C, H, W), _boxes_of_pixels(random, B, H, W), 0.125, points


def border_align_arguments(random, B=2, C=3, H=6, W=7, K=5):
    return random.floats(B, 4 * C, H, W), 2 * random.corners(B * K).reshape(B, K, 4), 3


def border_align_backward_arguments(random, B=2, C=3, H=6, W=7, K=5):
    boxes = 2 * random.corners(B * K).reshape(B, K, 4)
    return random.floats(B, C, K, 4), boxes, random.integers(0, 4, B, C, K, 4), (H, W), 3
