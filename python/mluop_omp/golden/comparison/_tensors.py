"""Comparison of dense with dense, sparse with sparse, and sparse with dense tensors."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mluop_omp.golden.comparison import _criteria, _dense, _engine, _shapes, _sites
from mluop_omp.golden.comparison._channels import channel_fit
from mluop_omp.golden.comparison._criteria import Options
from mluop_omp.golden.comparison._data import SiteReport, WrongElement
from mluop_omp.golden.comparison._errors import Measure
from mluop_omp.golden.comparison._result import Comparison
from mluop_omp.golden.comparison._values import Sparse, Tensor

# Elements that are sorted at a time.
_BLOCK = 1 << 22
# Coordinates listed in a report for each kind of site.
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
    # A double does not hold integers beyond 2**53.
    b = int(expected.array[index]) if expected.is_integer() else b
    e = int(found.array[index]) if found.is_integer() else e
    return WrongElement(index, b, e, *errors)


def _sets(found: Tensor, expected: Tensor) -> list[str]:
    """Compares integers, such as indices of neighbors, as sets along the last axis."""
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
    """Returns sorted rows, repeats replaced by the minimum: equal sets give equal rows."""
    ordered = np.sort(rows, axis=1)
    is_repeat = ordered[:, 1:] == ordered[:, :-1]
    if is_repeat.any():
        ordered[:, 1:] = np.where(is_repeat, ordered[:, :1], ordered[:, 1:])
        ordered.sort(axis=1)
    return ordered


def compare_sparse(found: Sparse, expected: Sparse, options: Options) -> Comparison:
    if found.indices.shape[1] != expected.indices.shape[1]:
        raise ValueError(
            f"numbers of columns of the indices differ: found {found.indices.shape[1]}, expected "
            f"{expected.indices.shape[1]}"
        )
    if found.features.shape[1:] != expected.features.shape[1:]:
        raise ValueError(
            f"channels differ: found has features {list(found.features.shape)}, expected has "
            f"{list(expected.features.shape)}"
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
    """Returns the number of sites of each name, and the first ones as examples."""
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
    """Compares features; row k belongs to the site indices[rows[k]]."""
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
    """Compares a sparse and a dense tensor; the dense one must be 0 outside the sites."""
    sparse, dense, side = _dense.sides(found, expected)
    rows, outside, gathered = _dense.gather(sparse, dense, side)
    features, sites = sparse.features.rows(rows), sparse.indices[rows]
    other = "expected" if side == "found" else "found"
    repeated = sparse.indices[_sites.repeated_rows(sparse.indices)]
    only = sparse.indices[outside]
    numbers = _numbers_of({f"only_{side}": only, f"repeated_{side}": repeated})
    elsewhere, examples = 0, []
    for batch, channel, is_wrong in _dense.nonzero_elsewhere(dense, sites):
        wrong = int(np.count_nonzero(is_wrong))
        elsewhere += wrong
        if wrong and len(examples) < _EXAMPLES:
            positions = _dense.first_true(is_wrong, _EXAMPLES - len(examples)).tolist()
            examples += [(batch, channel, *position) for position in positions]
    numbers["examples"]["elsewhere"] = examples
    extents = {side: len(sparse.indices), other: len(rows)}
    report = SiteReport(common=len(rows), elsewhere=elsewhere, **extents, **numbers)
    pair = (features, gathered) if side == "found" else (gathered, features)
    return _at_sites(*pair, sparse.indices, rows, report, options)
