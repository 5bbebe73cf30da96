"""Comparison of two dense tensors, of two sparse tensors, and of a sparse with a dense one."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mluop_omp.comparison import _criteria, _engine, _shapes, _sites
from mluop_omp.comparison._channels import channel_fit
from mluop_omp.comparison._criteria import Options
from mluop_omp.comparison._errors import Measure
from mluop_omp.comparison._result import Comparison, SiteReport, WrongElement
from mluop_omp.comparison._values import Sparse, Tensor

# Elements that are sorted or searched at a time.
_BLOCK = 1 << 22
# Coordinates that a report lists of a kind.
_EXAMPLES = 8


def compare_dense(found: Tensor, expected: Tensor, options: Options) -> Comparison:
    if found.shape != expected.shape:
        raise ValueError(_shapes.mismatch(found, expected, options))
    result = _elements(found, expected, options, options.axes)
    if result.equal:
        return result
    notes = [
        *_sets(found, expected),
        *_shapes.layouts(found, expected, result.rtol, result.atol),
        *channel_fit(found, expected, result.rtol, result.atol),
    ]
    return dataclasses.replace(result, notes=tuple(notes))


def _elements(
    found: Tensor, expected: Tensor, options: Options, axes: Sequence[str] | None
) -> Comparison:
    """Compares tensors of one shape."""
    tolerance = options.tolerance(found, expected)
    thresholds = options.criteria
    if not thresholds or (options.rtol, options.atol) != (None, None):
        thresholds = {"allclose": None, **thresholds}
    difference = _engine.difference(
        found,
        expected,
        tolerance,
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
        rtol=tolerance.rtol,
        atol=difference.figures["atol"],
        rms_atol=tolerance.rms_atol,
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
            mapping = dataclasses.replace(mapping, wrong=_engine.count_wrong(*pair, options))
    sites = {}
    for name, sparse in (("found", found), ("expected", expected)):
        outside = _sites.out_of_range(sparse.indices, sparse.extents)
        sites[f"only_{name}"] = sparse.indices[getattr(join, f"only_{name}")]
        sites[f"repeated_{name}"] = sparse.indices[getattr(join, f"repeated_{name}")]
        sites[f"outside_{name}"] = sparse.indices[outside]
    report = SiteReport(
        found=len(found.indices),
        expected=len(expected.indices),
        common=len(join.found),
        same_order=bool((join.found[1:] > join.found[:-1]).all()),
        mapping=mapping,
        **_numbers_of(sites),
    )
    features = found.features.rows(join.found), expected.features.rows(join.expected)
    return _at_sites(*features, expected.indices, join.expected, report, options)


def _numbers_of(sites: dict[str, np.ndarray]) -> dict[str, Any]:
    """Returns the numbers of sites by name, and the first of each."""
    named = sites.items()
    first = {name: each[:_EXAMPLES].tolist() for name, each in named if len(each)}
    examples = {name: list(map(tuple, each)) for name, each in first.items()}
    return {"examples": examples, **{name: len(each) for name, each in named}}


def _at_sites(
    found: Tensor,
    expected: Tensor,
    indices: np.ndarray,
    rows: np.ndarray,
    report: SiteReport,
    options: Options,
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
        errors, _ = Measure.of(result).row_errors(found, expected)
        notes += _sites.location(indices[rows], errors > 0)
        notes += channel_fit(found, expected, result.rtol, result.atol)
    return dataclasses.replace(
        result,
        equal=result.equal and report.equal,
        kind="sparse",
        sites=report,
        worst=tuple(worst),
        notes=tuple(notes),
    )


def compare_with_dense(
    found: Sparse | Tensor, expected: Sparse | Tensor, options: Options
) -> Comparison:
    """Compares a sparse and a dense tensor, whose elements outside the sites have to be 0."""
    sparse, dense, side = sides(found, expected)
    rows, outside, gathered = gather(sparse, dense, side)
    features, sites = sparse.features.rows(rows), sparse.indices[rows]
    other = "expected" if side == "found" else "found"
    repeated = sparse.indices[_sites.repeated_rows(sparse.indices)]
    only = sparse.indices[outside]
    numbers = _numbers_of({f"only_{side}": only, f"repeated_{side}": repeated})
    elsewhere, examples = 0, []
    for batch, channel, is_wrong in _nonzero_elsewhere(dense, sites):
        wrong = int(np.count_nonzero(is_wrong))
        elsewhere += wrong
        if wrong and len(examples) < _EXAMPLES:
            positions = _first_true(is_wrong, _EXAMPLES - len(examples)).tolist()
            examples += [(batch, channel, *position) for position in positions]
    numbers["examples"]["elsewhere"] = examples
    extents = {side: len(sparse.indices), other: len(rows)}
    report = SiteReport(common=len(rows), elsewhere=elsewhere, **extents, **numbers)
    pair = (features, gathered) if side == "found" else (gathered, features)
    return _at_sites(*pair, sparse.indices, rows, report, options)


def sides(found: Sparse | Tensor, expected: Sparse | Tensor) -> tuple[Sparse, Tensor, str]:
    """Returns the sparse and the dense one of two tensors, and which is sparse.

    Without channels, as of PyTorch's COO tensors, both get one.
    """
    is_found = isinstance(found, Sparse)
    sparse, dense = (found, expected) if is_found else (expected, found)
    if len(sparse.features.shape) == 1 and dense.shape:
        features = sparse.features.with_array(sparse.features.array[:, None])
        sparse = dataclasses.replace(sparse, features=features)
        dense = dense.with_array(dense.array[:, None])
    return sparse, dense, "found" if is_found else "expected"


def gather(sparse: Sparse, dense: Tensor, side: str) -> tuple[np.ndarray, np.ndarray, Tensor]:
    """Returns the rows of sites within a dense tensor, those outside, and its values at the first.

    Raises ValueError if the shapes do not fit.
    """
    columns = sparse.indices.shape[1]
    channels = sparse.features.shape[1:]
    if len(dense.shape) != columns + 1 or (dense.shape[1],) != channels:
        name = "expected" if side == "found" else "found"
        raise ValueError(
            f"the shape of {name} is {list(dense.shape)}, expected [batches, "
            f"{', '.join(map(str, channels))}, and {columns - 1} extents], as the other is {sparse}"
        )
    extents = (dense.shape[0], *dense.shape[2:])
    is_inside = np.ones(len(sparse.indices), bool)
    is_inside[_sites.out_of_range(sparse.indices, extents)] = False
    rows, outside = np.flatnonzero(is_inside), np.flatnonzero(~is_inside)
    sites = sparse.indices[rows]
    at = (sites[:, 0], slice(None), *sites[:, 1:].T)
    return rows, outside, dense.with_array(dense.array[at])


def sites_elsewhere(dense: Tensor, sites: np.ndarray, count: int) -> np.ndarray:
    """Returns the first sites, batch first, with elements other than 0 that are not in `sites`."""
    found = [np.zeros((0, len(dense.shape) - 1), np.int64)]
    planes = _nonzero_elsewhere(dense, sites)
    for batch, of_batch in itertools.groupby(planes, operator.itemgetter(0)):
        is_nonzero = functools.reduce(np.logical_or, (plane for _, _, plane in of_batch))
        found.append(np.insert(_first_true(is_nonzero, count), 0, batch, axis=1))
        count -= len(found[-1])
    return np.concatenate(found)


def _nonzero_elsewhere(dense: Tensor, sites: np.ndarray) -> Iterator[tuple[int, int, np.ndarray]]:
    """Yields each batch and channel, and which of its elements outside the sites are not 0."""
    for batch in range(dense.shape[0]):
        at_sites = tuple(sites[sites[:, 0] == batch, 1:].T)
        for channel in range(dense.shape[1]):
            plane = dense.array[batch, channel]
            # Bits of bfloat16: without the sign.
            is_nonzero = (plane & 0x7FFF if dense.dtype == "bfloat16" else plane) != 0
            is_nonzero[at_sites] = False
            yield batch, channel, is_nonzero


def _first_true(values: np.ndarray, count: int) -> np.ndarray:
    """Returns the positions [n, dims] of the first true values, at most `count`."""
    flat, found = values.reshape(-1), np.zeros(0, np.int64)
    for start in range(0, len(flat), _BLOCK):
        found = np.append(found, start + np.flatnonzero(flat[start : start + _BLOCK]))
        if len(found) >= count:
            break
    return np.stack(np.unravel_index(found[:count], values.shape), axis=1)
