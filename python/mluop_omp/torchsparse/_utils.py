"""torchsparse.utils: sizes, caches of version 2.1, batches, quantization."""

from __future__ import annotations

import enum
import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mluop_omp._library import bad_param

Size = Any  # An integer, or one for each axis.


def make_ntuple(x: Any, ndim: int) -> tuple[int, ...]:
    """Returns integers, one for each axis: of an integer, a sequence or a tensor."""
    if isinstance(x, Tensor):
        x = x.reshape(-1).tolist()
    try:
        values = (operator.index(x),) * ndim
    except TypeError:
        if not isinstance(x, (Sequence, np.ndarray)) or isinstance(x, str):
            raise bad_param(f"x is {x!r}, expected an integer or {ndim} of them") from None
        values = tuple(x)
    if len(values) != ndim:
        raise bad_param(f"x is {x!r}, expected an integer or {ndim} of them")
    return values


@functools.lru_cache(maxsize=256)
def make_tensor(x: tuple[Any, ...], dtype: torch.dtype, device: Any = "cpu") -> Tensor:
    """Returns a tensor of a tuple. Calls with equal arguments return the same tensor."""
    return torch.tensor(x, dtype=dtype, device=device)


def make_divisible(x: int, divisor: int) -> int:
    """Returns the next multiple of divisor."""
    return (x + divisor - 1) // divisor * divisor


class TensorCacheMode(enum.Enum):
    """Whether each tensor of version 2.1 has its own cache, or all share one."""

    SEPARATE_TENSOR_CACHE = 0
    GLOBAL_TENSOR_CACHE = 1


class TensorCache:
    """Sites and kernel maps of version 2.1 by their keys, which tensors share.

    Attributes:
        cmaps: by stride, coordinates and spatial range.
        kmaps: by input stride, kernel, stride and dilation, the kernel map.
        hashmaps: unused.
    """

    def __init__(self) -> None:
        self.cmaps: dict[tuple[int, ...], tuple[Tensor, tuple[int, ...] | None]] = {}
        self.kmaps: dict[tuple[Any, ...], Any] = {}
        self.hashmaps: dict[tuple[int, ...], Any] = {}


class _Caches:
    mode = TensorCacheMode.SEPARATE_TENSOR_CACHE
    shared: TensorCache | None = None


def set_tensor_cache_mode(mode: TensorCacheMode) -> None:
    """Sets whether new tensors share a cache, which `clear_global_tensor_cache` has to empty after
    each scene.
    """
    if not isinstance(mode, TensorCacheMode):
        raise bad_param(f"mode is {mode!r}, expected a TensorCacheMode")
    _Caches.mode = mode


def get_tensor_cache_mode() -> TensorCacheMode:
    return _Caches.mode


def get_global_tensor_cache() -> TensorCache | None:
    return _Caches.shared


def set_global_tensor_cache(tensor_cache: TensorCache | None) -> None:
    _Caches.shared = tensor_cache


def clear_global_tensor_cache() -> None:
    _Caches.shared = None


def new_cache() -> TensorCache:
    """Returns the cache of a new tensor."""
    if _Caches.mode is TensorCacheMode.SEPARATE_TENSOR_CACHE:
        return TensorCache()
    if _Caches.shared is None:
        _Caches.shared = TensorCache()
    return _Caches.shared


def sparse_quantize(
    coords: Any,
    voxel_size: Any = 1,
    *,
    return_index: bool = False,
    return_inverse: bool = False,
) -> Any:
    """Returns the voxels of points: NumPy's int32 [M, 3], ascending by x, y and z.

    Args:
        coords: [N, 3].
        voxel_size: a number, or a tuple of three.
        return_index: also returns the first point of each voxel.
        return_inverse: also returns the row of each point's voxel.
    """
    sizes = (voxel_size,) * 3 if isinstance(voxel_size, (float, int)) else voxel_size
    if not isinstance(sizes, tuple) or len(sizes) != 3:
        raise bad_param(f"voxel_size is {voxel_size!r}, expected a number or a tuple of three")
    points = np.asarray(coords)
    if points.ndim != 2 or points.shape[1] != 3:
        raise bad_param(f"coords has shape {list(points.shape)}, expected [N, 3]")
    cells = np.floor(points / np.array(sizes))
    # NaN is not less than any number.
    if not (np.abs(cells + 0.5) < 2**31).all():
        raise bad_param("coords divided by voxel_size are not all 32-bit integers")
    voxels, index, inverse = np.unique(
        cells.astype(np.int32), axis=0, return_index=True, return_inverse=True
    )
    given = (True, voxels), (return_index, index), (return_inverse, inverse.reshape(-1))
    outputs = [value for is_wanted, value in given if is_wanted]
    return outputs[0] if len(outputs) == 1 else outputs


def sparse_quantize_from_zero(
    coords: Any,
    voxel_size: Any = 1,
    *,
    return_index: bool = False,
    return_inverse: bool = False,
) -> Any:
    """As `sparse_quantize`, minus the lowest voxel along each axis, as in version 1.4."""
    returned = {"return_index": return_index, "return_inverse": return_inverse}
    outputs = sparse_quantize(coords, voxel_size, **returned)
    several = isinstance(outputs, list)
    voxels, *others = outputs if several else [outputs]
    if len(voxels):
        shifted = voxels - voxels.min(0).astype(np.int64)
        if shifted.max() >= 2**31:
            raise bad_param("coords divided by voxel_size extend over more than 2**31 voxels")
        voxels = shifted.astype(np.int32)
    return [voxels, *others] if several else voxels
