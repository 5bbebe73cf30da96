"""The origin of a call: the running module, and the line outside of the libraries."""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Iterator

import torch

from mluop_omp.golden._text import module_label

# Frames of these packages are skipped.
_LIBRARIES = frozenset(
    ("mluop_omp", "mmcv", "mmengine", "spconv", "torch", "MinkowskiEngine", "torchsparse")
)


def _frames() -> Iterator[types.FrameType]:
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


def module(names: dict[torch.nn.Module, str]) -> str:
    """Returns the name and the class of the innermost running module that has a name.

    Without any, returns the classes of the running modules, outermost first.
    """
    running = [
        frame.f_locals["self"] for frame in _frames() if frame.f_code.co_name == "_call_impl"
    ]
    for each in running:
        name = names.get(each)
        if name is not None:
            return module_label(name, type(each).__name__)
    return "/".join(type(each).__name__ for each in reversed(running))
