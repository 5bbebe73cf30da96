"""Comparison of two dense tensors, of two sparse tensors, and of a sparse with a dense one."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from mluop_omp.comparison import _criteria, _engine, _shapes, _sites
from mluop_omp.comparison._channels import channel_fit
from mluop_omp.comparison._errors import right_elements
from mluop_omp.comparison._result import Comparison, SiteReport, WrongElement
from mluop_omp.comparison._values import Sparse, Tensor

# Elements that are sorted or searched at a time.
_BLOCK = 1 << 22
# Coordinates that a report lists of a kind.
_EXAMPLES = 8


@dataclasses.dataclass(frozen=True)
class Options:
    """The keyword arguments of `compare`, checked."""

    rtol: float | None
    atol: float | None
    criteria: dict[str, float | None]
    worst: int
    axes: tuple[str, ...] | None


def compare_dense(found: Tensor, expected: Tensor, options: Options) -> Comparison:
    if found.shape != expected.shape:
        raise ValueError(_shapes.mismatch(found, expected, options))
    result = _elements(found, expected, options, options.axes)
    if result.equal:
        return result
    notes = [
        *_sets(found, expected),
        *_shapes.layouts(found, expected, options),
        *channel_fit(found, expected, result.rtol, result.atol),
    ]
    return dataclasses.replace(result, notes=tuple(notes))


def _elements(
    found: Tensor, expected: Tensor, options: Options, axes: Sequence[str] | None
) -> Comparison:
    """Compares tensors of one shape."""
    rtol, atol = _criteria.tolerances((found.dtype, expected.dtype), options.rtol, options.atol)
    thresholds = options.criteria
    if not thresholds or (options.rtol, options.atol) != (None, None):
        thresholds = {"allclose": None, **thresholds}
    difference = _engine.difference(
        found,
        expected,
        rtol=rtol,
        atol=atol,
        bits=set(thresholds) == {"bits"},
        worst=options.worst,
        axes=axes,
    )
    judgments = _criteria.judge(difference.figures, thresholds)
    return Comparison(
        equal=all(judgment.passed for judgment in judgments),
        shape=found.shape,
        dtypes=(found.dtype, expected.dtype),
        figures=difference.figures,
        criteria=judgments,
        rtol=rtol,
        atol=atol,
        worst=tuple(_wrong_element(found, expected, *element) for element in difference.worst),
        pattern=difference.pattern,
    )


def _wrong_element(
    found: Tensor, expected: Tensor, linear: int, b: float, e: float, *errors: float
) -> WrongElement:
    index = tuple(map(int, np.unravel_index(linear, found.shape)))
    # Integers beyond 2**53 are not numbers of the type double.
    b = int(expected.array[index]) if expected.is_integer() else b
    e = int(found.array[index]) if found.is_integer() else e
    return WrongElement(index, b, e, *errors)


def _wrong(found: Tensor, expected: Tensor, options: Options) -> int:
    """Returns the number of wrong elements of tensors of one shape."""
    rtol, atol = _criteria.tolerances((found.dtype, expected.dtype), options.rtol, options.atol)
    difference = _engine.difference(found, expected, rtol=rtol, atol=atol, pattern=False)
    return difference.figures["wrong"]


def _sets(found: Tensor, expected: Tensor) -> list[str]:
    """Compares integers, such as the indices of neighbors, as sets along the last axis."""
    if not (found.is_integer() and expected.is_integer()) or not found.shape or found.shape[-1] < 2:
        return []
    rows, width = math.prod(found.shape[:-1]), found.shape[-1]
    pairs = [tensor.array.reshape(rows, width) for tensor in (found, expected)]
    step = max(1, _BLOCK // width)
    same = sum(
        int((_as_sets(pairs[0][r : r + step]) == _as_sets(pairs[1][r : r + step])).all(1).sum())
        for r in range(0, rows, step)
    )
    return [f"as sets along the last axis, {same} of {rows} rows are equal"]


def _as_sets(rows: np.ndarray) -> np.ndarray:
    """Returns rows that are equal if their sets of elements are: sorted, repeats as the minimum."""
    ordered = np.sort(rows, axis=1)
    is_repeat = ordered[:, 1:] == ordered[:, :-1]
    if is_repeat.any():
        ordered[:, 1:] = np.where(is_repeat, ordered[:, :1], ordered[:, 1:])
        ordered.sort(axis=1)
    return ordered


def compare_sparse(found: Sparse, expected: Sparse, options: Options) -> Comparison:
    if found.indices.shape[1] != expected.indices.shape[1]:
        raise ValueError(
            f"found has sites of {found.indices.shape[1]} columns, expected of "
            f"{expected.indices.shape[1]}"
        )
    if found.features.shape[1:] != expected.features.shape[1:]:
        raise ValueError(
            f"the shape of found's features is {list(found.features.shape)}, of expected's "
            f"{list(expected.features.shape)}: other channels"
        )
    join = _sites.Join(found.indices, expected.indices)
    mapping = None
    if 2 * len(join.found) < min(len(found.indices), len(expected.indices)):
        mapping = _sites.propose_mapping(found.indices, expected.indices, len(join.found))
        if mapping is not None:
            mapped = _sites.Join(_sites.apply(mapping, found.indices), expected.indices)
            pair = found.features.rows(mapped.found), expected.features.rows(mapped.expected)
            mapping = dataclasses.replace(mapping, wrong=_wrong(*pair, options))
    rows = {
        "only_found": join.only_found,
        "only_expected": join.only_expected,
        "repeated_found": join.repeated_found,
        "repeated_expected": join.repeated_expected,
        "outside_found": _sites.out_of_range(found.indices, found.extents),
        "outside_expected": _sites.out_of_range(expected.indices, expected.extents),
    }
    report = SiteReport(
        found=len(found.indices),
        expected=len(expected.indices),
        common=len(join.found),
        **{name: len(positions) for name, positions in rows.items()},
        examples={
            name: _coordinates(
                (found if "found" in name else expected).indices[positions[:_EXAMPLES]]
            )
            for name, positions in rows.items()
            if len(positions)
        },
        same_order=bool((join.found[1:] > join.found[:-1]).all()),
        mapping=mapping,
    )
    result = _at_sites(
        found.features.rows(join.found),
        expected.features.rows(join.expected),
        expected.indices,
        join.expected,
        options,
    )
    return dataclasses.replace(
        result, equal=result.equal and report.equal, sites=report, kind="sparse"
    )


def _coordinates(rows: np.ndarray) -> list[tuple[int, ...]]:
    return [tuple(row) for row in rows.tolist()]


def _at_sites(
    found: Tensor, expected: Tensor, indices: np.ndarray, rows: np.ndarray, options: Options
) -> Comparison:
    """Compares features whose row k is that of the site indices[rows[k]]."""
    names = ("site", "channel") if len(found.shape) == 2 else None
    result = _elements(found, expected, options, names)
    worst = []
    for element in result.worst:
        row = int(rows[element.index[0]])
        site = tuple(indices[row].tolist())
        worst.append(dataclasses.replace(element, index=(row, *element.index[1:]), site=site))
    notes = []
    if result.figures["wrong"]:
        if len(rows) < len(indices):
            notes.append("values are compared at common sites only")
        is_wrong = _wrong_rows(found, expected, result)
        notes += _sites.location(indices[rows], is_wrong)
        notes += channel_fit(found, expected, result.rtol, result.atol)
    return dataclasses.replace(result, worst=tuple(worst), notes=tuple(notes))


def _wrong_rows(found: Tensor, expected: Tensor, result: Comparison) -> np.ndarray:
    """Returns which rows have a wrong element."""
    is_wrong = np.zeros(found.shape[0], bool)
    step = max(1, _BLOCK // max(1, math.prod(found.shape[1:])))
    for start in range(0, len(is_wrong), step):
        block = slice(start, start + step)
        pair = (tensor.with_array(tensor.array[block]) for tensor in (found, expected))
        right = right_elements(*pair, result.rtol, result.atol)
        is_wrong[block] = ~right.reshape(len(right), -1).all(axis=1)
    return is_wrong


def compare_with_dense(
    sparse: Sparse, dense: Tensor, options: Options, *, dense_is_found: bool
) -> Comparison:
    """Compares at the sites; other elements of the dense tensor have to be 0."""
    rows, outside, gathered = gather(sparse, dense, dense_is_found=dense_is_found)
    features, sites = sparse.features.rows(rows), sparse.indices[rows]
    pair = (gathered, features) if dense_is_found else (features, gathered)
    result = _at_sites(*pair, sparse.indices, rows, options)
    elsewhere, examples = _nonzero_elsewhere(dense, sites)
    repeated = _sites.repeated_rows(sparse.indices)
    side, other = ("expected", "found") if dense_is_found else ("found", "expected")
    report = SiteReport(
        common=len(rows),
        elsewhere=elsewhere,
        **{
            side: len(sparse.indices),
            other: len(rows),
            f"only_{side}": len(outside),
            f"repeated_{side}": len(repeated),
        },
        examples={
            f"only_{side}": _coordinates(sparse.indices[outside[:_EXAMPLES]]),
            f"repeated_{side}": _coordinates(sparse.indices[repeated[:_EXAMPLES]]),
            "elsewhere": examples,
        },
    )
    return dataclasses.replace(
        result, equal=result.equal and report.equal, sites=report, kind="sparse"
    )


def gather(
    sparse: Sparse, dense: Tensor, *, dense_is_found: bool
) -> tuple[np.ndarray, np.ndarray, Tensor]:
    """Returns the rows of sites within a dense tensor, those outside, and its values at the first.

    Raises ValueError if the shapes do not fit.
    """
    columns = sparse.indices.shape[1]
    channels = sparse.features.shape[1:]
    if len(dense.shape) != columns + 1 or (dense.shape[1],) != channels:
        name = "found" if dense_is_found else "expected"
        raise ValueError(
            f"the shape of {name} is {list(dense.shape)}, expected [batches, "
            f"{'channels' if not channels else ', '.join(map(str, channels))}, and {columns - 1} "
            f"extents], as the other is {sparse}"
        )
    extents = (dense.shape[0], *dense.shape[2:])
    is_inside = np.ones(len(sparse.indices), bool)
    is_inside[_sites.out_of_range(sparse.indices, extents)] = False
    rows, outside = np.flatnonzero(is_inside), np.flatnonzero(~is_inside)
    sites = sparse.indices[rows]
    at = (sites[:, 0], slice(None), *sites[:, 1:].T)
    return rows, outside, dense.with_array(dense.array[at])


def _nonzero_elsewhere(dense: Tensor, sites: np.ndarray) -> tuple[int, list[tuple[int, ...]]]:
    """Returns how many elements outside the sites are not 0, and the first positions.

    A plane of a batch and a channel at a time.
    """
    count, first = 0, []
    for batch in range(dense.shape[0]):
        is_elsewhere = np.ones(dense.shape[2:], bool)
        is_elsewhere[tuple(sites[sites[:, 0] == batch, 1:].T)] = False
        for channel in range(dense.shape[1]):
            is_wrong = _nonzero(dense, batch, channel) & is_elsewhere
            wrong = int(np.count_nonzero(is_wrong))
            count += wrong
            if wrong and len(first) < _EXAMPLES:
                positions = np.unravel_index(
                    _first_true(is_wrong.reshape(-1), _EXAMPLES - len(first)), is_wrong.shape
                )
                first += [(batch, channel, *map(int, position)) for position in zip(*positions)]
    return count, first


def _first_true(values: np.ndarray, count: int) -> np.ndarray:
    found = np.zeros(0, np.int64)
    for start in range(0, len(values), _BLOCK):
        found = np.append(found, start + np.flatnonzero(values[start : start + _BLOCK]))
        if len(found) >= count:
            break
    return found[:count]


def sites_elsewhere(dense: Tensor, sites: np.ndarray, count: int) -> np.ndarray:
    """Returns the first sites, batch first, with elements other than 0 that are not in `sites`."""
    found, batches = [np.zeros((0, len(dense.shape) - 1), np.int64)], range(dense.shape[0])
    for batch in batches:
        is_nonzero = np.zeros(dense.shape[2:], bool)
        for channel in range(dense.shape[1]):
            is_nonzero |= _nonzero(dense, batch, channel)
        is_nonzero[tuple(sites[sites[:, 0] == batch, 1:].T)] = False
        positions = np.unravel_index(_first_true(is_nonzero.reshape(-1), count), is_nonzero.shape)
        found.append(np.stack([np.full_like(positions[0], batch), *positions], axis=1))
        count -= len(found[-1])
    return np.concatenate(found)


def _nonzero(dense: Tensor, batch: int, channel: int) -> np.ndarray:
    plane = dense.array[batch, channel]
    # Bits of bfloat16: without the sign.
    return (plane & 0x7FFF if dense.dtype == "bfloat16" else plane) != 0
