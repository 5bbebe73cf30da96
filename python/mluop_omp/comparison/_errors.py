"""Which elements are wrong, and by how much, in plain NumPy, for a block of elements at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from mluop_omp.comparison._values import Tensor

# Elements of a block; each takes a few numbers of the type double.
_BLOCK = 1 << 18
# The error of elements that differ although the difference is 0 in double.
_LEAST = np.nextafter(0.0, 1.0)


def right_elements(found: Tensor, expected: Tensor, rtol: float, atol: float) -> np.ndarray:
    """Returns which elements are equal, both NaN, or finite and within the tolerance."""
    e, b = found.numbers(), expected.numbers()
    right = (e == b) | ((e != e) & (b != b))
    if rtol or atol:
        e, b = (each.astype(np.float64, copy=False) for each in (e, b))
        with np.errstate(invalid="ignore", over="ignore"):
            within = np.abs(e - b) <= atol + rtol * np.abs(b)
        right |= within & np.isfinite(e) & np.isfinite(b)
    return right


def errors(
    found: Tensor, expected: Tensor, rtol: float, atol: float, *, bits: bool = False
) -> np.ndarray:
    """Returns |found - expected| of wrong elements, 0 of others.

    Infinity stands for a NaN or an infinity in one tensor only.
    bits: elements are wrong if their bits differ, those of NaN aside.
    """
    if not bits and found.dtype == expected.dtype and (found.array == expected.array).all():
        return np.zeros(found.shape)
    right = right_elements(found, expected, 0 if bits else rtol, 0 if bits else atol)
    if bits and not (found.is_integer() or expected.is_integer()):
        signs = (np.signbit(tensor.numbers()) for tensor in (found, expected))
        right &= np.equal(*signs) | np.isnan(found.numbers())
    if right.all():
        return np.zeros(right.shape)
    with np.errstate(invalid="ignore", over="ignore"):
        e, b = (tensor.numbers().astype(np.float64) for tensor in (found, expected))
        error = np.abs(e - b)
    error[error != error] = math.inf
    return np.where(right, 0.0, np.maximum(error, _LEAST))


def blocks(shape: tuple[int, ...]) -> list[tuple[int | slice, ...]]:
    """Returns indices of parts that cover a tensor: integers, then a range; the rest is whole."""
    return list(_blocks(shape))


def _blocks(shape: tuple[int, ...]) -> Iterator[tuple[int | slice, ...]]:
    inner = [math.prod(shape[dim + 1 :]) for dim in range(len(shape))]
    if 0 in shape or not shape:
        return
    dim = next(dim for dim, size in enumerate(inner) if size <= _BLOCK)
    step = max(1, _BLOCK // inner[dim])
    for outer in np.ndindex(*shape[:dim]):
        for start in range(0, shape[dim], step):
            yield (*outer, slice(start, min(start + step, shape[dim])))
