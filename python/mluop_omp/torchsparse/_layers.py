"""Layers on the features of a tensor, SparseCrop and global pools: torchsparse.nn."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from mluop_omp.torchsparse import _functions, _tensors
from mluop_omp.torchsparse._tensors import fapply


def relu(input: Any, inplace: bool = True) -> Any:
    return fapply(input, nn.functional.relu, inplace=inplace)


def silu(input: Any, inplace: bool = True) -> Any:
    return fapply(input, nn.functional.silu, inplace=inplace)


def leaky_relu(input: Any, negative_slope: float = 0.1, inplace: bool = True) -> Any:
    return fapply(input, nn.functional.leaky_relu, negative_slope=negative_slope, inplace=inplace)


class ReLU(nn.ReLU):
    def forward(self, input: Any) -> Any:
        return fapply(input, super().forward)


class LeakyReLU(nn.LeakyReLU):
    def forward(self, input: Any) -> Any:
        return fapply(input, super().forward)


class SiLU(nn.SiLU):
    def forward(self, input: Any) -> Any:
        return fapply(input, super().forward)


class BatchNorm(nn.BatchNorm1d):
    """Normalizes each channel over all sites."""

    def forward(self, input: Any) -> Any:
        return fapply(input, super().forward)


class InstanceNorm(nn.InstanceNorm1d):
    """Normalizes each site over its channels.

    It is torch.nn.InstanceNorm1d of features [N, C], as in torchsparse: N channels of one instance.
    """

    def forward(self, input: Any) -> Any:
        return fapply(input, super().forward)


class GroupNorm(nn.GroupNorm):
    """Normalizes each group of channels over the sites of a batch."""

    def forward(self, input: Any) -> Any:
        return fapply(input, self._normalized, _tensors.batches(input))

    def _normalized(self, feats: Tensor, batch: Tensor) -> Tensor:
        if len(feats) == 0:
            return feats
        order = batch.argsort(stable=True)
        sizes = batch.bincount().tolist()
        parts = torch.split(feats[order], [size for size in sizes if size])
        normalized = [
            super(GroupNorm, self).forward(part.t().unsqueeze(0))[0].t() for part in parts
        ]
        return torch.cat(normalized)[order.argsort()]


class SparseCrop(nn.Module):
    """Keeps the sites with coords_min <= (x, y, z) < coords_max."""

    def __init__(self, coords_min: Any = None, coords_max: Any = None) -> None:
        super().__init__()
        self.coords_min, self.coords_max = coords_min, coords_max

    def forward(self, input: Any) -> Any:
        return _functions.spcrop(input, self.coords_min, self.coords_max)


class GlobalAvgPool(nn.Module):
    """[B, C], the mean of the sites of each batch."""

    def forward(self, input: Any) -> Tensor:
        return _functions.global_avg_pool(input)


class GlobalMaxPool(nn.Module):
    """[B, C], the maximum of the sites of each batch."""

    def forward(self, input: Any) -> Tensor:
        return _functions.global_max_pool(input)
