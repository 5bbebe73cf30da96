"""Judges of values: exact, within a tolerance, and as sums in any order of their terms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Callable, Union

import numpy as np
import torch
from torch import Tensor

from mluop_omp.golden._numbers import relative_atol, right_elements, root_mean_square, tolerated
from mluop_omp.golden.checking._calls import HALF_TYPES, Call, Difference, Findings
from mluop_omp.golden.checking._filters import readings
from mluop_omp.golden.comparison import compare
from mluop_omp.golden.comparison._values import convert

Tolerance = Union[Tensor, np.ndarray, float]
# Relative rounding error of factors with 11 bits: half, and TF32 of tensor cores.
_HALF_ROUNDING = 2.0**-11


def difference(
    found: Any, expected: Any, tolerance: Tolerance = 0.0, axes: Sequence[str] | None = None
) -> Difference | None:
    """Returns the difference of two values, None if no error exceeds the tolerance.

    The comparison contains only errors that exceed the tolerance.
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
    """Returns which elements exceed the tolerance and differ from the rounded expected ones."""
    e, b, rounded = map(_numbers, (found, expected, expected.to(found.dtype)))
    right = right_elements(e, rounded) | right_elements(e, b, np.asarray(tolerance))
    return torch.as_tensor(~right)


def tolerance_of(call: Call, expected: Tensor, default: Tolerance) -> Tolerance:
    if call.rtol is None and call.atol is None:
        return default
    return tolerated(_numbers(expected), call.rtol or 0, call.atol or 0)


def _numbers(tensor: Tensor) -> np.ndarray:
    return convert(tensor).numbers()


def exact(
    call: Call,
    found: dict[str, Any] | None = None,
    expected: dict[str, Any] | None = None,
    tolerance: Callable[[str], Tolerance] = lambda _: 0.0,
) -> Findings:
    """Judges equality; floating-point outputs by the tolerance of the user, if there is one.

    found, expected: the outputs of the call, unless others are given. tolerance: returns the
    tolerance of a floating-point output by its name, in place of 0.
    """
    findings = Findings()
    expected = call.expected if expected is None else expected
    for name, each in (call.found if found is None else found).items():
        right = expected[name]
        both_real = _is_pair(each, right)
        bound = tolerance_of(call, right, tolerance(name)) if both_real else 0.0
        findings.add(name, difference(each, right, bound, call.rule.axes_of(name)))
    return findings


def exact_unless(call: Call, name: str, is_open: Tensor) -> Findings:
    """Judges an output that may have any value where is_open, as rounding decides it."""
    found, right = call.found[name], call.expected[name]
    merged = torch.where(is_open, found, right.to(found.dtype))
    findings = exact(call, {name: found}, {name: merged})
    findings.rounding = int((is_open & (found != right)).sum())
    return findings


def _is_pair(found: Any, expected: Any) -> bool:
    """Whether both are floating-point tensors of one shape."""
    both = (found, expected)
    are_floating = all(isinstance(each, Tensor) and each.is_floating_point() for each in both)
    return are_floating and found.shape == expected.shape


def near(rtol: float, rms_atol: float) -> Callable[[Call], Findings]:
    """Judges by a tolerance relative to the element plus one relative to the tensor.

    rms_atol: a multiple of the root mean square of the nonzero elements of expected. The spacing of
    the type of the result is added.
    """

    def judge(call: Call) -> Findings:
        notes = {}

        def tolerance(name: str) -> np.ndarray:
            found, expected = call.found[name], call.expected[name]
            b = _numbers(expected)
            atol = relative_atol(b, rms_atol)
            notes[name] = (
                f"{name}: the tolerance is {rtol:g} of the element plus {atol:.3g}, {rms_atol:g} "
                f"of the root mean square {root_mean_square(b):.3g}"
            )
            return tolerated(b, rtol, atol) + _spacing(found, expected).numpy()

        findings = exact(call, tolerance=tolerance)
        if call.rtol is None and call.atol is None:
            findings.notes += [notes[name] for name in findings.differences if name in notes]
        return findings

    return judge


def sums(call: Call) -> Findings:
    """Judges sums of products, in any order of their terms.

    A sum of n terms may be off by max(8, 4 sqrt(n)) roundings, in float32 or float64, of the sum of
    their absolute values, and by the rounding of the result to its type.
    """
    findings = exact(call, tolerance=lambda name: _sum_tolerance(call, name))
    if not findings.differences:
        return findings
    errors: list[Tensor] = []
    for name, found in call.found.items():
        if _is_pair(found, call.expected[name]):
            error = (found.double() - call.expected[name].double()).abs()
            # Where the magnitude is 0, all terms are 0.
            errors.append((error / call.magnitudes[name].double()).nan_to_num(0, math.inf))
    if call.rule.layout:
        for text, filters in readings(call.given["filters"], call.rule.layout):
            if _is_reproduced(call.changed(filters=filters)):
                findings.notes.append(f"reproduced by {text}")
                break
    largest = max((float(error.max()) for error in errors if error.numel()), default=math.inf)
    if not findings.notes and largest <= 32 * _HALF_ROUNDING and _is_spread(errors[0]):
        findings.notes.append(
            "errors of this size result from sums in half, or from factors rounded to half, "
            "bfloat16 or TF32, instead of float32"
        )
    return findings


def _sum_tolerance(call: Call, name: str) -> Tensor:
    found, expected = call.found[name], call.expected[name]
    unit = 2.0**-53 if found.dtype is torch.float64 else 2.0**-24
    roundings = max(8.0, 4 * math.sqrt(max(call.rule.terms(call), 1)))
    return _spacing(found, expected) + roundings * unit * call.magnitudes[name].double()


def _spacing(found: Tensor, expected: Tensor) -> Tensor:
    """Returns the largest spacing of numbers of the type of found near the expected ones."""
    info = torch.finfo(found.dtype)
    return info.eps * torch.clamp(expected.double().abs(), min=info.smallest_normal)


def _is_spread(error: Tensor) -> bool:
    """Whether errors occur in several rows and several columns."""
    if error.dim() < 2:
        return bool((error > 0).sum() > 1)
    flat = error.flatten(1) > 2.0**-20
    return bool(flat.any(0).sum() > 1 and flat.any(1).sum() > 1)


def _is_reproduced(call: Call) -> bool:
    """Whether the call would produce the first output."""
    name, found = next(iter(call.found.items()))
    if not _is_pair(found, call.expected[name]):
        return False
    # Results in lower precision may also have been summed in it.
    extra = 4 if found.dtype in HALF_TYPES else 1
    bound = extra * _sum_tolerance(call, name)
    return not wrong_elements(found, call.expected[name], bound).any()
