"""Checks of the operators of mmcv and spconv, and of layers, while a network runs.

Start with _check.py: it intercepts functions through _shadows.py and runs each call twice.
_rules.py lists the operators, _layers.py the layers of MinkowskiEngine and torchsparse;
_differences.py, _neighbors.py, _rulebooks.py and _boxes.py judge their results; _filters.py finds
filters that reproduce a wrong result. _operations.py judges the operations of PyTorch. _report.py
writes the report, _cases.py writes operator cases.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable
from typing import TYPE_CHECKING

from mluop_omp import _requirements
from mluop_omp.golden.checking._report import CheckedCall, CheckFailure

if TYPE_CHECKING:
    import torch

    from mluop_omp.golden.checking._check import Check

__all__ = ["CheckFailure", "CheckedCall", "check"]


def check(
    model: torch.nn.Module | None = None,
    *,
    operators: str | Iterable[str] | None = None,
    calls: int | Container[int] | None = None,
    operations: bool = False,
    raise_on_failure: bool = False,
    cases: str | os.PathLike[str] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
) -> Check:
    """Checks the mmcv and spconv operators that a block calls, on any device, against this library.

    In the block, the functions of ``mmcv._ext`` and ``spconv.pytorch.ops`` that this library
    implements, gradients included, copy their arguments to the CPU and also run here. The network
    gets the results of the device. Forward calls of the convolutions and pools of MinkowskiEngine
    and torchsparse are checked at the sites that the device returns. Calls from all threads are
    checked, calls in forked processes are not. Blocks may be nested. At the end of a block all
    functions are restored.

    An output is wrong if the definition does not admit it. The definition leaves open the order of
    output sites, of the pairs of an offset, and of the terms of a sum. A sum of n terms may be off
    by max(8, 4 sqrt(n)) roundings of the sum of their absolute values, in float32, or in float64
    for float64, plus the spacing of the type of the result. The tolerances of losses, and of
    operators that sample an image at arbitrary positions, are fixed fractions of the element and of
    the root mean square of the output; docs/check.md lists them. Where rounding of a distance, an
    IoU or the face of a box decides, both choices are right. Among exactly equal distances, only
    the choice of the definition is right.

    Args:
        model: names the calling modules in the report; without it, the report has their classes.
        operators: names of functions, such as "indice_conv", with wildcards *, ? and [...]; None:
            all. With operations, also names such as "softmax" or "torch.Tensor.*".
        calls: the calls to check: an integer, for the first calls of each call site; a container,
            such as a range, of the numbers of calls, counted from 0; None: all.
        operations: also checks the operations of PyTorch that Python code calls in the block,
            except in backward passes. Each is repeated on the CPU with the same arguments, in
            float64 if it can be. The root mean square of its errors must not exceed what rounding
            explains, as in `mluop_omp.replay`, nor a multiple of the error of the CPU in the same
            element types; integers are equal, except among equal values. Random operations are
            listed, not compared.
        raise_on_failure: raises CheckFailure at the first call with a wrong output.
        cases: a folder for operator cases: the first failure of each call site is written there,
            for `mluop_case run` and `mluop_case reduce`.
        rtol, atol: replace the tolerances of floating-point outputs: an element is wrong unless
            ``|found - expected| <= atol + rtol * |expected|``. If one is given, the other is 0 by
            default.

    Returns:
        A context manager whose value is the report. bool(): at least one call was checked, and all
        agree. str(): a line for each call site, and the difference of its first failure. The
        attributes ``calls``, ``failures`` and ``copied_bytes`` have the details.

    Raises:
        CheckFailure: in the block, if raise_on_failure; its attribute ``call`` is the call.
        ImportError: PyTorch is not installed.
        TypeError: model is not a torch.nn.Module; operators or cases has an invalid type.
        ValueError: calls is neither an integer of at least 0 nor a container; rtol or atol is
            negative or not finite; without operations, at the beginning of the block: neither
            mmcv.ops nor spconv.pytorch nor MinkowskiEngine nor torchsparse has been imported;
            operators match no function.
        RuntimeError: at the beginning of a second block.
        OSError: cases cannot be created.

    Source: docs/check.md.
    """
    _requirements.require("torch")
    from mluop_omp.golden.checking._check import Check

    return Check(model, operators, calls, operations, raise_on_failure, cases, rtol, atol)
