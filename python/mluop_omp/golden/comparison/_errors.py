"""Positions and errors of wrong elements, in plain NumPy, one block of elements at a time.

The library counts wrong elements by the same rule but does not return their positions.
"""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np

from mluop_omp.golden._numbers import right_elements, tolerated
from mluop_omp.golden._progress import track
from mluop_omp.golden.comparison._data import Outcome
from mluop_omp.golden.comparison._values import Tensor

# Elements of a block; each takes a few doubles of memory.
_BLOCK = 1 << 18
# The error of elements whose difference is 0 in double although they are not equal.
_LEAST = np.nextafter(0.0, 1.0)


@dataclasses.dataclass(frozen=True)
class Measure:
    """A tolerance. bits: elements are wrong if their bits differ; NaN payloads are ignored."""

    rtol: float
    atol: float
    bits: bool = False

    @classmethod
    def of(cls, comparison: Outcome) -> Measure:
        """Returns the measure by which a comparison counted its wrong elements."""
        bits = {judgment.name for judgment in comparison.criteria} == {"bits"}
        return cls(comparison.rtol, comparison.atol, bits)

    def errors(self, found: Tensor, expected: Tensor) -> np.ndarray:
        """Returns |found - expected| at wrong elements and 0 elsewhere.

        The error is infinity where a NaN or an infinity is in one tensor only.
        """
        is_same = not self.bits and found.dtype == expected.dtype
        if is_same and (found.array == expected.array).all():
            return np.zeros(found.shape)
        e, b = found.numbers(), expected.numbers()
        right = right_elements(e, b, 0 if self.bits else tolerated(b, self.rtol, self.atol))
        if self.bits and not (found.is_integer() or expected.is_integer()):
            right &= (np.signbit(e) == np.signbit(b)) | np.isnan(e)
        with np.errstate(invalid="ignore", over="ignore"):
            error = np.abs(e.astype(np.float64, copy=False) - b.astype(np.float64, copy=False))
        error[np.isnan(error)] = math.inf
        return np.where(right, 0.0, np.maximum(error, _LEAST))

    def row_errors(self, found: Tensor, expected: Tensor) -> tuple[np.ndarray, np.ndarray]:
        """Returns the largest error of each row, and the number of wrong elements of each column.

        Tensors [N, ...] are taken as [N, C].
        """
        shape = (found.shape[0], math.prod(found.shape[1:]))
        largest, wrong = np.zeros(shape[0]), np.zeros(shape[1], np.int64)
        found, expected = found.reshape(shape), expected.reshape(shape)
        for rows, columns in track(blocks(shape), "comparing"):
            error = self.errors(found[rows, columns], expected[rows, columns])
            largest[rows] = np.maximum(largest[rows], error.max(axis=1))
            wrong[columns] += np.count_nonzero(error, axis=0)
        return largest, wrong


def blocks(shape: tuple[int, ...]) -> list[tuple[slice, ...]]:
    """Returns the parts of a tensor as ranges along its dimensions, in the order of elements."""
    if 0 in shape:
        return []
    inner = [math.prod(shape[dim + 1 :]) for dim in range(len(shape))]
    steps = [max(1, min(extent, _BLOCK // size)) for extent, size in zip(shape, inner)]
    starts = itertools.product(*map(range, itertools.repeat(0), shape, steps))
    return [tuple(slice(k, k + step) for k, step in zip(each, steps)) for each in starts]
