"""Normalization over all sites, and over the sites of each batch."""

from __future__ import annotations

from typing import Any, TypeVar

import torch
from torch import nn

from mluop_omp.minkowski import _geometry
from mluop_omp.minkowski._convolutions import MinkowskiModuleBase
from mluop_omp.minkowski._fields import TensorField
from mluop_omp.minkowski._global import spread
from mluop_omp.minkowski._tensors import SparseTensor
from mluop_omp.torch._precision import LOWER_PRECISION
from mluop_omp.torch.site_maps import segment_mean

AnyTensor = TypeVar("AnyTensor", SparseTensor, TensorField)


class MinkowskiBatchNorm(nn.Module):
    """torch.nn.BatchNorm1d, the attribute `bn`, on the features."""

    bn: nn.modules.batchnorm._BatchNorm

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
    ) -> None:
        super().__init__()
        self.bn = nn.BatchNorm1d(num_features, eps, momentum, affine, track_running_stats)

    def forward(self, input: AnyTensor) -> AnyTensor:
        return input._with(self.bn(input.F))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.bn.extra_repr()})"


class MinkowskiSyncBatchNorm(MinkowskiBatchNorm):
    """torch.nn.SyncBatchNorm, the attribute `bn`, on the features.

    Without torch.distributed it computes what MinkowskiBatchNorm does.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats)
        arguments = num_features, eps, momentum, affine, track_running_stats
        self.bn = nn.SyncBatchNorm(*arguments, process_group)

    @classmethod
    def convert_sync_batchnorm(cls, module: nn.Module, process_group: Any = None) -> nn.Module:
        """Returns the module with MinkowskiSyncBatchNorm in place of each MinkowskiBatchNorm.

        Parameters and statistics are the same objects.
        """
        converted = module
        if isinstance(module, MinkowskiBatchNorm):
            bn = module.bn
            arguments = bn.num_features, bn.eps, bn.momentum, bn.affine, bn.track_running_stats
            converted = MinkowskiSyncBatchNorm(*arguments, process_group)
            converted.train(module.training)
            for name, parameter in bn.named_parameters():
                setattr(converted.bn, name, parameter)
            for name, buffer in bn.named_buffers():
                setattr(converted.bn, name, buffer)
        else:
            for name, child in module.named_children():
                converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted


class MinkowskiInstanceNorm(MinkowskiModuleBase):
    """(x - mean) / sqrt(variance + eps) weight + bias, over the sites of each batch.

    The variance is divided by the number of sites; eps is 1e-8.

    Attributes:
        weight, bias: [1, num_features].
    """

    eps = 1e-8

    def __init__(self, num_features: int) -> None:
        super().__init__()
        self.num_features = num_features
        self.weight = nn.Parameter(torch.ones(1, num_features))
        self.bias = nn.Parameter(torch.zeros(1, num_features))

    def reset_parameters(self) -> None:
        nn.init.ones_(self.weight)
        nn.init.zeros_(self.bias)

    def forward(self, input: SparseTensor) -> SparseTensor:
        _geometry.require_sparse(self, input)
        # float16 and bfloat16 are computed in float32.
        features = input.F.float() if input.F.dtype in LOWER_PRECISION else input.F
        segments, batches = input._manager.origin_rows(input.coordinate_map_key)
        centered = features - spread(segment_mean(features, segments, len(batches)), segments)
        variance = segment_mean(centered.square(), segments, len(batches))
        normalized = centered * spread((variance + self.eps).rsqrt(), segments)
        weight, bias = self.weight.to(features.dtype), self.bias.to(features.dtype)
        return input._with((normalized * weight + bias).to(input.F.dtype))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(nchannels={self.num_features})"


class MinkowskiStableInstanceNorm(MinkowskiInstanceNorm):
    """As MinkowskiInstanceNorm, with eps 1e-6. MinkowskiEngine's raises an error."""

    eps = 1e-6
