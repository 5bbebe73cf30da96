"""Statements about two dense tensors of which the same elements are known, a sample."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from mluop_omp.golden._text import listed
from mluop_omp.golden.comparison._data import Outcome
from mluop_omp.golden.comparison._errors import Measure
from mluop_omp.golden.comparison._statements import (
    LEAST_MOVED,
    LEFT,
    diff2,
    floats,
    permuted_places,
)
from mluop_omp.golden.comparison._values import Tensor

# Fewer pairs of elements do not prove an order of dimensions; most dimensions with orders to try.
_MIN_PAIRS, _MAX_RANK = 32, 5
# Elements whose partners are searched for.
_MAX_PROBES = 1 << 16
# How likely random elements have the indices that are stated, at most.
_MAX_CHANCE = 1e-3
# Wrong elements at an index on average, where an index is stated.
_ELEMENTS_FOR_EACH = 4


def pattern_of(
    result: Outcome,
    found: Tensor,
    expected: Tensor,
    elements: np.ndarray,
    shape: tuple[int, ...],
    axes: Sequence[str] | None,
) -> str:
    """Returns the pattern of the wrong elements of a sample.

    result: the comparison of the sample, as tensors of one dimension. elements: the positions of
    the sample in the flattened tensors, ascending.
    """
    wrong, _ = Measure.of(result).row_errors(found, expected)
    is_wrong = wrong > 0
    e, b = floats(found), floats(expected)
    with np.errstate(all="ignore"):
        place = _order(result, e, b, elements, shape) or _indices(
            e, b, is_wrong, np.unravel_index(elements, shape), shape, axes
        )
    # The places in the pattern of the library are in the sample.
    trait = result.pattern.partition("; ")[2]
    return "; ".join(filter(None, (place, trait)))


def _order(
    result: Outcome, e: np.ndarray, b: np.ndarray, elements: np.ndarray, shape: tuple[int, ...]
) -> str:
    """States the order of dimensions by which most of the error vanishes."""
    dims = [dim for dim, extent in enumerate(shape) if extent > 1]
    if not 1 < len(dims) <= _MAX_RANK or result.figures["diff2"] < LEAST_MOVED:
        return ""
    for order in itertools.islice(itertools.permutations(dims), 1, None):
        at, place = _pairs(elements, shape, order)
        if len(at) < _MIN_PAIRS:
            continue
        for text, e_pairs, b_pairs in (
            ("found has the dims of expected", e[at], b[place]),
            ("expected has the dims of found", e[place], b[at]),
        ):
            left = diff2(e_pairs, b_pairs)
            if left <= LEFT * result.figures["diff2"]:
                return (
                    f"transposed: {text} in the order {listed(order)}, diff2 of {len(at)} pairs of "
                    f"the sample is {left:.3g}"
                )
    return ""


def _pairs(
    elements: np.ndarray, shape: tuple[int, ...], order: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the pairs of elements of a sample that an order of dimensions exchanges.

    The first is in the permuted tensor, the second one in the tensor of `shape`; both are positions
    in the sample.
    """
    probes = np.arange(0, len(elements), -(-len(elements) // _MAX_PROBES))
    places = permuted_places(elements[probes], shape, order)
    at = np.minimum(np.searchsorted(elements, places), len(elements) - 1)
    is_known = elements[at] == places
    return probes[is_known], at[is_known]


def _indices(
    e: np.ndarray,
    b: np.ndarray,
    is_wrong: np.ndarray,
    places: Sequence[np.ndarray],
    shape: tuple[int, ...],
    axes: Sequence[str] | None,
) -> str:
    """States the indices of dimensions that have all wrong elements, and few of the others."""
    count = int(is_wrong.sum())
    single, several = [], []
    for dim, (index, extent) in enumerate(zip(places, shape)):
        hits = np.unique(index[is_wrong])
        if not 0 < 2 * len(hits) <= extent or count < _ELEMENTS_FOR_EACH * len(hits):
            continue
        share = len(hits) / extent
        # The first element at an index may be anywhere.
        is_by_chance = share ** (count - len(hits)) > _MAX_CHANCE
        is_inside = np.isin(index, hits)
        outside = diff2(e[~is_inside], b[~is_inside])
        if is_by_chance or outside > LEFT * diff2(e[is_inside], b[is_inside]):
            continue
        name = f"dim {dim}"
        if axes is not None and len(axes) == len(shape):
            name = f"{axes[dim]} (dim {dim})"
        if len(hits) == 1:
            single.append(f"index {hits[0]} of {name}")
        else:
            several.append((share, f"{len(hits)} of {extent} indices of {name}: {listed(hits)}"))
    parts = single or [text for _, text in sorted(several)[:1]]
    return f"all {count} wrong elements of the sample have {' and '.join(parts)}" if parts else ""


def fitting_orders(
    found: Tensor,
    expected: Tensor,
    elements: np.ndarray,
    shapes: tuple[tuple[int, ...], tuple[int, ...]],
) -> Iterator[str]:
    """Yields the transposition by which samples of tensors of different shapes fit, at most one.

    elements: the positions of both samples in the flattened tensors, ascending.
    """
    rank = len(shapes[0])
    if sorted(shapes[0]) != sorted(shapes[1]) or rank > _MAX_RANK:
        return
    e, b = floats(found), floats(expected)
    for order in itertools.permutations(range(rank)):
        if tuple(shapes[0][dim] for dim in order) != shapes[1]:
            continue
        in_expected, in_found = _pairs(elements, shapes[0], order)
        if len(in_found) < _MIN_PAIRS:
            continue
        left = diff2(e[in_found], b[in_expected])
        if left <= LEFT**2:
            yield f"with found.transpose{order}, diff2 of {len(in_found)} pairs is {left:.3g}"
            return
