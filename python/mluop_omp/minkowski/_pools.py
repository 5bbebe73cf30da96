"""Pools over kernels, and their transposition."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from mluop_omp._library import not_supported
from mluop_omp.minkowski import _geometry
from mluop_omp.minkowski._convolutions import KernelLayer
from mluop_omp.minkowski._coordinates import CoordinateMapKey
from mluop_omp.minkowski._kernels import KernelGenerator, PoolingMode
from mluop_omp.minkowski._tensors import SparseTensor
from mluop_omp.torch.site_maps import average_pool, max_pool, sum_pool

_POOLS = {
    PoolingMode.LOCAL_SUM_POOLING: sum_pool,
    PoolingMode.LOCAL_AVG_POOLING: average_pool,
    PoolingMode.LOCAL_MAX_POOLING: max_pool,
}


class MinkowskiPoolingBase(KernelLayer):
    """A pool. Its sites are a convolution's of equal stride.

    The window of kernel_size = stride is the cell [c, c + t s) of each output site c, whatever the
    dilation and the region; else it is the kernel's.
    """

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = 1,
        dilation: Any = 1,
        kernel_generator: KernelGenerator | None = None,
        is_transpose: bool = False,
        pooling_mode: PoolingMode = PoolingMode.LOCAL_AVG_POOLING,
        dimension: int | None = -1,
    ) -> None:
        super().__init__()
        self._set_geometry(kernel_size, stride, dilation, kernel_generator, dimension)
        if pooling_mode not in _POOLS:
            raise not_supported(f"{type(self).__name__}: pooling_mode {pooling_mode}")
        self.is_transpose = is_transpose
        self.pooling_mode = pooling_mode

    def forward(
        self,
        input: SparseTensor,
        coordinates: Tensor | CoordinateMapKey | SparseTensor | None = None,
    ) -> SparseTensor:
        """coordinates: the output sites, or what has them."""
        self._require_input(input)
        generator = self.kernel_generator
        geometry = generator, self.is_transpose
        key = _geometry.output_key(input, *geometry, coordinates)
        are_cells = generator.kernel_size == generator.kernel_stride
        find = _geometry.cells if are_cells else _geometry.pairs
        pool = sum_pool if self.is_transpose else _POOLS[self.pooling_mode]
        return input._with(pool(input.F, find(input, key, *geometry)), key)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._describe_kernel()})"


class _Pooling(MinkowskiPoolingBase):
    """A pool whose class determines its mode."""

    MODE: PoolingMode

    def __init__(
        self,
        kernel_size: Any = -1,
        stride: Any = 1,
        dilation: Any = 1,
        kernel_generator: KernelGenerator | None = None,
        dimension: int | None = None,
    ) -> None:
        geometry = kernel_size, stride, dilation, kernel_generator
        super().__init__(*geometry, False, self.MODE, dimension)


class MinkowskiSumPooling(_Pooling):
    """The sum of the inputs in each window."""

    MODE = PoolingMode.LOCAL_SUM_POOLING


class MinkowskiAvgPooling(_Pooling):
    """The mean of the inputs that are present in each window; 0 without one."""

    MODE = PoolingMode.LOCAL_AVG_POOLING


class MinkowskiMaxPooling(_Pooling):
    """The maximum of the inputs in each window, whose gradient goes to one input.

    Among equal inputs, the input of the lowest offset gets it, then the input of the lowest row. A
    window without an input is 0 and has no gradient.
    """

    MODE = PoolingMode.LOCAL_MAX_POOLING


class MinkowskiPoolingTranspose(MinkowskiPoolingBase):
    """The sum of the coarse sites whose windows hold each site. It is not divided."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any,
        dilation: Any = 1,
        kernel_generator: KernelGenerator | None = None,
        expand_coordinates: bool = False,
        dimension: int | None = None,
    ) -> None:
        geometry = kernel_size, stride, dilation, kernel_generator
        super().__init__(*geometry, True, dimension=dimension)
        if kernel_generator is None:
            self.kernel_generator.expand_coordinates = expand_coordinates
