"""Checks of the operators of mmcv and spconv while a network runs.

Start with _check.py, which replaces functions by _shadows.py and runs each call twice. _rules.py
lists the operators; _differences.py, _neighbors.py, _rulebooks.py and _boxes.py judge their
results; _filters.py finds filters that reproduce a wrong one. _report.py writes the report,
_cases.py operator cases, _pair_cases.py those of index pairs.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable
from typing import TYPE_CHECKING

from mluop_omp import _requirements
from mluop_omp.checking._report import CheckedCall, CheckFailure

if TYPE_CHECKING:
    import torch

    from mluop_omp.checking._check import Check

__all__ = ["CheckFailure", "CheckedCall", "check"]


def check(
    model: torch.nn.Module | None = None,
    *,
    operators: str | Iterable[str] | None = None,
    calls: int | Container[int] | None = None,
    raise_on_failure: bool = False,
    cases: str | os.PathLike[str] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
) -> Check:
    """Checks the operators of mmcv and spconv that a block calls, on any device, by this library.

    In the block, the functions of ``mmcv._ext`` and ``spconv.pytorch.ops`` that this library has,
    those of gradients included, copy their arguments to the CPU, and also run here. The network
    gets the results of the device. Calls from all threads are checked, those in forked processes
    are not. Blocks may be nested. At the end of the block, all functions are what they were.

    An output is wrong if it is none of those that the definition admits. The order of output sites,
    of the pairs of an offset and of the terms of sums is open. The error of a sum of n terms may be
    max(8, 4 sqrt(n)) roundings of float32, of float64 if it is of this type, of the sum of their
    absolute values, plus the spacing of the type of the result. Losses, and operators that sample
    an image at any positions, have tolerances that are fixed fractions of the element and of the
    root mean square of the output, which docs/check.md lists. Where a distance,
    an IoU or the face of a box decides, both choices are right within rounding. Of exactly equal
    distances, the definition chooses.

    Args:
        model: names the modules that call; by default the report has their classes.
        operators: names of functions, such as "indice_conv", which may contain the wildcards *, ?
            and [...]; None: all.
        calls: the calls to check: an integer, as many of each call site; or a container, such as a
            range, of the numbers of calls, which count from 0; None: all.
        raise_on_failure: the first call with a wrong output raises CheckFailure.
        cases: a folder to write the first failure of each call site to, as an operator case for
            `mluop_case run` and `mluop_case reduce`.
        rtol, atol: the tolerance of floating-point outputs, instead of the one above: an element is
            wrong unless ``|found - expected| <= atol + rtol * |expected|``. None is 0 there.

    Returns:
        A context manager; its value is the report: bool() is whether at least one call was checked
        and all agree, the text has a line for
        each call site, and how the first failure of each differs. ``calls``, ``failures``,
        ``copied_bytes`` have the details.

    Raises:
        CheckFailure: in the block, if raise_on_failure; its ``call`` says which.
        ImportError: PyTorch is not installed.
        TypeError: model is not a torch.nn.Module; operators or cases is of another type.
        ValueError: calls is neither an integer from 0 on nor a container; rtol or atol is not a
            finite number, or negative; at the beginning of the block: neither mmcv.ops nor
            spconv.pytorch has been imported; operators name none.
        RuntimeError: at the beginning of a second block.
        OSError: cases cannot be created.

    Source: docs/check.md.
    """
    _requirements.require("torch")
    from mluop_omp.checking._check import Check

    return Check(model, operators, calls, raise_on_failure, cases, rtol, atol)
