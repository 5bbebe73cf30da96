"""Finds a factor and an offset for each channel, such as a wrongly fused batch normalization."""

from __future__ import annotations

import numpy as np

from mluop_omp.golden.comparison._values import Tensor

_MAX_CHANNELS = 4096
# Fewer elements lie on a line by chance.
_MIN_ELEMENTS = 8
# Rounding errors of product, sum and fit, as a multiple of the tolerance.
_ROUNDINGS = 4


def channel_fit(found: Tensor, expected: Tensor, rtol: float, atol: float) -> list[str]:
    """Returns a note if each channel of found is a factor times expected plus an offset.

    Channels are dimension 1 or the last dimension. A single factor common to all channels that
    differ is left to the pattern, which states it.
    """
    if found.is_integer() or expected.is_integer() or len(found.shape) < 2:
        return []
    for dim in sorted({1, len(found.shape) - 1}):
        fits = _fits(found, expected, dim, rtol, atol)
        if fits is None:
            continue
        fits[:, 1] *= np.abs(fits[:, 1]) > atol
        changed = fits[(np.abs(fits - (1, 0)) > (rtol, 0)).any(axis=1)]
        if len(changed) == 0:
            continue
        (low, offset_low), (high, offset_high) = changed.min(axis=0), changed.max(axis=0)
        if offset_low == offset_high == 0 and high - low <= _ROUNDINGS * rtol * abs(high):
            # The pattern states it.
            continue
        return [
            f"{len(changed)} of {len(fits)} channels (dim {dim}) of found are a * expected + b, "
            f"a {_range(low, high)}, b {_range(offset_low, offset_high)}; the others agree"
        ]
    return []


def _range(low: float, high: float) -> str:
    texts = f"{low:.4g}", f"{high:.4g}"
    return texts[0] if texts[0] == texts[1] else " to ".join(texts)


def _fits(found: Tensor, expected: Tensor, dim: int, rtol: float, atol: float) -> np.ndarray | None:
    """Returns the factor and the offset of each channel; None if a channel fits no line."""
    channels = found.shape[dim]
    if not 1 < channels <= _MAX_CHANNELS or found.array.size < _MIN_ELEMENTS * channels:
        return None
    fits = np.empty((channels, 2))
    for channel in range(channels):
        e, b = (
            tensor.with_array(np.take(tensor.array, channel, axis=dim)).numbers()
            for tensor in (found, expected)
        )
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            factor, offset = (1, 0) if np.array_equal(e, b) else _line(e, b)
            error = np.abs(e - (factor * b + offset))
            if not (error <= _ROUNDINGS * (atol + rtol * np.abs(e))).all():
                return None
        fits[channel] = factor, offset
    return fits


def _line(e: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """Returns the factor and the offset of the least-squares line."""
    deviation, mean = b - b.mean(), e.mean()
    variance = (deviation * deviation).sum()
    factor = 1.0 if variance == 0 else (deviation * (e - mean)).sum() / variance
    return factor, mean - factor * b.mean()
