"""Bird's-eye views of sparse tensors: torchsparse.nn.ToBEV..., ToDenseBEVConvolution.

The height is axis dim of x, y and z in every version, the default y as in KITTI. Coordinates are
divided by the stride, rounded down, where they are multiples of it: in versions 1.4 and 2.0.
torchsparse's own ToBEVReduction and ToBEVConvolution raise errors, and its layers of version 2.1
take the batch for x; here all compute what their documentation says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from mluop_omp._library import bad_param
from mluop_omp._operators._torch import ops
from mluop_omp.torch._arrays import to_index, to_int32
from mluop_omp.torch._parameters import draw_uniform
from mluop_omp.torch.site_maps import KernelMap, convolve, segment_mean, segment_sum
from mluop_omp.torchsparse import _maps, _tensors


def _floor(values: Tensor, divisor: Any) -> Tensor:
    return torch.div(values, divisor, rounding_mode="floor")


def _cells(input: Any) -> Tensor:
    """Returns the coordinates int64 [N, 3] in units of the stride."""
    axes = _tensors.axes(input).long()
    is_divided = isinstance(input, _tensors.BatchFirstTensor)
    return axes if is_divided else _floor(axes, torch.tensor(input.stride))


def _image(input: Any, cells: Tensor, shape: Sequence[int], feats: Tensor) -> Tensor:
    """Returns the sums of the rows of each cell: [B, C, *shape]."""
    indices = torch.cat([_tensors.batches(input).unsqueeze(1), cells], 1)
    sums = _tensors.placed(feats, indices, (_tensors.batch_size(input), *shape))
    return sums.movedim(-1, 1).contiguous()


def _flattened(input: Any, dim: int, step: int) -> tuple[Tensor, Tensor]:
    """Returns the distinct coordinates [M, 4], ascending, without a height and rounded down to
    multiples of step strides, and the row [N] of each site.
    """
    unit = torch.tensor(input.stride) if input._batch else torch.ones(3, dtype=torch.int64)
    axes = _floor(_tensors.axes(input).long(), unit * step) * unit * step
    axes[:, dim] = 0
    sites = torch.cat([_tensors.batches(input).unsqueeze(1), axes], 1)
    rows, inverse = ops.unique_rows(to_int32("coords", sites), True)
    distinct = sites[rows.long()].int()
    return _maps.batch_last(distinct) if input._batch else distinct, inverse


class _Height(nn.Module):
    """A layer with a matrix for each height."""

    def _make_parameters(
        self, in_channels: int, out_channels: int, n_kernels: int, bias: bool
    ) -> None:
        self.in_channels, self.out_channels = in_channels, out_channels
        self.n_kernels = n_kernels
        self.kernel = nn.Parameter(torch.empty(n_kernels, in_channels, out_channels))
        draw_uniform(in_channels, self.kernel)
        self.bias: Any = nn.Parameter(torch.zeros(1, out_channels)) if bias else 0

    def _products(self, feats: Tensor, height: Tensor) -> Tensor:
        K, N = self.n_kernels, len(feats)
        ascending, order = to_index("height", height, K).sort(stable=True)
        num = ascending.bincount(minlength=K)
        column = torch.arange(N) - (num.cumsum(0) - num)[ascending]
        pairs = torch.full((K, 2, N), -1, dtype=torch.int32)
        pairs[ascending, :, column] = order.int().unsqueeze(1)
        products = convolve(feats, self.kernel, KernelMap(pairs, num.int(), N, N))
        bias = self.bias
        return products + bias.to(products.dtype) if isinstance(bias, Tensor) else products

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {self.out_channels}, n_kernels={self.n_kernels}"


class ToBEVReduction(nn.Module):
    """A sparse tensor of the means over the height, which becomes 0."""

    def __init__(self, dim: int = 1) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        return f"dim={self.dim}"

    def forward(self, input: Any) -> Any:
        coords, rows = _flattened(input, self.dim, 1)
        means = segment_mean(input.feats, rows, len(coords))
        return _tensors.plain(input)(means, coords, input.stride)


class ToBEVConvolution(_Height):
    """A sparse tensor of the sums over the height of features times the matrix of their height."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        n_kernels: int,
        stride: int = 1,
        dim: int = 1,
        bias: bool = False,
    ) -> None:
        super().__init__()
        self.stride, self.dim = stride, dim
        self._make_parameters(in_channels, out_channels, n_kernels, bias)

    def forward(self, input: Any) -> Any:
        feats = self._products(input.feats, _cells(input)[:, self.dim])
        coords, rows = _flattened(input, self.dim, self.stride)
        stride = tuple(t * self.stride for t in input.stride)
        if not input._batch:
            coords = _floor(coords, torch.tensor([1, *(self.stride,) * 3]))
        return _tensors.plain(input)(segment_sum(feats, rows, len(coords)), coords.int(), stride)


class _Dense(_Height):
    """A layer whose output is an image, with the extents and the least coordinates of its input."""

    offset: Tensor
    shape: Tensor

    def _make_extents(self, shape: Any, offset: Sequence[int], dim: int) -> None:
        self.register_buffer("offset", torch.tensor([[*offset, 0]], dtype=torch.int32))
        extents = shape.tolist() if isinstance(shape, Tensor) else list(shape)
        if len(extents) != 3:
            raise bad_param(f"shape is {extents}, expected three extents")
        self.register_buffer("shape", torch.tensor(extents, dtype=torch.int32))
        self.dim = dim
        self.bev_dims = [axis for axis in range(3) if axis != dim]
        self.bev_shape = self.shape[self.bev_dims]

    def _shifted(self, input: Any) -> Tensor:
        axes = _tensors.axes(input).long() - self.offset[:, :3]
        return _cells(_tensors.plain(input)(input.feats, _with_axes(input, axes), input.stride))


def _with_axes(input: Any, axes: Tensor) -> Tensor:
    batch = _tensors.batches(input).unsqueeze(1)
    return torch.cat([axes, batch] if input._batch else [batch, axes], 1)


class ToDenseBEVConvolution(_Dense):
    """An image [B, out_channels, ...] of the sums over the height of features times the matrix of
    their height.

    Args:
        shape: cells along x, y and z; the image has the axes other than dim.
        offset: the coordinates of the first cell of the image.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        shape: Any,
        offset: Sequence[int] = (0, 0, 0),
        dim: int = 1,
        bias: bool = False,
    ) -> None:
        super().__init__()
        self._make_extents(shape, offset, dim)
        self._make_parameters(in_channels, out_channels, int(self.shape[dim]), bias)

    def forward(self, input: Any) -> Tensor:
        feats = self._products(input.feats, _cells(input)[:, self.dim])
        cells = self._shifted(input)[:, self.bev_dims]
        return _image(input, cells, self.bev_shape.tolist(), feats)


class ToBEVHeightCompression(_Dense):
    """An image [B, heights * channels, ...]: the features of all heights of a cell in a row.

    Args:
        channels: of the input.
        shape: cells along x, y and z; heights outside are taken for the nearest one.
        offset: the coordinates of the first cell.
    """

    def __init__(
        self, channels: int, shape: Any, offset: Sequence[int] = (0, 0, 0), dim: int = 1
    ) -> None:
        super().__init__()
        self.channels = channels
        self._make_extents(shape, offset, dim)

    def extra_repr(self) -> str:
        return f"channels={self.channels}"

    def forward(self, input: Any) -> Tensor:
        cells, heights = self._shifted(input), int(self.shape[self.dim])
        extents = [*self.bev_shape.tolist(), heights]
        height = cells[:, self.dim].clamp(0, heights - 1).unsqueeze(1)
        cells = torch.cat([cells[:, self.bev_dims], height], 1)
        volume = _image(input, cells, extents, input.feats)  # [B, C, X, Y, H]
        return volume.permute(0, 4, 1, 2, 3).flatten(1, 2).contiguous()
