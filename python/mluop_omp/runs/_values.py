"""Comparison of the tensors of two runs, the only place that calls `mluop_omp.compare`."""

from __future__ import annotations

import dataclasses
import functools
import os
from typing import Any, Callable

import numpy as np

from mluop_omp.comparison import Comparison, SparseSites, compare
from mluop_omp.comparison._result import Operands
from mluop_omp.comparison._values import Deferred, Tensor
from mluop_omp.runs import _sampling
from mluop_omp.runs._run import Recorded, Run, Value


class ValueComparer:
    """Compares values of two runs, each pair of tensors once."""

    def __init__(self, found: Run, expected: Run, options: dict[str, Any]) -> None:
        compare(0.0, 0.0, **options)  # raises for options that are not valid
        self._found, self._expected, self._options = found, expected, options
        self._results: dict[tuple[Value, Value], Comparison] = {}

    def __call__(self, found: Value, expected: Value) -> Comparison:
        """Returns the comparison; of values that cannot be compared, one that says why."""
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
        is_sample = any(each.count is not None or each.limit is not None for each in pair)
        if found.inferred and expected.inferred and not is_sample:
            return self._compare_inferred(found, expected)
        if (found.inferred or expected.inferred) and not is_sample:
            found, expected = (
                _dense(each) if each.inferred else each for each in (found, expected)
            )
        if is_sample and self._found.seed != self._expected.seed:
            raise _Incomparable(
                f"the seed of the samples of found is {self._found.seed}, of expected "
                f"{self._expected.seed}"
            )
        if found.indices is not None and expected.indices is not None:
            return self._compare_sparse(found, expected, *pair)
        if found.indices is None and expected.indices is None and is_sample:
            return self._compare_samples(*pair)
        if is_sample:
            raise _Incomparable("one is sparse, one is dense, and a sample of one is recorded")
        return self._compare_by(_read, found, expected)

    def _compare_inferred(self, found: Value, expected: Value) -> Comparison:
        """Compares tensors whose rows may be those of sites, or have an order of their own."""
        by_row = self._compare_by(_read, _dense(found), _dense(expected))
        return by_row if by_row.equal else self._compare_by(_read, found, expected)

    def _compare_samples(self, found: Recorded, expected: Recorded) -> Comparison:
        if found.shape != expected.shape:
            raise _Incomparable(
                f"the shape of found is {list(found.shape)}, of expected {list(expected.shape)}"
            )
        count = min(each.count for each in (found, expected) if each.count is not None)
        # A sample that has been read is as large as its count says.
        own = [
            (run, recorded, run.array(recorded.name))
            for run, recorded in ((self._found, found), (self._expected, expected))
        ]
        elements = _sampling.elements(self._found.seed, count, found.size)
        arrays = [
            _tensor(_elements_of(run, recorded, array, elements), recorded)
            for run, recorded, array in own
        ]
        result = self._call(*arrays)
        indices = (elements[wrong.index[0]] for wrong in result.worst)
        worst = tuple(
            dataclasses.replace(wrong, index=_unravel(index, found.shape))
            for wrong, index in zip(result.worst, indices)
        )
        wrong = elements[_wrong(*arrays, result)]
        # Those of the engine are of the sample, which has one dimension.
        pattern = _common_indices(wrong, found.shape)
        note = f"a sample: {len(elements)} of {found.size} elements"
        return dataclasses.replace(result, worst=worst, pattern=pattern, notes=(note,))

    def _compare_sparse(
        self, found: Value, expected: Value, found_rows: Recorded, expected_rows: Recorded
    ) -> Comparison:
        limits = [each.limit for each in (found_rows, expected_rows) if each.limit is not None]
        if not limits:
            return self._compare_by(_read, found, expected)
        result = self._compare_by(functools.partial(_sites_below, min(limits)), found, expected)
        counts = [each.shape[0] for each in (found_rows, expected_rows)]
        sampled = 0 if result.sites is None else result.sites.found
        note = f"a sample: {sampled} of {counts[0]} sites"
        notes = (note, *result.notes)
        sums = [
            _checksum(run, value)
            for run, value in ((self._found, found), (self._expected, expected))
        ]
        if result.equal and (counts[0] != counts[1] or sums[0] != sums[1]):
            text = f"found {counts[0]}, expected {counts[1]}"
            notes = (*notes, f"sites outside of the sample differ: {text}")
            return dataclasses.replace(result, equal=False, notes=notes)
        return dataclasses.replace(result, notes=notes)

    def _compare_by(
        self, read: Callable[[Run, Value], Any], found: Value, expected: Value
    ) -> Comparison:
        """Compares what `read` returns of both; the result can read that again."""
        pairs = (self._found, found), (self._expected, expected)
        result = self._call(*(read(*pair) for pair in pairs))
        if result.equal:
            return result
        again = (_deferred(run, functools.partial(read, value=value)) for run, value in pairs)
        axes = self._options.get("axes")
        operands = Operands(*again, None if axes is None else tuple(map(str, axes)))
        return dataclasses.replace(result, _operands=operands)

    def _call(self, found: Any, expected: Any) -> Comparison:
        try:
            result = compare(found, expected, **self._options)
        except (ValueError, TypeError) as error:
            raise _Incomparable(str(error)) from None
        # The tensors are not kept in memory.
        return dataclasses.replace(result, _operands=None)


def _deferred(run: Run, read: Callable[[Run], Any]) -> Deferred:
    path = os.path.abspath(run.path)

    def read_again() -> Any:
        with Run(path) as opened:
            return read(opened)

    return Deferred(read_again)


def _read(run: Run, value: Value) -> Any:
    tensor = _tensor(run.array(value.tensor), run.tensors[value.tensor])
    if value.indices is None:
        return tensor
    return SparseSites(tensor, run.array(value.indices), value.spatial_shape, value.batch_size)


def _dense(value: Value) -> Value:
    return Value(value.tensor)


class _Incomparable(Exception):
    pass


def _tensor(array: np.ndarray, recorded: Recorded) -> Any:
    """Returns what `compare` takes."""
    return Tensor(array, recorded.dtype) if recorded.dtype == "bfloat16" else array


def _elements_of(
    run: Run, recorded: Recorded, array: np.ndarray, elements: np.ndarray
) -> np.ndarray:
    """Returns elements that are in the sample that the run has."""
    if recorded.count is None:
        return array.reshape(-1)[elements]
    own = _sampling.elements(run.seed, recorded.count, recorded.size)
    return array[np.searchsorted(own, elements)]


def _sites_below(limit: int, run: Run, value: Value) -> SparseSites:
    indices = run.array(value.indices or "")
    rows = np.flatnonzero(_sampling.site_hashes(run.seed, indices) < np.uint64(limit))
    features = _tensor(run.array(value.tensor)[rows], run.tensors[value.tensor])
    return SparseSites(features, indices[rows], value.spatial_shape, value.batch_size)


def _checksum(run: Run, value: Value) -> int:
    known = run.tensors[value.indices or ""].checksum
    if known is not None:
        return known
    return _sampling.checksum(_sampling.site_hashes(run.seed, run.array(value.indices or "")))


def _wrong(found: Any, expected: Any, result: Comparison) -> np.ndarray:
    """Returns the positions of the elements that are outside of the tolerance of a comparison."""
    if not result.worst:
        return np.empty(0, np.int64)
    x, y = (_widened(each) for each in (found, expected))
    with np.errstate(invalid="ignore", over="ignore"):
        right = np.abs(x - y) <= result.atol + result.rtol * np.abs(y)
    return np.flatnonzero(~(right | (x == y) | (np.isnan(x) & np.isnan(y))))


def _widened(tensor: Any) -> np.ndarray:
    if isinstance(tensor, Tensor):
        return (tensor.array.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
    return tensor if tensor.dtype.kind == "c" else tensor.astype(np.float64)


def _common_indices(elements: np.ndarray, shape: tuple[int, ...]) -> str:
    """Returns which indices all of these elements have in common, as a pattern."""
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


def _unravel(index: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(each) for each in np.unravel_index(index, shape))
