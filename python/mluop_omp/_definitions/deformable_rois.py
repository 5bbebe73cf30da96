"""Deformable RoI pooling."""

from __future__ import annotations

import itertools

import numpy as np

from mluop_omp._definitions._precision import at_least_float32


class _Axis:
    """A RoI along an axis: start, size, size of a bin, samples of a bin."""

    def __init__(self, low, high, bins, scale, ratio):
        dtype = low.dtype.type
        self.start = low * dtype(scale) - dtype(0.5)
        self.size = high * dtype(scale) - dtype(0.5) - self.start
        self.bin = self.size / dtype(bins)
        wanted = np.ceil(self.bin)
        wanted = int(min(wanted, 2**24)) if 1 <= wanted < np.inf else 0
        self.samples = ratio if ratio > 0 else wanted

    def positions(self, number, move, pixels):
        """Returns the positions of the samples of a bin that are not outside."""
        dtype = self.start.dtype.type
        first = self.start + move + dtype(number) * self.bin
        ends = np.array([0, self.samples])
        if self.samples > 4096:  # Near the image, up to rounding.
            slack = 2 + 1e-5 * (abs(self.start) + abs(self.size))
            edges = np.array([-slack, pixels + slack], np.float64)
            ends = np.clip((edges - first) * (self.samples / np.float64(self.bin)), *ends)
        number = np.arange(*ends.astype(np.int64)).astype(dtype)
        position = first + (number + dtype(0.5)) * self.bin / dtype(self.samples or 1)
        return position[~((position < -1) | (position > pixels))].astype(np.float64)


def _bins(rois, offset, bins, image_size, spatial_scale, sampling_ratio, gamma):
    """Yields of each bin its index, its image, the positions of its samples along y and x, and the
    derivatives of the positions along the offset, and the number of samples.
    """
    B, H, W = image_size
    if 0 in (H, W):
        raise ValueError("images have no pixels")
    rois, offset = at_least_float32(rois), None if offset is None else at_least_float32(offset)
    for r, roi in enumerate(rois):
        if not 0 <= roi[0] < B:
            raise IndexError("the image of a RoI does not exist")
        y, x = (
            _Axis(roi[i], roi[i + 2], count, spatial_scale, sampling_ratio)
            for i, count in zip((2, 1), bins)
        )
        count = max(y.samples * x.samples, 1)
        per_offset = rois.dtype.type(gamma) * np.stack((y.size, x.size))
        slopes = [np.float64(gamma) * each.size for each in (y, x)]
        for p, q in np.ndindex(*bins):
            moves = (0, 0) if offset is None else per_offset * offset[r, ::-1, p, q]
            at_y, at_x = y.positions(p, moves[0], H), x.positions(q, moves[1], W)
            yield (r, p, q), int(roi[0]), at_y, at_x, slopes, count


def _sides(position, pixels):
    """Yields the two pixels of positions: index, weight, distance to the other one, and the sign of
    the slope. Distances are not clamped.
    """
    clamped = np.clip(position, 0, pixels - 1)
    low = np.floor(np.nan_to_num(clamped))
    high = np.minimum(low + 1, pixels - 1)
    yield low.astype(np.int64), 1 - (clamped - low), high - position, -1
    yield high.astype(np.int64), clamped - low, position - low, 1


@np.errstate(all="ignore")
def deform_roi_pool(input, rois, offset, output_size, *numbers):
    B, C, H, W = input.shape
    output = np.zeros((len(rois), C, *output_size))
    if output.size == 0:
        return output
    for bin, image, y, x, _, count in _bins(rois, offset, output_size, (B, H, W), *numbers):
        r, p, q = bin
        for (row, of_row, *_), (column, of_column, *_) in itertools.product(
            _sides(y, H), _sides(x, W)
        ):
            values = input[image][:, row[:, np.newaxis], column].astype(np.float64)
            output[r, :, p, q] += (values * (of_row[:, np.newaxis] * of_column)).sum((1, 2)) / count
    return output


@np.errstate(all="ignore")
def deform_roi_pool_backward(grad_output, input, rois, offset, *numbers):
    (B, _, H, W), size = input.shape, grad_output.shape[2:]
    grad_input, grad_offset = np.zeros(input.shape), np.zeros(0 if offset is None else offset.shape)
    if grad_output.size == 0 or not (grad_input.size or grad_offset.size):
        return grad_input, grad_offset
    for bin, image, y, x, slopes, count in _bins(rois, offset, size, (B, H, W), *numbers):
        r, p, q = bin
        y, x = y[~np.isnan(y)], x[~np.isnan(x)]
        grad = grad_output[r, :, p, q].astype(np.float64)[:, np.newaxis, np.newaxis] / count
        for (row, of_row, above, down), (column, of_column, beside, right) in itertools.product(
            _sides(y, H), _sides(x, W)
        ):
            pixel = slice(None), row[:, np.newaxis], column
            np.add.at(grad_input[image], pixel, grad * (of_row[:, np.newaxis] * of_column))
            if offset is None:
                continue
            product = (grad * input[image][pixel]).sum(0)
            grad_offset[r, 0, p, q] += slopes[1] * right * (product * above[:, np.newaxis]).sum()
            grad_offset[r, 1, p, q] += slopes[0] * down * (product * beside).sum()
    return grad_input, grad_offset


def _geometry(random, B, H, W, R, PH, PW):
    """Returns RoIs and offsets whose samples are inside of the image, where derivatives exist."""
    extent = np.array([max(W - 1, 1), max(H - 1, 1)], np.float32)
    low = extent * random.positive(R, 2) / 10 + np.float32(0.5)
    size = extent * (random.positive(R, 2) / 10 + np.float32(0.3))
    image = random.integers(0, B, R, 1).astype(np.float32)
    rois = np.concatenate((image, low, low + size), 1) * np.array([1, 2, 2, 2, 2], np.float32)
    return rois, (random.positive(R, 2, PH, PW) - np.float32(1.5))


def deform_roi_pool_arguments(
    random, B=2, C=3, H=5, W=6, R=3, PH=2, PW=3, sampling_ratio=(2, 0), gamma=(0.1, 0)
):
    rois, offset = _geometry(random, B, H, W, R, PH, PW)
    return random.floats(B, C, H, W), rois, offset, (PH, PW), 0.5, sampling_ratio, gamma


def deform_roi_pool_backward_arguments(
    random, B=2, C=3, H=5, W=6, R=3, PH=2, PW=3, sampling_ratio=(2, 0), gamma=(0.1, 0)
):
    rois, offset = _geometry(random, B, H, W, R, PH, PW)
    grad, input = random.floats(R, C, PH, PW), random.floats(B, C, H, W)
    return grad, input, rois, offset, 0.5, sampling_ratio, gamma
