"""Which elements are wrong, and by how much, in plain NumPy, for a block of elements at a time.

The library counts wrong elements by the same rule; it does not say which ones they are.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

import numpy as np

from mluop_omp._numbers import right_elements, tolerated
from mluop_omp._progress import track
from mluop_omp.comparison._values import Tensor

if TYPE_CHECKING:
    from mluop_omp.comparison._result import Comparison

# Elements of a block; each takes a few numbers of the type double.
_BLOCK = 1 << 18
# The error of elements that differ although the difference is 0 in double.
_LEAST = np.nextafter(0.0, 1.0)


@dataclasses.dataclass(frozen=True)
class Measure:
    """A tolerance. bits: elements are wrong if their bits differ, those of NaN aside."""

    rtol: float
    atol: float
    bits: bool = False

    @classmethod
    def of(cls, comparison: Comparison) -> Measure:
        """Returns the one by which a comparison has counted wrong elements."""
        bits = {judgment.name for judgment in comparison.criteria} == {"bits"}
        return cls(comparison.rtol, comparison.atol, bits)

    def right(self, found: Tensor, expected: Tensor) -> np.ndarray:
        e, b = found.numbers(), expected.numbers()
        if self.bits:
            right = right_elements(e, b)
            if not (found.is_integer() or expected.is_integer()):
                right &= (np.signbit(e) == np.signbit(b)) | np.isnan(e)
            return right
        return right_elements(e, b, tolerated(b, self.rtol, self.atol))

    def errors(self, found: Tensor, expected: Tensor) -> np.ndarray:
        """Returns |found - expected| of wrong elements, 0 of others.

        Infinity stands for a NaN or an infinity in one tensor only.
        """
        is_same = not self.bits and found.dtype == expected.dtype
        if is_same and (found.array == expected.array).all():
            return np.zeros(found.shape)
        right = self.right(found, expected)
        if right.all():
            return np.zeros(right.shape)
        e, b = (tensor.numbers().astype(np.float64, copy=False) for tensor in (found, expected))
        with np.errstate(invalid="ignore", over="ignore"):
            error = np.abs(e - b)
        error[error != error] = math.inf
        return np.where(right, 0.0, np.maximum(error, _LEAST))

    def row_errors(self, found: Tensor, expected: Tensor) -> tuple[np.ndarray, np.ndarray]:
        """Returns the largest error of each row, and the number of wrong elements of each column.

        Tensors are [N, ...], columns those of [N, C].
        """
        shape = (found.shape[0], math.prod(found.shape[1:]))
        largest, wrong = np.zeros(shape[0]), np.zeros(shape[1], np.int64)
        pair = [tensor.with_array(tensor.array.reshape(shape)) for tensor in (found, expected)]
        for block in track(blocks(shape), "comparing"):
            # Several rows, or a part of one.
            rows, columns = (*block, slice(None))[:2]
            error = self.errors(*(tensor.with_array(tensor.array[block]) for tensor in pair))
            largest[rows] = np.maximum(largest[rows], error.max(axis=-1))
            wrong[columns] += np.count_nonzero(np.atleast_2d(error), axis=0)
        return largest, wrong


def blocks(shape: tuple[int, ...]) -> list[tuple[int | slice, ...]]:
    """Returns indices of parts that cover a tensor: integers, then a range; the rest is whole."""
    if 0 in shape or not shape:
        return []
    inner = [math.prod(shape[dim + 1 :]) for dim in range(len(shape))]
    dim = next(dim for dim, size in enumerate(inner) if size <= _BLOCK)
    extent, step = shape[dim], max(1, _BLOCK // inner[dim])
    ranges = [slice(start, min(start + step, extent)) for start in range(0, extent, step)]
    return [(*outer, each) for outer in np.ndindex(*shape[:dim]) for each in ranges]
