"""Positions of wrong elements of a dense tensor: maps over two dimensions, counts along each.

Elements are read one block at a time; memory does not grow with the tensor. A cell of a map holds
the maximum error of its elements, so that a single wrong element stays visible.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from mluop_omp.golden._progress import track
from mluop_omp.golden.comparison._errors import Measure, blocks
from mluop_omp.golden.comparison._values import Tensor

# Most cells of a map along a dimension, and most parts of a dimension in a count.
MAX_CELLS = 240
# Most indices of a dimension that get a map each.
_MAX_PLANES = 4
# Largest extent whose indices are counted one by one.
_MAX_INDICES = 1 << 16
_SPATIAL = frozenset(("t", "d", "h", "w", "z", "y", "x", "depth", "height", "width"))


@dataclasses.dataclass(frozen=True)
class Map:
    """The largest error of each cell over two dimensions, for all or one index of a third one.

    Attributes:
        rows, columns: the two dimensions; rows is None in a one-dimensional tensor.
        errors: 0 where no element is wrong, infinity for a NaN or an infinity in one tensor only.
        steps: the number of elements of a cell along each of the two.
        extents: the extents of the two.
        fixed: the third dimension and its index, or None.
    """

    rows: int | None
    columns: int
    errors: np.ndarray
    steps: tuple[int, int]
    extents: tuple[int, int]
    fixed: tuple[int, int] | None = None


@dataclasses.dataclass(frozen=True)
class Counts:
    """The number of wrong elements, or sites, for each part of a dimension.

    Attributes:
        name: the name of the dimension.
        wrong: the number in each part.
        step: the number of indices in a part.
        start: the first index.
    """

    name: str
    wrong: np.ndarray
    step: int
    start: int = 0


def cell_step(extent: int) -> int:
    """Returns the number of indices that share a cell."""
    return max(1, -(-extent // MAX_CELLS))


def binned(name: str, counts: np.ndarray, start: int = 0, unit: int = 1) -> Counts:
    """Merges counts, each of `unit` indices, to at most MAX_CELLS parts."""
    step = cell_step(len(counts))
    sums = np.add.reduceat(counts, np.arange(0, len(counts), step)) if len(counts) else counts
    return Counts(name, sums, step * unit, start)


def names_of(shape: Sequence[int], axes: Sequence[str] | None) -> list[str]:
    if axes is not None and len(axes) == len(shape):
        return list(axes)
    return [f"dim {dim}" for dim in range(len(shape))]


def map_dims(shape: Sequence[int], axes: Sequence[str] | None) -> tuple[int | None, int]:
    """Returns the last two dimensions with spatial names, else the last two dimensions."""
    names = names_of(shape, axes)
    spatial = [dim for dim, name in enumerate(names) if name.lower() in _SPATIAL]
    if len(spatial) >= 2:
        return spatial[-2], spatial[-1]
    return (len(shape) - 2, len(shape) - 1) if len(shape) > 1 else (None, 0)


class _Accumulator:
    """The map over two dimensions, and the wrong elements of each index of all dimensions."""

    def __init__(self, shape: tuple[int, ...], dims: tuple[int | None, int]) -> None:
        self.shape, self.dims = shape, dims
        rows, columns = dims
        self.extents = (1 if rows is None else shape[rows], shape[columns])
        self.steps = (cell_step(self.extents[0]), cell_step(self.extents[1]))
        self.cells = np.zeros(
            [-(-extent // step) for extent, step in zip(self.extents, self.steps)]
        )
        self.counted = [
            1 if extent <= _MAX_INDICES else -(-extent // _MAX_INDICES) for extent in shape
        ]
        self.wrong = [
            np.zeros(-(-extent // step), np.int64) for extent, step in zip(shape, self.counted)
        ]

    def add(self, block: tuple[int | slice, ...], error: np.ndarray) -> None:
        """error: the errors of the elements of a block."""
        positions = np.flatnonzero(error)
        if len(positions) == 0:
            return
        values = error.reshape(-1)[positions]
        inner = np.unravel_index(positions, error.shape)
        coordinates: list[int | np.ndarray] = []
        for dim in range(len(self.shape)):
            part = block[dim] if dim < len(block) else slice(0, None)
            if isinstance(part, slice):
                coordinates.append(part.start + inner[dim - len(self.shape)])
            else:
                coordinates.append(part)
        for dim, (coordinate, step) in enumerate(zip(coordinates, self.counted)):
            if isinstance(coordinate, int):
                self.wrong[dim][coordinate // step] += len(values)
            else:
                counts = np.bincount(coordinate // step, minlength=len(self.wrong[dim]))
                self.wrong[dim] += counts
        rows, columns = self.dims
        row = 0 if rows is None else coordinates[rows] // self.steps[0]
        cells = row * self.cells.shape[1] + coordinates[columns] // self.steps[1]
        cells = np.broadcast_to(cells, values.shape)
        np.maximum.at(self.cells.reshape(-1), cells, values)

    def map(self, fixed: tuple[int, int] | None = None) -> Map:
        return Map(*self.dims, self.cells, self.steps, self.extents, fixed)


def _accumulate(
    found: Tensor, expected: Tensor, measure: Measure, dims: tuple[int | None, int]
) -> _Accumulator:
    accumulator = _Accumulator(found.shape, dims)
    for block in track(blocks(found.shape), "drawing"):
        pair = (tensor.with_array(tensor.array[block]) for tensor in (found, expected))
        accumulator.add(block, measure.errors(*pair))
    return accumulator


def examine(
    found: Tensor, expected: Tensor, measure: Measure, axes: Sequence[str] | None
) -> tuple[list[Map], list[Counts]]:
    """Returns the maps and counts of two tensors of one shape, which have dimensions and elements.

    If wrong elements are at few indices of a dimension outside of the map, such as a channel, each
    of these indices gets a map.
    """
    dims = map_dims(found.shape, axes)
    whole = _accumulate(found, expected, measure, dims)
    names = names_of(found.shape, axes)
    counts = [
        binned(name, wrong, unit=step)
        for name, wrong, step in zip(names, whole.wrong, whole.counted)
        if len(wrong) > 1
    ]
    dim, indices = _planes(found.shape, dims, whole)
    planes = []
    for index in indices:
        parts = _take(found, dim, index), _take(expected, dim, index)
        inner = tuple(None if d is None else d - (d > dim) for d in dims)
        plane = _accumulate(*parts, measure, inner).map()
        planes.append(dataclasses.replace(plane, rows=dims[0], columns=dims[1], fixed=(dim, index)))
    maps = planes if len(planes) == 1 else [whole.map(), *planes]
    return maps, counts


def _take(tensor: Tensor, dim: int, index: int) -> Tensor:
    return tensor.with_array(tensor.array[(slice(None),) * dim + (index,)])


def _planes(
    shape: tuple[int, ...], dims: tuple[int | None, int], whole: _Accumulator
) -> tuple[int, list[int]]:
    """Returns a dimension outside the map and its indices with wrong elements, if they are few."""
    best, least = (0, []), math.inf
    for dim, (extent, step) in enumerate(zip(shape, whole.counted)):
        indices = np.flatnonzero(whole.wrong[dim])
        share = len(indices) / extent
        is_few = 0 < len(indices) <= _MAX_PLANES and share <= 0.5 and step == 1
        if dim not in dims and is_few and share < least:
            best, least = (dim, indices.tolist()), share
    return best
