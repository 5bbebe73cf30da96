"""RoI align whose maximum is the largest product of a pixel and its weight."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mluop_omp._library import bad_param, not_supported

_MAX_SAMPLES = 2**20


def largest_corners(
    image: np.ndarray,
    rois: np.ndarray,
    batch_indices: np.ndarray,
    size: Sequence[int],
    spatial_scale: float,
    sampling_ratio: int,
    aligned: bool,
) -> np.ndarray:
    """Returns [R, C, PH, PW] of images [N, C, H, W] and RoIs (x1, y1, x2, y2).

    The value of a sample is the largest of four products, the pixels around it times their weights
    in bilinear interpolation. A bin has the largest value of its samples; 0 without samples.
    """
    if min(size) < 0 or min(image.shape[2:]) == 0:
        raise bad_param(
            f"output_height and output_width are {list(size)}, the image has shape "
            f"{list(image.shape)}; expected no negative sizes, and pixels"
        )
    output = np.zeros((len(rois), image.shape[1], *size), image.dtype)
    with np.errstate(all="ignore"):
        scaled = rois * rois.dtype.type(spatial_scale) - rois.dtype.type(0.5 * aligned)
        extents = scaled[:, 2:] - scaled[:, :2]
    if not aligned:
        extents = np.fmax(extents, rois.dtype.type(1))
    for result, index, low, extent in zip(output, batch_indices, scaled, extents):
        samples = [
            _Samples(low[axis], extent[axis], bins, sampling_ratio, pixels)
            for axis, bins, pixels in zip((1, 0), size, image.shape[2:])
        ]
        if result.size and all(each.per_bin > 0 for each in samples):
            result[...] = _pooled(image[index], *samples)
    return output


class _Samples:
    """The samples of a RoI along an axis, bin by bin, and the two pixels around each of them.

    low and extent are NumPy scalars of the image's type.
    """

    def __init__(
        self,
        low: Any,
        extent: Any,
        bins: int,
        sampling_ratio: int,
        pixels: int,
    ) -> None:
        real = type(low)
        self.bins, width = bins, extent / real(max(bins, 1))
        self.per_bin = _per_bin(float(width), sampling_ratio, bins)
        number = np.arange(bins * max(self.per_bin, 0))
        step = width / real(max(self.per_bin, 1))
        of_bin, in_bin = np.divmod(number, max(self.per_bin, 1))
        at = low + of_bin.astype(real) * width + (in_bin.astype(real) + real(0.5)) * step
        self.exists = (at >= -1) & (at <= pixels)
        at = np.where(self.exists, at, real(0)).clip(0, pixels - 1)
        first = at.astype(np.intp)
        weight = at - first.astype(real)
        # At the last pixel, the second one has the weight 0.
        self.corners = ((first, 1 - weight), (np.minimum(first + 1, pixels - 1), weight))


def _per_bin(width: float, sampling_ratio: int, bins: int) -> int:
    """Returns the number of samples along a bin; 0 for one that is not finite."""
    if not math.isfinite(width):
        return 0
    count = sampling_ratio if sampling_ratio > 0 else math.ceil(width)
    if count * bins > _MAX_SAMPLES:
        raise not_supported(f"a RoI has {count * bins} samples, expected at most {_MAX_SAMPLES}")
    return count


def _pooled(image: np.ndarray, rows: _Samples, columns: _Samples) -> np.ndarray:
    """Returns [C, PH, PW] of an image [C, H, W]."""
    products = [
        image[:, y[:, None], x] * (of_y[:, None] * of_x)
        for y, of_y in rows.corners
        for x, of_x in columns.corners
    ]
    exists = rows.exists[:, None] & columns.exists
    values = np.where(exists, np.maximum.reduce(products), 0)
    bins = rows.bins, rows.per_bin, columns.bins, columns.per_bin
    return values.reshape(-1, *bins).max((2, 4))
