"""CUDA devices that mean the CPU: `no_cuda`; what it replaces is in `_stand_ins.py`."""

from __future__ import annotations

import functools
import importlib
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import Any, Callable
from unittest import mock

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from mluop_omp.torch import _stand_ins

_CUDA = re.compile(r"cuda(:\d+)?")
_IN_CUDA = re.compile(r"torch\.cuda\b")


def _is_cuda(value: Any) -> bool:
    if isinstance(value, torch.device):
        return value.type == "cuda"
    if isinstance(value, str):
        return _CUDA.fullmatch(value) is not None
    # The index of a device.
    return isinstance(value, int) and not isinstance(value, bool)


def _to(tensor: Tensor, *arguments: Any, **named: Any) -> Tensor:
    if arguments and _is_cuda(arguments[0]):
        arguments = ("cpu", *arguments[1:])
    return tensor.to(*arguments, **named)


def _type(tensor: Tensor, dtype: Any = None, *arguments: Any, **named: Any) -> Any:
    if isinstance(dtype, str):
        dtype = dtype.replace("torch.cuda.", "torch.")
    return tensor.type(dtype, *arguments, **named)


def _binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Takes any target, as PyTorch's kernel for CUDA: OpenPCDet passes -1 for RoIs whose losses it
    leaves out. The loss is linear in the target.
    """
    arguments = (input, target, weight, size_average, reduce, reduction)
    try:
        return functional.binary_cross_entropy(*arguments)
    except RuntimeError as error:
        if "elements of target should be between 0 and 1" not in str(error):
            raise
    if size_average is not None or reduce is not None:
        reduction = torch.nn._reduction.legacy_get_string(size_average, reduce, emit_warning=False)
    of_one, of_zero = (
        functional.binary_cross_entropy(input, limit, weight, reduction="none")
        for limit in (torch.ones_like(target), torch.zeros_like(target))
    )
    losses = target * of_one + (1 - target) * of_zero
    return {"none": losses.clone, "mean": losses.mean, "sum": losses.sum}[reduction]()


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    Tensor.cuda: lambda tensor, *_, **__: tensor,
    Tensor.pin_memory: lambda tensor, *_, **__: tensor,
    Tensor.to: _to,
    Tensor.type: _type,
    functional.binary_cross_entropy: _binary_cross_entropy,
}


class _OnCpu(TorchFunctionMode):
    """Replaces devices of CUDA in the calls of PyTorch's functions by the CPU."""

    def __torch_function__(
        self, function: Any, types: Any, arguments: tuple = (), named: dict[str, Any] | None = None
    ) -> Any:
        replacement = _FUNCTIONS.get(function, function)
        if not named:  # attributes of tensors: most calls
            return replacement(*arguments)
        named = dict(named)
        if _is_cuda(named.get("device")):
            named["device"] = "cpu"
        if named.get("pin_memory") is True:
            named["pin_memory"] = False
        return replacement(*arguments, **named)


def _set_default_device(original: Callable[..., None]) -> Callable[..., None]:
    return lambda device: original("cpu" if _is_cuda(device) else device)


def _restore_location(original: Callable[..., Any]) -> Callable[..., Any]:
    """torch.load: storages that were saved from CUDA remain on the CPU."""
    return lambda storage, location: (
        storage if _is_cuda(str(location)) else original(storage, location)
    )


def _replacements() -> Iterator[tuple[Any, str, Any]]:
    """Yields the owner and the name of each attribute to replace, and its replacement."""
    originals = []
    for path, replacement in _stand_ins.CUDA.items():
        module, _, name = f"torch.cuda.{path}".rpartition(".")
        originals.append((name, getattr(importlib.import_module(module), name, None), replacement))
    # After the imports. Submodules define the functions of torch.cuda, too: torch.cuda.memory's
    # mem_get_info.
    modules = [module for name, module in list(sys.modules.items()) if _IN_CUDA.match(name)]
    for name, original, replacement in originals:
        for other in modules:
            if original is not None and vars(other).get(name) is original:
                yield other, name, replacement
    for path, replacement in _stand_ins.PARALLEL.items():
        *owners, name = path.split(".")
        yield functools.reduce(getattr, owners, torch.nn.parallel), name, replacement
    for storage in (torch.UntypedStorage, torch.TypedStorage):
        yield storage, "cuda", lambda storage, *_, **__: storage
    # Its arguments are checked before _OnCpu sees the call.
    yield Tensor, "record_stream", lambda tensor, stream: None
    yield torch, "set_default_device", _set_default_device(torch.set_default_device)
    serialization = torch.serialization
    restore = _restore_location(serialization.default_restore_location)
    yield serialization, "default_restore_location", restore


class _Replaced:
    """All replacements, from the first `with` statement of any thread to the end of the last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._uses = 0
        self._stack = ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            if self._uses == 0:
                # It keeps the functions and classes of torch.cuda that it finds when imported.
                importlib.import_module("torch._dynamo")
                for replacement in list(_replacements()):
                    self._stack.enter_context(mock.patch.object(*replacement))
            self._uses += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._uses -= 1
            if self._uses == 0:
                self._stack.close()


_REPLACED = _Replaced()


def no_cuda() -> AbstractContextManager[Any]:
    """Lasts until the end of its `with` statement, if there is one. See `mluop_omp.no_cuda`."""
    stack = ExitStack()
    stack.enter_context(_REPLACED)
    stack.enter_context(_OnCpu())
    return stack
