"""What wrong elements have in common, beyond the patterns that the library finds.

Each function takes two tensors of one size and the tolerance, and returns notes, at most one.
"""

from __future__ import annotations

import math

import numpy as np

from mluop_omp.golden.comparison._values import Tensor
from mluop_omp.golden.filters import matching_layouts

# Elements that are sorted at a time.
_BLOCK = 1 << 22
# Largest filters, in elements.
_MAX_FILTERS = 1 << 23
_MAX_CHANNELS = 4096
# Fewer elements lie on a line by chance.
_MIN_ELEMENTS = 8
# Rounding errors of product, sum and fit, as a multiple of the tolerance.
_ROUNDINGS = 4
# A line explains the errors of a channel if what is left is at most this share of them.
_LEFT = 0.25


def equal_sets(found: Tensor, expected: Tensor, rtol: float, atol: float) -> list[str]:
    """Compares integers, such as indices of neighbors, as sets along the last axis.

    States the number of equal rows if most wrong rows are equal as sets, and few of them are equal
    to the set of another row, as rows of few distinct values are.
    """
    pair = found, expected
    if not all(each.is_integer() and each.dtype != "bool" for each in pair) or not found.shape:
        return []
    rows, width = math.prod(found.shape[:-1]), found.shape[-1]
    if width < 2:
        return []
    e, b = (tensor.array.reshape(rows, width) for tensor in pair)
    step, wrong, same, chance = max(1, _BLOCK // width), 0, 0, 0
    for row in range(0, rows, step):
        e_rows, b_rows = e[row : row + step], b[row : row + step]
        is_wrong = (e_rows != b_rows).any(axis=1)
        e_sets, b_sets = _as_sets(e_rows[is_wrong]), _as_sets(b_rows[is_wrong])
        wrong += len(e_sets)
        same += int((e_sets == b_sets).all(axis=1).sum())
        chance += int((e_sets[1:] == b_sets[:-1]).all(axis=1).sum())
    if 2 * same <= wrong or chance > _LEFT * same:
        return []
    return [f"as sets along the last axis, {rows - wrong + same} of {rows} rows are equal"]


def _as_sets(rows: np.ndarray) -> np.ndarray:
    """Returns sorted rows, repeats replaced by the minimum: equal sets give equal rows."""
    ordered = np.sort(rows, axis=1)
    is_repeat = ordered[:, 1:] == ordered[:, :-1]
    if is_repeat.any():
        ordered[:, 1:] = np.where(is_repeat, ordered[:, :1], ordered[:, 1:])
        ordered.sort(axis=1)
    return ordered


def filter_layouts(found: Tensor, expected: Tensor, rtol: float, atol: float) -> list[str]:
    """States the filter layouts that make both equal, if both can be filters."""
    ranks = len(found.shape), len(expected.shape)
    if (
        min(ranks) < 2
        or not 2 < max(ranks) <= 6
        or found.is_integer()
        or expected.is_integer()
        or found.array.size != expected.array.size
        or not 0 < found.array.size <= _MAX_FILTERS
    ):
        return []
    matches = matching_layouts(found.numbers(), expected.numbers(), rtol, atol)
    match = next((each for each in matches if each.source != each.target or each.reversed), None)
    return [] if match is None else [f"as filters, {match}"]


def channel_fit(found: Tensor, expected: Tensor, rtol: float, atol: float) -> list[str]:
    """States a factor and an offset of each channel, such as of a wrongly fused BatchNorm.

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
    texts = dict.fromkeys((f"{low:.4g}", f"{high:.4g}"))
    return " to ".join(texts)


def _fits(found: Tensor, expected: Tensor, dim: int, rtol: float, atol: float) -> np.ndarray | None:
    """Returns the factor and the offset of each channel, 1 and 0 within the tolerance.

    Returns None if a channel fits no line.
    """
    channels = found.shape[dim]
    if not 1 < channels <= _MAX_CHANNELS or found.array.size < _MIN_ELEMENTS * channels:
        return None
    fits = np.empty((channels, 2))
    for channel in range(channels):
        at = (slice(None),) * dim + (channel,)
        e, b = found[at].numbers(), expected[at].numbers()
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            error = np.abs(e - b)
            if (error <= atol + rtol * np.abs(b)).all():
                fits[channel] = 1, 0
                continue
            fits[channel] = factor, offset = least_squares_line(e, b)
            left = np.abs(e - (factor * b + offset))
            is_line = (left <= _ROUNDINGS * (atol + rtol * np.abs(e))).all()
            if not is_line or not np.linalg.norm(left) <= _LEFT * np.linalg.norm(error):
                return None
    return fits


def least_squares_line(e: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """Returns the factor and the offset of the least-squares line."""
    deviation, mean = b - b.mean(), e.mean()
    variance = (deviation * deviation).sum()
    factor = 1.0 if variance == 0 else (deviation * (e - mean)).sum() / variance
    return factor, mean - factor * b.mean()
