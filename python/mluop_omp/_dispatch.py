"""Replaces functions of other libraries by ones that compute tensors of the CPU here."""

from __future__ import annotations

import functools
import sys
import types
from typing import Any, Callable

from mluop_omp import _requirements

_requirements.require("torch")
import torch  # noqa: E402

Function = Callable[..., Any]
SINGLE = frozenset((torch.float16, torch.bfloat16, torch.float32))
SINGLE_AND_DOUBLE = SINGLE | {torch.float64}


def on_cpu(
    ours: Function,
    original: Function,
    dtypes: frozenset[torch.dtype] | None = None,
    is_formulation: bool = False,
) -> Function:
    """Returns a function that calls `ours` if its first tensor is on the CPU, else `original`.

    An original with a CPU kernel keeps calls of other element types than `dtypes`, which the first
    tensor and all tensors of floating-point numbers have to have. An original that is a formulation
    in PyTorch's operators keeps exported programs, which run without this package.
    """

    def is_ours(arguments: tuple, named: dict[str, Any]) -> bool:
        values = (*arguments, *named.values())
        tensors = (each for each in values if isinstance(each, torch.Tensor))
        first = next(tensors, None)
        if first is None or not first.is_cpu:
            return False
        if is_formulation and (torch.compiler.is_exporting() or torch.jit.is_tracing()):
            return False
        if dtypes is None:
            return True
        others = (each for each in tensors if each.is_floating_point())
        return all(each.dtype in dtypes for each in (first, *others))

    @functools.wraps(ours)
    def dispatch(*arguments: Any, **named: Any) -> Any:
        function = ours if is_ours(arguments, named) else original
        return function(*arguments, **named)

    dispatch.is_ours = is_ours  # type: ignore[attr-defined]
    return dispatch


def wrap(owner: Any, name: str, make: Callable[[Function], Function]) -> None:
    """Replaces a function of a module or class by make(function), once."""
    original = getattr(owner, name)
    if not hasattr(original, "original"):
        replacement = make(original)
        replacement.original = original  # type: ignore[attr-defined]
        is_static = isinstance(vars(owner).get(name), staticmethod)
        setattr(owner, name, staticmethod(replacement) if is_static else replacement)


def replace(
    module: Any,
    name: str,
    ours: Function,
    dtypes: frozenset[torch.dtype] | None = None,
    is_formulation: bool = False,
) -> None:
    """Replaces a function of a module for tensors of the CPU, as `on_cpu` does, once."""
    wrap(module, name, lambda original: on_cpu(ours, original, dtypes, is_formulation))


def replace_copies(module: Any, name: str, ours: Function) -> None:
    """As `replace`, also in the modules that have imported the function by its name."""
    original = getattr(module, name)
    replace(module, name, ours)
    for each in list(sys.modules.values()):
        if isinstance(each, types.ModuleType) and vars(each).get(name) is original:
            setattr(each, name, getattr(module, name))
