"""Tensors without elements, with which a kernel yields the shapes of its outputs: fake tensors of
torch.compile and torch.export, whose sizes may be symbols, and tensors of the device meta.
"""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch

from mluop_omp._arrays import ARRAY
from mluop_omp._library import bad_param
from mluop_omp.torch._arrays import TorchArrays


class _Descriptor(NamedTuple):
    shape: Any
    dtype: int
    is_empty: bool = False  # A comparison would fix a symbol.


class _Number:
    """The number that a call writes is unknown."""

    @property
    def value(self) -> Any:
        return torch.library.get_ctx().new_dynamic_size()

    @value.setter
    def value(self, value: int) -> None:
        pass


def _handle() -> nullcontext[SimpleNamespace]:
    """Returns the handle of a call that computes nothing."""
    return nullcontext(
        SimpleNamespace(
            number=_Number(),
            number_address=0,
            call=lambda *_: None,
            workspace=lambda *_: (None, 0),
            keep=lambda make, *arguments: make(*arguments),
        )
    )


class FakeArrays(TorchArrays):
    handle = staticmethod(_handle)  # type: ignore[assignment]

    def tensor(
        self, name: str, array: torch.Tensor, dimensions: str = "", layout: int = ARRAY
    ) -> Any:
        count = len(dimensions.split())
        if dimensions and array.dim() != count:
            raise bad_param(f"{name} has {array.dim()} dimensions, expected {count}")
        return _Descriptor(array.shape, self._dtypes.get(array.dtype, 0)), 0

    def output(
        self,
        name: str,
        shape: Any,
        like: torch.Tensor | None = None,
        layout: int = ARRAY,
        is_zero: bool = False,
    ) -> Any:
        for size in shape:
            torch._check(size >= 0, lambda size=size: f"{name} has the size {size}")
        dtype = torch.int32 if like is None else like.dtype
        array = torch.empty(*shape, dtype=dtype, device=self._device)
        return array, *self.tensor(name, array)

    def __init__(self, device: torch.device) -> None:
        self._device = device

    @staticmethod
    def integers(name: str, values: Any) -> Any:
        return tuple(values)

    @staticmethod
    def int32s(name: str, values: Any, count: int) -> Any:
        if len(values) != count:
            raise bad_param(f"{name} has {len(values)} elements, expected {count}")
        return tuple(values)

    def made(self, make: Any, *arguments: Any) -> None:
        pass

    def pair_counts(self, num: torch.Tensor, offsets: Any) -> bytes:
        return b""

    def transpose(self, array: torch.Tensor, sizes: Any, output: torch.Tensor) -> None:
        pass

    def copy(self, array: torch.Tensor) -> tuple[torch.Tensor, int]:
        return array, 0

    def first_rows(self, array: torch.Tensor, shape: tuple[int, ...], count: Any) -> torch.Tensor:
        return array.new_empty(count, *shape[1:])


def shapes_of(kernel: Any, *arguments: Any) -> Any:
    """Returns the outputs of a kernel, without elements."""
    device = next(each.device for each in arguments if isinstance(each, torch.Tensor))
    return kernel(FakeArrays(device), *arguments)
