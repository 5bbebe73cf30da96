"""Plan view of the sites of a sparse tensor: right, wrong, missing and extra ones."""

from __future__ import annotations

import dataclasses

import numpy as np

from mluop_omp.golden.comparison import _dense, _sites
from mluop_omp.golden.comparison._errors import Measure
from mluop_omp.golden.comparison._values import Sparse, Tensor
from mluop_omp.golden.comparison.page._elements import Counts, binned, cell_step

# Batches that are drawn: the ones with the most differing sites.
_MAX_BATCHES = 4
# Nonzero coordinates of a dense tensor outside the sites that are marked.
_MAX_ELSEWHERE = 1 << 20
# Largest extent along which wrong sites are counted.
_MAX_EXTENT = 1 << 16


@dataclasses.dataclass(frozen=True)
class Plan:
    """A batch seen from above. Masks and errors are arrays of cells [rows, columns].

    Attributes:
        batch: the index of the batch.
        axes: the columns of the indices drawn as rows and as columns; None: a single row.
        starts: the first coordinate along each.
        step: the number of coordinates that a cell spans along each.
        right, missing, extra: masks of the cells with such a site; missing: only in expected.
        errors: the largest error of each cell, 0 where no site is wrong.
        sites: the numbers of right, wrong, missing and extra sites.
    """

    batch: int
    axes: tuple[int | None, int]
    starts: tuple[int, int]
    step: int
    right: np.ndarray
    missing: np.ndarray
    extra: np.ndarray
    errors: np.ndarray
    sites: dict[str, int]


@dataclasses.dataclass(frozen=True)
class SiteData:
    """Everything that is drawn for two sparse tensors."""

    plans: list[Plan]
    counts: list[Counts]
    batches: int


@dataclasses.dataclass(frozen=True)
class _Joined:
    """Common sites with the features of both tensors, and the sites of one tensor only."""

    sites: np.ndarray
    found: Tensor
    expected: Tensor
    missing: np.ndarray
    extra: np.ndarray


def examine(found: Sparse | Tensor, expected: Sparse | Tensor, measure: Measure) -> SiteData:
    """At least one of both is sparse; the other may be a dense tensor [N, C, ...]."""
    joined = _join(found, expected)
    error, channels = measure.row_errors(joined.found, joined.expected)
    everything = np.concatenate([joined.sites, joined.missing, joined.extra])
    differing = np.concatenate([joined.sites[error > 0], joined.missing, joined.extra])
    axes = _axes(everything)
    batches, numbers = np.unique(differing[:, 0], return_counts=True)
    chosen = np.sort(batches[np.argsort(-numbers, kind="stable")][:_MAX_BATCHES])
    plans = [_plan(int(batch), axes, joined, error) for batch in chosen]
    is_matrix = len(joined.found.shape) == 2 and len(channels) > 1
    counts = [binned("channel", channels)] if is_matrix else []
    for column in range(differing.shape[1]):
        counts += _along(column, differing[:, column], everything[:, column])
    return SiteData(plans, counts, len(batches))


def _join(found: Sparse | Tensor, expected: Sparse | Tensor) -> _Joined:
    if isinstance(found, Sparse) and isinstance(expected, Sparse):
        join = _sites.Join(found.indices, expected.indices)
        return _Joined(
            expected.indices[join.expected],
            found.features.rows(join.found),
            expected.features.rows(join.expected),
            expected.indices[join.only_expected],
            found.indices[join.only_found],
        )
    sparse, dense, side = _dense.sides(found, expected)
    rows, outside, gathered = _dense.gather(sparse, dense, side)
    sites, features = sparse.indices[rows], sparse.features.rows(rows)
    elsewhere = _dense.sites_elsewhere(dense, sites, _MAX_ELSEWHERE)
    if side == "found":
        return _Joined(sites, features, gathered, elsewhere, sparse.indices[outside])
    return _Joined(sites, gathered, features, sparse.indices[outside], elsewhere)


def _axes(sites: np.ndarray) -> tuple[int | None, int]:
    """Returns the columns of the two widest axes; the height is the narrowest."""
    columns = range(1, sites.shape[1])
    if len(columns) == 1 or len(sites) == 0:
        return (None, 1) if len(columns) == 1 else (columns[-2], columns[-1])
    # Unsigned, as the difference of two int64 may exceed int64.
    widths = (sites.max(axis=0) - sites.min(axis=0)).view(np.uint64)
    # Equal widths: prefer later columns.
    widest = sorted(columns, key=lambda column: (widths[column], column))[-2:]
    rows, across = sorted(widest)
    # x, y, z: x across; z, y, x: x across.
    return (across, rows) if len(columns) == 3 and across == 2 and rows == 1 else (rows, across)


def _plan(batch: int, axes: tuple[int | None, int], joined: _Joined, error: np.ndarray) -> Plan:
    is_common, is_missing, is_extra = (
        sites[:, 0] == batch for sites in (joined.sites, joined.missing, joined.extra)
    )
    common, error = joined.sites[is_common], error[is_common]
    missing, extra = joined.missing[is_missing], joined.extra[is_extra]
    everything = np.concatenate([common, missing, extra])
    lows, highs = everything.min(axis=0), everything.max(axis=0)
    extents = [1 if axis is None else int(highs[axis]) - int(lows[axis]) + 1 for axis in axes]
    step = max(map(cell_step, extents))
    shape = tuple(-(-extent // step) for extent in extents)

    def cells_of(sites: np.ndarray) -> np.ndarray:
        row, column = (
            np.zeros(len(sites), np.uint64)
            if axis is None
            else (sites[:, axis] - lows[axis]).view(np.uint64) // np.uint64(step)
            for axis in axes
        )
        return (row * np.uint64(shape[1]) + column).astype(np.int64)

    def mask(sites: np.ndarray) -> np.ndarray:
        cells = np.zeros(shape, bool)
        cells.reshape(-1)[cells_of(sites)] = True
        return cells

    errors = np.zeros(shape)
    np.maximum.at(errors.reshape(-1), cells_of(common), error)
    wrong = int(np.count_nonzero(error))
    numbers = (len(common) - wrong, wrong, len(missing), len(extra))
    starts = tuple(0 if axis is None else int(lows[axis]) for axis in axes)
    return Plan(
        batch,
        axes,
        (starts[0], starts[1]),
        step,
        mask(common[error == 0]),
        mask(missing),
        mask(extra),
        errors,
        dict(zip(("right", "wrong", "missing", "extra"), numbers)),
    )


def _along(column: int, differing: np.ndarray, everything: np.ndarray) -> list[Counts]:
    """Returns the number of differing sites at each coordinate of a column."""
    if len(differing) == 0:
        return []
    low, high = int(everything.min()), int(everything.max())
    if not 1 < high - low + 1 <= _MAX_EXTENT:
        return []
    counts = np.bincount(differing - low, minlength=high - low + 1)
    return [binned("batch" if column == 0 else f"column {column}", counts, low)]
