"""Replaces functions of other libraries by ones that compute tensors of the CPU here."""

from __future__ import annotations

import functools
from typing import Any, Callable

import torch

Function = Callable[..., Any]


def first_tensor(arguments: tuple, named: dict[str, Any]) -> torch.Tensor | None:
    values = (*arguments, *named.values())
    return next((value for value in values if isinstance(value, torch.Tensor)), None)


def on_cpu(ours: Function, original: Function) -> Function:
    """Returns a function that calls `ours` if its first tensor is on the CPU, else `original`."""

    @functools.wraps(ours)
    def dispatch(*arguments: Any, **named: Any) -> Any:
        tensor = first_tensor(arguments, named)
        function = ours if tensor is not None and tensor.is_cpu else original
        return function(*arguments, **named)

    dispatch.original = original  # type: ignore[attr-defined]
    return dispatch


def replace(module: Any, name: str, ours: Function) -> None:
    """Replaces a function of a module, once."""
    original = getattr(module, name)
    if not hasattr(original, "original"):
        setattr(module, name, on_cpu(ours, original))
