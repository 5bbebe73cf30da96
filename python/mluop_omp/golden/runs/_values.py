"""Comparison of the tensors of two runs."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import operator
import os
from collections.abc import Iterator
from typing import Any, Callable

import numpy as np

from mluop_omp.golden._text import counted, listed
from mluop_omp.golden.comparison import Comparison, SparseSites
from mluop_omp.golden.comparison._boxes import Matching
from mluop_omp.golden.comparison._criteria import Options
from mluop_omp.golden.comparison._data import Operands
from mluop_omp.golden.comparison._errors import Measure
from mluop_omp.golden.comparison._nested import compare_values
from mluop_omp.golden.comparison._sites import with_columns
from mluop_omp.golden.comparison._values import Deferred, Tensor, convert
from mluop_omp.golden.runs import _sample_patterns, _sampling
from mluop_omp.golden.runs._orders import Order
from mluop_omp.golden.runs._rows import Rows
from mluop_omp.golden.runs._run import Run, Value

_Runs = tuple[Run, Run]
# Orders of rows in which one pair of tensors is compared.
_MAX_ORDERS = 16
# Elements that samples of rows in another order must have in common.
_MIN_COMMON = 64
# Reads a tensor of found (0) or of expected (1).
_Read = Callable[[Run, Value, int], Any]


def require_equal_seeds(found: Run, expected: Run) -> None:
    samples = any(each.is_sample for run in (found, expected) for each in run.tensors.values())
    if samples and found.seed != expected.seed:
        raise ValueError(
            f"samples have different seeds: {found.seed} in {found.path}, {expected.seed} in "
            f"{expected.path}; record both runs with one seed"
        )


def compare_recorded(
    runs: _Runs, options: Options, rows: Rows, found: Value, expected: Value
) -> Comparison:
    """Compares a value of each run; if they cannot be compared, the error states why.

    rows: the orders of rows of the two runs, the same object in all calls for them.
    """
    pair = found, expected
    tensors = [run.tensors[value.tensor] for run, value in zip(runs, pair)]
    is_sparse = [value.indices is not None for value in pair]
    if not all(each.has_values for each in tensors):
        return _incomparable("a tensor was recorded without its elements")
    if not any(each.is_sample for each in tensors):
        return _compare_whole(runs, options, rows, found, expected)
    if all(is_sparse):
        if options.columns:
            return _incomparable(
                "samples of sites cannot be compared with columns in another order"
            )
        return _compare_sites(runs, options, found, expected)
    if any(is_sparse):
        return _incomparable("one is sparse, the other dense, and only a sample is recorded")
    result = _compare_elements(runs, options, found, expected)
    results = [result]
    for order in itertools.islice(rows.orders(found, expected), _MAX_ORDERS * (not result.equal)):
        for axis in order.axes(tensors[0].shape, tensors[1].shape):
            moved = _compare_elements(runs, options, found, expected, order, axis)
            if moved.equal and rows.is_pinned(order, found, expected):
                continue
            if moved.equal:
                rows.use(order)
                return moved
            results.append(moved)
    return min(results, key=_share_wrong)


def _compare_whole(
    runs: _Runs, options: Options, rows: Rows, found: Value, expected: Value
) -> Comparison:
    """Compares tensors in place, or else in an order of their rows that other tensors state."""
    e, b = (Value(value.tensor) if value.inferred else value for value in (found, expected))
    result = _compare(runs, options, e, b)
    if e.indices is not None or b.indices is not None:
        return result
    if result.equal:
        return _consistent(runs, options, rows, e, b, result)
    of_detection = rows.boxes(e, b)
    if of_detection is not None and not of_detection[1].is_close:
        return dataclasses.replace(result, other_boxes=of_detection[1].others)
    results = [(_wrong(result), result)]
    boxes = _compare_boxes(runs, options, rows, e, b)
    if boxes is not None:
        order, matched = boxes
        if not matched.equal:
            results.insert(0, (_wrong(matched) + order.missing, matched))
        elif not rows.is_pinned(order, e, b):
            rows.use(order)
            return matched
    if found.inferred and expected.inferred and not result.error:
        # Rows may be in the order of their sites, and wrong ones are reported with them.
        at_sites = _compare(runs, options, found, expected)
        if at_sites.equal:
            return at_sites
        results.insert(0, (_wrong(at_sites), at_sites))
    for order in itertools.islice(rows.orders(e, b), _MAX_ORDERS):
        for other in _in_order(runs, options, rows, e, b, order):
            if other.equal and rows.is_pinned(order, e, b):
                note = (
                    f"equal as a set of rows, joined by {order.source}; in another order than the "
                    "input of the call"
                )
                return dataclasses.replace(result, notes=(*result.notes, note))
            if other.equal:
                rows.use(order)
                return other
            results.append((_wrong(other) + order.missing, other))
    for other in _compare_indices(runs, options, rows, e, b):
        if other.equal:
            return other
        results.append((_wrong(other), other))
    return min(results, key=operator.itemgetter(0))[1]


def _consistent(
    runs: _Runs, options: Options, rows: Rows, found: Value, expected: Value, result: Comparison
) -> Comparison:
    """Returns the result of tensors that agree in place, unless coordinates beside them do not."""
    for order in rows.beside(found, expected):
        if order.is_identity:
            continue
        for other in _in_order(runs, options, rows, found, expected, order):
            if other.equal:
                return result
            note = f"rows agree in place, but {order.source} are in another order"
            return dataclasses.replace(other, notes=(note, *other.notes))
    matched = _compare_boxes(runs, options, rows, found, expected)
    if matched is not None and not matched[1].equal and not matched[0].is_identity:
        note = "rows agree in place, but the boxes are in another order"
        return dataclasses.replace(matched[1], notes=(note, *matched[1].notes))
    return result


def _compare_boxes(
    runs: _Runs, options: Options, rows: Rows, found: Value, expected: Value
) -> tuple[Order, Comparison] | None:
    """Compares tensors of detections at the boxes that match; None if few boxes do."""
    matched = rows.boxes(found, expected)
    if matched is None or not matched[1].is_close:
        return None
    order, matching, is_boxes = matched
    read = functools.partial(_read_matched, matching, is_boxes)
    result = _compare_read(runs, options, found, expected, read)
    return order, matching.judged(result, is_boxes)


def _read_matched(matching: Matching, is_boxes: bool, run: Run, value: Value, side: int) -> Any:
    tensor = Tensor(run.array(value.tensor), run.tensors[value.tensor].dtype)
    return matching.taken(tensor, side, is_boxes)


def _share_wrong(result: Comparison) -> float:
    return _wrong(result) / max(result.figures.get("elements", 1), 1)


def _wrong(result: Comparison) -> float:
    return math.inf if result.error else float(result.figures["wrong"])


def _in_order(
    runs: _Runs, options: Options, rows: Rows, found: Value, expected: Value, order: Order
) -> Iterator[Comparison]:
    """Compares dense tensors with their rows joined by an order, in each way that it fits."""
    shapes = [run.tensors[value.tensor].shape for run, value in zip(runs, (found, expected))]
    options = dataclasses.replace(options, columns=())
    for axis in order.axes(shapes[0], shapes[1]):
        read = functools.partial(_read_in_order, order, axis)
        result = _compare_read(runs, options, found, expected, read)
        notes = [f"rows are joined by {order.source}"]
        if not order.is_complete and order.sites is None:
            notes.insert(0, f"{counted(order.missing, 'row')} in one run only")
        is_equal = result.equal and (order.is_complete or order.sites is not None)
        yield dataclasses.replace(result, equal=is_equal, notes=(*notes, *result.notes))


def _read_in_order(order: Order, axis: int, run: Run, value: Value, side: int) -> Any:
    array, dtype = run.array(value.tensor), run.tensors[value.tensor].dtype
    if order.sites is None:
        return _tensor(order.taken(array, side, axis), dtype)
    sites = run.array(order.sites[side])
    if side == 0 and order.columns is not None:
        is_sites = value.tensor == order.sites[side]
        sites = sites[:, order.columns]
        array = sites if is_sites else array
    return SparseSites(_tensor(array, dtype), sites)


def _compare_indices(
    runs: _Runs, options: Options, rows: Rows, found: Value, expected: Value
) -> Iterator[Comparison]:
    """Compares integers as indices of rows that are in another order."""
    tensors = [run.tensors[value.tensor] for run, value in zip(runs, (found, expected))]
    if not all("int" in each.dtype for each in tensors) or tensors[0].shape != tensors[1].shape:
        return
    shape = tensors[0].shape
    arrays = [run.array(value.tensor) for run, value in zip(runs, (found, expected))]
    own = itertools.islice(rows.orders(found, expected), _MAX_ORDERS)
    places = [(None, 0), *((order, axis) for order in own for axis in order.axes(shape, shape))]
    for order in rows.of_indices():
        indices = order.mapped(arrays[0])
        if indices is None:
            continue
        for place, axis in places:
            pair = [indices, arrays[1].astype(np.int64)]
            if place is not None:
                if not place.is_complete or rows.is_pinned(place, found, expected):
                    continue
                pair = [place.taken(array, side, axis) for side, array in enumerate(pair)]
            result = _compare_tensors(options, pair[0], pair[1])
            if result.equal:
                rows.use(order)
            note = f"values are rows, joined by {order.source}"
            yield dataclasses.replace(result, notes=(note, *result.notes), _operands=None)
    yield from _compare_rulebooks(options, rows, arrays)


def _compare_rulebooks(
    options: Options, rows: Rows, arrays: list[np.ndarray]
) -> Iterator[Comparison]:
    """Compares index pairs [K, 2, N] or [2, K, N] of rows in another order, as sets per offset."""
    axis = next((dim for dim in (1, 0) if arrays[0].ndim == 3 and arrays[0].shape[dim] == 2), None)
    if axis is None:
        return
    e, b = (np.moveaxis(array, axis, -1).astype(np.int64) for array in arrays)
    orders = [None, *rows.of_indices()]
    for chosen in itertools.product(orders, orders):
        used = [order for order in chosen if order is not None]
        mapped = [
            e[..., k] if order is None else order.mapped(e[..., k])
            for k, order in enumerate(chosen)
        ]
        if not used or mapped[0] is None or mapped[1] is None:
            continue
        pair = [_sorted_pairs(mapped[0], mapped[1]), _sorted_pairs(b[..., 0], b[..., 1])]
        result = _compare_tensors(options, pair[0], pair[1])
        if result.equal:
            for order in dict.fromkeys(used):
                rows.use(order)
        sources = listed(dict.fromkeys(order.source for order in used))
        note = f"index pairs of rows, joined by {sources}, are compared as sets for each offset"
        yield dataclasses.replace(result, notes=(note, *result.notes), _operands=None)


def _sorted_pairs(inputs: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """Returns index pairs [K, N, 2] in ascending order within each offset."""
    offsets = np.repeat(np.arange(inputs.shape[0]), inputs.shape[1])
    order = np.lexsort((outputs.reshape(-1), inputs.reshape(-1), offsets))
    pairs = np.stack([inputs.reshape(-1)[order], outputs.reshape(-1)[order]], axis=-1)
    return pairs.reshape(*inputs.shape, 2)


def _compare_elements(
    runs: _Runs,
    options: Options,
    found: Value,
    expected: Value,
    order: Order | None = None,
    axis: int = 0,
) -> Comparison:
    """Compares the elements that the samples of two dense tensors have in common.

    order: joins the rows, which the first dimension and `axis` count.
    """
    sides = [(run, run.tensors[value.tensor]) for run, value in zip(runs, (found, expected))]
    shapes = [recorded.shape for _, recorded in sides]
    if order is None and shapes[0] != shapes[1]:
        return _incomparable(f"shapes differ: found {list(shapes[0])}, expected {list(shapes[1])}")
    # Reading first checks that each sample is as large as its count.
    arrays = [run.stored(recorded.name).reshape(-1) for run, recorded in sides]
    samples = [
        None
        if recorded.count is None
        else _sampling.elements(run.seed, recorded.count, recorded.shape)
        for run, recorded in sides
    ]
    own, other = (None if sample is None else sample[0] for sample in samples)
    if own is None:
        own = np.arange(sides[0][1].size) if order is not None or other is None else other
    elements = own if order is None else order.moved(own, shapes[0], shapes[1], axis)
    is_common = elements >= 0 if other is None else np.isin(elements, other)
    own, elements = own[is_common], elements[is_common]
    if order is not None and (len(elements) < _MIN_COMMON or not order.is_complete):
        return _incomparable("samples of rows in another order have few elements in common")
    # Where both samples have these elements.
    places = [
        each if sample is None else sample[1][np.searchsorted(sample[0], each)]
        for sample, each in zip(samples, (own, elements))
    ]
    arrays = [array[place] for array, place in zip(arrays, places)]
    dtypes = [recorded.dtype for _, recorded in sides]
    tensors = list(map(_tensor, arrays, dtypes))
    result = _compare_tensors(options, *tensors)
    if result.error:
        return result
    worst = []
    for wrong in result.worst:
        index = np.unravel_index(elements[wrong.index[0]], shapes[1])
        worst.append(dataclasses.replace(wrong, index=tuple(map(int, index))))
    errors, _ = Measure.of(result).row_errors(*map(convert, tensors))
    pattern, notes = "", list[str]()
    if errors.any() and order is None and options.has_statements:
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
    pattern = pattern or _common_indices(elements[errors > 0], shapes[1])
    joined = () if order is None else (f"rows are joined by {order.source}",)
    return dataclasses.replace(
        result,
        worst=tuple(worst),
        # The pattern and notes of the engine describe elements without their positions.
        pattern=pattern,
        notes=(f"a sample: {len(elements)} of {sides[1][1].size} elements", *joined, *notes),
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
    return _compare_read(runs, options, found, expected, functools.partial(_read, limit))


def _compare_read(
    runs: _Runs, options: Options, found: Value, expected: Value, read: _Read
) -> Comparison:
    sides = [(run, value, side) for side, (run, value) in enumerate(zip(runs, (found, expected)))]
    result = _compare_tensors(options, *(read(*each) for each in sides))
    if result._operands is None:
        return result
    # Keeps how to read the tensors, not the tensors.
    own, other = (
        Deferred(functools.partial(_read_again, read, run, os.path.abspath(run.path), value, side))
        for run, value, side in sides
    )
    operands = Operands(with_columns(own, options.columns), other, result._operands.axes)
    return dataclasses.replace(result, _operands=operands)


def _compare_tensors(options: Options, found: Any, expected: Any) -> Comparison:
    try:
        return compare_values(found, expected, options)
    except (ValueError, TypeError) as error:
        return _incomparable(str(error))


def _incomparable(reason: str) -> Comparison:
    return Comparison(False, kind="error", error=reason)


def _read_again(read: _Read, run: Run, path: str, value: Value, side: int) -> Any:
    if not run.is_closed:
        return read(run, value, side)
    with run.reopened(path) as reopened:
        return read(reopened, value, side)


def _read(limit: int | None, run: Run, value: Value, side: int) -> Any:
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
