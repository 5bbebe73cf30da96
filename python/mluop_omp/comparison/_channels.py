"""A factor and an offset for each channel, as of a batch normalization that is fused otherwise."""

from __future__ import annotations

import numpy as np

from mluop_omp.comparison._values import Tensor

_MAX_CHANNELS = 4096
# Fewer elements lie on a line by chance.
_MIN_ELEMENTS = 8
# Roundings of the product, the sum and the fit, in tolerances of the result.
_ROUNDINGS = 4


def channel_fit(found: Tensor, expected: Tensor, rtol: float, atol: float) -> list[str]:
    """Returns a note if each channel of found is a factor times that of expected plus an offset.

    Channels are dimension 1, or the last one. A channel that fits no line ends the search.
    """
    if found.is_integer() or expected.is_integer() or len(found.shape) < 2:
        return []
    for dim in sorted({1, len(found.shape) - 1}):
        fits = _fits(found, expected, dim, rtol, atol)
        if fits is None:
            continue
        changed = fits[(np.abs(fits - (1, 0)) > (rtol, atol)).any(axis=1)]
        (low, offset_low), (high, offset_high) = changed.min(axis=0), changed.max(axis=0)
        return [
            f"{len(changed)} of {len(fits)} channels (dim {dim}) of found are a * expected + b, "
            f"a {_range(low, high)}, b {_range(offset_low, offset_high)}; the others are equal"
        ]
    return []


def _range(low: float, high: float) -> str:
    texts = f"{low:.4g}", f"{high:.4g}"
    return texts[0] if texts[0] == texts[1] else " to ".join(texts)


def _fits(found: Tensor, expected: Tensor, dim: int, rtol: float, atol: float) -> np.ndarray | None:
    """Returns factor and offset of each channel; None if they do not make all elements equal."""
    channels = found.shape[dim]
    if not 1 < channels <= _MAX_CHANNELS or found.array.size < _MIN_ELEMENTS * channels:
        return None
    fits = np.empty((channels, 2))
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        for channel in range(channels):
            e, b = (
                t.with_array(np.take(t.array, channel, axis=dim)).numbers()
                for t in (found, expected)
            )
            deviation, mean = b - b.mean(), e.mean()
            variance = (deviation * deviation).sum()
            factor = 1.0 if variance == 0 else (deviation * (e - mean)).sum() / variance
            offset = mean - factor * b.mean()
            if np.array_equal(e, b):
                factor, offset = 1.0, 0.0
            error = np.abs(e - (factor * b + offset))
            if not (error <= _ROUNDINGS * (atol + rtol * np.abs(e))).all():
                return None
            fits[channel] = factor, offset
    return fits
