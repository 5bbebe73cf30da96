"""Positions of wrong elements of a dense tensor: maps over two dimensions, counts along each.

Elements are read one block at a time; memory does not grow with the tensor. A cell of a map holds
the maximum error of its elements, so that a single wrong element stays visible.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from mluop_omp.golden._progress import track
from mluop_omp.golden._text import printable
from mluop_omp.golden.comparison._errors import Measure, blocks
from mluop_omp.golden.comparison._values import Tensor

# Most cells of a map along a dimension, and most parts of a dimension in a count.
MAX_CELLS = 240
# Most indices of a dimension that get a map each.
_MAX_PLANES = 4
# Largest extent whose indices are counted one by one.
MAX_INDICES = 1 << 16
_SPATIAL = frozenset(("t", "d", "h", "w", "z", "y", "x", "depth", "height", "width"))


@dataclasses.dataclass(frozen=True)
class Map:
    """The largest error of each cell over two dimensions, and the sites in it.

    Attributes:
        caption: what is drawn.
        axes: the names of rows and columns; no name for a single row.
        errors: [rows, columns], 0 where no element is wrong, infinity for a NaN or an infinity in
            one tensor only.
        steps: the number of indices or coordinates of a cell along each of the two.
        starts: the first index or coordinate along each.
        masks: by kind of site ("right", "wrong", "missing", "extra"), the cells that have one;
            missing: only in expected.
        sites: their numbers.
    """

    caption: str
    axes: tuple[str, str]
    errors: np.ndarray
    steps: tuple[int, int]
    starts: tuple[int, int] = (0, 0)
    masks: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    sites: dict[str, int] = dataclasses.field(default_factory=dict)


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


def step_of(extent: int, parts: int = MAX_CELLS) -> int:
    """Returns the number of indices that share a cell, or one of at most `parts` parts."""
    return max(1, -(-extent // parts))


def binned(name: str, counts: np.ndarray, start: int = 0, unit: int = 1) -> Counts:
    """Merges counts, each of `unit` indices, to at most MAX_CELLS parts."""
    step = step_of(len(counts))
    return Counts(
        name, np.add.reduceat(counts, np.arange(0, len(counts), step)), step * unit, start
    )


def examine(
    found: Tensor, expected: Tensor, measure: Measure, axes: Sequence[str] | None, what: str
) -> tuple[list[Map], list[Counts]]:
    """Returns the maps and counts of two tensors of one shape, which have dimensions and elements.

    If wrong elements are at few indices of a dimension outside of the map, such as a channel, each
    of these indices gets a map.

    Args:
        what: the kind of elements that the measure finds.
    """
    names = [f"dim {dim}" for dim in range(len(found.shape))]
    if axes is not None and len(axes) == len(names):
        names = list(map(printable, axes))
    if len(names) == 1:
        found, expected, names = found[None], expected[None], ["", *names]
    # The last two dimensions with spatial names, else the last two dimensions.
    spatial = [dim for dim, name in enumerate(names) if name.lower() in _SPATIAL]
    dims = spatial[-2:] if len(spatial) > 1 else [len(names) - 2, len(names) - 1]
    errors, wrong = _reduced(found, expected, measure, dims)
    counts = [
        binned(name, each, unit=step_of(extent, MAX_INDICES))
        for name, each, extent in zip(names, wrong, found.shape)
        if extent > 1
    ]
    steps = step_of(found.shape[dims[0]]), step_of(found.shape[dims[1]])
    others = [d for d, extent in enumerate(found.shape) if d not in dims and extent > 1]
    suffix = "" if steps == (1, 1) else f"; cells of {' x '.join(map(str, steps[not names[0] :]))}"

    def map_of(errors: np.ndarray, at: str, over: list[int]) -> Map:
        over_all = f" over all {', '.join(names[d] for d in over)}" if over else ""
        caption = f"Largest absolute error of {what} elements{at}{over_all}{suffix}"
        return Map(caption, (names[dims[0]], names[dims[1]]), errors, steps)

    maps = []
    dim, indices = _planes(found.shape, others, wrong)
    for index in indices:
        at = (slice(None),) * dim + (slice(index, index + 1),)
        plane, _ = _reduced(found[at], expected[at], measure, dims)
        maps.append(map_of(plane, f" at {names[dim]} = {index}", [d for d in others if d != dim]))
    return maps if len(maps) == 1 else [map_of(errors, "", others), *maps], counts


def _reduced(
    found: Tensor, expected: Tensor, measure: Measure, dims: Sequence[int]
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Returns the largest error of each cell over two dims, and the wrong elements along all."""
    shape = found.shape
    units = [step_of(extent, MAX_INDICES) for extent in shape]
    wrong = [np.zeros(-(-extent // unit), np.int64) for extent, unit in zip(shape, units)]
    cells = np.zeros([-(-shape[dim] // step_of(shape[dim])) for dim in dims])
    for block in track(blocks(shape), "drawing"):
        error = measure.errors(found[block], expected[block])
        indices = [part.start + inner for part, inner in zip(block, np.nonzero(error))]
        for dim, (index, unit) in enumerate(zip(indices, units)):
            wrong[dim] += np.bincount(index // unit, minlength=len(wrong[dim]))
        cell = tuple(indices[dim] // step_of(shape[dim]) for dim in dims)
        flat = np.ravel_multi_index(cell, cells.shape)
        np.maximum.at(cells.reshape(-1), flat, error[error > 0])
    return cells, wrong


def _planes(
    shape: tuple[int, ...], others: list[int], wrong: list[np.ndarray]
) -> tuple[int, list[int]]:
    """Returns a dimension outside the map and its indices with wrong elements, if they are few."""
    few = {dim: np.flatnonzero(wrong[dim]).tolist() for dim in others if shape[dim] <= MAX_INDICES}
    few = {d: each for d, each in few.items() if 0 < len(each) <= min(_MAX_PLANES, shape[d] / 2)}
    return min(few.items(), key=lambda each: len(each[1]) / shape[each[0]], default=(0, []))
