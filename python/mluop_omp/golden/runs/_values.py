"""Comparison of the tensors of two runs."""

from __future__ import annotations

import dataclasses
import functools
import math
import os
from typing import Any

import numpy as np

from mluop_omp.golden.comparison import Comparison, SparseSites
from mluop_omp.golden.comparison._criteria import Options
from mluop_omp.golden.comparison._data import Operands
from mluop_omp.golden.comparison._errors import Measure
from mluop_omp.golden.comparison._nested import compare_values
from mluop_omp.golden.comparison._values import Deferred, Tensor, convert
from mluop_omp.golden.runs import _sample_patterns, _sampling
from mluop_omp.golden.runs._run import Run, Value

_Runs = tuple[Run, Run]


def require_equal_seeds(found: Run, expected: Run) -> None:
    samples = any(each.is_sample for run in (found, expected) for each in run.tensors.values())
    if samples and found.seed != expected.seed:
        raise ValueError(
            f"samples have different seeds: {found.seed} in {found.path}, {expected.seed} in "
            f"{expected.path}; record both runs with one seed"
        )


def compare_recorded(runs: _Runs, options: Options, found: Value, expected: Value) -> Comparison:
    """Compares a value of each run; if they cannot be compared, the error states why."""
    pair = found, expected
    tensors = [run.tensors[value.tensor] for run, value in zip(runs, pair)]
    is_sparse = [value.indices is not None for value in pair]
    if not all(each.has_values for each in tensors):
        return _incomparable("a tensor was recorded without its elements")
    if not any(each.is_sample for each in tensors):
        e, b = (Value(value.tensor) if value.inferred else value for value in pair)
        result = _compare(runs, options, e, b)
        # Dense tensors with inferred sites: rows may be in the order of their sites.
        is_inferred = found.inferred and expected.inferred
        if is_inferred and not result.equal and not result.error:
            return _compare(runs, options, found, expected)
        return result
    if all(is_sparse):
        return _compare_sites(runs, options, found, expected)
    if any(is_sparse):
        return _incomparable("one is sparse, the other dense, and only a sample is recorded")
    return _compare_elements(runs, options, found, expected)


def _compare_elements(runs: _Runs, options: Options, found: Value, expected: Value) -> Comparison:
    """Compares the elements that the samples of two dense tensors have in common."""
    sides = [(run, run.tensors[value.tensor]) for run, value in zip(runs, (found, expected))]
    shapes = [recorded.shape for _, recorded in sides]
    if shapes[0] != shapes[1]:
        return _incomparable(f"shapes differ: found {list(shapes[0])}, expected {list(shapes[1])}")
    # Reading first checks that each sample is as large as its count.
    arrays = [run.stored(recorded.name).reshape(-1) for run, recorded in sides]
    samples = [
        None
        if recorded.count is None
        else _sampling.elements(run.seed, recorded.count, recorded.shape)
        for run, recorded in sides
    ]
    # The smaller sample is contained in the other.
    elements = min((each[0] for each in samples if each is not None), key=len)
    # Where both have these elements.
    places = [
        elements if sample is None else sample[1][np.searchsorted(sample[0], elements)]
        for sample in samples
    ]
    arrays = [array[place] for array, place in zip(arrays, places)]
    dtypes = [recorded.dtype for _, recorded in sides]
    tensors = list(map(_tensor, arrays, dtypes))
    result = _compare_tensors(options, *tensors)
    if result.error:
        return result
    worst = []
    for wrong in result.worst:
        index = np.unravel_index(elements[wrong.index[0]], shapes[0])
        worst.append(dataclasses.replace(wrong, index=tuple(map(int, index))))
    errors, _ = Measure.of(result).row_errors(*map(convert, tensors))
    pattern, notes = "", list[str]()
    if errors.any():
        count = min(recorded.count for _, recorded in sides if recorded.count is not None)
        sample = _sampling.parts(runs[0].seed, count, shapes[0])
        exact = dataclasses.replace(options, rtol=result.rtol, atol=result.atol)

        def compare(e: np.ndarray, b: np.ndarray, axes: tuple[str, ...] | None) -> Comparison:
            pair = map(_tensor, (e, b), dtypes)
            return _compare_tensors(dataclasses.replace(exact, axes=axes), *pair)

        # Found, expected, and which are wrong.
        values = (*arrays, errors > 0)
        parts = [
            tuple(
                each[np.searchsorted(elements, _sampling.positions(part, shapes[0]))]
                for each in values
            )
            for part in (*sample, _sampling.core(runs[0].seed, count, shapes[0]))
        ]
        pattern, notes = _sample_patterns.describe(compare, sample, parts, shapes[0], options.axes)
        pattern = pattern or _common_indices(elements[errors > 0], shapes[0])
    return dataclasses.replace(
        result,
        worst=tuple(worst),
        # The pattern and notes of the engine describe elements without their positions.
        pattern=pattern,
        notes=(f"a sample: {len(elements)} of {sides[0][1].size} elements", *notes),
        _operands=None,
    )


def _compare_sites(runs: _Runs, options: Options, found: Value, expected: Value) -> Comparison:
    """Compares the sites that the samples of two sparse tensors have in common."""
    sides = list(zip(runs, (found, expected)))
    tensors = [run.tensors[value.tensor] for run, value in sides]
    limit = min((each.limit for each in tensors if each.limit is not None), default=None)
    result = _compare(runs, options, found, expected, limit)
    if limit is None or result.error:
        return result
    counts = [each.shape[0] for each in tensors]
    sampled = 0 if result.sites is None else result.sites.found
    notes = [f"a sample: {sampled} of {counts[0]} sites", *result.notes]
    sums = [_checksum(run, value) for run, value in sides]
    equal = result.equal and counts[0] == counts[1] and sums[0] == sums[1]
    if result.equal and not equal:
        notes.append(
            f"sites outside of the sample differ: found {counts[0]} sites, expected {counts[1]}"
        )
    return dataclasses.replace(result, equal=equal, notes=tuple(notes))


def _compare(
    runs: _Runs, options: Options, found: Value, expected: Value, limit: int | None = None
) -> Comparison:
    """Compares values, in sparse tensors the sites whose hash is below the limit."""
    sides = list(zip(runs, (found, expected)))
    result = _compare_tensors(options, *(_read(*side, limit) for side in sides))
    if result._operands is None:
        return result
    # Keeps how to read the tensors, not the tensors.
    again = (
        Deferred(functools.partial(_read_again, os.path.abspath(run.path), value, limit))
        for run, value in sides
    )
    operands = Operands(*again, result._operands.axes)
    return dataclasses.replace(result, _operands=operands)


def _compare_tensors(options: Options, found: Any, expected: Any) -> Comparison:
    try:
        return compare_values(found, expected, options)
    except (ValueError, TypeError) as error:
        return _incomparable(str(error))


def _incomparable(reason: str) -> Comparison:
    return Comparison(False, kind="error", error=reason)


def _read_again(path: str, value: Value, limit: int | None) -> Any:
    with Run(path) as run:
        return _read(run, value, limit)


def _read(run: Run, value: Value, limit: int | None) -> Any:
    """Returns an argument for `compare`."""
    array, dtype = run.stored(value.tensor), run.tensors[value.tensor].dtype
    if value.indices is None:
        return _tensor(array, dtype)
    indices = run.stored(value.indices)
    if limit is not None:
        rows = np.flatnonzero(_sampling.site_hashes(run.seed, indices) < np.uint64(limit))
        array, indices = array[rows], indices[rows]
    return SparseSites(_tensor(array, dtype), indices, value.spatial_shape, value.batch_size)


def _tensor(array: np.ndarray, dtype: str) -> Any:
    return Tensor(array, dtype) if dtype == "bfloat16" else array


def _checksum(run: Run, value: Value) -> int:
    indices = value.indices or ""
    known = run.tensors[indices].checksum
    if known is not None:
        return known
    return _sampling.checksum(_sampling.site_hashes(run.seed, run.stored(indices)))


def _common_indices(elements: np.ndarray, shape: tuple[int, ...]) -> str:
    """Returns the indices that all given elements have in common, as a pattern.

    Omits indices that as many random elements would share with a chance of more than 1 / 1000.
    """
    common = [
        f"index {column[0]} of dim {dim}"
        for dim, column in enumerate(np.unravel_index(elements, shape))
        if len(column)
        and shape[dim] > 1
        and (column == column[0]).all()
        and (len(column) - 1) * math.log(shape[dim]) >= math.log(1000)
    ]
    text = f"all {len(elements)} wrong elements of the sample have {' and '.join(common)}"
    return text if common else ""
