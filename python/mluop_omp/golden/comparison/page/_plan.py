"""Plan view of the sites of a sparse tensor: right, wrong, missing and extra ones."""

from __future__ import annotations

import functools
import itertools
import operator

import numpy as np

from mluop_omp.golden.comparison import _sites
from mluop_omp.golden.comparison._errors import Measure
from mluop_omp.golden.comparison._values import Sparse, Tensor
from mluop_omp.golden.comparison.page._elements import MAX_INDICES, Counts, Map, binned, step_of

KINDS = ("right", "wrong", "missing", "extra")
# Batches that are drawn: the ones with the most differing sites.
_MAX_BATCHES = 4
# Nonzero coordinates of a dense tensor outside the sites that are marked.
_MAX_ELSEWHERE = 1 << 20


def examine(
    found: Sparse | Tensor, expected: Sparse | Tensor, measure: Measure
) -> tuple[list[Map], list[Counts], int]:
    """Returns a map of each drawn batch, counts, and the number of batches that are not drawn.

    At least one of the tensors is sparse; the other may be a dense tensor [N, C, ...].
    """
    match = _sites.match(found, expected)
    error, channels = measure.row_errors(match.found, match.expected)
    elsewhere = _elsewhere(match)
    missing, extra = (match.others.get(f"only_{side}", elsewhere) for side in ("expected", "found"))
    sites = _cells(np.concatenate([match.sites, missing, extra]))
    kinds = np.repeat([0, 2, 3], [len(error), len(missing), len(extra)])
    kinds[: len(error)] = error > 0
    errors = np.append(error, np.zeros(len(missing) + len(extra)))
    axes = _axes(sites)
    differing = sites[kinds > 0]
    batches, numbers = np.unique(differing[:, 0], return_counts=True)
    chosen = np.sort(batches[np.argsort(-numbers, kind="stable")][:_MAX_BATCHES])
    maps = []
    for batch in chosen:
        at = sites[:, 0] == batch
        maps.append(_from_above(sites[at], kinds[at], errors[at], axes))
    is_matrix = len(match.found.shape) == 2 and len(channels) > 1
    counts = [binned("channel", channels)] if is_matrix else []
    for column, (all_sites, each) in enumerate(zip(sites.T, differing.T)):
        low, high = (int(all_sites.min()), int(all_sites.max())) if len(each) else (0, 0)
        if 0 < high - low < MAX_INDICES:
            name = f"column {column}" if column else "batch"
            counts.append(binned(name, np.bincount(each - low, minlength=high - low + 1), low))
    return maps, counts, len(batches) - len(maps)


def _cells(sites: np.ndarray) -> np.ndarray:
    """Returns the integer sites that hold points; coordinates that are not finite become 0."""
    if sites.dtype.kind == "i":
        return sites
    return np.where(np.abs(sites) < 2**62, np.floor(sites), 0).astype(np.int64)


def _elsewhere(match: _sites.Match) -> np.ndarray:
    """Returns the sites of nonzero elements of the dense tensor outside the sparse one's sites."""
    found, count = [match.sites[:0]], _MAX_ELSEWHERE
    planes = () if match.dense is None else _sites.nonzero_elsewhere(match.dense, match.sites)
    for batch, channels in itertools.groupby(planes, operator.itemgetter(0)):
        is_nonzero = functools.reduce(np.logical_or, (plane for _, _, plane in channels))
        found.append(np.insert(_sites.first_true(is_nonzero, count), 0, batch, axis=1))
        count -= len(found[-1])
    return np.concatenate(found)


def _axes(sites: np.ndarray) -> tuple[int, int]:
    """Returns the columns of the two widest axes; the height is the narrowest."""
    columns = range(1, sites.shape[1])
    if len(columns) == 1 or len(sites) == 0:
        # Along one axis, the batch is the only row.
        return sites.shape[1] - 2, sites.shape[1] - 1
    # Unsigned, as the difference of two int64 may exceed int64.
    widths = (sites.max(axis=0) - sites.min(axis=0)).view(np.uint64)
    # Equal widths: prefer later columns.
    rows, across = sorted(sorted(columns, key=lambda column: (widths[column], column))[-2:])
    # x, y, z: x across; z, y, x: x across.
    return (across, rows) if (rows, across, len(columns)) == (1, 2, 3) else (rows, across)


def _from_above(
    sites: np.ndarray, kinds: np.ndarray, errors: np.ndarray, axes: tuple[int, int]
) -> Map:
    """Returns the map of the sites of one batch. axes: the columns drawn as rows and columns."""
    coordinates = sites[:, axes]
    lows, highs = coordinates.min(axis=0), coordinates.max(axis=0)
    extents = [int(high) - int(low) + 1 for low, high in zip(lows, highs)]
    step = max(map(step_of, extents))
    shape = tuple(-(-extent // step) for extent in extents)
    positions = (coordinates - lows).view(np.uint64) // np.uint64(step)
    cells = np.ravel_multi_index(tuple(positions.astype(np.int64).T), shape)
    largest = np.zeros(shape)
    np.maximum.at(largest.reshape(-1), cells, errors)
    masks = {kind: np.zeros(shape, bool) for kind in KINDS}
    for number, mask in enumerate(masks.values()):
        mask.reshape(-1)[cells[kinds == number]] = True
    names = [f"column {axis}" if axis else "" for axis in axes]
    drawn = "columns {} and {}".format(*axes) if axes[0] else names[1]
    caption = f"Sites of batch {sites[0, 0]} from above: {drawn} of the indices"
    return Map(
        caption if step == 1 else f"{caption}; cells of {step} x {step}",
        (names[0], names[1]),
        largest,
        (step, step),
        tuple(lows.tolist()),
        masks,
        dict(zip(KINDS, np.bincount(kinds, minlength=len(KINDS)).tolist())),
    )
