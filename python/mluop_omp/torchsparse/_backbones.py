"""torchsparse.backbones: SparseResNet21D and SparseResUNet42, and their blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from torch import nn

from mluop_omp.torchsparse import _convolutions, _tensors
from mluop_omp.torchsparse._layers import BatchNorm, ReLU
from mluop_omp.torchsparse._utils import Size, make_ntuple

# The layer that a block is made of: Conv3d of a version.
_Layer = Any


class SparseConvBlock(nn.Sequential):
    """A convolution, batch norm and ReLU."""

    conv3d: _Layer = _convolutions.Conv3d
    is_transposed = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        dilation: int = 1,
    ) -> None:
        geometry = {"stride": stride, "dilation": dilation, "transposed": self.is_transposed}
        super().__init__(
            self.conv3d(in_channels, out_channels, kernel_size, **geometry),
            BatchNorm(out_channels),
            ReLU(True),
        )


class SparseConvTransposeBlock(SparseConvBlock):
    """A transposed convolution, batch norm and ReLU."""

    is_transposed = True


class SparseResBlock(nn.Module):
    """Two convolutions, added to the input or to a convolution of it."""

    conv3d: _Layer = _convolutions.Conv3d

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        dilation: int = 1,
    ) -> None:
        super().__init__()
        first = self.conv3d(
            in_channels, out_channels, kernel_size, dilation=dilation, stride=stride
        )
        second = self.conv3d(out_channels, out_channels, kernel_size, dilation=dilation)
        self.main = nn.Sequential(
            *(first, BatchNorm(out_channels), ReLU(True)), *(second, BatchNorm(out_channels))
        )
        self.shortcut: nn.Module = nn.Identity()
        if in_channels != out_channels or math.prod(make_ntuple(stride, 3)) != 1:
            self.shortcut = nn.Sequential(
                self.conv3d(in_channels, out_channels, 1, stride=stride), BatchNorm(out_channels)
            )
        self.relu = ReLU(True)

    def forward(self, x: Any) -> Any:
        return self.relu(self.main(x) + self.shortcut(x))


class SparseResNet(nn.ModuleList):
    """Stages of a convolution and residual blocks; the output is a list of their tensors.

    Args:
        blocks: blocks, channels, kernel and stride of each stage.
        width_multiplier: scales the channels.
    """

    conv_block, res_block = SparseConvBlock, SparseResBlock

    def __init__(
        self,
        blocks: Sequence[tuple[int, int, Size, Size]],
        *,
        in_channels: int = 4,
        width_multiplier: float = 1.0,
    ) -> None:
        super().__init__()
        self.blocks, self.in_channels = blocks, in_channels
        self.width_multiplier = width_multiplier
        for count, channels, kernel, stride in blocks:
            width = int(channels * width_multiplier)
            first = self.conv_block(in_channels, width, kernel, stride=stride)
            others = (self.res_block(width, width, kernel) for _ in range(count - 1))
            self.append(nn.Sequential(first, *others))
            in_channels = width

    def forward(self, x: Any) -> list[Any]:
        outputs = []
        for stage in self:
            x = stage(x)
            outputs.append(x)
        return outputs


class SparseResNet21D(SparseResNet):
    """Five stages of residual blocks; the last is flat."""

    def __init__(self, **kwargs: Any) -> None:
        stages = [(3, 16 * 2**level, 3, 1 if level == 0 else 2) for level in range(4)]
        super().__init__([*stages, (1, 128, (1, 3, 1), (1, 2, 1))], **kwargs)


class SparseResUNet(nn.Module):
    """A U-Net of four levels; the output is a list of the tensors of all levels, down and up."""

    conv3d: _Layer = _convolutions.Conv3d
    conv_block, res_block = SparseConvBlock, SparseResBlock
    up_block: type[SparseConvBlock] = SparseConvTransposeBlock

    def __init__(
        self,
        stem_channels: int,
        encoder_channels: Sequence[int],
        decoder_channels: Sequence[int],
        *,
        in_channels: int = 4,
        width_multiplier: float = 1.0,
    ) -> None:
        super().__init__()
        self.stem_channels, self.in_channels = stem_channels, in_channels
        self.encoder_channels, self.decoder_channels = encoder_channels, decoder_channels
        self.width_multiplier = width_multiplier
        channels = (stem_channels, *encoder_channels, *decoder_channels)
        widths = [int(width_multiplier * each) for each in channels]
        self.stem = nn.Sequential(
            *self._stem(in_channels, widths[0]), *self._stem(widths[0], widths[0])
        )
        self.encoders = nn.ModuleList(
            nn.Sequential(
                self.conv_block(width, width, 2, stride=2),
                self.res_block(width, wider, 3),
                self.res_block(wider, wider, 3),
            )
            for width, wider in zip(widths[:4], widths[1:5])
        )
        skipped = widths[3::-1]
        self.decoders = nn.ModuleList(map(self._decoder, widths[4:8], widths[5:9], skipped))

    def _stem(self, in_channels: int, width: int) -> tuple[nn.Module, ...]:
        return self.conv3d(in_channels, width, 3), BatchNorm(width), ReLU(True)

    def _decoder(self, in_channels: int, width: int, skipped: int) -> nn.ModuleDict:
        upsample = self.up_block(in_channels, width, 2, stride=2)
        fuse = self.res_block(width + skipped, width, 3), self.res_block(width, width, 3)
        return nn.ModuleDict({"upsample": upsample, "fuse": nn.Sequential(*fuse)})

    def forward(self, x: Any) -> list[Any]:
        outputs = [self.stem(x)]
        for encoder in self.encoders:
            outputs.append(encoder(outputs[-1]))
        decoder: Any
        for decoder, skipped in zip(self.decoders, outputs[3::-1]):
            both = _tensors.cat([decoder["upsample"](outputs[-1]), skipped])
            outputs.append(decoder["fuse"](both))
        return outputs


class SparseResUNet42(SparseResUNet):
    """A U-Net of 42 layers."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(32, [32, 64, 128, 256], [256, 128, 96, 96], **kwargs)


# Version 2.1.


class BatchFirstConvBlock(SparseConvBlock):
    conv3d = _convolutions.BatchFirstConv3d


class BatchFirstConvTransposeBlock(SparseConvTransposeBlock):
    conv3d = _convolutions.BatchFirstConv3d


class BatchFirstResBlock(SparseResBlock):
    conv3d = _convolutions.BatchFirstConv3d


class BatchFirstResNet21D(SparseResNet21D):
    conv_block, res_block = BatchFirstConvBlock, BatchFirstResBlock


class BatchFirstResUNet42(SparseResUNet42):
    conv3d = _convolutions.BatchFirstConv3d
    conv_block, res_block = BatchFirstConvBlock, BatchFirstResBlock
    up_block = BatchFirstConvTransposeBlock
