"""CUDA devices that mean the CPU."""

from __future__ import annotations

import re
from types import TracebackType
from typing import Any, Callable

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

_TYPES = ("Byte", "Char", "Short", "Int", "Long", "Half", "BFloat16", "Float", "Double", "Bool")
_CUDA = re.compile(r"cuda(:\d+)?")


def _is_cuda(value: Any) -> bool:
    if isinstance(value, torch.device):
        return value.type == "cuda"
    if isinstance(value, str):
        return _CUDA.fullmatch(value) is not None
    # The index of a device.
    return isinstance(value, int) and not isinstance(value, bool)


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


class _OnCpu(TorchFunctionMode):
    """Replaces devices of CUDA in the calls of PyTorch's functions by the CPU."""

    def __torch_function__(
        self, function: Any, types: Any, arguments: tuple = (), named: dict[str, Any] | None = None
    ) -> Any:
        named = dict(named or {})
        if _is_cuda(named.get("device")):
            named["device"] = "cpu"
        if function is functional.binary_cross_entropy:
            return _binary_cross_entropy(*arguments, **named)
        if function is Tensor.cuda:
            return arguments[0]
        if function is Tensor.to and len(arguments) > 1 and _is_cuda(arguments[1]):
            arguments = (arguments[0], "cpu", *arguments[2:])
        return function(*arguments, **named)


class NoCuda:
    """Lasts until the end of its `with` statement, if there is one. See `mluop_omp.no_cuda`."""

    def __init__(self) -> None:
        self._mode = _OnCpu()
        self._mode.__enter__()
        replacements: dict[str, Callable[..., Any]] = {
            f"{name}Tensor": getattr(torch, f"{name}Tensor") for name in _TYPES
        }
        # torch.compile, which optimizers import, requires three different functions.
        replacements["current_device"] = lambda: 0
        replacements["set_device"] = lambda device: None
        replacements["synchronize"] = lambda device=None: None
        self._originals = {name: getattr(torch.cuda, name) for name in replacements}
        for name, replacement in replacements.items():
            setattr(torch.cuda, name, replacement)

    def __enter__(self) -> NoCuda:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for name, original in self._originals.items():
            setattr(torch.cuda, name, original)
        self._mode.__exit__(kind, error, trace)
