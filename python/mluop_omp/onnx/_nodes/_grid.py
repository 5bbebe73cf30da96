"""Samples of images and volumes at the points of a grid, as PyTorch's grid_sample."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from mluop_omp._library import bad_param, not_supported

LINEAR, NEAREST, CUBIC = range(3)
ZEROS, BORDER, REFLECTION = range(3)
# Where the kernels put a position that is not finite: outside of the image.
_OUTSIDE = -100
_CUBIC = -0.75


class _Tap(NamedTuple):
    """A pixel along an axis for each point, its weight, and whether it is in the image."""

    pixel: np.ndarray
    weight: np.ndarray
    exists: np.ndarray


def sample(
    image: np.ndarray,
    grid: np.ndarray,
    interpolation: int = LINEAR,
    padding: int = ZEROS,
    align_corners: bool = False,
) -> np.ndarray:
    """Returns [N, C, *out] of an image [N, C, *sizes] at a grid [N, *out, D], of the same dtype.

    The grid holds x, y (and z), -1 to 1 in the image. Positions are computed in the dtype: single
    or double. The nearest pixel of a half is the even one.
    """
    N, C, *sizes = image.shape
    _, *out, D = grid.shape
    if len(sizes) != D or len(grid) != N:
        raise bad_param(
            f"input grid has shape {list(grid.shape)}, expected {N} grids with {len(sizes)} "
            f"coordinates, as input has shape {list(image.shape)}"
        )
    if interpolation == CUBIC and D != 2:
        raise not_supported("interpolation_mode is 2 (bicubic), expected 0 or 1 for a volume")
    if 0 in sizes:
        raise bad_param(f"input has shape {list(image.shape)}, expected pixels")
    if grid.size == 0 or image.size == 0:
        return np.zeros((N, C, *out), image.dtype)
    points = grid.reshape(N, -1, D)
    # x is along the last axis.
    with np.errstate(all="ignore"):
        axes = [
            _taps(points[..., D - 1 - axis], size, interpolation, padding, align_corners)
            for axis, size in enumerate(sizes)
        ]
        return _combined(image.reshape(N, C, -1), sizes, axes).reshape(N, C, *out)


def _combined(pixels: np.ndarray, sizes: list[int], axes: list[list[_Tap]]) -> np.ndarray:
    """Returns the weighted sums of pixels [N, C, H * W] for the points, [N, C, points]."""
    terms = []
    for taps in itertools.product(*axes):
        place, weight, exists = taps[0]
        for size, tap in zip(sizes[1:], taps[1:]):
            place = place * size + tap.pixel
            weight, exists = weight * tap.weight, exists & tap.exists
        found = np.take_along_axis(pixels, place[:, None], 2) * weight[:, None]
        terms.append(np.where(exists[:, None], found, 0))
    return sum(terms[1:], terms[0])


def _taps(
    grid: np.ndarray, size: int, interpolation: int, padding: int, align_corners: bool
) -> list[_Tap]:
    at = (grid + 1) / 2 * (size - 1) if align_corners else ((grid + 1) * size - 1) / 2
    if interpolation != CUBIC:
        at = _padded(at, size, padding, align_corners)
    at = np.where(np.isfinite(at), at, at.dtype.type(_OUTSIDE))
    first = np.rint(at) if interpolation == NEAREST else np.floor(at)
    fraction = at - first
    if interpolation == NEAREST:
        return [_tap(first, np.ones_like(first), size)]
    if interpolation == LINEAR:
        return [_tap(first, 1 - fraction, size), _tap(first + 1, fraction, size)]
    return [
        _tap(_padded(first + step, size, padding, align_corners), weight, size)
        for step, weight in zip((-1, 0, 1, 2), _cubic_weights(fraction))
    ]


def _tap(pixel: np.ndarray, weight: np.ndarray, size: int) -> _Tap:
    exists = (pixel >= 0) & (pixel <= size - 1)
    return _Tap(pixel.clip(0, size - 1).astype(np.intp), weight, exists)


def _padded(at: np.ndarray, size: int, padding: int, align_corners: bool) -> np.ndarray:
    """Returns positions as the padding moves them into the image; NaN becomes 0."""
    if padding == ZEROS:
        return at
    if padding == REFLECTION:
        at = _reflected(at, 0, size - 1) if align_corners else _reflected(at, -0.5, size - 0.5)
    real = at.dtype.type
    return np.fmin(np.fmax(at, real(0)), real(size - 1))


def _reflected(at: np.ndarray, low: float, high: float) -> np.ndarray:
    """Returns positions as mirrors at low and high move them between these."""
    if high == low:
        return np.zeros_like(at)
    real = at.dtype.type
    distance, span = abs(at - real(low)), real(high - low)
    extra = np.fmod(distance, span)
    is_even = np.floor(distance / span) % 2 == 0
    return np.where(is_even, extra + real(low), span - extra + real(low))


def _cubic_weights(fraction: np.ndarray) -> list[np.ndarray]:
    """Returns the weights of the pixels -1, 0, 1 and 2 from the one before a position."""
    a = fraction.dtype.type(_CUBIC)

    def near(x: np.ndarray) -> np.ndarray:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: np.ndarray) -> np.ndarray:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(fraction + 1), near(fraction), near(1 - fraction), far(2 - fraction)]
