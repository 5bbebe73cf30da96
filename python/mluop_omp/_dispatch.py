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


def first_tensor(arguments: tuple, named: dict[str, Any]) -> torch.Tensor | None:
    values = (*arguments, *named.values())
    return next((value for value in values if isinstance(value, torch.Tensor)), None)


def on_cpu(ours: Function, original: Function, dtypes: frozenset[torch.dtype] | None) -> Function:
    """Returns a function that calls `ours` if its first tensor is on the CPU, else `original`.

    An original with a CPU kernel remains that of other element types than `dtypes`.
    """

    def is_ours(arguments: tuple, named: dict[str, Any]) -> bool:
        tensor = first_tensor(arguments, named)
        return tensor is not None and tensor.is_cpu and (dtypes is None or tensor.dtype in dtypes)

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
    module: Any, name: str, ours: Function, dtypes: frozenset[torch.dtype] | None = None
) -> None:
    """Replaces a function of a module for tensors of the CPU, as `on_cpu` does, once."""
    wrap(module, name, lambda original: on_cpu(ours, original, dtypes))


def replace_copies(module: Any, name: str, ours: Function) -> None:
    """As `replace`, also in the modules that have imported the function by its name."""
    original = getattr(module, name)
    replace(module, name, ours)
    for each in list(sys.modules.values()):
        if isinstance(each, types.ModuleType) and vars(each).get(name) is original:
            setattr(each, name, getattr(module, name))
