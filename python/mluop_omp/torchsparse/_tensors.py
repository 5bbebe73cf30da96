"""SparseTensor and PointTensor of torchsparse, and their sums and concatenations."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor

from mluop_omp._library import bad_param
from mluop_omp._operators._torch import ops
from mluop_omp.torch._arrays import to_index, to_int32
from mluop_omp.torch.site_maps import segment_sum
from mluop_omp.torchsparse._utils import Size, make_ntuple, new_cache

_Self = TypeVar("_Self")


def like(input: Any, feats: Tensor, **changes: Any) -> Any:
    """Returns a tensor with other features and attributes, which shares the caches of input."""
    output = copy.copy(input)
    output.feats = feats
    for name, value in changes.items():
        setattr(output, name, value)
    return output


class Sparse:
    """Features of sites: what the tensors of all versions have.

    Coordinates are not checked, and may repeat: layers look up the first row of equal ones.
    """

    # The column of the batch; the others are x, y and z.
    _batch: int
    feats: Tensor
    coords: Tensor
    stride: tuple[int, ...]

    @property
    def F(self) -> Tensor:
        return self.feats

    @F.setter
    def F(self, feats: Tensor) -> None:
        self.feats = feats

    @property
    def C(self) -> Tensor:
        return self.coords

    @C.setter
    def C(self, coords: Tensor) -> None:
        self.coords = coords

    @property
    def s(self) -> tuple[int, ...]:
        return self.stride

    @s.setter
    def s(self, stride: Size) -> None:
        self.stride = make_ntuple(stride, 3)

    def cpu(self: _Self) -> _Self:
        return self.to("cpu")  # type: ignore

    def cuda(self: _Self) -> _Self:
        self.feats, self.coords = self.feats.cuda(), self.coords.cuda()  # type: ignore
        return self

    def half(self: _Self) -> _Self:
        self.feats = self.feats.half()  # type: ignore[attr-defined]
        return self

    def detach(self: _Self) -> _Self:
        self.feats, self.coords = self.feats.detach(), self.coords.detach()  # type: ignore
        return self

    def to(self: _Self, device: Any, non_blocking: bool = True) -> _Self:
        for name in ("feats", "coords"):
            tensor = getattr(self, name)
            setattr(self, name, tensor.to(device, non_blocking=non_blocking))
        return self

    def __add__(self: _Self, other: Any) -> _Self:
        """Adds features; the sites are the left tensor's."""
        return like(self, self.feats + other.feats)  # type: ignore

    def __repr__(self) -> str:
        shapes = f"feats={list(self.feats.shape)}, coords={list(self.coords.shape)}"
        return f"{type(self).__name__}({shapes}, stride={self.stride})"


class SparseTensor(Sparse):
    """Features of sites, in versions 1.4 and 2.0.

    Attributes:
        feats, F: [N, C].
        coords, C: int32 [N, 4]: x, y, z, batch. Strided coordinates are multiples of the stride.
        stride, s: of x, y and z.
        cmaps: by stride, coordinates; tensors that layers make of each other share it.
        kmaps: by input stride, kernel, stride and dilation, kernel maps; shared likewise.
    """

    _batch = 3

    def __init__(self, feats: Tensor, coords: Tensor, stride: Size = 1) -> None:
        self.feats, self.coords = feats, coords
        self.stride = make_ntuple(stride, 3)
        self.cmaps: dict[tuple[int, ...], Tensor] = {}
        self.kmaps: dict[tuple[Any, ...], Any] = {}


class BatchFirstTensor(Sparse):
    """Features of sites, in version 2.1, which calls it SparseTensor.

    Attributes:
        feats, F: [N, C].
        coords, C: int32 [N, 4]: batch, x, y, z. Strided coordinates are divided by the stride.
        stride, s: of x, y and z.
        spatial_range: batches and extents of x, y and z, or None.
        _caches: a `TensorCache`; tensors that layers make of each other share it.
    """

    _batch = 0

    def __init__(
        self,
        feats: Tensor,
        coords: Tensor,
        stride: Size = 1,
        spatial_range: Sequence[int] | None = None,
    ) -> None:
        self.feats, self.coords = feats, coords
        self.stride = make_ntuple(stride, 3)
        self.spatial_range = None if spatial_range is None else make_ntuple(spatial_range, 4)
        self._caches = new_cache()

    def dense(self) -> Tensor:
        """Returns [B, X, Y, Z, C], the extents of spatial_range; 0 at other sites."""
        if self.spatial_range is None:
            raise bad_param("dense: spatial_range is None, expected batches and three extents")
        return to_dense(self.feats, self.coords, self.spatial_range)


def plain(input: Sparse) -> Any:
    """Returns the class of this module that a tensor is an instance of."""
    return BatchFirstTensor if isinstance(input, BatchFirstTensor) else SparseTensor


class _Negative:
    is_allowed = False


def get_allow_negative_coordinates() -> bool:
    return _Negative.is_allowed


def set_allow_negative_coordinates(allow_negative_coordinates: bool) -> None:
    """Sets whether strided layers of version 2.1 have output sites below 0."""
    _Negative.is_allowed = allow_negative_coordinates


class PointTensor:
    """Features of points, and what functions know about their voxels.

    Attributes:
        F: [N, C].
        C: [N, 4]: x, y, z and batch, floating-point numbers.
        idx_query, weights: by stride, rows and weights of the voxels around each point.
        additional_features: "idx_query" and "counts" by stride, the voxel of each point and the
            points of each voxel.
    """

    def __init__(
        self,
        feats: Tensor,
        coords: Tensor,
        idx_query: dict[Any, Tensor] | None = None,
        weights: dict[Any, Tensor] | None = None,
    ) -> None:
        self.F, self.C = feats, coords
        self.idx_query = {} if idx_query is None else idx_query
        self.weights = {} if weights is None else weights
        self.additional_features: dict[str, dict[Any, Tensor]] = {"idx_query": {}, "counts": {}}

    def cuda(self) -> PointTensor:
        self.F, self.C = self.F.cuda(), self.C.cuda()
        return self

    def detach(self) -> PointTensor:
        self.F, self.C = self.F.detach(), self.C.detach()
        return self

    def to(self, device: Any, non_blocking: bool = True) -> PointTensor:
        self.F = self.F.to(device, non_blocking=non_blocking)
        self.C = self.C.to(device, non_blocking=non_blocking)
        return self

    def __add__(self, other: PointTensor) -> PointTensor:
        """Adds features; all else is the left tensor's."""
        sum = PointTensor(self.F + other.F, self.C, self.idx_query, self.weights)
        sum.additional_features = self.additional_features
        return sum


def cat(inputs: Sequence[Any]) -> Any:
    """Concatenates the channels of tensors; the sites are the first tensor's."""
    feats = torch.cat([input.feats for input in inputs], 1)
    # Version 2.1 forgets the spatial range.
    changes = {"spatial_range": None} if hasattr(inputs[0], "spatial_range") else {}
    return like(inputs[0], feats, **changes)


def generative_add(a: BatchFirstTensor, b: BatchFirstTensor) -> Any:
    """Adds tensors of different sites: the sites of either, ascending; absent features are 0.

    All else is the attributes of the tensor that has more rows, of equals the first.
    """
    first, second = (a, b) if len(a.feats) >= len(b.feats) else (b, a)
    coords = torch.cat([first.coords, second.coords])
    rows, inverse = ops.unique_rows(to_int32("coords", coords), True)
    feats = segment_sum(torch.cat([first.feats, second.feats]), inverse, len(rows))
    return like(first, feats, coords=coords[rows.long()])


def fapply(input: Any, fn: Any, *args: Any, **kwargs: Any) -> Any:
    """Returns the tensor of fn(input.feats, *args, **kwargs) at the same sites."""
    return like(input, fn(input.feats, *args, **kwargs))


def batches(input: Any) -> Tensor:
    """Returns the batch of each site."""
    return to_index("batch", input.coords[:, input._batch], 2**31 - 1)


def batch_size(input: Any) -> int:
    """Returns the greatest batch plus 1; 0 without sites."""
    return int(batches(input).max()) + 1 if len(input.coords) else 0


def axes(input: Any) -> Tensor:
    """Returns the coordinates [N, 3] of the sites."""
    first = 1 - input._batch // 3
    coordinates: Tensor = input.coords[:, first : first + 3]
    return coordinates


def placed(feats: Tensor, indices: Tensor, shape: Sequence[int]) -> Tensor:
    """Returns [*shape, C], the sums of the features [N, C] whose indices [N, axes] are equal."""
    cell = torch.zeros(len(indices), dtype=torch.int64)
    for axis, extent in enumerate(shape):
        cell = cell * extent + to_index("coords", indices[:, axis], extent)
    return segment_sum(feats, cell, math.prod(shape)).view(*shape, feats.shape[1])


def to_dense(feats: Tensor, coords: Tensor, spatial_range: Sequence[int]) -> Tensor:
    """Returns [B, X, Y, Z, C] of features at sites: batch, x, y, z. Equal sites are added."""
    return placed(feats, coords, make_ntuple(spatial_range, 4))
