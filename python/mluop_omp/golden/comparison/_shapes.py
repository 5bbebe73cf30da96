"""Finds orders of dimensions and shapes that make two tensors of different shapes equal."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from mluop_omp.golden.comparison import _engine, _patterns
from mluop_omp.golden.comparison._criteria import Options, Tolerance
from mluop_omp.golden.comparison._statements import LEFT
from mluop_omp.golden.comparison._values import Tensor

# Largest tensors that are rearranged and compared again, in elements.
_MAX_ELEMENTS = 1 << 26
# Elements that are compared first.
_FIRST = 4096
# Orders of dimensions to try.
_MAX_ORDERS, _MAX_RANK = 24, 8
_EQUAL = "both are equal"


def mismatch(found: Tensor, expected: Tensor, options: Options) -> str:
    """Returns a message with both shapes and what would make them fit."""
    message = f"shapes differ: found {list(found.shape)}, expected {list(expected.shape)}"
    if found.array.size != expected.array.size:
        return message
    tolerance = options.tolerance(found, expected)
    atol = _engine.difference(expected, expected, tolerance, pattern=False).figures["atol"]
    outcomes: dict[str, tuple[float, str]] = {}
    for text, view in _views(found, expected):
        outcomes[text] = _outcome(view, expected, options)
    is_equal = any(rank == 0 for rank, _ in outcomes.values())
    if not is_equal and _squeezed(found) != _squeezed(expected):
        reordered = _reordered(found, expected, Tolerance(tolerance.rtol, atol))
        outcomes.update((text, (0, _EQUAL)) for text in reordered)
    # The one with the smallest error.
    text = min(outcomes, key=lambda each: outcomes[each][0])
    filters = _patterns.filter_layouts(found, expected, tolerance.rtol, atol)
    return "; ".join([message, f"{text}, {outcomes[text][1]}", *filters])


def _outcome(view: Tensor, expected: Tensor, options: Options) -> tuple[float, str]:
    """Returns the error of found in the shape of expected, 0 if both are equal, and a text."""
    size = view.array.size
    if size > _MAX_ELEMENTS:
        return math.inf, "the shapes are equal"
    figures = _engine.difference(
        view, expected, options.tolerance(view, expected), pattern=False
    ).figures
    wrong, error = figures["wrong"], figures["diff2"]
    if not wrong:
        return 0, _EQUAL
    text = f"{wrong} of {size} elements differ, diff2 {error:.3g}"
    # The first one if none explains the values.
    return max(error, math.ulp(0)) if error <= LEFT else math.inf, text


def _views(found: Tensor, expected: Tensor) -> Iterator[tuple[str, Tensor]]:
    """Yields found rearranged to the shape of expected, and what was done."""
    reshaped = found.reshape(expected.shape)
    if _squeezed(found) == _squeezed(expected):
        yield "without the dimensions of extent 1", reshaped
        return
    for order in _orders(found.shape, expected.shape):
        yield f"with found.transpose{order}", Tensor(found.array.transpose(order), found.dtype)
    # The elements in the order of memory, for tensors saved without their strides.
    yield f"both have {found.array.size} elements; reshaped", reshaped


def _squeezed(tensor: Tensor) -> list[int]:
    return [extent for extent in tensor.shape if extent != 1]


def _orders(found: tuple[int, ...], expected: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Returns permutations of the dimensions of found that give the shape of expected."""
    if len(found) > _MAX_RANK or sorted(found) != sorted(expected):
        return iter(())
    orders = itertools.permutations(range(len(found)))
    fitting = (order for order in orders if tuple(found[dim] for dim in order) == expected)
    return itertools.islice(fitting, _MAX_ORDERS)


def _reordered(found: Tensor, expected: Tensor, tolerance: Tolerance) -> list[str]:
    """Returns the permutation of one tensor whose elements, in memory order, equal the other's."""
    pairs = (("found", "expected", found, expected), ("expected", "found", expected, found))
    for name, other, permuted, kept in pairs:
        rank = len(permuted.shape)
        if rank > _MAX_RANK or permuted.array.size > _MAX_ELEMENTS:
            continue
        for order in itertools.islice(itertools.permutations(range(rank)), 1, _MAX_ORDERS):
            flat = permuted.array.transpose(order).flat
            # The first elements refute nearly all.
            for count in (_FIRST, permuted.array.size):
                sides = Tensor(flat[:count], permuted.dtype), kept.reshape((-1,))[:count]
                pair = sides if name == "found" else sides[::-1]
                if _engine.difference(*pair, tolerance, pattern=False).figures["wrong"]:
                    break
            else:
                return [f"with {name}.transpose{order} in memory and the shape of {other}"]
    return []
