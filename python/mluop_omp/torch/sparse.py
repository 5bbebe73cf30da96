"""Sparse convolution as modules: SECOND, doi:10.3390/s18103337."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from mluop_omp._operators.sparse_conv import output_space
from mluop_omp.torch import functional
from mluop_omp.torch._parameters import draw_uniform


@dataclasses.dataclass(frozen=True)
class Rulebook:
    """Input and output sites and index pairs, the space of the output, and their convolution."""

    sites: Tensor
    indices: Tensor
    pairs: Tensor
    num: Tensor
    space: tuple[int, ...]
    convolution: tuple


@dataclasses.dataclass
class SparseTensor:
    """Features of the active sites of a dense tensor.

    Attributes:
        features: [L, C].
        indices: int32 [L, 4], the sites: batch, d, h, w.
        spatial_shape: (D, H, W).
        batch_size: the number of batches.
        rulebooks: by indice_key, the rulebooks of convolutions that have one.
    """

    features: Tensor
    indices: Tensor
    spatial_shape: tuple[int, ...]
    batch_size: int
    rulebooks: dict[str, Rulebook] = dataclasses.field(default_factory=dict)

    def replace_feature(self, features: Tensor) -> SparseTensor:
        """Returns a tensor of the same sites with other features."""
        return dataclasses.replace(self, features=features)

    def dense(self) -> Tensor:
        """Returns [batch_size, C, D, H, W], 0 at the other sites."""
        channels = self.features.shape[1]
        shape = (self.batch_size, *self.spatial_shape, channels)
        index = tuple(self.indices.long().unbind(1))
        dense = self.features.new_zeros(shape).index_put(index, self.features)
        return dense.movedim(-1, 1)


def _triple(value: int | Sequence[int]) -> tuple[int, ...]:
    values = (value,) * 3 if isinstance(value, int) else tuple(value)
    if len(values) != 3:
        raise ValueError(f"expected an integer or three, found {value}")
    return values


class _SparseConvolution(nn.Module):
    subm: bool

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        bias: bool = True,
        indice_key: str | None = None,
    ) -> None:
        super().__init__()
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride = _triple(kernel_size), _triple(stride)
        self.padding, self.dilation = _triple(padding), _triple(dilation)
        self.indice_key = indice_key
        self.weight = nn.Parameter(torch.empty(*self.kernel_size, in_channels, out_channels))
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initializes the parameters as torch.nn.Conv3d does."""
        inputs = self.in_channels * math.prod(self.kernel_size)
        draw_uniform(inputs, self.weight, self.bias)

    def _rulebook(self, input: SparseTensor) -> Rulebook:
        space = tuple(input.spatial_shape)
        convolution = (self.kernel_size, self.stride, self.padding, self.dilation)
        key = (space, *convolution, self.subm)
        known = input.rulebooks.get(self.indice_key) if self.indice_key is not None else None
        if known is not None:
            if known.convolution != key:
                raise ValueError(f"indice_key {self.indice_key!r} belongs to another convolution")
            if known.sites is not input.indices and not torch.equal(known.sites, input.indices):
                raise ValueError(f"indice_key {self.indice_key!r} belongs to other sites")
            return known
        sites, pairs, num = functional.indice_pairs(
            input.indices, input.batch_size, space, *convolution, self.subm
        )
        if self.subm:  # It keeps the sites of the input.
            rulebook = Rulebook(input.indices, input.indices, pairs, num, space, key)
        else:
            out_space = tuple(output_space(space, *convolution))
            rulebook = Rulebook(input.indices, sites, pairs, num, out_space, key)
        if self.indice_key is not None:
            input.rulebooks[self.indice_key] = rulebook
        return rulebook

    def forward(self, input: SparseTensor) -> SparseTensor:
        rulebook = self._rulebook(input)
        features = functional.indice_conv(
            input.features,
            self.weight,
            rulebook.pairs,
            rulebook.num,
            len(rulebook.indices),
            self.subm,
        )
        if self.bias is not None:
            # Under autocast, features have its type.
            features = features + self.bias.to(features.dtype)
        return SparseTensor(
            features, rulebook.indices, rulebook.space, input.batch_size, input.rulebooks
        )

    def extra_repr(self) -> str:
        return (
            f"{self.in_channels}, {self.out_channels}, "
            f"kernel_size={self.kernel_size}, stride={self.stride}, "
            f"padding={self.padding}, dilation={self.dilation}, bias={self.bias is not None}, "
            f"indice_key={self.indice_key!r}"
        )


class SparseConv3d(_SparseConvolution):
    """A sparse convolution of a SparseTensor: every site that the filter reaches becomes active.

    Args:
        in_channels, out_channels, kernel_size, stride, padding, dilation, bias: as of
            torch.nn.Conv3d.
        indice_key: convolutions of the same sites and parameters that have the same key share a
            rulebook; others raise ValueError.

    The weight is [D, H, W, in_channels, out_channels], as in mmcv.
    """

    subm = False


class SubMConv3d(_SparseConvolution):
    """A submanifold convolution of a SparseTensor: the active sites stay the same.

    Args:
        in_channels, out_channels, kernel_size, bias: as of torch.nn.Conv3d; kernel_size is odd.
        indice_key: convolutions of the same sites and parameters that have the same key share a
            rulebook; others raise ValueError.

    The filter is centered on each site. Every offset, also the center, reads the first row of a
    site that is repeated. The weight is [D, H, W, in_channels, out_channels], as in
    mmcv.
    """

    subm = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        bias: bool = True,
        indice_key: str | None = None,
    ) -> None:
        kernel = _triple(kernel_size)
        if any(size % 2 == 0 for size in kernel):
            raise ValueError(f"kernel_size is {kernel}, expected odd numbers")
        padding = [size // 2 for size in kernel]
        super().__init__(in_channels, out_channels, kernel, 1, padding, 1, bias, indice_key)
