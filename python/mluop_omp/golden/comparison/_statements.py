"""Which statements about wrong elements hold against rounding errors, and which hold despite them.

A statement explains errors if it leaves at most `LEFT` of them. The library states patterns that
all wrong elements have; near the tolerance, a few wrong elements have one by chance: `supported`
drops these. Where rounding errors above the tolerance hide a pattern from the library,
`under_noise` finds what leaves rounding errors only.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, Callable

import numpy as np

from mluop_omp.golden._numbers import root_mean_square
from mluop_omp.golden._text import listed
from mluop_omp.golden.comparison._data import Outcome
from mluop_omp.golden.comparison._errors import Measure, blocks
from mluop_omp.golden.comparison._patterns import least_squares_line
from mluop_omp.golden.comparison._values import Tensor
from mluop_omp.golden.filters import matching_layouts

# What is left of errors that a statement explains, at most.
LEFT = 0.25
# Largest tensors, and most indices of a dimension, that are rearranged to explain errors.
_MAX_ELEMENTS, _MAX_INDICES = 1 << 24, 512
# Most elements that refute a rearrangement first.
_SAMPLE = 4096
_MAX_RANK, _MAX_FILTERS = 5, 1 << 20
# Fewer elements at an index may have large errors by chance; most indices whose errors stand out.
_MIN_ELEMENTS, _MAX_OUTSTANDING = 16, 8
# The least relative error of rearranged values: more than a few roundings to bfloat16.
LEAST_MOVED = 2.0**-5
# Most wrong elements that are a few.
_FEW = 16
# The share of errors that a factor other than an exact one may leave.
_LEFT_BY_FACTOR = 0.05
# A factor differs from 1, and an offset from 0, by more than this number of standard errors.
_STANDARD_ERRORS = 4

_Moved = Iterator[tuple[str, np.ndarray, np.ndarray]]


@dataclasses.dataclass
class _Sums:
    """Sums over elements: of squared errors and of squared expected values, and wrong elements."""

    errors: np.ndarray
    squares: np.ndarray
    wrong: np.ndarray

    def relative(self, at: np.ndarray) -> float:
        """Returns the relative error of the indices."""
        return _relative(float(self.errors[at].sum()), float(self.squares[at].sum()))


@dataclasses.dataclass(frozen=True)
class _OfWrong:
    """Norms over wrong elements: of errors, and of what a factor leaves of them.

    excess: the root mean square of errors in multiples of the tolerance. factor: the factor of
    expected that leaves least.
    """

    error: float
    left: float
    excess: float
    factor: float


class Errors:
    """The errors of two dense tensors of one shape, computed when they are asked for.

    axes: the names of dimensions, if they are known.
    """

    def __init__(
        self,
        found: Tensor,
        expected: Tensor,
        comparison: Outcome,
        axes: Sequence[str] | None = None,
    ) -> None:
        self.found, self.expected, self.comparison = found, expected, comparison
        self._axes = axes if axes is not None and len(axes) == len(found.shape) else None

    def name_of(self, dim: int) -> str:
        return f"dim {dim}" if self._axes is None else f"{self._axes[dim]} (dim {dim})"

    @functools.cached_property
    def along(self) -> list[_Sums]:
        """The sums at each index of each dimension."""
        extents = self.found.shape
        sums = [_Sums(np.zeros(n), np.zeros(n), np.zeros(n, np.int64)) for n in extents]
        for block, e, b, tolerance in self._blocks():
            parts = _squared_errors(e, b), _squares(b), _excess(e, b, tolerance) > 1
            for dim, each in enumerate(sums):
                others = tuple(d for d in range(len(extents)) if d != dim)
                for total, part in zip((each.errors, each.squares, each.wrong), parts):
                    total[block[dim]] += part.sum(axis=others)
        return sums

    def of_wrong(self, factor: float = 1) -> _OfWrong:
        """factor: of expected, to leave less of the errors."""
        error = left = excess = products = squares = 0.0
        count = 0
        for _, e, b, tolerance in self._blocks():
            ratio = _excess(e, b, tolerance)
            wrong = ratio > 1
            e, b, ratio = e[wrong], b[wrong], ratio[wrong]
            count += len(e)
            error += _squared_errors(e, b).sum()
            left += _squared_errors(e, factor * b).sum()
            excess += (ratio**2).sum()
            products, squares = products + (e * b).sum(), squares + (b * b).sum()
        factor = products / squares if squares else 1.0
        return _OfWrong(
            math.sqrt(error), math.sqrt(left), math.sqrt(excess / max(count, 1)), factor
        )

    def split(self, box: tuple[slice, ...]) -> tuple[float, float]:
        """Returns the relative errors within a box and outside of it."""
        inner = Errors(self.found[box], self.expected[box], self.comparison).along[0]
        whole = self.along[0]
        outer = (
            max(float(getattr(whole, name).sum() - getattr(inner, name).sum()), 0.0)
            for name in ("errors", "squares")
        )
        inside = _relative(float(inner.errors.sum()), float(inner.squares.sum()))
        return inside, _relative(*outer)

    def _blocks(self) -> Iterator[tuple[tuple[slice, ...], np.ndarray, np.ndarray, np.ndarray]]:
        measure = Measure.of(self.comparison)
        for block in blocks(self.found.shape):
            e, b = (floats(each[block]) for each in (self.found, self.expected))
            yield block, e, b, measure.atol + measure.rtol * np.abs(b)


def _relative(errors: float, squares: float) -> float:
    return math.sqrt(errors / squares) if squares else math.inf if errors else 0.0


def floats(tensor: Tensor) -> np.ndarray:
    """Returns the elements as float64."""
    return np.asarray(tensor.numbers(), np.float64)


def _squared_errors(e: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.where((e == b) | (np.isnan(e) & np.isnan(b)), 0.0, (e - b) ** 2)


def _squares(b: np.ndarray) -> np.ndarray:
    finite: np.ndarray = np.where(np.isfinite(b), b, 0.0)
    return finite * finite


def _excess(e: np.ndarray, b: np.ndarray, tolerance: np.ndarray) -> np.ndarray:
    return np.nan_to_num(np.abs(e - b) / tolerance, nan=0.0, posinf=math.inf)


def _can_be_rounding(errors: Errors) -> bool:
    """Whether wrong elements may be rounding errors: finite numbers outside a tolerance."""
    comparison = errors.comparison
    return (
        not errors.found.is_integer()
        and not errors.expected.is_integer()
        and len(errors.found.shape) > 0
        and not Measure.of(comparison).bits
        and comparison.atol > 0
        and comparison.figures["wrong"] > 0
        and comparison.figures["special_mismatches"] == 0
        and math.isfinite(comparison.figures["rms"])
    )


def _are_flags(errors: Errors) -> bool:
    """Whether both hold two consecutive integers only: all that differ are off by 1."""
    arrays = errors.found.array, errors.expected.array
    low, high = min(int(each.min()) for each in arrays), max(int(each.max()) for each in arrays)
    return high - low <= 1


def supported(errors: Errors) -> str:
    """Returns the parts of the pattern that explain the errors."""
    pattern = errors.comparison.pattern
    if pattern.endswith("; each is off by 1") and _are_flags(errors):
        return pattern.rpartition("; ")[0]
    if not _can_be_rounding(errors):
        return pattern
    with np.errstate(all="ignore"):
        if re.match(r"transposed: |(all )?\d+ .*are (permuted: |reversed$|rotated by )", pattern):
            # The library has verified that the order leaves at most the tolerance.
            return pattern if errors.of_wrong().excess * LEFT >= 1 else _scattered(errors)
        place, _, trait = pattern.partition("; ")
        if not _is_concentrated(errors, place):
            place = _scattered(errors)
        trait = _trait(errors, trait) if trait else _about(errors, place)
        return f"{place}; {trait}" if trait else place


def _scattered(errors: Errors) -> str:
    """Returns what the library states about wrong elements in no pattern."""
    wrong, elements = (errors.comparison.figures[name] for name in ("wrong", "elements"))
    if wrong <= _FEW:
        return "one element" if wrong == 1 else f"a few elements: {wrong}"
    return f"scattered: {100 * wrong / elements:.2g} % of all elements, in no pattern"


def _trait(errors: Errors, trait: str) -> str:
    """Returns what wrong elements have in common, "" if rounding can cause it."""
    scaled = re.fullmatch(r"each is (\S+) times what is expected", trait)
    if scaled:
        of_wrong = errors.of_wrong(float(scaled[1]))
        is_few = errors.comparison.figures["wrong"] <= _FEW and of_wrong.excess * LEFT < 1
        if is_few or of_wrong.left > LEFT * of_wrong.error:
            return ""
        # The library states the ratio of one element, which is rounded to the type of found.
        is_short = errors.found.dtype in ("float16", "bfloat16")
        return f"each is about {of_wrong.factor:.4g} times what is expected" if is_short else trait
    # Rounding makes a small number 0, too.
    is_real = trait != "each is 0" or errors.of_wrong().excess * LEFT >= 1
    return trait if is_real else ""


def _about(errors: Errors, place: str) -> str:
    """Returns the factor of the wrong elements in a place, "" if it leaves much of their errors."""
    if errors.comparison.figures["wrong"] <= _FEW or place.startswith(("everything", "scattered")):
        return ""
    factor = errors.of_wrong().factor
    of_wrong = errors.of_wrong(factor)
    # A sum explains most of the errors of a factor, and the other way round.
    if of_wrong.left > _LEFT_BY_FACTOR * of_wrong.error:
        return ""
    return f"each is about {factor:.4g} times what is expected"


def _is_concentrated(errors: Errors, place: str) -> bool:
    """Whether errors outside a place are small against the ones within, relative to expected."""
    shape = errors.found.shape
    box = re.match(r"a tile: \[([\d:, ]+)\]", place)
    dims = [int(dim) for dim in re.findall(r"\(dim (\d+)\)", place)]
    if len(shape) > 8:
        # The library merges dimensions.
        return True
    if box:
        # A dimension of extent 1 is stated as its index.
        ranges = (each.split(":") for each in box[1].split(", "))
        inside, outside = errors.split(tuple(slice(int(r[0]), int(r[-1]) or 1) for r in ranges))
    elif place.startswith("a border: "):
        interior = (slice(1, -1) if dim in dims else slice(None) for dim in range(len(shape)))
        outside, inside = errors.split(tuple(interior))
    elif len(dims) == 1:
        sums = errors.along[dims[0]]
        is_hit = sums.wrong > 0
        inside, outside = sums.relative(is_hit), sums.relative(~is_hit)
    else:
        return True
    return outside <= LEFT * inside


def under_noise(errors: Errors, pattern: str) -> list[str]:
    """Returns what explains errors up to rounding, where the pattern does not say it.

    At most one of: another order of dimensions, of filters or of indices; a factor; indices of a
    dimension whose errors stand out; a line for each channel.
    """
    says_nothing = pattern.startswith(("everything", "scattered")) and "; " not in pattern
    if not says_nothing or not _can_be_rounding(errors):
        return []
    with np.errstate(all="ignore"):
        for find in (_factor, _rearranged, _outstanding, _lines):
            if notes := list(find(errors)):
                return notes
    return []


def _factor(errors: Errors) -> Iterator[str]:
    figures = errors.comparison.figures
    # The residual is relative to found; the ratio of magnitudes makes it relative to expected.
    cosine = figures["cosine"]
    left = figures["factor_residual"] * figures["factor"] / cosine if cosine else math.inf
    if left <= LEFT * figures["diff2"]:
        yield f"found is about {figures['factor']:.4g} * expected: {_falls(errors, left)}"


def _falls(errors: Errors, left: float) -> str:
    return f"diff2 falls from {errors.comparison.figures['diff2']:.3g} to {left:.3g}"


def _rearranged(errors: Errors) -> Iterator[str]:
    """Orders of dimensions, of filters, and of the indices of a dimension."""
    error, size = errors.comparison.figures["diff2"], errors.found.array.size
    if not 1 < size <= _MAX_ELEMENTS or error < LEAST_MOVED:
        return
    found, expected = errors.found, errors.expected
    for text, e, b in itertools.chain(
        _transposed(found, expected),
        _permuted(found, expected, errors.name_of),
        _filters(found, expected),
    ):
        left = diff2(e, b)
        if left <= LEFT * error:
            yield f"{text}: {_falls(errors, left)}"
            return


def diff2(e: np.ndarray, b: np.ndarray) -> float:
    """Returns the error relative to expected, infinity where expected is 0 and found is not."""
    return _relative(_squared_errors(e, b).sum(), _squares(b).sum())


def _transposed(found: Tensor, expected: Tensor) -> _Moved:
    """Yields orders of the dimensions of one tensor, in memory, that fit a sample of the other."""
    shape, size = expected.shape, expected.array.size
    dims = [dim for dim, extent in enumerate(shape) if extent > 1]
    if not 1 < len(dims) <= _MAX_RANK:
        return
    sample = np.linspace(0, size - 1, min(size, _SAMPLE)).astype(np.int64)
    found, expected = found.reshape((-1,)), expected.reshape((-1,))
    e, b = floats(found[sample]), floats(expected[sample])
    for chosen in itertools.islice(itertools.permutations(dims), 1, None):
        some = permuted_places(sample, shape, chosen)
        text = f"up to rounding, {{}} in the order {listed(chosen)}"
        is_forward = diff2(e, floats(expected[some])) < 2 * LEFT
        is_backward = diff2(floats(found[some]), b) < 2 * LEFT
        if is_forward or is_backward:
            places = permuted_places(np.arange(size), shape, chosen)
        if is_forward:
            moved = floats(expected[places])
            yield text.format("found has the dims of expected"), floats(found), moved
        if is_backward:
            moved = floats(found[places])
            yield text.format("expected has the dims of found"), moved, floats(expected)


def permuted_places(
    positions: np.ndarray, shape: tuple[int, ...], order: Sequence[int]
) -> np.ndarray:
    """Returns where elements of a permuted tensor, in memory, are in the tensor of `shape`.

    order: its dimensions, without ones of extent 1, in their order in the permuted tensor.
    """
    strides = [math.prod(shape[dim + 1 :]) for dim in range(len(shape))]
    places = np.zeros(len(positions), np.int64)
    for dim, index in zip(order, np.unravel_index(positions, [shape[dim] for dim in order])):
        places += index * strides[dim]
    return places


def _filters(found: Tensor, expected: Tensor) -> _Moved:
    """Yields the layout of filters that fits, with errors of a few roundings to bfloat16."""
    if 2 < len(expected.shape) <= 6 and expected.array.size <= _MAX_FILTERS:
        e, b = floats(found), floats(expected)
        for match in matching_layouts(e, b, 2.0**-6, 2.0**-6 * root_mean_square(b)):
            if match.source != match.target or match.reversed:
                yield f"as filters, up to rounding, {match}", match.convert(e), b


def _permuted(found: Tensor, expected: Tensor, name_of: Callable[[int], str]) -> _Moved:
    """Yields the order of the indices of a dimension in which each is nearest to one of found."""
    shape, size = expected.shape, expected.array.size
    for dim, extent in enumerate(shape):
        if not 1 < extent <= _MAX_INDICES or size < _MIN_ELEMENTS * extent:
            continue
        others = shape[:dim] + shape[dim + 1 :]
        width = size // extent
        columns = np.linspace(0, width - 1, min(width, _SAMPLE)).astype(np.int64)
        at: tuple[Any, ...] = (slice(None), *np.unravel_index(columns, others))
        e, b = (
            floats(Tensor(np.moveaxis(each.array, dim, 0)[at], each.dtype))
            for each in (found, expected)
        )
        nearest = _nearest(e, b)
        moved = np.flatnonzero(nearest != np.arange(extent))
        if len(moved) and diff2(e, b[nearest]) < 2 * LEFT:
            text = f"up to rounding, {len(moved)} of {extent} indices of {name_of(dim)} are "
            b_moved = floats(Tensor(expected.array.take(nearest, axis=dim), expected.dtype))
            yield text + _order(nearest, moved), floats(found), b_moved


def _nearest(e: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Returns the row of b that is nearest to each row of e, each row of b once."""
    # Squared distances, without the squares of e.
    distances = (b**2).sum(axis=1) - 2 * e @ b.T
    nearest = np.arange(len(e))
    for row, of_row in enumerate(distances):
        # Equal rows, such as channels of zeros, stay where they are.
        closest = row if of_row[row] <= of_row.min() else int(of_row.argmin())
        nearest[row] = closest
        distances[:, closest] = np.inf
    return nearest


def _order(nearest: np.ndarray, moved: np.ndarray) -> str:
    extent = len(nearest)
    if extent > 2 and (nearest == np.arange(extent)[::-1]).all():
        return "reversed"
    shift = int(-nearest[0] % extent)
    if extent > 2 and (nearest == np.roll(np.arange(extent), shift)).all():
        return f"rotated by {shift}"
    return "permuted: " + listed([f"{nearest[index]} -> {index}" for index in moved])


def _outstanding(errors: Errors) -> Iterator[str]:
    """Indices of a dimension whose errors are large against all others, absolute and relative."""
    for dim, sums in enumerate(errors.along):
        extent, size = len(sums.errors), errors.found.array.size
        if extent < 2 or size < _MIN_ELEMENTS * extent:
            continue
        absolute = np.sqrt(sums.errors)
        relative = absolute / np.sqrt(np.maximum(sums.squares, np.finfo(float).tiny))
        order = np.argsort(-relative, kind="stable")
        for count in range(1, min(_MAX_OUTSTANDING, extent // 2) + 1):
            chosen, others = np.sort(order[:count]), order[count:]
            if all(
                each[others].max() <= LEFT * each[chosen].min() for each in (absolute, relative)
            ):
                yield (
                    f"errors stand out at {count} of {extent} indices of {errors.name_of(dim)}: "
                    f"{listed(chosen.tolist())}; relative error {_range(relative[chosen])} there, "
                    f"at most {relative[others].max():.3g} elsewhere"
                    f"{_lines_at(errors, dim, chosen)}"
                )
                return


def _lines_at(errors: Errors, dim: int, chosen: np.ndarray) -> str:
    """States the lines that explain the errors of indices, "" if they are not lines."""
    fitted = _fitted(errors, dim, chosen)
    return "" if fitted is None else f"; there found is about {fitted[0]}"


def _lines(errors: Errors) -> Iterator[str]:
    """A factor and an offset of each channel, which is dimension 1 or the last one."""
    shape = errors.found.shape
    for dim in sorted({1, len(shape) - 1}) if len(shape) > 1 else ():
        channels = shape[dim]
        if 1 < channels <= _MAX_INDICES and errors.found.array.size >= _MIN_ELEMENTS * channels:
            fitted = _fitted(errors, dim, np.arange(channels))
            if fitted is not None:
                text, left = fitted
                yield f"channels (dim {dim}) of found are about {text}: {_falls(errors, left)}"
                return


def _fitted(errors: Errors, dim: int, indices: np.ndarray) -> tuple[str, float] | None:
    """Returns the line of each index as a text, and what they leave relative to all of expected.

    Returns None if they do not explain the errors.
    """
    fits, left = [], 0.0
    error = float(errors.along[dim].errors[indices].sum())
    for index in indices:
        at = (slice(None),) * dim + (index,)
        e, b = floats(errors.found[at]), floats(errors.expected[at])
        fits.append(_significant_line(e, b))
        left += _squared_errors(e, fits[-1][0] * b + fits[-1][1]).sum()
        if not left <= LEFT**2 * error:
            return None
    factors, offsets = np.array(fits).T
    text = f"a * expected + b, a {_range(factors)}, b {_range(offsets)}"
    return text, _relative(left, errors.along[dim].squares.sum())


def _significant_line(e: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """Returns the least-squares line; 1 and 0 in place of numbers that rounding may cause."""
    factor, offset = least_squares_line(e, b)
    # The standard error of the offset of a line through numbers around 0.
    noise = math.sqrt(_squared_errors(e, factor * b + offset).sum()) / len(e.reshape(-1))
    spread = float(b.std())
    if abs(factor - 1) * spread <= _STANDARD_ERRORS * noise:
        factor, offset = 1.0, float((e - b).mean())
    if abs(offset) <= _STANDARD_ERRORS * noise * math.hypot(1, float(b.mean()) / (spread or 1.0)):
        offset = 0.0
    return factor, offset


def _range(values: np.ndarray) -> str:
    return " to ".join(dict.fromkeys((f"{values.min():.3g}", f"{values.max():.3g}")))
