"""The arrays of PyTorch."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from mluop_omp._arrays import ARRAY, DTYPES, SMALL, Arrays, Descriptor, describe
from mluop_omp._library import bad_param, not_supported

_INTEGERS = {torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64}


class TorchArrays(Arrays):
    _dtypes = {getattr(torch, name): code for name, code in DTYPES.items() if hasattr(torch, name)}

    def tensor(self, name: str, array: torch.Tensor, layout: int = ARRAY) -> tuple[Descriptor, int]:
        if not isinstance(array, torch.Tensor):
            raise TypeError(f"{name} is of type {type(array).__name__}, expected torch.Tensor")
        if not array.is_cpu:
            raise not_supported(f"{name} is on device {array.device}, expected cpu")
        if array.layout is not torch.strided or not array.is_contiguous() or array.is_neg():
            raise not_supported(f"{name} is not contiguous; {name}.contiguous() is")
        dtype = self._dtypes.get(array.dtype)
        if dtype is None:
            raise bad_param(
                f"{name} has dtype {array.dtype}, expected {', '.join(map(str, self._dtypes))}"
            )
        return describe(layout, dtype, array.shape), array.data_ptr()

    def own(self, array: torch.Tensor, layout: int = ARRAY) -> tuple[Descriptor, int]:
        return describe(layout, self._dtypes[array.dtype], array.shape), array.data_ptr()

    def empty(self, shape: Sequence[int], like: torch.Tensor) -> torch.Tensor:
        # Sizes as separate arguments take 0.2 us less.
        return torch.empty(*shape, dtype=like.dtype)

    def indices(self, shape: Sequence[int], value: int | None = None) -> torch.Tensor:
        if value is None:
            return torch.empty(*shape, dtype=torch.int32)
        return torch.full(shape, value, dtype=torch.int32)

    def copy(self, array: torch.Tensor) -> torch.Tensor:
        return array.clone()

    def first_rows(self, array: torch.Tensor, count: int) -> torch.Tensor:
        if 2 * count < array.shape[0] and array.numel() > SMALL:
            return array[:count].clone()
        # Unlike a view, no further tensor.
        return array.resize_(count, *array.shape[1:])

    def counts(self, array: torch.Tensor) -> torch.Tensor:
        if not isinstance(array, torch.Tensor) or not array.is_cpu:
            raise bad_param("indice_num is not a tensor on the device cpu")
        if array.dtype not in _INTEGERS or array.layout is not torch.strided:
            raise bad_param(f"indice_num has dtype {array.dtype}, expected integers")
        return array.long().contiguous()


TORCH = TorchArrays()
