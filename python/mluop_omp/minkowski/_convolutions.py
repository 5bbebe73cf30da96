"""Convolution, transposed and generative convolution, and convolution of each channel."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from mluop_omp._library import bad_param
from mluop_omp.minkowski import _geometry
from mluop_omp.minkowski._coordinates import CoordinateMapKey
from mluop_omp.minkowski._kernels import ConvolutionMode, KernelGenerator, RegionType
from mluop_omp.minkowski._tensors import SparseTensor
from mluop_omp.torch._parameters import draw_uniform
from mluop_omp.torch._precision import of_convolution
from mluop_omp.torch.site_maps import KernelMap, convolve, sum_pool, themselves


class MinkowskiModuleBase(nn.Module):
    """The base of MinkowskiEngine's layers."""


class KernelLayer(MinkowskiModuleBase):
    """A layer that has a kernel.

    Attributes:
        dimension: the number of coordinates.
        kernel_generator: as given, else made of kernel_size, stride and dilation.
    """

    kernel: nn.Parameter
    bias: nn.Parameter | None

    def _set_geometry(
        self,
        kernel_size: Any,
        stride: Any,
        dilation: Any,
        kernel_generator: KernelGenerator | None,
        dimension: int | None,
    ) -> None:
        self.dimension = _geometry.require_dimension(self, dimension)
        self.kernel_generator = kernel_generator or KernelGenerator(
            kernel_size=kernel_size, stride=stride, dilation=dilation, dimension=self.dimension
        )

    def _draw_parameters(self, channels: int) -> None:
        """Draws kernel and bias uniformly from +-1 / sqrt(channels K)."""
        draw_uniform(channels * self.kernel_generator.kernel_volume, self.kernel, self.bias)

    def _biased(self, features: Tensor) -> Tensor:
        # Under autocast, features have its type.
        return features if self.bias is None else features + self.bias.to(features.dtype)

    def _require_input(self, input: SparseTensor, channels: int | None = None) -> None:
        """Raises if the input is not a SparseTensor of the layer's dimension, and of channels."""
        _geometry.require_sparse(self, input, self.dimension)
        if channels is not None and input.F.shape[1] != channels:
            raise bad_param(
                f"{type(self).__name__}: the input has {input.F.shape[1]} channels, "
                f"expected {channels}"
            )

    def _describe_kernel(self) -> str:
        generator = self.kernel_generator
        kernel = f"kernel_size={generator.kernel_size}"
        if generator.region_type == RegionType.CUSTOM:
            volume = generator.kernel_volume
            kernel = f"region_type={generator.region_type}, kernel_volume={volume}"
        return f"{kernel}, stride={generator.kernel_stride}, dilation={generator.kernel_dilation}"


class MinkowskiConvolutionBase(KernelLayer):
    """y[o] = sum over k of x[o + offset_k] W[k], plus bias.

    Transposed: x[c] W[k] is added to y[c + offset_k].

    Attributes:
        kernel: [K, in_channels, out_channels]; [in_channels, out_channels] if K and all strides
            are 1.
        bias: [1, out_channels], or None.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any = -1,
        stride: Any = 1,
        dilation: Any = 1,
        bias: bool = False,
        kernel_generator: KernelGenerator | None = None,
        is_transpose: bool = False,
        expand_coordinates: bool = False,
        convolution_mode: ConvolutionMode = ConvolutionMode.DEFAULT,
        dimension: int | None = -1,
    ) -> None:
        super().__init__()
        self._set_geometry(kernel_size, stride, dilation, kernel_generator, dimension)
        # As in MinkowskiEngine, also a given generator, which several layers may share.
        self.kernel_generator.expand_coordinates = expand_coordinates
        self.is_transpose = is_transpose
        self.in_channels, self.out_channels = in_channels, out_channels
        self.convolution_mode = convolution_mode
        volume = self.kernel_generator.kernel_volume
        # Each site alone: a product of the features and one matrix.
        self.use_mm = volume == 1 and self.kernel_generator.requires_strided_coordinates
        shape = (in_channels, out_channels)
        self.kernel = nn.Parameter(torch.empty(shape if self.use_mm else (volume, *shape)))
        self.bias = nn.Parameter(torch.empty(1, out_channels)) if bias else None
        self.reset_parameters(is_transpose)

    def reset_parameters(self, is_transpose: bool = False) -> None:
        """Draws uniformly from +-1 / sqrt(channels K); out_channels if transposed."""
        self._draw_parameters(self.out_channels if is_transpose else self.in_channels)

    def _pairs(self, input: SparseTensor, coordinates: Any) -> tuple[CoordinateMapKey, KernelMap]:
        if self.use_mm:
            return input.coordinate_map_key, themselves(len(input.F))
        geometry = self.kernel_generator, self.is_transpose
        key = _geometry.output_key(input, *geometry, coordinates)
        return key, _geometry.pairs(input, key, *geometry)

    def forward(
        self,
        input: SparseTensor,
        coordinates: Tensor | CoordinateMapKey | SparseTensor | None = None,
    ) -> SparseTensor:
        """coordinates: the output sites, or what has them; ignored if K and all strides are 1."""
        self._require_input(input, self.in_channels)
        key, pairs = self._pairs(input, coordinates)
        features, kernel = of_convolution(input.F, self.kernel)
        return input._with(self._biased(convolve(features, kernel, pairs)), key)

    def __repr__(self) -> str:
        channels = f"in={self.in_channels}, out={self.out_channels}"
        return f"{type(self).__name__}({channels}, {self._describe_kernel()})"


class _Convolution(MinkowskiConvolutionBase):
    """A convolution whose class determines whether it is transposed."""

    IS_TRANSPOSE = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any = -1,
        stride: Any = 1,
        dilation: Any = 1,
        bias: bool = False,
        kernel_generator: KernelGenerator | None = None,
        expand_coordinates: bool = False,
        convolution_mode: ConvolutionMode = ConvolutionMode.DEFAULT,
        dimension: int | None = None,
    ) -> None:
        super().__init__(
            *(in_channels, out_channels, kernel_size, stride, dilation, bias, kernel_generator),
            *(self.IS_TRANSPOSE, expand_coordinates, convolution_mode, dimension),
        )


class MinkowskiConvolution(_Convolution):
    """A convolution. Stride s: the output sites are the inputs' floors to multiples of t s."""


class MinkowskiConvolutionTranspose(_Convolution):
    """A transposed convolution, to the sites that the manager has of stride t / s, if any."""

    IS_TRANSPOSE = True


class MinkowskiGenerativeConvolutionTranspose(_Convolution):
    """A transposed convolution to all sites that the kernel reaches."""

    IS_TRANSPOSE = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any = -1,
        stride: Any = 1,
        dilation: Any = 1,
        bias: bool = False,
        kernel_generator: KernelGenerator | None = None,
        convolution_mode: ConvolutionMode = ConvolutionMode.DEFAULT,
        dimension: int | None = None,
    ) -> None:
        super().__init__(
            *(in_channels, out_channels, kernel_size, stride, dilation, bias, kernel_generator),
            *(True, convolution_mode, dimension),
        )


class MinkowskiChannelwiseConvolution(KernelLayer):
    """Convolves each channel by itself: y[o, c] = sum over k of x[o + offset_k, c] W[k, c]."""

    def __init__(
        self,
        in_channels: int,
        kernel_size: Any = -1,
        stride: Any = 1,
        dilation: Any = 1,
        bias: bool = False,
        kernel_generator: KernelGenerator | None = None,
        dimension: int | None = -1,
    ) -> None:
        super().__init__()
        self._set_geometry(kernel_size, stride, dilation, kernel_generator, dimension)
        self.in_channels = in_channels
        self.kernel_shape = (self.kernel_generator.kernel_volume, in_channels)
        self.kernel = nn.Parameter(torch.empty(self.kernel_shape))
        self.bias = nn.Parameter(torch.empty(1, in_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws uniformly from +-1 / sqrt(in_channels K)."""
        self._draw_parameters(self.in_channels)

    def forward(self, input: SparseTensor, coords: Any = None) -> SparseTensor:
        """coords has no effect, as in MinkowskiEngine."""
        self._require_input(input, self.in_channels)
        key = _geometry.output_key(input, self.kernel_generator, False)
        pairs = _geometry.pairs(input, key, self.kernel_generator, False)
        features = input.F.new_zeros(pairs.num_out, self.in_channels)
        for k, count in enumerate(pairs.num.tolist()):
            of_offset = pairs._replace(pairs=pairs.pairs[k : k + 1], num=pairs.num[k : k + 1])
            if count:
                features = features + sum_pool(input.F * self.kernel[k], of_offset)
        return input._with(self._biased(features), key)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(in={self.in_channels}, {self._describe_kernel()})"
