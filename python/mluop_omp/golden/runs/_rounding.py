"""What rounding explains: errors of tensors, relative to the precision of their element types."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from mluop_omp.golden.comparison import Comparison
from mluop_omp.golden.comparison._values import Sparse, Tensor, convert
from mluop_omp.golden.runs._run import Recorded, Run

# Relative distances of neighboring numbers. A call of a module rounds a few results to a short
# type; in a long one it may add thousands of terms in another order.
_SHORT = {
    **{"float16": 2.0**-10, "bfloat16": 2.0**-7},
    **dict.fromkeys(("float8_e4m3fn", "float8_e4m3fnuz"), 2.0**-3),
    **dict.fromkeys(("float8_e5m2", "float8_e5m2fnuz"), 2.0**-2),
}
_LONG = {"float64": 2.0**-52, "complex128": 2.0**-52}
_SHORT_ROUNDINGS, _LONG_ROUNDINGS = 1.5, 64
# The share of integers that may differ: indices of numbers that are almost equal. Rounding to a
# short type makes more numbers equal.
_INTEGERS, _SHORT_INTEGERS = 0.01, 0.05
# Errors of a slice and of an element that count as much as an error of the whole tensor.
_SLICE, _ELEMENT = 3, 16
# The limits of slices and of factors, as multiples of the limit of a whole tensor.
_SLICE_LIMIT, _FACTOR_LIMIT = 2, 0.5
# The share of boxes that may be others: which ones a detector keeps is a choice between scores and
# overlaps that are almost equal. In a short type, many are.
_OTHER_BOXES = 0.5
# Slices with fewer elements, and distances of subnormal numbers.
_MIN_SLICE = 8
_SUBNORMAL = {"float16": 2.0**-24, "float32": 2.0**-149, "bfloat16": 2.0**-133}


@functools.cache
def limit_of(*dtypes: str) -> float:
    """Returns the largest error that rounding explains, in the coarsest of the element types."""
    return max(map(_limit, dtypes))


def _limit(dtype: str) -> float:
    if "float" not in dtype and "complex" not in dtype:
        return _INTEGERS
    if dtype in _SHORT:
        return _SHORT_ROUNDINGS * _SHORT[dtype]
    return _LONG_ROUNDINGS * _LONG.get(dtype, 2.0**-23)


def short_type(*dtypes: str) -> str:
    """Returns the coarsest element type if it is a short one, else ""."""
    return max((each for each in dtypes if each in _SHORT), key=_limit, default="")


class Level(NamedTuple):
    """How large the errors of a tensor are.

    Attributes:
        whole: the root mean square of the differences over the root mean square of the expected
            numbers, or 1/16 of the error of the element that differs most.
        slice: the same of the slice that differs most, such as a channel, over the root mean square
            of the whole tensor if that is larger; 0 unless an element type is a short one.
        factor: the distance from 1 of the factor between both tensors; 0 as above.
    """

    whole: float = 0.0
    slice: float = 0.0
    factor: float = 0.0

    def joined(self, other: Level) -> Level:
        return Level(*map(max, self, other))

    def exceeds(self, limit: float, known: Level, growth: Level) -> bool:
        """Returns whether neither rounding nor growth of known errors explains these errors."""
        limits = Level(limit, _SLICE_LIMIT * limit, _FACTOR_LIMIT * limit)
        return any(own > max(low, k * of) for own, low, k, of in zip(self, limits, growth, known))


# Rounding errors that have grown beyond this could be anything.
LARGE = 0.1
# A module may multiply the errors of its inputs by these numbers. Measured: at most 1.1, 2 and 1.5
# in image classifiers of random weights, in float16 and bfloat16.
GROWTH = Level(2, 3, 3)
NO_GROWTH = Level(1, 1, 1)


def outputs_of(run: Run) -> Iterator[Recorded]:
    """Yields the tensors that modules have computed."""
    for call in run.calls:
        yield from (run.tensors[value.tensor] for value in call.outputs.values())


@dataclasses.dataclass(frozen=True)
class Error:
    """The error of a tensor.

    Attributes:
        value: the root mean square of the differences over the root mean square of the expected
            numbers: of the whole tensor, or a third of it for the slice that differs most, such as
            a channel, or 1/16 of the error of the element that differs most. For integers, the
            share that differs. NaN if nothing could be compared.
        limit: the largest value that rounding explains.
        where: the slice, such as "index 3 of dim 1", or why the value is infinite.
        comparison: element by element, of some tensors beyond the limit.
        slice, factor: see `Level`.
        by_chance: the largest factor that errors without one have.
        is_choice: whether the value is the share of boxes that are others.
    """

    value: float
    limit: float
    where: str = ""
    comparison: Comparison | None = None
    slice: float = 0.0
    factor: float = 0.0
    by_chance: float = 0.0
    is_choice: bool = False

    @property
    def level(self) -> Level:
        """How large errors are that this one explains: what is computed of other boxes is other."""
        return Level(math.inf if self.is_choice else self.value, self.slice, self.factor)

    def exceeds(self, known: Level, growth: Level) -> bool:
        """Returns whether neither rounding nor growth of known errors explains this error."""
        level = Level(self.value, self.slice, max(self.factor - self.by_chance, 0.0))
        # Integers and choices differ only after rounding: equal inputs give equal ones.
        is_exact = self.is_choice or self.limit in (_INTEGERS, _SHORT_INTEGERS)
        return level.exceeds(0.0 if is_exact and known.whole == 0 else self.limit, known, growth)

    @classmethod
    def without_numbers(cls, value: float, where: str, *dtypes: str) -> Error:
        return cls(value, limit_of(*dtypes), where)

    @classmethod
    def of_verdict(cls, comparison: Comparison) -> Error:
        """Returns 0 or infinity, as the criteria of a comparison say."""
        limit = limit_of(*comparison.dtypes) if comparison.dtypes else _INTEGERS
        return cls(0.0 if comparison else math.inf, limit, comparison.error, comparison)

    @property
    def ratio(self) -> float:
        """The value as a multiple of what rounding explains; 0 if nothing could be compared."""
        return 0.0 if math.isnan(self.value) else self.value / self.limit

    def to_dict(self) -> dict[str, Any]:
        """Returns the attributes in a form that json.dumps accepts."""
        value = self.value if math.isfinite(self.value) else str(self.value)
        return {"value": value, "limit": self.limit, "where": self.where}

    def __str__(self) -> str:
        if self.is_choice:
            return self.where
        text = "not compared" if math.isnan(self.value) else f"{self.value:.2g}"
        return f"{text}, {self.where}" if self.where else text


def error_of(found: np.ndarray, expected: np.ndarray, *dtypes: str) -> Error:
    """Compares two arrays of one shape. dtypes: the element types; the widest limit counts."""
    limit = limit_of(*dtypes)
    if expected.size == 0:
        return Error(0.0, limit)
    if expected.dtype.kind not in "fc":
        return Error(float(np.mean(found != expected)), limit)
    found, expected = (each.astype(np.result_type(each, np.float64)) for each in (found, expected))
    is_finite = np.isfinite(found) & np.isfinite(expected)
    is_like = is_finite | (found == expected) | ((found != found) & (expected != expected))
    if not is_like.all():
        return Error(math.inf, limit, "NaN or infinity in one of both")
    distances, magnitudes = (
        np.abs(np.where(is_finite, each, 0)) for each in (found - expected, expected)
    )
    if distances.max(initial=0.0) <= max(_SUBNORMAL.get(each, 0.0) for each in dtypes):
        return Error(0.0, limit)
    errors, squares = distances**2, magnitudes**2
    largest, where = _relative(errors.mean(), squares.mean()), ""
    for dim, extent in enumerate(expected.shape):
        if extent < 2 or expected.size < _MIN_SLICE * extent:
            continue
        others = tuple(each for each in range(expected.ndim) if each != dim)
        # The error of a slice of small numbers is relative to a tenth of the whole.
        means = np.maximum(squares.mean(others), squares.mean() / 100)
        slices = errors.mean(others) / np.where(means > 0, means, 1)
        index = int(slices.argmax())
        if math.sqrt(slices[index]) / _SLICE > largest:
            largest, where = math.sqrt(slices[index]) / _SLICE, f"index {index} of dim {dim}"
    scale = np.maximum(magnitudes, math.sqrt(squares.mean()))
    elements = np.divide(distances, scale, out=np.zeros(scale.shape), where=scale > 0)
    element = int(elements.argmax())
    if elements.flat[element] / _ELEMENT > largest:
        index = tuple(map(int, np.unravel_index(element, expected.shape)))
        largest, where = float(elements.flat[element]) / _ELEMENT, f"element {index}"
    return Error(largest, limit, where)


def _relative(error: float, square: float) -> float:
    if error == 0:
        return 0.0
    return math.sqrt(error / square) if square else math.inf


def error_in(comparison: Comparison, coarsest: str = "") -> Error:
    """Returns the error of two tensors that were compared.

    coarsest: a short element type of other tensors of the run, to which these may have been rounded
    before, or "".
    """
    limit = limit_of(*comparison.dtypes) if comparison.dtypes else _INTEGERS
    if coarsest:
        is_float = any("float" in each for each in comparison.dtypes)
        limit = max(limit, _limit(coarsest)) if is_float else _SHORT_INTEGERS
    if comparison.is_unsorted:
        return Error(math.inf, limit, "scores that do not descend", comparison)
    figures = comparison.figures
    share = comparison.other_boxes
    if share and not (comparison.equal or figures.get("special_mismatches")):
        where = f"{100 * share:.3g} % of the boxes are others"
        limit = 1.0 if coarsest else _OTHER_BOXES
        return Error(share, limit, where, comparison, is_choice=True)
    if comparison.error:
        return Error(math.inf, limit, comparison.error, comparison)
    if comparison.equal and not figures.get("differing"):
        return Error(0.0, limit, "", comparison)
    if not figures or not (comparison.equal or figures["wrong"]):
        return Error(math.inf, limit, "", comparison)
    if comparison.sites is not None and not comparison.sites.equal:
        return Error(math.inf, limit, "other sites", comparison)
    if figures["special_mismatches"]:
        return Error(math.inf, limit, "NaN or infinity in one of both", comparison)
    if not any("float" in each for each in comparison.dtypes):
        value = figures["differing"] / max(figures["elements"], 1)
        return Error(value, limit, "", comparison)
    smallest = max(_SUBNORMAL.get(each, 0.0) for each in comparison.dtypes)
    if figures["max_absolute"] <= smallest:
        return Error(0.0, limit, "", comparison)
    value, where = figures["diff2"], ""
    scale = figures["rms"]
    for wrong in comparison.worst:
        own = wrong.absolute / max(abs(wrong.expected), scale) / _ELEMENT if scale else math.inf
        if own > value:
            value, where = own, f"element {wrong.index}"
    if math.isnan(value):
        value = math.inf
    if not (coarsest or short_type(*comparison.dtypes)):
        return Error(value, limit, where, comparison)
    factor = abs(figures["factor"] - 1)
    # Four standard errors of the factor, if the errors of channels are independent.
    by_chance = 4 * figures["diff2"] / math.sqrt(max(comparison.shape, default=1))
    return Error(value, limit, where, comparison, _largest_slice(comparison), factor, by_chance)


def _rows_of(value: Tensor | Sparse) -> np.ndarray:
    """Returns the numbers of a tensor, of a sparse one in the order of its sites."""
    if isinstance(value, Tensor):
        return value.numbers()
    numbers: np.ndarray = value.features.numbers()[np.lexsort(value.indices.T[::-1])]
    return numbers


def _largest_slice(comparison: Comparison) -> float:
    """Returns the error of the slice that differs most; see `Level`."""
    operands = comparison._operands
    if operands is None or comparison.kind not in ("dense", "sparse"):
        return 0.0
    found, expected = (_rows_of(convert(each)) for each in (operands.found, operands.expected))
    largest, squares = 0.0, np.nan_to_num(expected, posinf=0, neginf=0) ** 2
    errors = np.nan_to_num(found - expected, posinf=0, neginf=0) ** 2
    whole = squares.mean()
    for dim, extent in enumerate(expected.shape):
        if extent < 2 or expected.size < _MIN_SLICE * extent:
            continue
        others = tuple(each for each in range(expected.ndim) if each != dim)
        scale = np.maximum(squares.mean(others), whole)
        if whole > 0:
            largest = max(largest, math.sqrt((errors.mean(others) / scale).max()))
    return largest
