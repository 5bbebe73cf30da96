"""Enumerations of MinkowskiEngine's compiled part, and the offsets of kernels."""

from __future__ import annotations

import enum
import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mluop_omp._library import bad_param, not_supported
from mluop_omp.torch.site_maps import cube_offsets


class _Enumeration(enum.IntEnum):
    """An enumeration whose text is its name, as in the compiled part."""

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)


def _with_entries(enumeration: type[_Enumeration]) -> Any:
    """Adds `__entries`, which models read: a member and its documentation, by name."""
    setattr(enumeration, "__entries", {each.name: (each, None) for each in enumeration})
    return enumeration


@_with_entries
class RegionType(_Enumeration):
    """The shape of a kernel."""

    HYPER_CUBE = 0
    HYPER_CROSS = 1
    CUSTOM = 2


class PoolingMode(_Enumeration):
    """What a pool computes. The algorithms of global pools give equal results here."""

    LOCAL_SUM_POOLING = 0
    LOCAL_AVG_POOLING = 1
    LOCAL_MAX_POOLING = 2
    GLOBAL_SUM_POOLING_DEFAULT = 3
    GLOBAL_AVG_POOLING_DEFAULT = 4
    GLOBAL_MAX_POOLING_DEFAULT = 5
    GLOBAL_SUM_POOLING_KERNEL = 6
    GLOBAL_AVG_POOLING_KERNEL = 7
    GLOBAL_MAX_POOLING_KERNEL = 8
    GLOBAL_SUM_POOLING_PYTORCH_INDEX = 9
    GLOBAL_AVG_POOLING_PYTORCH_INDEX = 10
    GLOBAL_MAX_POOLING_PYTORCH_INDEX = 11


class BroadcastMode(_Enumeration):
    """How a broadcast combines features. The first name is spelled as in MinkowskiEngine."""

    ELEMENTWISE_ADDITON = 0
    ELEMENTWISE_MULTIPLICATION = 1


# Accepted; they have no effect on results.


class ConvolutionMode(_Enumeration):
    DEFAULT = 0
    DIRECT_GEMM = 1
    COPY_GEMM = 2


class MinkowskiAlgorithm(_Enumeration):
    DEFAULT = 0
    MEMORY_EFFICIENT = 1
    SPEED_OPTIMIZED = 2


class CUDAKernelMapMode(_Enumeration):
    MEMORY_EFFICIENT = 0
    SPEED_OPTIMIZED = 1


class GPUMemoryAllocatorType(_Enumeration):
    PYTORCH = 0
    CUDA = 1


class CoordinateMapType(_Enumeration):
    CPU = 0
    CUDA = 1


def to_int_list(name: str, value: Any, dimension: int) -> list[int]:
    """Returns a number, or a sequence, array or tensor of `dimension` numbers, as a list."""
    values = value.tolist() if isinstance(value, (np.ndarray, Tensor)) else value
    values = [values] * dimension if np.isscalar(values) else values
    try:
        integers = [int(each) for each in values]
        is_valid = len(integers) == dimension and integers == list(values)
    except (TypeError, ValueError, OverflowError):
        is_valid = False
    if not is_valid:
        raise bad_param(f"{name} is {value!r}, expected an integer or {dimension} of them")
    return integers


def _positive(name: str, value: Any, dimension: int) -> list[int]:
    values = to_int_list(name, value, dimension)
    if min(values) < 1:
        raise bad_param(f"{name} is {value}, expected numbers of at least 1")
    return values


def get_kernel_volume(
    region_type: RegionType,
    kernel_size: Sequence[int],
    region_offset: Tensor | None,
    axis_types: Any,
    dimension: int,
) -> int:
    """Returns the number of offsets of a kernel."""
    if axis_types is not None:
        raise not_supported("axis_types: kernels whose axes have different regions")
    if region_type == RegionType.CUSTOM:
        return 0 if region_offset is None else len(region_offset)
    sizes = _positive("kernel_size", kernel_size, dimension)
    if region_type == RegionType.HYPER_CROSS:
        if any(size % 2 == 0 for size in sizes):
            raise bad_param(f"kernel_size is {kernel_size}, expected odd sizes for HYPER_CROSS")
        return 1 + sum(size - 1 for size in sizes)
    return math.prod(sizes)


def _cross(kernel: Sequence[int]) -> list[list[int]]:
    """Returns the center, then for each axis +1 ... +r and -r ... -1."""
    offsets = [[0] * len(kernel)]
    for axis, size in enumerate(kernel):
        radius = size // 2
        for step in itertools.chain(range(1, radius + 1), range(-radius, 0)):
            offsets.append([step if each == axis else 0 for each in range(len(kernel))])
    return offsets


@functools.lru_cache(maxsize=1024)
def _offsets(
    region: RegionType, kernel: tuple[int, ...], dilation: tuple[int, ...], stride: tuple[int, ...]
) -> Tensor:
    if region == RegionType.CUSTOM:
        raise not_supported("RegionType.CUSTOM: no layer, nor any of MinkowskiEngine's, has it")
    reach = max(size * step * t for size, step, t in zip(kernel, dilation, stride))
    if reach >= 2**31:
        raise bad_param(
            f"kernel_size {list(kernel)}, dilation {list(dilation)}, tensor stride {list(stride)}: "
            "offsets exceed int32"
        )
    steps = [step * t for step, t in zip(dilation, stride)]
    if region == RegionType.HYPER_CROSS:
        offsets = torch.tensor(_cross(kernel), dtype=torch.int32)
        return offsets * torch.tensor(steps, dtype=torch.int32)
    # Even axes start at 0, odd ones are centered.
    lowest = [-(size // 2) if size % 2 else 0 for size in kernel]
    return cube_offsets(kernel, True, lowest, steps)


def region_offsets(
    region: RegionType, kernel: Sequence[int], dilation: Sequence[int], stride: Sequence[int]
) -> Tensor:
    """Returns the offsets int32 [K, D] of a kernel, which is shared: do not write to it.

    input = output + offset. stride: the tensor stride of the finer side.
    """
    return _offsets(RegionType(region), tuple(kernel), tuple(dilation), tuple(stride))


class KernelGenerator:
    """The size, stride, dilation and shape of a kernel."""

    def __init__(
        self,
        kernel_size: Any = -1,
        stride: Any = 1,
        dilation: Any = 1,
        is_transpose: bool = False,
        region_type: RegionType = RegionType.HYPER_CUBE,
        region_offsets: Tensor | None = None,
        expand_coordinates: bool = False,
        axis_types: Any = None,
        dimension: int = -1,
    ) -> None:
        if dimension is None or dimension < 1:
            raise bad_param(f"dimension is {dimension}, expected at least 1")
        if not isinstance(region_type, RegionType):
            raise bad_param(f"region_type is {region_type!r}, expected a RegionType")
        self.cache: dict[Any, Any] = {}
        self.kernel_size = to_int_list("kernel_size", kernel_size, dimension)
        self.kernel_stride = _positive("stride", stride, dimension)
        self.kernel_dilation = _positive("dilation", dilation, dimension)
        self.region_type = region_type
        no_offsets = torch.empty(0, dtype=torch.int32)
        self.region_offsets = no_offsets if region_offsets is None else region_offsets
        self.axis_types = axis_types
        self.dimension = dimension
        self.kernel_volume = get_kernel_volume(
            region_type, self.kernel_size, region_offsets, axis_types, dimension
        )
        self.requires_strided_coordinates = all(step == 1 for step in self.kernel_stride)
        self.expand_coordinates = expand_coordinates

    def offsets(self, tensor_stride: Sequence[int]) -> Tensor:
        """Returns the offsets int32 [K, D], which are shared; tensor_stride: the finer side's."""
        return region_offsets(
            self.region_type, self.kernel_size, self.kernel_dilation, tensor_stride
        )

    def geometry(self) -> tuple[Any, ...]:
        """Returns what determines the pairs of two keys."""
        sizes = (self.kernel_size, self.kernel_stride, self.kernel_dilation)
        return (self.region_type, *map(tuple, sizes))

    def get_kernel(self, tensor_stride: Any, is_transpose: bool) -> tuple[RegionType, Tensor, int]:
        """Returns the region, its custom offsets and the volume."""
        return self.region_type, self.region_offsets, self.kernel_volume

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(kernel_size={self.kernel_size}, "
            f"kernel_stride={self.kernel_stride}, kernel_dilation={self.kernel_dilation}, "
            f"region_type={self.region_type!s}, expand_coordinates={self.expand_coordinates}, "
            f"dimension={self.dimension})"
        )
