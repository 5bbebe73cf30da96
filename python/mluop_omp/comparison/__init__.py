"""Comparison of two results: verdict, figures, the worst elements, and what they have in common.

Start with _nested.py, which leads containers to _tensors.py; that joins sparse tensors by _sites.py
and has the library compare (_engine.py). _values.py has what is compared, _errors.py the rule of
what is wrong; _criteria.py judges, _report.py writes. _command.py is `python -m mluop_omp compare`,
for which _files.py reads. page/ draws what differs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mluop_omp.comparison._criteria import Criteria, Options
from mluop_omp.comparison._nested import compare_values
from mluop_omp.comparison._result import Comparison
from mluop_omp.comparison._values import SparseSites

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
) -> Comparison:
    """Compares a result with the one that is expected.

    An element is wrong unless ``|found - expected| <= atol + rtol * |expected|``, in double (int64
    and uint64: exactly), or both are NaN or the same infinity. By default, two tensors are equal if
    no element is wrong.

    Sparse tensors are joined by coordinate: the order of rows does not matter; the sites have to be
    the same; values are compared at common sites. Where a site repeats, its rows are joined in
    their order. A sparse and a dense tensor are compared at the sites; other elements of the dense
    one have to be 0.

    Containers are compared by names, or by positions. What cannot be compared within them differs,
    and says why. Containers without anything to compare are not equal. Results are the same bits at
    every number of threads.

    Args:
        found, expected: NumPy arrays; PyTorch tensors on any device, also COO; numbers, and lists
            of them; sparse tensors: `SparseSites`, those of spconv, mmcv and `mluop_omp.torch`, and
            objects with features, feats or F and with indices, coords or C, such as those of
            MinkowskiEngine and torchsparse; dicts, lists and tuples of these. Dense tensors in
            place of sparse ones are [N, C, ...]. Elements are float16, bfloat16, float32, float64,
            integers, bool or, as pairs of numbers, complex64 and complex128.
        rtol: by default 1.3e-6 for float32, 1e-3 for float16, 1.6e-2 for bfloat16, 1e-7 for
            float64, 0 for all other types; if the types differ, the larger one.
        atol: by default relative to the tensor: 1e-5, for float64 1e-7, of the root mean square of
            the finite elements of expected other than 0; at least the smallest positive number of
            the type, and 0 if there are no such elements. In tensors of two or three dimensions
            whose rows have 2 to 16 elements, such as boxes with a score, a larger root mean square
            counts as 1. Where the root mean square is 1, rtol and atol are those of
            torch.testing.assert_close. An atol that is given is absolute.
        criteria: metrics that decide, instead of the tolerances if these are not given: thresholds
            by name, such as {"diff1": 3e-3, "diff2": 3e-3}, or texts, such as ["pcc>=0.99"].
            diff1, diff2, diff3, diff3_1, diff3_2 and diff4 of MLU-OPS, max_absolute, max_relative
            and max_ulp pass up to their threshold; cosine and pcc from their threshold on; without
            a threshold, "allclose" if no element is wrong, "bits" if none has other bits, those of
            NaN aside. All fail if a NaN or an infinity is in one tensor only. Wrong elements remain
            those outside the tolerances, unless "bits" is the only criterion.
        worst: the wrong elements to report, at most 1000: those with the largest absolute errors,
            of equal ones the first.
        axes: names of the dimensions for the pattern, such as ("n", "c", "h", "w"); tensors with
            another number of dimensions go without.

    Returns:
        A `Comparison`: the verdict, also as bool(); figures; the worst elements; the pattern of the
        wrong ones; a report as its text, and as a page of pictures by `html`.

    Raises:
        ValueError: shapes differ, with what would fit as far as that is known; a sparse tensor is
            not one; a criterion or a number is not valid.
        TypeError: a tensor has another element type, or is not in memory.
        MluOpError: the library is out of memory.

    Source: mluOpOmpCompare.
    """
    return compare_values(found, expected, Options.of(rtol, atol, criteria, worst, axes))
