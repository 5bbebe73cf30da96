"""Residual blocks: modules.resnet_block and modules.senet_block."""

from __future__ import annotations

from typing import Any

from torch import nn

from mluop_omp.minkowski._convolutions import MinkowskiConvolution
from mluop_omp.minkowski._global import MinkowskiBroadcastMultiplication, MinkowskiGlobalPooling
from mluop_omp.minkowski._norms import MinkowskiBatchNorm
from mluop_omp.minkowski._pointwise import LAYERS, MinkowskiLinear
from mluop_omp.minkowski._tensors import SparseTensor


class _Block(nn.Module):
    """x plus the convolutions of x; downsample, if any, computes the first summand.

    The layers are conv1, norm1, conv2, norm2 ... of the kernel sizes; a ReLU follows each norm but
    the last, and the sum.
    """

    expansion: int
    _kernel_sizes: tuple[int, ...]

    def _build(
        self,
        inplanes: int,
        planes: int,
        stride: Any,
        dilation: Any,
        downsample: nn.Module | None,
        bn_momentum: float,
        dimension: int,
    ) -> None:
        """Convolutions of size 3 have the dilation, the first of them the stride."""
        sizes = self._kernel_sizes
        channels = (inplanes, *[planes] * (len(sizes) - 1), planes * self.expansion)
        for number, (kernel, inputs, outputs) in enumerate(zip(sizes, channels, channels[1:]), 1):
            own_stride = stride if number == sizes.index(3) + 1 else 1
            geometry = (kernel, own_stride, dilation if kernel == 3 else 1)
            conv = MinkowskiConvolution(inputs, outputs, *geometry, dimension=dimension)
            self.add_module(f"conv{number}", conv)
            self.add_module(f"norm{number}", MinkowskiBatchNorm(outputs, momentum=bn_momentum))
        self.relu = LAYERS["MinkowskiReLU"](inplace=True)
        self.downsample = downsample

    def _branch(self, x: SparseTensor) -> SparseTensor:
        for number in range(1, len(self._kernel_sizes) + 1):
            x = self.relu(x) if number > 1 else x
            x = getattr(self, f"norm{number}")(getattr(self, f"conv{number}")(x))
        return x

    def forward(self, x: SparseTensor) -> SparseTensor:
        out = self._branch(x)
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)  # type: ignore[no-any-return]


class BasicBlock(_Block):
    """Two convolutions of kernel size 3."""

    expansion = 1
    _kernel_sizes = 3, 3

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: Any = 1,
        dilation: Any = 1,
        downsample: nn.Module | None = None,
        bn_momentum: float = 0.1,
        dimension: int = -1,
    ) -> None:
        super().__init__()
        self._build(inplanes, planes, stride, dilation, downsample, bn_momentum, dimension)


class Bottleneck(_Block):
    """Convolutions of kernel sizes 1, 3 and 1; the last has 4 planes channels."""

    expansion = 4
    _kernel_sizes = 1, 3, 1

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: Any = 1,
        dilation: Any = 1,
        downsample: nn.Module | None = None,
        bn_momentum: float = 0.1,
        dimension: int = -1,
    ) -> None:
        super().__init__()
        self._build(inplanes, planes, stride, dilation, downsample, bn_momentum, dimension)


class SELayer(nn.Module):
    """Squeeze and excitation: x times a function of the mean of each batch."""

    def __init__(self, channel: int, reduction: int = 16, D: int = -1) -> None:
        super().__init__()
        self.fc = nn.Sequential(
            MinkowskiLinear(channel, channel // reduction),
            LAYERS["MinkowskiReLU"](inplace=True),
            MinkowskiLinear(channel // reduction, channel),
            LAYERS["MinkowskiSigmoid"](),
        )
        self.pooling = MinkowskiGlobalPooling()
        self.broadcast_mul = MinkowskiBroadcastMultiplication()

    def forward(self, x: SparseTensor) -> SparseTensor:
        return self.broadcast_mul(x, self.fc(self.pooling(x)))  # type: ignore[no-any-return]


class SEBasicBlock(BasicBlock):
    """A BasicBlock with squeeze and excitation."""

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: Any = 1,
        dilation: Any = 1,
        downsample: nn.Module | None = None,
        reduction: int = 16,
        D: int = -1,
    ) -> None:
        super().__init__(inplanes, planes, stride, dilation, downsample, dimension=D)
        self.se = SELayer(planes, reduction, D)

    def _branch(self, x: SparseTensor) -> SparseTensor:
        return self.se(super()._branch(x))  # type: ignore[no-any-return]


class SEBottleneck(Bottleneck):
    """A Bottleneck with squeeze and excitation."""

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: Any = 1,
        dilation: Any = 1,
        downsample: nn.Module | None = None,
        D: int = 3,
        reduction: int = 16,
    ) -> None:
        super().__init__(inplanes, planes, stride, dilation, downsample, dimension=D)
        self.se = SELayer(planes * self.expansion, reduction, D)

    def _branch(self, x: SparseTensor) -> SparseTensor:
        return self.se(super()._branch(x))  # type: ignore[no-any-return]
