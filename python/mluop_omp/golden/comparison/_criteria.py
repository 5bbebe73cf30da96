"""Tolerances by element type, and the metrics that decide whether two tensors are equal."""

from __future__ import annotations

import dataclasses
import math
import operator
import re
from collections.abc import Iterable, Mapping
from typing import Any, Callable, Union

from mluop_omp.golden.comparison._values import Tensor

Figures = dict[str, Any]
Criteria = Union[Mapping[str, Union[float, None]], Iterable[str], str, None]

MAX_WORST = 1000
# rtol, and atol as a multiple of the root mean square of expected: where that is 1, the defaults of
# torch.testing.assert_close. Other types are compared exactly.
_TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
}
# Metrics that must reach their threshold; all others must not exceed it.
_SIMILARITIES = ("cosine", "pcc")
_METRICS: dict[str, Callable[[Figures], float]] = {
    "diff1": operator.itemgetter("diff1"),
    "diff2": operator.itemgetter("diff2"),
    "diff3": lambda figures: max(figures["diff3_relative"], figures["diff3_absolute"]),
    "diff3_1": operator.itemgetter("max_relative"),
    "diff3_2": operator.itemgetter("max_absolute"),
    "diff4": lambda figures: max(figures["above"], figures["below"]) / max(figures["differing"], 1),
    **{name: operator.itemgetter(name) for name in ("max_absolute", "max_relative", "max_ulp")},
    **{name: operator.itemgetter(name) for name in _SIMILARITIES},
}
# Metrics without a threshold: the figure must be 0.
_COUNTS = {"allclose": "wrong", "bits": "differing"}
NAMES = (*_METRICS, *_COUNTS)


@dataclasses.dataclass(frozen=True)
class Judgment:
    """A criterion and its verdict.

    Attributes:
        name: the name of the metric.
        value: the value of the metric; for "allclose" and "bits", the number of failing elements.
        threshold: None for "allclose" and "bits".
        passed: also False if a NaN or an infinity is in one tensor only.
    """

    name: str
    value: float
    threshold: float | None
    passed: bool

    def __str__(self) -> str:
        if self.threshold is None:
            return f"{self.name} {'holds' if self.passed else 'fails'}"
        # A NaN or an infinity in one tensor fails a value that is within the threshold.
        relation = _relation(self.name)
        if not _is_within(self.name, self.value, self.threshold):
            relation = {"<=": ">", ">=": "<"}[relation]
        # Enough digits to tell the value from the threshold.
        texts = [f"{self.value:.{digits}g}" for digits in (4, 9, 17)]
        different = (text for text in texts if float(text) != self.threshold)
        value = texts[0] if self.value == self.threshold else next(different, texts[-1])
        return f"{self.name} {value} {relation} {self.threshold:g}"


def _relation(name: str) -> str:
    return ">=" if name in _SIMILARITIES else "<="


def _is_within(name: str, value: float, threshold: float) -> bool:
    return value <= threshold if _relation(name) == "<=" else value >= threshold


@dataclasses.dataclass(frozen=True)
class Tolerance:
    """The tolerance of two tensors.

    Attributes:
        rtol, atol: as in `compare`.
        rms_atol: a multiple of the root mean square of expected, added to atol.
    """

    rtol: float = 0
    atol: float = 0
    rms_atol: float = 0


@dataclasses.dataclass(frozen=True)
class Options:
    """The keyword arguments of `compare`, checked.

    has_statements: whether comparisons state what the wrong elements have in common.
    """

    rtol: float | None
    atol: float | None
    criteria: dict[str, float | None]
    worst: int
    axes: tuple[str, ...] | None
    columns: tuple[tuple[int, ...], ...] = ()
    has_statements: bool = True

    @classmethod
    def of(cls, rtol: Any, atol: Any, criteria: Criteria, worst: Any, axes: Any) -> Options:
        return cls(
            check_tolerance("rtol", rtol),
            check_tolerance("atol", atol),
            parse(criteria),
            check_integer("worst", worst, 0, MAX_WORST),
            None if axes is None else tuple(map(str, axes)),
        )

    def tolerance(self, found: Tensor, expected: Tensor) -> Tolerance:
        """Returns the tolerance; the default is the one of the coarser element type."""
        pairs = (_TOLERANCES.get(tensor.dtype, (0.0, 0.0)) for tensor in (found, expected))
        rtol, rms_atol = map(max, *pairs)
        if self.rtol is not None:
            rtol = self.rtol
        return Tolerance(rtol, 0, rms_atol) if self.atol is None else Tolerance(rtol, self.atol)


def _number(value: Any) -> float:
    """Returns NaN for any other object than a number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def check_integer(name: str, value: Any, low: int, high: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = low - 1
    if not low <= number <= high:
        raise ValueError(f"{name} is {value!r}, expected an integer from {low} to {high}")
    return number


def check_tolerance(name: str, value: float | None) -> float | None:
    if value is not None and not 0 <= _number(value) < math.inf:
        raise ValueError(f"{name} is {value!r}, expected a finite number, at least 0")
    return None if value is None else float(value)


def parse(criteria: Criteria) -> dict[str, float | None]:
    """Returns thresholds by name. criteria: a dict, or one or more texts such as "pcc>=0.99"."""
    if isinstance(criteria, Mapping):
        parsed = [(name, None, threshold) for name, threshold in criteria.items()]
    else:
        texts = [criteria] if isinstance(criteria, str) else criteria or ()
        parsed = [_parts(str(text)) for text in texts]
    return {name: _threshold(name, relation, threshold) for name, relation, threshold in parsed}


def _parts(text: str) -> tuple[Any, ...]:
    match = re.fullmatch(r"\s*(\w+)\s*(?:(<=|>=|=)\s*(\S+)\s*)?", text)
    if match is None:
        raise ValueError(f"criterion is {text!r}, expected a text such as 'pcc>=0.99' or 'bits'")
    return match.groups()


def _threshold(name: str, relation: str | None, threshold: Any) -> float | None:
    if name not in NAMES:
        raise ValueError(f"criterion is {name!r}, expected one of {', '.join(NAMES)}")
    if name in _COUNTS:
        if threshold is not None:
            raise ValueError(f"{name} has the threshold {threshold}, expected none")
        return None
    if relation not in (None, "=", _relation(name)):
        raise ValueError(f"{name} is compared by {relation}, expected {_relation(name)}")
    number = _number(threshold)
    if math.isnan(number):
        raise ValueError(f"the threshold of {name} is {threshold!r}, expected a number")
    return number


def judge(figures: Figures, thresholds: Mapping[str, float | None]) -> tuple[Judgment, ...]:
    """Returns the verdict of each criterion."""
    judgments = []
    for name, threshold in thresholds.items():
        if threshold is None:
            value = figures[_COUNTS[name]]
            passed = value == 0
        else:
            value = _METRICS[name](figures)
            passed = _is_within(name, value, threshold)
        passed = passed and figures["special_mismatches"] == 0
        judgments.append(Judgment(name, value, threshold, bool(passed)))
    return tuple(judgments)
