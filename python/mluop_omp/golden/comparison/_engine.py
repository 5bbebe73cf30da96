"""Calls mluOpOmpCompare, which compares two dense tensors of one shape."""

from __future__ import annotations

import ctypes
import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mluop_omp import _arrays, _library
from mluop_omp._library import functions, require
from mluop_omp.golden.comparison._criteria import Options, Tolerance
from mluop_omp.golden.comparison._values import Tensor

_ULP_BUCKETS = 35
# Dimensions of a descriptor. Tensors with more dimensions merge their first ones.
_MAX_DIMENSIONS = 8


def _fields(type: Any, names: str) -> list[tuple[str, Any]]:
    return [(name, type) for name in names.split()]


class _Options(ctypes.Structure):
    _fields_ = [
        *_fields(ctypes.c_double, "rtol atol rms_atol"),
        *_fields(ctypes.c_int, "bits nan_payloads"),
        ("epsilon", ctypes.c_double),
        ("worst", ctypes.c_int),
        ("axes", ctypes.POINTER(ctypes.c_char_p)),
    ]


class _Difference(ctypes.Structure):
    _fields_ = [
        *_fields(ctypes.c_int64, "elements differing wrong above below found_nan expected_nan"),
        *_fields(ctypes.c_int64, "found_inf expected_inf special_mismatches overflowed flushed"),
        *_fields(ctypes.c_double, "diff1 diff2 diff3_relative diff3_absolute max_relative"),
        *_fields(ctypes.c_double, "max_absolute mean_magnitude rms atol cosine pcc factor"),
        ("factor_residual", ctypes.c_double),
        ("max_ulp", ctypes.c_int64),
        ("ulp_histogram", ctypes.c_int64 * _ULP_BUCKETS),
    ]


class _WrongElement(ctypes.Structure):
    _fields_ = [
        ("index", ctypes.c_int64),
        *_fields(ctypes.c_double, "expected found absolute relative"),
    ]


class _Comparison(_library.Object):
    _destroy = functions.mluOpOmpDestroyComparison


@dataclasses.dataclass(frozen=True)
class Difference:
    """The result of the library. Indices of the worst elements are linear."""

    figures: dict[str, Any]
    worst: list[tuple[int, float, float, float, float]]
    pattern: str


def difference(
    found: Tensor,
    expected: Tensor,
    tolerance: Tolerance,
    *,
    bits: bool = False,
    worst: int = 0,
    pattern: bool = True,
    axes: Sequence[str] | None = None,
) -> Difference:
    """Compares two tensors of one shape. bits: an element is wrong if its bits differ."""
    shape = found.shape or (1,)
    surplus = max(len(shape) - _MAX_DIMENSIONS, 0)
    shape = (math.prod(shape[: surplus + 1]), *shape[surplus + 1 :])
    # With `worst` 0 the library does not search for a pattern.
    capacity = max(worst, 1)
    options = _Options(*dataclasses.astuple(tolerance), bits=bits, worst=capacity if pattern else 0)
    if axes is not None and len(axes) == len(shape):
        options.axes = (ctypes.c_char_p * len(shape))(*(name.encode() for name in axes))
    arrays = [np.require(tensor.array, requirements=["C", "A"]) for tensor in (found, expected)]
    with _library.handle() as handle:
        tensors = []
        for tensor, array in zip((found, expected), arrays):
            descriptor = _arrays.describe(_arrays.ARRAY, _arrays.DTYPES[tensor.dtype], shape)
            tensors += [descriptor, array.ctypes.data]
        comparison = _Comparison.create(
            lambda created: functions.mluOpOmpCompare(
                handle.pointer, *tensors, ctypes.byref(options), created
            )
        )
    difference, count = _Difference(), ctypes.c_int()
    elements = (_WrongElement * capacity)()
    require(functions.mluOpOmpGetDifference(comparison, ctypes.byref(difference)))
    require(
        functions.mluOpOmpGetWrongElements(
            comparison, worst, ctypes.byref(elements), ctypes.byref(count)
        )
    )
    return Difference(
        {**_values(difference), "ulp_histogram": list(difference.ulp_histogram)},
        [tuple(_values(element).values()) for element in elements[: count.value]],
        functions.mluOpOmpGetComparisonPattern(comparison).decode(),
    )


def _values(structure: ctypes.Structure) -> dict[str, Any]:
    return {field[0]: getattr(structure, field[0]) for field in structure._fields_}


def count_wrong(found: Tensor, expected: Tensor, options: Options) -> int:
    """Returns the number of wrong elements of tensors of one shape."""
    tolerance = options.tolerance(found, expected)
    return difference(found, expected, tolerance, pattern=False).figures["wrong"]
