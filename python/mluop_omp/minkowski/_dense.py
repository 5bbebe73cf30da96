"""Sparse tensors from dense tensors of PyTorch, and back, as functions and layers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor as Features
from torch import nn

from mluop_omp._library import bad_param
from mluop_omp.minkowski._base import Tensor
from mluop_omp.minkowski._fields import TensorField
from mluop_omp.minkowski._layouts import dense as dense
from mluop_omp.minkowski._layouts import sparse as sparse
from mluop_omp.minkowski._tensors import SparseTensor
from mluop_omp.torch._arrays import to_index, to_int32


def _require_dense(x: Any) -> None:
    if not isinstance(x, Features) or x.dim() < 3:
        found = list(x.shape) if isinstance(x, Features) else type(x).__name__
        raise bad_param(f"the input is {found}, expected a tensor [B, C, X, ...]")


def dense_coordinates(shape: Any) -> Features:
    """Returns the sites int32 [N, 1 + D] of all elements of [B, C, X, Y, ...], ascending."""
    if len(shape) < 3:
        raise bad_param(f"shape is {list(shape)}, expected [B, C, X, ...]")
    axes = [torch.arange(size, dtype=torch.int32) for size in (shape[0], *shape[2:])]
    return torch.cartesian_prod(*axes).view(-1, len(axes))


def to_sparse(
    x: Features, format: str | None = None, coordinates: Any = None, device: Any = None
) -> SparseTensor:
    """Returns a tensor of the sites whose features are not all 0, in ascending order.

    Args:
        x: the first dimension is the batch.
        format: the dimensions of x, such as "BXXC": B the batch, C the channels, X a coordinate.
            "BCX...X" by default.
        coordinates: has no effect.
        device: where the features are moved to.
    """
    _require_dense(x)
    if format is None:
        format = "BC" + "X" * (x.dim() - 2)
    counts = len(format), format.count("B"), format.count("C")
    if counts != (x.dim(), 1, 1) or format[0] != "B":
        raise bad_param(
            f"format is {format!r}, expected {x.dim()} letters: first B, one C, the others X"
        )
    last = x.movedim(format.index("C"), -1)
    is_site = (last != 0).any(-1)
    sites = is_site.nonzero().int()
    return SparseTensor(last[is_site], coordinates=sites, device=device)


def to_sparse_all(dense_tensor: Features, coordinates: Features | None = None) -> SparseTensor:
    """Returns a tensor of all elements of [B, C, X, Y, ...], or of those at coordinates."""
    _require_dense(dense_tensor)
    last = dense_tensor.movedim(1, -1)
    if coordinates is None:
        return SparseTensor(last.flatten(0, -2), dense_coordinates(dense_tensor.shape))
    if coordinates.dim() != 2 or coordinates.shape[1] != last.dim() - 1:
        raise bad_param(
            f"coordinates has shape {list(coordinates.shape)}, expected [N, {last.dim() - 1}]"
        )
    columns = coordinates.unbind(1)
    places = [to_index("coordinates", each, size) for each, size in zip(columns, last.shape)]
    return SparseTensor(last[tuple(places)], to_int32("coordinates", coordinates))


class MinkowskiToSparseTensor(nn.Module):
    """Converts a dense tensor [B, C, X, ...], or a TensorField, to a SparseTensor.

    Args:
        remove_zeros: whether sites whose features are all 0 are left out.
        coordinates: the sites; remove_zeros then has no effect.
    """

    def __init__(self, remove_zeros: bool = True, coordinates: Features | None = None) -> None:
        super().__init__()
        self.remove_zeros = remove_zeros
        self.coordinates = coordinates

    def forward(self, input: TensorField | Features) -> SparseTensor:
        if isinstance(input, TensorField):
            return input.sparse()
        if not isinstance(input, Features):
            raise ValueError(
                f"the input is a {type(input).__name__}, expected a TensorField or a torch.Tensor"
            )
        if self.remove_zeros and self.coordinates is None:
            return to_sparse(input)
        return to_sparse_all(input, self.coordinates)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class MinkowskiToDenseTensor(nn.Module):
    """Converts a SparseTensor to [B, C, X, ...]; see `SparseTensor.dense`."""

    def __init__(self, shape: torch.Size | None = None) -> None:
        super().__init__()
        self.shape = shape

    def forward(self, input: SparseTensor) -> Features:
        return input.dense(shape=self.shape)[0]

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class MinkowskiToFeature(nn.Module):
    """Returns the features of a SparseTensor or TensorField."""

    def forward(self, x: SparseTensor | TensorField) -> Features:
        if not isinstance(x, Tensor):
            raise bad_param(
                f"the input is a {type(x).__name__}, expected a SparseTensor or TensorField"
            )
        return x.F
