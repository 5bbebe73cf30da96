"""Differences of values: exact, within rounding, and of sums in any order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Callable, Union

import numpy as np
import torch
from torch import Tensor

from mluop_omp._numbers import relative_atol, right_elements, root_mean_square, tolerated
from mluop_omp.checking._calls import Call, Difference, Findings
from mluop_omp.checking._filters import reproducing_filters
from mluop_omp.comparison import compare
from mluop_omp.comparison._values import convert
from mluop_omp.torch._precision import LOWER_PRECISION

Tolerance = Union[Tensor, np.ndarray, float]
# The rounding of a product of numbers of 11 bits: half, and the TF32 of tensor cores.
_HALF_ROUNDING = 2.0**-11


def difference(
    found: Any, expected: Any, tolerance: Tolerance = 0.0, axes: Sequence[str] | None = None
) -> Difference | None:
    """Returns how values differ, None if no error exceeds the tolerance.

    Elements within it are equal in the comparison, whose other elements differ at any tolerance.
    """
    if not isinstance(found, Tensor) or not isinstance(expected, Tensor):
        return None if found == expected else compare(found, expected)
    if found.shape != expected.shape:
        return other_shape(found, expected)
    if found.is_floating_point() != expected.is_floating_point():
        return f"has dtype {found.dtype}, expected {expected.dtype}"
    if not found.is_floating_point():
        expected = expected.to(found.dtype)
        return None if torch.equal(found, expected) else compare(found, expected, axes=axes)
    wrong = wrong_elements(found, expected, tolerance)
    if not wrong.any():
        return None
    merged = torch.where(wrong, expected.to(found.dtype), found)
    return compare(found, merged, rtol=0, atol=0, axes=axes)


def other_shape(found: Tensor, expected: Tensor) -> str | None:
    if found.shape == expected.shape:
        return None
    return f"has shape {list(found.shape)}, expected {list(expected.shape)}"


def wrong_elements(found: Tensor, expected: Tensor, tolerance: Tolerance) -> Tensor:
    """Returns which elements are neither the expected ones, rounded, nor within the tolerance."""
    e, b, rounded = map(_numbers, (found, expected, expected.to(found.dtype)))
    right = right_elements(e, rounded) | right_elements(e, b, np.asarray(tolerance))
    return torch.as_tensor(~right)


def tolerance_of(call: Call, expected: Tensor, default: Tolerance) -> Tolerance:
    if call.rtol is None and call.atol is None:
        return default
    return tolerated(_numbers(expected), call.rtol or 0, call.atol or 0)


def _numbers(tensor: Tensor) -> np.ndarray:
    return convert(tensor).numbers()


def _judge(call: Call, default: Callable[[str], Tolerance]) -> Findings:
    """Judges floating-point outputs by the tolerance of the user or a default, others exactly."""
    findings = Findings()
    for name, found in call.found.items():
        expected, tolerance = call.expected[name], 0.0
        if _is_pair(found, expected):
            tolerance = tolerance_of(call, expected, default(name))
        findings.add(name, difference(found, expected, tolerance, call.rule.axes.get(name)))
    return findings


def _is_pair(found: Any, expected: Any) -> bool:
    """Whether both are floating-point numbers of one shape."""
    both = (found, expected)
    are_floating = all(isinstance(each, Tensor) and each.is_floating_point() for each in both)
    return are_floating and found.shape == expected.shape


def exact(call: Call) -> Findings:
    return _judge(call, lambda _: 0.0)


def near(rtol: float, rms_atol: float) -> Callable[[Call], Findings]:
    """Judges by an error relative to the element, and one relative to the tensor.

    rms_atol: in root mean squares of the elements of expected other than 0. The spacing of the type
    of the result is added.
    """

    def judge(call: Call) -> Findings:
        atols = {}

        def tolerance(name: str) -> np.ndarray:
            found, expected = call.found[name], call.expected[name]
            b = _numbers(expected)
            atols[name] = relative_atol(b, rms_atol)
            return tolerated(b, rtol, atols[name]) + _spacing(found, expected).numpy()

        findings = _judge(call, tolerance)
        if call.rtol is None and call.atol is None:
            findings.notes += [
                f"{name}: the tolerance is {rtol:g} of the element plus {atols[name]:.3g}, "
                f"{rms_atol:g} of the root mean square "
                f"{root_mean_square(_numbers(call.expected[name])):.3g}"
                for name in findings.differences
                if name in atols
            ]
        return findings

    return judge


def sums(call: Call) -> Findings:
    """Judges sums of products, whose order is open.

    The error of a sum of n terms is within max(8, 4 sqrt(n)) roundings of the sum of their absolute
    values, as it is in float32, or float64, in any order; then the result is rounded to its type.
    """
    magnitudes: dict[str, Any] = {}

    def bound(name: str) -> Tensor:
        magnitudes.update(magnitudes or call.compute(absolute=True))
        values = call.found[name], call.expected[name], magnitudes[name]
        return sum_tolerance(*values, call.rule.terms(call))

    findings = _judge(call, bound)
    if not findings.differences:
        return findings
    errors: list[Tensor] = []
    for name, found in call.found.items():
        if _is_pair(found, call.expected[name]):
            error = (found.double() - call.expected[name].double()).abs()
            # Where the magnitude is 0, all terms are 0.
            errors.append((error / magnitudes[name].double()).nan_to_num(0, math.inf))
    if call.rule.layout:
        findings.notes += reproducing_filters(call, _reproduces)
    largest = max((float(error.max()) for error in errors if error.numel()), default=math.inf)
    if not findings.notes and largest <= 32 * _HALF_ROUNDING and _is_spread(errors[0]):
        findings.notes.append(
            "the errors are those of sums in half, or of factors rounded to half, bfloat16 or "
            "TF32, in place of float32"
        )
    return findings


def sum_tolerance(found: Tensor, expected: Tensor, magnitude: Tensor, terms: int) -> Tensor:
    unit = 2.0**-53 if found.dtype is torch.float64 else 2.0**-24
    roundings = max(8.0, 4 * math.sqrt(max(terms, 1)))
    return _spacing(found, expected) + roundings * unit * magnitude.double()


def _spacing(found: Tensor, expected: Tensor) -> Tensor:
    """Returns the distance of numbers of the type of found near those of expected, at most."""
    info = torch.finfo(found.dtype)
    return info.eps * torch.clamp(expected.double().abs(), min=info.smallest_normal)


def _is_spread(error: Tensor) -> bool:
    """Whether errors are in several rows and columns."""
    if error.dim() < 2:
        return bool((error > 0).sum() > 1)
    flat = error.flatten(1) > 2.0**-20
    return bool(flat.any(0).sum() > 1 and flat.any(1).sum() > 1)


def _reproduces(call: Call, changes: dict[str, Any]) -> bool:
    """Whether the first output is that of other arguments."""
    name, found = next(iter(call.found.items()))
    expected = call.compute(**changes)[name]
    if not isinstance(found, Tensor) or found.shape != expected.shape:
        return False
    magnitude = call.compute(absolute=True, **changes)[name]
    # Its order of sums may be that of half, too.
    extra = 4 if found.dtype in LOWER_PRECISION else 1
    bound = extra * sum_tolerance(found, expected, magnitude, call.rule.terms(call))
    return not bool(wrong_elements(found, expected, bound).any())
