"""Finds orders of dimensions, shapes and filter layouts that make two tensors equal."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from mluop_omp.golden.comparison import _engine
from mluop_omp.golden.comparison._criteria import Options
from mluop_omp.golden.comparison._errors import Measure
from mluop_omp.golden.comparison._values import Tensor
from mluop_omp.golden.filters import matching_layouts

# Largest tensors that are rearranged and compared again, and largest filters, in elements.
_MAX_ELEMENTS = 1 << 26
_MAX_FILTERS = 1 << 23
# Elements that are compared first.
_FIRST = 4096
_OTHER = {"found": "expected", "expected": "found"}
# Orders of dimensions to try.
_MAX_ORDERS = 24


def mismatch(found: Tensor, expected: Tensor, options: Options) -> str:
    """Returns a message with both shapes and what would make them fit."""
    message = f"shapes differ: found {list(found.shape)}, expected {list(expected.shape)}"
    return "; ".join([message, *_rearranged(found, expected, options)])


def _rearranged(found: Tensor, expected: Tensor, options: Options) -> list[str]:
    if found.array.size != expected.array.size:
        return []
    tolerance = options.tolerance(found, expected)
    atol = _engine.difference(expected, expected, tolerance, pattern=False).figures["atol"]
    filters = layouts(found, expected, tolerance.rtol, atol)
    if _squeezed(found) == _squeezed(expected):
        outcome = _outcome(found.array.reshape(expected.shape), found, expected, options)
        return [f"without the dimensions of extent 1, {outcome}", *filters]
    outcomes = {
        f"with found.transpose{order}": _outcome(
            found.array.transpose(order), found, expected, options
        )
        for order in _orders(found.shape, expected.shape)
    }
    # The elements in the order of memory, for tensors saved without their strides.
    text = f"both have {found.array.size} elements; reshaped"
    outcomes[text] = _outcome(found.array.reshape(expected.shape), found, expected, options)
    if _EQUAL not in outcomes.values():
        measure = Measure(tolerance.rtol, atol)
        outcomes.update(dict.fromkeys(_reordered(found, expected, measure), _EQUAL))
    # One that makes both equal, else the first.
    text = min(outcomes, key=lambda each: outcomes[each] != _EQUAL)
    return [f"{text}, {outcomes[text]}", *filters]


def _reordered(found: Tensor, expected: Tensor, measure: Measure) -> Iterator[str]:
    """Yields permutations of one tensor whose elements, in memory order, equal the other tensor."""
    if found.array.size > _MAX_ELEMENTS:
        return
    pairs = (("found", found, expected), ("expected", expected, found))
    for name, permuted, other in pairs:
        rank = len(permuted.shape)
        if rank > 8:
            continue
        for order in itertools.islice(itertools.permutations(range(rank)), 1, _MAX_ORDERS):
            view = permuted.array.transpose(order)
            # The first elements refute nearly all.
            for count in (_FIRST, view.size):
                sides = (view.flat[:count], other.array.reshape(-1)[:count])
                e, b = sides if name == "found" else sides[::-1]
                if not measure.right(found.with_array(e), expected.with_array(b)).all():
                    break
            else:
                yield f"with {name}.transpose{order} in memory and the shape of {_OTHER[name]}"


_EQUAL = "both are equal"


def _outcome(array: np.ndarray, found: Tensor, expected: Tensor, options: Options) -> str:
    """Compares found, rearranged to the shape of expected, unless it is large."""
    if array.size > _MAX_ELEMENTS:
        return "the shapes are equal"
    wrong = _engine.count_wrong(found.with_array(array), expected, options)
    return f"{wrong} of {array.size} elements differ" if wrong else _EQUAL


def _squeezed(tensor: Tensor) -> tuple[int, ...]:
    return tuple(extent for extent in tensor.shape if extent != 1)


def _orders(found: tuple[int, ...], expected: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yields permutations of the dimensions of found that give the shape of expected."""
    if len(found) > 8 or sorted(found) != sorted(expected):
        return iter(())
    orders = (
        order
        for order in itertools.permutations(range(len(found)))
        if tuple(found[dim] for dim in order) == expected
    )
    return itertools.islice(orders, _MAX_ORDERS)


def layouts(found: Tensor, expected: Tensor, rtol: float, atol: float) -> list[str]:
    """Returns a note on filter layouts that make both equal, if both can be filters."""
    ranks = len(found.shape), len(expected.shape)
    if (
        not all(2 <= rank <= 6 for rank in ranks)
        or max(ranks) == 2
        or found.is_integer()
        or expected.is_integer()
        or found.array.size != expected.array.size
        or not 0 < found.array.size <= _MAX_FILTERS
    ):
        return []
    matches = matching_layouts(found.numbers(), expected.numbers(), rtol, atol)
    match = next((each for each in matches if each.source != each.target or each.reversed), None)
    return [] if match is None else [f"as filters, {match}"]
