"""Comparison of two tensors: dense, sparse, or one of each."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, Callable

import numpy as np

from mluop_omp.golden.comparison import (
    _criteria,
    _engine,
    _mappings,
    _patterns,
    _shapes,
    _sites,
    _statements,
)
from mluop_omp.golden.comparison._criteria import Options
from mluop_omp.golden.comparison._data import SiteMapping, SiteReport, WrongElement
from mluop_omp.golden.comparison._errors import Measure
from mluop_omp.golden.comparison._result import Comparison
from mluop_omp.golden.comparison._statements import LEFT
from mluop_omp.golden.comparison._values import Sparse, Tensor

# Coordinates listed in a report for each kind of site.
_EXAMPLES = 8
_Finder = Callable[[Tensor, Tensor, float, float], list[str]]


def compare_tensors(
    found: Sparse | Tensor, expected: Sparse | Tensor, options: Options
) -> Comparison:
    if not (isinstance(found, Tensor) and isinstance(expected, Tensor)):
        return _compare_sparse(found, expected, options)
    if found.shape != expected.shape:
        raise ValueError(_shapes.mismatch(found, expected, options))
    result = _elements(found, expected, options, options.axes)
    if result.equal or not options.has_statements:
        return result
    finders = (_patterns.equal_sets, _patterns.filter_layouts, _patterns.channel_fit)
    return _stated(result, found, expected, options.axes, finders)


def _stated(
    result: Comparison,
    found: Tensor,
    expected: Tensor,
    axes: Sequence[str] | None,
    finders: Iterable[_Finder],
) -> Comparison:
    """Returns the comparison of dense tensors with the statements that explain its errors."""
    errors = _statements.Errors(found, expected, result, axes)
    pattern = _statements.supported(errors)
    notes = [note for find in finders for note in find(found, expected, result.rtol, result.atol)]
    notes = notes or _statements.under_noise(errors, pattern)
    return dataclasses.replace(result, pattern=pattern, notes=tuple(notes))


def _elements(
    found: Tensor, expected: Tensor, options: Options, axes: Sequence[str] | None
) -> Comparison:
    """Compares tensors of one shape."""
    tolerance = options.tolerance(found, expected)
    thresholds = options.criteria
    if not thresholds or (options.rtol, options.atol) != (None, None):
        thresholds = {"allclose": None, **thresholds}
    is_bits = set(thresholds) == {"bits"}
    difference = _engine.difference(
        found, expected, tolerance, bits=is_bits, worst=options.worst, axes=axes
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
    found: Tensor, expected: Tensor, linear: int, b: float, e: float, *errors: Any
) -> WrongElement:
    index = tuple(map(int, np.unravel_index(linear, found.shape)))
    # A double does not hold integers beyond 2**53.
    b = int(expected.array[index]) if expected.is_integer() else b
    e = int(found.array[index]) if found.is_integer() else e
    return WrongElement(index, b, e, *errors)


def _compare_sparse(
    found: Sparse | Tensor, expected: Sparse | Tensor, options: Options
) -> Comparison:
    """Compares values at common sites. At least one is sparse; a dense one is 0 elsewhere."""
    match = _sites.match(found, expected)
    names = ("site", "channel") if len(match.found.shape) == 2 else None
    result = _elements(match.found, match.expected, options, names)
    sites = _site_report(found, expected, match, options)
    worst = []
    for element in result.worst:
        row, *position = element.index
        site = tuple(match.sites[row].tolist())
        index = (int(match.rows[row]), *position)
        worst.append(dataclasses.replace(element, index=index, site=site))
    notes = []
    if result.figures["wrong"] and options.has_statements:
        if sites.only_found or sites.only_expected:
            notes.append("values are compared at common sites only")
        errors, _ = Measure.of(result).row_errors(match.found, match.expected)
        notes += _sites.location(match.sites, errors > 0)
        pair = match.found, match.expected
        result = _stated(result, *pair, names, (_patterns.channel_fit,))
        notes += result.notes
    return dataclasses.replace(
        result,
        equal=result.equal and sites.equal,
        kind="sparse",
        sites=sites,
        worst=tuple(worst),
        notes=tuple(notes),
    )


def _site_report(
    found: Sparse | Tensor, expected: Sparse | Tensor, match: _sites.Match, options: Options
) -> SiteReport:
    counts: dict[str, Any] = {name: len(each) for name, each in match.others.items()}
    examples = {name: each[:_EXAMPLES].tolist() for name, each in match.others.items() if len(each)}
    common = len(match.rows)
    if isinstance(found, Sparse) and isinstance(expected, Sparse):
        counts["mapping"] = _mapping(found, expected, common, options)
    elif match.dense is not None:
        counts["elsewhere"], examples["elsewhere"] = _elsewhere(match.dense, match.sites)
    return SiteReport(
        found=len(found.indices) if isinstance(found, Sparse) else common,
        expected=len(expected.indices) if isinstance(expected, Sparse) else common,
        common=common,
        examples={name: list(map(tuple, each)) for name, each in examples.items()},
        same_order=match.same_order,
        **counts,
    )


def _elsewhere(dense: Tensor, sites: np.ndarray) -> tuple[int, list[list[int]]]:
    """Returns the number of nonzero elements outside the sites, and the first positions."""
    total, positions = 0, list[list[int]]()
    for batch, channel, is_nonzero in _sites.nonzero_elsewhere(dense, sites):
        count = int(np.count_nonzero(is_nonzero))
        total += count
        if count and len(positions) < _EXAMPLES:
            first = _sites.first_true(is_nonzero, _EXAMPLES - len(positions)).tolist()
            positions += [[batch, channel, *position] for position in first]
    return total, positions


def _mapping(found: Sparse, expected: Sparse, common: int, options: Options) -> SiteMapping | None:
    """Returns a mapping by which at least half of the sites match, if fewer do without it.

    Where any mapping matches many sites, as of a tensor that is nearly dense, it matches nearly
    all, or several times as many as without it.
    """
    fewest = min(len(found.indices), len(expected.indices))
    if 2 * common >= fewest:
        return None
    mapping = _mappings.propose(found.indices, expected.indices)
    if mapping is None:
        return None
    mapped = dataclasses.replace(found, indices=_mappings.apply(mapping, found.indices))
    match = _sites.match(mapped, expected)
    matches = len(match.rows)
    left = (fewest - matches) / (fewest - common)
    if 2 * matches < fewest or (left > LEFT and LEFT * matches < common):
        return None
    wrong = _engine.count_wrong(match.found, match.expected, options)
    # The columns of found are already in one of the given orders.
    given = {len(order): order for order in options.columns}.get(len(mapping.columns))
    columns = mapping.columns if given is None else tuple(given[c] for c in mapping.columns)
    return dataclasses.replace(mapping, columns=columns, matches=matches, wrong=wrong)
