"""Comparison of the tensors of two runs."""

from __future__ import annotations

import dataclasses
import functools
import os
from typing import Any, Callable

import numpy as np

from mluop_omp.golden.comparison import Comparison, SparseSites
from mluop_omp.golden.comparison._criteria import Options
from mluop_omp.golden.comparison._data import Operands
from mluop_omp.golden.comparison._errors import Measure
from mluop_omp.golden.comparison._nested import compare_values
from mluop_omp.golden.comparison._values import Deferred, Tensor, convert
from mluop_omp.golden.runs import _sampling
from mluop_omp.golden.runs._run import Recorded, Run, Value


class ValueComparer:
    """Compares values of two runs, each pair of tensors once."""

    def __init__(self, found: Run, expected: Run, options: Options) -> None:
        samples = any(each.is_sample for run in (found, expected) for each in run.tensors.values())
        if samples and found.seed != expected.seed:
            raise ValueError(
                f"samples have different seeds: {found.seed} in {found.path}, {expected.seed} in "
                f"{expected.path}; record both runs with one seed"
            )
        self._found, self._expected, self._options = found, expected, options
        self._results: dict[tuple[Value, Value], Comparison] = {}

    def __call__(self, found: Value, expected: Value) -> Comparison:
        """Returns the comparison; if the values cannot be compared, its error states why."""
        key = found, expected
        if key not in self._results:
            try:
                self._results[key] = self._compare(found, expected)
            except _Incomparable as error:
                self._results[key] = Comparison(False, kind="error", error=str(error))
        return self._results[key]

    def _compare(self, found: Value, expected: Value) -> Comparison:
        pair = self._found.tensors[found.tensor], self._expected.tensors[expected.tensor]
        if not all(each.has_values for each in pair):
            raise _Incomparable("a tensor was recorded without its elements")
        is_sparse = [each.indices is not None for each in (found, expected)]
        if any(each.is_sample for each in pair):
            if is_sparse == [True, True]:
                return self._compare_sparse(found, expected, *pair)
            if any(is_sparse):
                raise _Incomparable("one is sparse, the other dense, and only a sample is recorded")
            return self._compare_samples(*pair)
        dense = [Value(each.tensor) if each.inferred else each for each in (found, expected)]
        result = self._compare_by(_read, *dense)
        # Dense tensors with inferred sites: rows may be in the order of their sites.
        if found.inferred and expected.inferred and not result.equal:
            return self._compare_by(_read, found, expected)
        return result

    def _compare_samples(self, found: Recorded, expected: Recorded) -> Comparison:
        if found.shape != expected.shape:
            raise _Incomparable(
                f"shapes differ: found {list(found.shape)}, expected {list(expected.shape)}"
            )
        count = min(each.count for each in (found, expected) if each.count is not None)
        sides = (self._found, found), (self._expected, expected)
        # Reading first checks that each sample is as large as its count.
        arrays = [run.array(recorded.name) for run, recorded in sides]
        elements = _sampling.elements(self._found.seed, count, found.size)
        tensors = [
            _tensor(_elements_of(*side, array, elements), side[1].dtype)
            for side, array in zip(sides, arrays)
        ]
        result = self._call(*tensors)
        worst = []
        for wrong in result.worst:
            index = np.unravel_index(elements[wrong.index[0]], found.shape)
            worst.append(dataclasses.replace(wrong, index=tuple(map(int, index))))
        errors, _ = Measure.of(result).row_errors(*map(convert, tensors))
        return dataclasses.replace(
            result,
            worst=tuple(worst),
            # The pattern of the engine describes the sample, which has one dimension.
            pattern=_common_indices(elements[errors > 0], found.shape),
            notes=(f"a sample: {len(elements)} of {found.size} elements",),
            _operands=None,
        )

    def _compare_sparse(
        self, found: Value, expected: Value, found_rows: Recorded, expected_rows: Recorded
    ) -> Comparison:
        limits = [each.limit for each in (found_rows, expected_rows) if each.limit is not None]
        if not limits:
            return self._compare_by(_read, found, expected)
        result = self._compare_by(functools.partial(_sites_below, min(limits)), found, expected)
        counts = [each.shape[0] for each in (found_rows, expected_rows)]
        sampled = 0 if result.sites is None else result.sites.found
        notes = [f"a sample: {sampled} of {counts[0]} sites", *result.notes]
        sums = _checksum(self._found, found), _checksum(self._expected, expected)
        equal = result.equal and counts[0] == counts[1] and sums[0] == sums[1]
        if result.equal and not equal:
            text = "sites outside of the sample differ: found {} sites, expected {}"
            notes.append(text.format(*counts))
        return dataclasses.replace(result, equal=equal, notes=tuple(notes))

    def _compare_by(
        self, read: Callable[[Run, Value], Any], found: Value, expected: Value
    ) -> Comparison:
        """Compares the values that `read` returns; the result can read them again."""
        pairs = (self._found, found), (self._expected, expected)
        result = self._call(*(read(*pair) for pair in pairs))
        if result._operands is None:
            return result
        # Keeps how to read the tensors, not the tensors.
        again = (
            Deferred(functools.partial(_read_again, os.path.abspath(run.path), read, value))
            for run, value in pairs
        )
        operands = Operands(*again, result._operands.axes)
        return dataclasses.replace(result, _operands=operands)

    def _call(self, found: Any, expected: Any) -> Comparison:
        try:
            return compare_values(found, expected, self._options)
        except (ValueError, TypeError) as error:
            raise _Incomparable(str(error)) from None


def _read_again(path: str, read: Callable[[Run, Value], Any], value: Value) -> Any:
    with Run(path) as run:
        return read(run, value)


def _read(run: Run, value: Value) -> Any:
    tensor = _tensor(run.array(value.tensor), run.tensors[value.tensor].dtype)
    if value.indices is None:
        return tensor
    return SparseSites(tensor, run.array(value.indices), value.spatial_shape, value.batch_size)


class _Incomparable(Exception):
    pass


def _tensor(array: np.ndarray, dtype: str) -> Any:
    """Returns an argument for `compare`."""
    return Tensor(array, dtype) if dtype == "bfloat16" else array


def _elements_of(
    run: Run, recorded: Recorded, array: np.ndarray, elements: np.ndarray
) -> np.ndarray:
    """Returns given elements from the sample that the run holds."""
    if recorded.count is None:
        return array.reshape(-1)[elements]
    own = _sampling.elements(run.seed, recorded.count, recorded.size)
    return array[np.searchsorted(own, elements)]


def _sites_below(limit: int, run: Run, value: Value) -> SparseSites:
    indices = run.array(value.indices or "")
    rows = np.flatnonzero(_sampling.site_hashes(run.seed, indices) < np.uint64(limit))
    features = _tensor(run.array(value.tensor)[rows], run.tensors[value.tensor].dtype)
    return SparseSites(features, indices[rows], value.spatial_shape, value.batch_size)


def _checksum(run: Run, value: Value) -> int:
    known = run.tensors[value.indices or ""].checksum
    if known is not None:
        return known
    return _sampling.checksum(_sampling.site_hashes(run.seed, run.array(value.indices or "")))


def _common_indices(elements: np.ndarray, shape: tuple[int, ...]) -> str:
    """Returns the indices that all given elements have in common, as a pattern."""
    if len(elements) < 2:
        return ""
    coordinates = np.unravel_index(elements, shape)
    common = [
        f"index {column[0]} of dim {dim}"
        for dim, column in enumerate(coordinates)
        if shape[dim] > 1 and (column == column[0]).all()
    ]
    if not common:
        return ""
    return f"all {len(elements)} wrong elements of the sample have {' and '.join(common)}"
