"""The origin of a call: the running module, and the line outside of the libraries."""

from __future__ import annotations

import os
import sys
import threading
import types
from typing import Any

import torch
from torch.nn.modules import module as torch_modules

from mluop_omp.golden._text import module_label

# Frames of these packages are skipped.
_LIBRARIES = frozenset(("mluop_omp", "mmcv", "mmengine", "spconv", "torch"))


def _frames() -> Any:
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def caller() -> str:
    """Returns "file:line" of the innermost frame outside of the libraries.

    Returns "" if there is none, for example in the threads of autograd.
    """
    for frame in _frames():
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package not in _LIBRARIES:
            return f"{_shortened(frame.f_code.co_filename)}:{frame.f_lineno}"
    return ""


def _shortened(file: str) -> str:
    try:
        relative = os.path.relpath(file)
    except (OSError, ValueError):  # No current directory; another drive.
        return file
    return file if relative.startswith(os.pardir) else relative


def autograd_context() -> torch.autograd.function.FunctionCtx | None:
    """Returns the context of the running torch.autograd.Function, or None.

    Forward and backward call share one context.
    """
    for frame in _frames():
        if frame.f_code.co_name in ("forward", "backward"):
            context = frame.f_locals.get("ctx")
            if isinstance(context, torch.autograd.function.FunctionCtx):
                return context
    return None


class ModulePath:
    """Tracks by hooks the modules whose forward functions run in each thread.

    A module of `model` is reported by its name; other modules by their classes, outermost first.
    """

    def __init__(self, model: torch.nn.Module | None) -> None:
        modules = () if model is None else model.named_modules()
        self._names = {id(module): name for name, module in modules}
        self._model = model  # Keeps the modules alive, and thereby their ids unique.
        self._local = threading.local()
        self._handles: list[Any] = []

    def install(self) -> None:
        self._handles = [
            torch_modules.register_module_forward_pre_hook(self._enter),
            torch_modules.register_module_forward_hook(self._leave, always_call=True),
        ]

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def current(self) -> str:
        stack = self._stack()
        for module in reversed(stack):
            name = self._names.get(id(module))
            if name is not None:
                return module_label(name, type(module).__name__)
        return "/".join(type(module).__name__ for module in stack)

    def _stack(self) -> list[torch.nn.Module]:
        if not hasattr(self._local, "stack"):
            self._local.stack = []
        return self._local.stack

    def _enter(self, module: torch.nn.Module, _: Any) -> None:
        self._stack().append(module)

    def _leave(self, module: torch.nn.Module, _: Any, __: Any) -> None:
        stack = self._stack()
        # Pops nested modules whose exit hook an exception skipped.
        while module in stack:
            if stack.pop() is module:
                break
