"""PyTorch, imported by the first use: derivatives are declared where it may not be installed."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Callable


class _Lazy:
    def __init__(self, load: Callable[[], Any]) -> None:
        self._load = load

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._load(), name)
        setattr(self, name, value)
        return value


if TYPE_CHECKING:
    import torch
    from torch import Tensor as Tensor

    ops: Any
else:
    torch = _Lazy(lambda: importlib.import_module("torch"))
    Tensor = Any
    # The operators of PyTorch's dispatcher.
    ops = _Lazy(lambda: torch.ops.mluop_omp)
