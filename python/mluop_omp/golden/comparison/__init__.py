"""Comparison of two results: verdict, figures, the worst elements, and what they have in common.

Start with _nested.py, which takes containers apart; _tensors.py compares two tensors. _sites.py
matches their rows where one is sparse, _boxes.py the boxes of detectors, _engine.py calls the
library, and _patterns.py, _mappings.py and _shapes.py find what would make both equal;
_statements.py decides which statements explain the errors. _values.py defines tensors, _errors.py
wrong elements, _criteria.py the verdict, _data.py the findings. _result.py is the `Comparison`,
with its text by _report.py and its page by page/. _files/ reads tensors from files.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from mluop_omp.golden.comparison._criteria import Criteria, Options
from mluop_omp.golden.comparison._nested import compare_values
from mluop_omp.golden.comparison._result import Comparison
from mluop_omp.golden.comparison._sites import Columns, check_columns
from mluop_omp.golden.comparison._values import SparseSites

__all__ = ["Comparison", "SparseSites", "compare"]


def compare(
    found: Any,
    expected: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    criteria: Criteria = None,
    worst: int = 5,
    axes: Sequence[str] | None = None,
    columns: Columns = None,
) -> Comparison:
    """Compares a result with the expected one.

    An element is wrong unless ``|found - expected| <= atol + rtol * |expected|``, in double (int64
    and uint64: exactly), or both are NaN or the same infinity. By default, two tensors are equal if
    no element is wrong.

    Sparse tensors are joined by coordinate: the order of rows does not matter; the sites have to be
    the same; values are compared at common sites. Where a site repeats, its rows are joined in
    their order. A sparse and a dense tensor are compared at the sites; other elements of the dense
    one have to be 0.

    Containers are compared by name or by position. A part of a container that cannot be compared
    differs, and states the reason. Containers with nothing to compare are not equal. Boxes with
    scores and labels that differ in place are matched by overlap: they are equal if all match, and
    the scores of found descend if the expected scores do. Results are bit-identical at any number
    of threads.

    Args:
        found, expected: NumPy arrays; PyTorch tensors on any device, also COO; numbers and lists of
            numbers; sparse tensors; dicts, lists and tuples of these. A sparse tensor is a
            `SparseSites`, or an object with features, feats or F and with indices, coords or C, as
            in spconv, mmcv, `mluop_omp.torch`, torchsparse and MinkowskiEngine; a dense tensor
            compared with it is [N, C, ...]. Elements are float16, bfloat16, float32, float64,
            integers, bool, or complex64 and complex128, which are compared as pairs of numbers.
        rtol: by default 1.3e-6 for float32, 1e-3 for float16, 1.6e-2 for bfloat16, 1e-7 for
            float64, 0 for all other types; the larger one if the types of the tensors differ.
        atol: by default relative to the tensor: 1e-5 (float64: 1e-7) times the root mean square of
            the finite nonzero elements of expected, and at least the smallest positive number of
            the type; 0 if expected has no such elements. In tensors of two or three dimensions
            whose rows have 2 to 16 elements, such as boxes with a score, a larger root mean square
            counts as 1. Where the root mean square is 1, rtol and atol equal the defaults of
            torch.testing.assert_close. An explicit atol is absolute.
        criteria: metrics that decide; they replace the tolerances unless rtol or atol is given.
            Thresholds by name, such as {"diff1": 3e-3, "diff2": 3e-3}, or texts, such as
            ["pcc>=0.99"]. diff1, diff2, diff3, diff3_1, diff3_2 and diff4 of MLU-OPS,
            max_absolute, max_relative and max_ulp must not exceed their threshold; cosine and pcc
            must reach it. "allclose" and "bits" have no threshold: they require that no element is
            wrong, or that all bits are equal (NaN payloads aside). All fail if a NaN or an infinity
            is in one tensor only. Elements outside the tolerances count as wrong under any
            criteria; under "bits" alone, elements with different bits do.
        worst: the number of wrong elements to report, at most 1000, by descending absolute error;
            equal errors in the order of their positions.
        axes: names of the dimensions for the pattern, such as ("n", "c", "h", "w"). Tensors with
            another number of dimensions ignore them.
        columns: the columns of the coordinates of found in the order of expected, the batch first,
            such as (0, 3, 2, 1) if found has [batch, x, y, z] and expected [batch, z, y, x]; also a
            list of such orders, one for each number of columns. Spatial shapes are reordered alike.
            Coordinates with another number of columns ignore it.

    Returns:
        A `Comparison`: the verdict, also as bool(); figures; the worst elements; the pattern of the
        wrong ones; a report as its text, and as a page of pictures by `html`.

    Raises:
        ValueError: the shapes differ, and the message states what would fit, if that is known; the
            parts of a sparse tensor do not match; a criterion or a number is invalid.
        TypeError: the element type of a tensor is not supported, or its elements are not in memory.
        MluOpError: the library is out of memory.

    Source: mluOpOmpCompare.
    """
    options = Options.of(rtol, atol, criteria, worst, axes)
    options = dataclasses.replace(options, columns=check_columns(columns))
    return compare_values(found, expected, options)
