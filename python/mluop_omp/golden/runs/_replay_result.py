"""The result of a replay, and its text."""

from __future__ import annotations

import collections
import dataclasses
import functools
import math
from typing import Any

import numpy as np

from mluop_omp.golden._text import counted, labeled, listed, module_label, table
from mluop_omp.golden.comparison import Comparison
from mluop_omp.golden.runs._run import Call

# Relative distances of neighboring numbers. A call of a module rounds a few results to a short
# type; in a long one it may add thousands of terms in another order.
_SHORT = {
    **{"float16": 2.0**-10, "bfloat16": 2.0**-7},
    **dict.fromkeys(("float8_e4m3fn", "float8_e4m3fnuz"), 2.0**-3),
    **dict.fromkeys(("float8_e5m2", "float8_e5m2fnuz"), 2.0**-2),
}
_LONG = {"float64": 2.0**-52, "complex128": 2.0**-52}
_SHORT_ROUNDINGS, _LONG_ROUNDINGS = 1.5, 64
# The share of integers that may differ: indices of numbers that are almost equal.
_INTEGERS = 0.01
# A call far above all others of its class stands out below the limit: this share of it, this
# multiple of the next, in a class of this many.
_SHARE, _MULTIPLE, _CLASS = 0.25, 5, 5
_SHOWN = 10


@functools.cache
def _limit(dtype: str) -> float:
    if "float" not in dtype and "complex" not in dtype:
        return _INTEGERS
    if dtype in _SHORT:
        return _SHORT_ROUNDINGS * _SHORT[dtype]
    return _LONG_ROUNDINGS * _LONG.get(dtype, 2.0**-23)


@dataclasses.dataclass(frozen=True)
class Error:
    """What a call computed, against the recorded tensor.

    Attributes:
        value: the root mean square of the differences over the root mean square of the recorded
            numbers; of the whole tensor, or a third of it for the slice that differs most, such as
            a channel. For integers, the share that differs. NaN if nothing could be compared.
        limit: the largest value that rounding explains.
        where: the slice, such as "index 3 of dim 1", or why the value is infinite.
        comparison: element by element, of some tensors beyond the limit.
    """

    value: float
    limit: float
    where: str = ""
    comparison: Comparison | None = None

    @classmethod
    def without_numbers(cls, value: float, where: str, *dtypes: str) -> Error:
        return cls(value, max(map(_limit, dtypes)), where)

    @property
    def ratio(self) -> float:
        """The value as a multiple of what rounding explains; 0 if nothing could be compared."""
        return 0.0 if math.isnan(self.value) else self.value / self.limit

    def __str__(self) -> str:
        text = "not compared" if math.isnan(self.value) else f"{self.value:.2g}"
        return f"{text}, {self.where}" if self.where else text


def error_of(found: np.ndarray, expected: np.ndarray, *dtypes: str) -> Error:
    """Compares two arrays of one shape. dtypes: the element types, of which the widest limit is."""
    limit = max(map(_limit, dtypes))
    if expected.size == 0:
        return Error(0.0, limit)
    if expected.dtype.kind not in "fc":
        return Error(float(np.mean(found != expected)), limit)
    found, expected = (each.astype(np.result_type(each, np.float64)) for each in (found, expected))
    is_finite = np.isfinite(found) & np.isfinite(expected)
    is_like = is_finite | (found == expected) | ((found != found) & (expected != expected))
    if not is_like.all():
        return Error(math.inf, limit, "NaN or infinity in one of both")
    errors = np.abs(np.where(is_finite, found - expected, 0)) ** 2
    squares = np.abs(np.where(is_finite, expected, 0)) ** 2
    largest, where = _relative(errors.mean(), squares.mean()), ""
    for dim, extent in enumerate(expected.shape):
        if extent < 2 or expected.size == extent:
            continue
        others = tuple(each for each in range(expected.ndim) if each != dim)
        # The error of a slice of small numbers is relative to a tenth of the whole.
        means = np.maximum(squares.mean(others), squares.mean() / 100)
        slices = errors.mean(others) / np.where(means > 0, means, 1)
        index = int(slices.argmax())
        if math.sqrt(slices[index]) / 3 > largest:
            largest, where = math.sqrt(slices[index]) / 3, f"index {index} of dim {dim}"
    return Error(largest, limit, where)


def _relative(error: float, square: float) -> float:
    if error == 0:
        return 0.0
    return math.sqrt(error / square) if square else math.inf


@dataclasses.dataclass
class ReplayedCall:
    """A call of a module on its recorded inputs.

    Attributes:
        call: the recorded call.
        errors: by what the call computed: its outputs, such as "output", and the inputs that its
            own code passes to modules inside of it, such as "input 0 of layer.proj".
        fused_with: the module whose output is the recorded output of this one, or "".
    """

    call: Call
    errors: dict[str, Error] = dataclasses.field(default_factory=dict)
    fused_with: str = ""

    @property
    def label(self) -> str:
        label = module_label(self.call.module, self.call.kind.rpartition(".")[2])
        return f"{label}, call {self.call.number}" if self.call.number else label

    @property
    def worst(self) -> tuple[str, Error]:
        """The largest error, by its limit, and what has it."""
        nothing = ("", Error(math.nan, 1))
        return max(self.errors.items(), key=lambda each: each[1].ratio, default=nothing)

    @property
    def ratio(self) -> float:
        return self.worst[1].ratio


@dataclasses.dataclass(frozen=True)
class Replay:
    """The result of `mluop_omp.replay`. str() is a report, bool() the verdict.

    Attributes:
        calls: the calls that were compared, in the order in which they return.
        suspects: the calls whose errors rounding does not explain, the largest error first.
        state: parameters and buffers that differ, of modules that are not fused, by their names.
        missing: calls of the run that the model did not make.
        notes: further findings, one a line.
    """

    calls: tuple[ReplayedCall, ...]
    suspects: tuple[ReplayedCall, ...]
    state: dict[str, Error]
    missing: tuple[str, ...]
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls,
        calls: list[ReplayedCall],
        state: dict[str, Error],
        missing: list[str],
        notes: list[str],
    ) -> Replay:
        ratios = collections.defaultdict(list)
        for each in calls:
            ratios[each.call.kind].append(each.ratio)
        suspects = [each for each in calls if _stands_out(each.ratio, ratios[each.call.kind])]
        suspects.sort(key=lambda each: -each.ratio)
        return cls(tuple(calls), tuple(suspects), state, tuple(missing), tuple(notes))

    def __bool__(self) -> bool:
        has_errors = any(each.errors for each in self.calls)
        return has_errors and not (self.suspects or self.state or self.missing)

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def text(self, every_call: bool = False) -> str:
        """Returns the report. every_call: lists all calls, in the order in which they return."""
        lines = [self._headline()]
        others = [each for each in self.calls if each not in self.suspects]
        ranked = sorted(others, key=lambda each: -each.ratio)
        listing = self.calls if every_call else (*self.suspects[:_SHOWN], *ranked[:3])
        heads = ("times rounding", "relative error", "module", "computed")
        rows = [_row(each) for each in listing]
        lines += [f"  {line}" for line in table([heads, *rows], "><<<")]
        shown = [(each.label, *each.worst) for each in self.suspects[:_SHOWN]]
        for label, name, error in shown:
            if error.comparison is not None:
                lines += labeled(f"{name}, {label}", error.comparison)
        if any(error.comparison is not None for _, _, error in shown):
            lines.append("(found: computed by the model; expected: recorded in the run)")
        fused = [f"{e.call.module} with {e.fused_with}" for e in self.calls if e.fused_with]
        state = [f"{name} by {error.value:.2g}" for name, error in self.state.items()]
        for title, names in (
            ("fused in the run", fused),
            ("parameters and buffers that differ", state),
            ("calls of the run that the model did not make", self.missing),
        ):
            if names:
                lines.append(f"{title}: {len(names)}: {listed(names)}")
        return "\n".join([*lines, *self.notes])

    def _headline(self) -> str:
        count, number = counted(len(self.calls), "call"), len(self.suspects)
        if not any(each.errors for each in self.calls):
            return "nothing was compared"
        if not number and self.missing:
            return f"not all was compared: {count} of {len(self.calls) + len(self.missing)} agree"
        if not number:
            return f"agrees: {count}, each on its recorded inputs"
        return f"{number} of {count} {'stands' if number == 1 else 'stand'} out"

    def to_dict(self) -> dict[str, Any]:
        """Returns the attributes in a form that json.dumps accepts."""
        return {
            "agrees": bool(self),
            "calls": list(map(_to_dict, self.calls)),
            "suspects": list(map(_to_dict, self.suspects)),
            "state": {name: error.value for name, error in self.state.items()},
            "missing": list(self.missing),
            "notes": list(self.notes),
        }


def _stands_out(ratio: float, of_class: list[float]) -> bool:
    if ratio > 1:
        return True
    *_, second, largest = [0.0, *sorted(of_class)]
    is_far = ratio == largest and ratio > max(_SHARE, _MULTIPLE * second)
    return is_far and len(of_class) >= _CLASS


def _row(call: ReplayedCall) -> tuple[str, ...]:
    name, error = call.worst
    return f"{error.ratio:.2g}", str(error), call.label, name


def _to_dict(call: ReplayedCall) -> dict[str, Any]:
    errors = {
        name: {"value": each.value, "ratio": each.ratio, "where": each.where}
        for name, each in call.errors.items()
    }
    return {
        **{"module": call.call.module, "call": call.call.number, "class": call.call.kind},
        **{"errors": errors, "fused_with": call.fused_with},
    }
