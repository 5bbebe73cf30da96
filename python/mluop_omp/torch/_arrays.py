"""The arrays of PyTorch."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from mluop_omp._arrays import ARRAY, DTYPES, NHWC, SMALL, Arrays, Descriptor, Tensor, describe
from mluop_omp._library import MluOpError, bad_param, not_supported
from mluop_omp.torch._precision import dense

_INTEGERS = {torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64}
# Before calls of operators: applies torch.set_num_threads to the OpenMP setting of the calling
# thread, as PyTorch's operators do.
apply_num_threads = torch.get_num_threads


def is_channels_last(tensor: Any) -> bool:
    """Returns whether an operator of images takes [N, C, H, W] from memory as [N, H, W, C].

    It copies tensors of another memory format, and float64, which NumPy computes.
    """
    return (
        isinstance(tensor, torch.Tensor)
        and tensor.layout is torch.strided
        and tensor.dtype is not torch.float64
        and tensor.dim() == 4
        and not tensor.is_contiguous()
        and tensor.is_contiguous(memory_format=torch.channels_last)
    )


def require_integers(name: str, tensor: torch.Tensor) -> torch.Tensor:
    if tensor.dtype not in _INTEGERS:
        raise bad_param(f"{name} has dtype {tensor.dtype}, expected integers")
    return tensor


def _require_all(name: str, tensor: torch.Tensor, valid: torch.Tensor, expected: str) -> None:
    """Raises MluOpError for the first element that is not valid."""
    if not valid.all():
        first = (~valid).nonzero()[0].tolist()
        raise bad_param(f"{name}{first} is {tensor[tuple(first)].item()}, expected {expected}")


def to_int32(name: str, tensor: torch.Tensor) -> torch.Tensor:
    """Returns integers as int32. Raises MluOpError if one does not fit."""
    require_integers(name, tensor)
    if tensor.dtype is torch.int64:
        fits = (tensor >= -(2**31)) & (tensor < 2**31)
        _require_all(name, tensor, fits, "a 32-bit integer")
    return dense(tensor.int())


def to_index(name: str, tensor: torch.Tensor, size: int) -> torch.Tensor:
    """Returns integers as int64. Raises MluOpError if one is outside [0, size)."""
    require_integers(name, tensor)
    _require_all(name, tensor, (tensor >= 0) & (tensor < size), f"0 to {size - 1}")
    return tensor.long()


def write(
    outputs: dict[str, torch.Tensor], dtype: torch.dtype, operator: Any, *arguments: Any
) -> None:
    """Writes the results of an operator, which computes `dtype`, to tensors of the caller."""
    tensors = tuple(outputs.values())
    if all(each.is_contiguous() and each.dtype in (dtype, torch.int32) for each in tensors):
        operator(TORCH.into(tensors), *arguments)
        return
    store(outputs, operator(TORCH, *arguments))


def store(outputs: dict[str, torch.Tensor], results: Any) -> None:
    """Copies results to tensors of the caller."""
    for tensor, result in _matched(outputs, results):
        tensor.copy_(result)


def add(outputs: dict[str, torch.Tensor], results: Any, scale: float = 1) -> None:
    """Adds the results of an operator, times scale, to tensors of the caller."""
    for tensor, result in _matched(outputs, results):
        tensor.add_(result, alpha=scale)


def _matched(
    outputs: dict[str, torch.Tensor], results: Any
) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Returns each tensor with its result, which is a tensor or a tuple of them."""
    results = results if isinstance(results, tuple) else (results,)
    for (name, tensor), result in zip(outputs.items(), results):
        if tensor.shape != result.shape:
            raise bad_param(f"{name} has shape {list(tensor.shape)}, expected {list(result.shape)}")
    return list(zip(outputs.values(), results))


def _without_address(name: str) -> MluOpError:
    return not_supported(
        f"{name} is a tensor of torch.func or torch.vmap, which mluop_omp.torch supports"
    )


# Whatever torch.set_default_device is.
_CPU = torch.device("cpu")

# Linux maps new memory page by page when it is first written, which takes longer than most
# operators. Outputs of at least twice this size ask for huge pages, as arrays of NumPy do.
_HUGE_PAGE = 2 << 20
_MADV_HUGEPAGE = 14
_madvise = getattr(ctypes.CDLL(None), "madvise", None) if sys.platform == "linux" else None
if _madvise is not None:
    _madvise.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int


def _prefer_huge_pages(address: int, size: int) -> None:
    if _madvise is not None:
        begin = -(-address // _HUGE_PAGE) * _HUGE_PAGE
        _madvise(begin, (address + size) // _HUGE_PAGE * _HUGE_PAGE - begin, _MADV_HUGEPAGE)


class TorchArrays(Arrays):
    _dtypes = {getattr(torch, name): code for name, code in DTYPES.items() if hasattr(torch, name)}
    _int32, _float64 = torch.int32, torch.float64

    def tensor(
        self, name: str, array: torch.Tensor, dimensions: str = "", layout: int = ARRAY
    ) -> Tensor:
        if not isinstance(array, torch.Tensor):
            raise TypeError(f"{name} is of type {type(array).__name__}, expected torch.Tensor")
        if not array.is_cpu:
            raise not_supported(f"{name} is on device {array.device}, expected cpu")
        if array.layout is not torch.strided:
            raise not_supported(f"{name} has layout {array.layout}, expected torch.strided")
        if not array.is_contiguous() or array.is_neg():
            raise not_supported(f"{name} is not contiguous; {name}.contiguous() is")
        dtype = self._dtypes.get(array.dtype)
        if dtype is None:
            raise bad_param(
                f"{name} has dtype {array.dtype}, expected {', '.join(map(str, self._dtypes))}"
            )
        # A function for both takes 0.1 us more.
        try:
            address = array.data_ptr()
        except RuntimeError:
            raise _without_address(name) from None
        if address % array.itemsize:
            raise not_supported(f"{name} is not aligned; {name}.clone() is")
        return describe(layout, dtype, array.shape, name, dimensions), address

    def output(
        self,
        name: str,
        shape: tuple[int, ...],
        like: torch.Tensor | None = None,
        layout: int = ARRAY,
        is_zero: bool = False,
    ) -> tuple[torch.Tensor, Descriptor, int]:
        dtype = torch.int32 if like is None else like.dtype
        # Sizes as separate arguments take 0.5 us less.
        array = (torch.zeros if is_zero else torch.empty)(*shape, dtype=dtype, device=_CPU)
        descriptor = describe(layout, self._dtypes[dtype], shape)
        try:
            address = array.data_ptr()
        except RuntimeError:
            raise _without_address(name) from None
        # torch.zeros has written its elements.
        if not is_zero and array.nbytes >= 2 * _HUGE_PAGE:
            _prefer_huge_pages(address, array.nbytes)
        return array, descriptor, address

    def is_channels_last(self, array: torch.Tensor) -> bool:
        return is_channels_last(array)

    def to_nchw(self, array: torch.Tensor) -> torch.Tensor:
        if is_channels_last(array):
            return super().from_nhwc(array.permute(0, 2, 3, 1), array)
        return array

    def to_nhwc(self, name: str, array: torch.Tensor) -> tuple[torch.Tensor, Descriptor, int]:
        if is_channels_last(array):
            image = array.permute(0, 2, 3, 1)
            return image, *self.tensor(name, image, layout=NHWC)
        return super().to_nhwc(name, array)

    def from_nhwc(self, array: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
        if is_channels_last(like):
            return array.permute(0, 3, 1, 2)
        return super().from_nhwc(array, like)

    def copy(self, array: torch.Tensor) -> tuple[torch.Tensor, int]:
        copy = array.clone()
        return copy, copy.data_ptr()

    def first_rows(self, array: torch.Tensor, shape: tuple[int, ...], count: int) -> torch.Tensor:
        if count == shape[0]:
            return array
        if 2 * count < shape[0] and array.numel() > SMALL:
            return array[:count].clone()
        # Unlike a view, no further tensor.
        return array.resize_(count, *shape[1:])

    def counts(self, array: torch.Tensor) -> list[int]:
        if not isinstance(array, torch.Tensor) or not array.is_cpu:
            raise bad_param("indice_num is not a tensor on the device cpu")
        if array.dtype not in _INTEGERS or array.layout is not torch.strided:
            raise bad_param(f"indice_num has dtype {array.dtype}, expected integers")
        if array.dim() != 1:
            raise bad_param(f"indice_num has {array.dim()} dimensions, expected 1")
        return array.tolist()

    def to_numpy(self, name: str, array: Any) -> Any:
        if not isinstance(array, torch.Tensor):
            return array
        self.tensor(name, array)
        if array.dtype is torch.bfloat16:
            raise bad_param(
                f"{name} has dtype {array.dtype}, expected the dtype of the other tensors"
            )
        return array.detach().numpy()

    def from_numpy(self, array: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(array)

    def into(self, outputs: Sequence[torch.Tensor]) -> Into:
        """Returns the Arrays of a call that writes its outputs to these tensors of the caller."""
        return Into(outputs)


TORCH = TorchArrays()


class Into(TorchArrays):
    """Arrays whose outputs are tensors of the caller, in their order."""

    def __init__(self, outputs: Sequence[torch.Tensor]) -> None:
        self.outputs = tuple(outputs)
        self._next = iter(self.outputs)
        self._images: dict[int, torch.Tensor] = {}

    def output(
        self,
        name: str,
        shape: tuple[int, ...],
        like: torch.Tensor | None = None,
        layout: int = ARRAY,
        is_zero: bool = False,
    ) -> tuple[torch.Tensor, Descriptor, int]:
        array = next(self._next)
        if layout != NHWC:
            return array, *self.tensor(name, array, layout=layout)
        image = TORCH.output(name, shape, like, layout)
        self._images[id(image[0])] = array
        return image

    def to_nhwc(self, name: str, array: torch.Tensor) -> tuple[torch.Tensor, Descriptor, int]:
        return TORCH.to_nhwc(name, array)

    def from_nhwc(self, array: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
        N, H, W, C = array.shape
        image = self._images[id(array)]
        self.transpose(array, (N, H * W, C), image)
        return image

    def zeros(self, shape: tuple[int, ...], like: torch.Tensor | None = None) -> torch.Tensor:
        return TORCH.zeros(shape, like)

    def adopted(self, results: tuple[np.ndarray, ...]) -> tuple[torch.Tensor, ...]:
        """Rows of an output that has more than its result become 0."""
        for output, result in zip(self.outputs, results):
            rows = self.to_numpy("out", output)
            rows[: len(result)] = result
            rows[len(result) :] = 0
        return tuple(output[: len(result)] for output, result in zip(self.outputs, results))

    def first_rows(self, array: torch.Tensor, shape: tuple[int, ...], count: int) -> torch.Tensor:
        return array[:count]
