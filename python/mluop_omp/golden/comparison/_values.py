"""Values that `compare` accepts: tensors in host memory, sparse tensors, containers of both."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Callable

import numpy as np

from mluop_omp.golden._numbers import to_numpy

# The element types that the library compares.
DTYPES = (
    *("float16", "bfloat16", "float32", "float64", "bool"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
)
# Attributes of sparse tensors in spconv, mmcv and mluop_omp.torch, in torchsparse and in
# MinkowskiEngine.
_FEATURES, _INDICES = ("features", "feats", "F"), ("indices", "coords", "coordinates", "C")
# Attributes of the tensors of MinkowskiEngine and torchsparse that refer to rows by their numbers.
_MAPS = ("coordinate_manager", "cmaps", "_caches", "idx_query")
# Largest nesting of a list of numbers; a deeper one most likely contains itself.
_MAX_DEPTH = 32


@dataclasses.dataclass(frozen=True)
class Tensor:
    """A tensor. The array holds bfloat16 elements as their bits, in uint16."""

    array: np.ndarray
    dtype: str

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    def __getitem__(self, index: Any) -> Tensor:
        return Tensor(self.array[index], self.dtype)

    def reshape(self, shape: tuple[int, ...]) -> Tensor:
        return Tensor(self.array.reshape(shape), self.dtype)

    def rows(self, rows: np.ndarray) -> Tensor:
        """Returns a copy of rows, or the tensor itself if they are all rows in order."""
        is_whole = len(rows) == self.shape[0] and (rows == np.arange(len(rows))).all()
        return self if is_whole else self[rows]

    def numbers(self) -> np.ndarray:
        """Returns the elements as NumPy numbers: integers unchanged, all others as float64."""
        if self.dtype == "bfloat16":
            return (self.array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
        return self.array if self.is_integer() else self.array.astype(np.float64)

    def is_integer(self) -> bool:
        return "float" not in self.dtype

    def __str__(self) -> str:
        return f"{self.dtype} {list(self.shape)}"


@dataclasses.dataclass(frozen=True)
class SparseSites:
    """A sparse tensor for `compare`: NumPy arrays, or PyTorch's tensors.

    Attributes:
        features: [N, C], or [N, ...].
        indices: the sites [N, 1 + dims]: the batch, then a coordinate for each axis; integers, or
            floating-point numbers, which are joined by their exact values.
        spatial_shape: the extents of the axes; optional, to report sites out of range.
        batch_size: the number of batches; optional, to report batches out of range.
        columns: the columns of indices in this order, such as (3, 0, 1, 2) where the batch is last;
            optional.
    """

    features: Any
    indices: Any
    spatial_shape: Sequence[int] | None = None
    batch_size: int | None = None
    columns: Sequence[int] | None = None

    def batch_first(self) -> Any:
        """Returns the indices with their columns in order."""
        return self.indices if self.columns is None else self.indices[:, list(self.columns)]

    def in_columns(self, sites: Any) -> Any:
        """Returns sites with the batch first in the columns of indices."""
        return sites if self.columns is None else sites[:, np.argsort(self.columns).tolist()]


class MappedSites(SparseSites):
    """A sparse tensor whose library has maps of its rows elsewhere: rows must keep their order."""


@dataclasses.dataclass(frozen=True)
class Sparse:
    """A sparse tensor. extents: one for each column of the indices, None where unknown."""

    features: Tensor
    indices: np.ndarray  # int64, or float64 for points
    extents: tuple[int | None, ...]

    def __str__(self) -> str:
        rows, columns = self.indices.shape
        return f"sparse {self.features} at {rows} sites of {columns - 1} dimensions"


@dataclasses.dataclass(frozen=True)
class Deferred:
    """A value that is read only when it is compared, so that one at a time is in memory."""

    read: Callable[[], Any]


def convert(value: Any) -> Any:
    """Returns a Tensor, a Sparse, or a dict of values to convert; any other value unchanged.

    Raises TypeError for arrays that cannot be compared, ValueError for sparse tensors whose
    features and indices do not match.
    """
    if isinstance(value, Deferred):
        value = value.read()
    if isinstance(value, (Tensor, Sparse)) or value is None or isinstance(value, (str, bytes)):
        return value
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _from_torch(value)
    if isinstance(value, (np.ndarray, np.generic, bool, int, float, complex)):
        return _from_numpy(value)
    if isinstance(value, Mapping):
        named = {str(key): value[key] for key in value}
        if len(named) != len(value):
            raise ValueError("two keys of a dict have the same text, expected different names")
        return named
    if isinstance(value, (list, tuple)):
        if value and _is_numbers(value):
            return _from_numpy(np.asarray(value))
        return {str(index): element for index, element in enumerate(value)}
    sites = sparse_sites(value)
    if sites is not None:
        return _sparse(sites)
    if hasattr(value, "__array__"):
        return _from_numpy(np.asarray(value))
    if torch is not None and isinstance(getattr(value, "tensor", None), torch.Tensor):
        # Boxes of mmdet3d and detectron2.
        return _from_torch(value.tensor)
    if callable(getattr(value, "items", None)) and callable(getattr(value, "keys", None)):
        # InstanceData of mmengine.
        return convert(dict(value.items()))
    return value


def sparse_sites(value: Any) -> SparseSites | None:
    """Returns the parts of a sparse tensor of any library; None for any other value."""
    if isinstance(value, SparseSites):
        return value
    names = (_FEATURES, _INDICES, ("spatial_shape",), ("batch_size",))
    features, indices, shape, batches = (_attribute(value, *each) for each in names)
    if features is None or indices is None:
        return None
    if not any(hasattr(value, name) for name in _MAPS):
        return SparseSites(features, indices, shape, batches)
    width = (0, *getattr(indices, "shape", ()))[-1]
    columns = (width - 1, *range(width - 1)) if _has_batch_last(value) else None
    return MappedSites(features, indices, shape, batches, columns)


def _has_batch_last(value: Any) -> bool:
    """Returns whether the last column of the coordinates is the batch: torchsparse before 2.1."""
    if hasattr(value, "cmaps") or not hasattr(value, "idx_query"):
        return hasattr(value, "cmaps") and not hasattr(value, "_caches")
    # A PointTensor has the columns of the sparse tensors of its library.
    version = str(getattr(sys.modules.get("torchsparse"), "__version__", "1.4.0"))
    return version.startswith(("1.", "2.0"))


def _attribute(value: Any, *names: str) -> Any:
    return next((getattr(value, name) for name in names if hasattr(value, name)), None)


def _is_numbers(values: Sequence[Any], depth: int = 0) -> bool:
    """Returns whether the elements are Python numbers, or equally shaped sequences of numbers."""
    if all(isinstance(value, (bool, int, float, complex)) for value in values):
        return True
    nested = all(isinstance(value, (list, tuple)) and value for value in values)
    return (
        nested
        and depth < _MAX_DEPTH
        and len({len(value) for value in values}) == 1
        and _is_numbers([element for value in values for element in value], depth + 1)
    )


def _from_numpy(value: Any) -> Any:
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError("a tensor is of type MaskedArray, expected numpy.ndarray")
    array = np.asarray(value)
    # The type of ml_dtypes, and the type that numpy.save makes of it.
    if array.dtype.name == "bfloat16" or array.dtype == np.dtype("V2"):
        return Tensor(array.view(np.uint16), "bfloat16")
    if array.dtype.kind in "US":
        return array.tolist()
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype.name in ("complex64", "complex128"):
        parts = np.float32 if array.dtype.itemsize == 8 else np.float64
        array = np.array(array, order="C").reshape(*array.shape, 1).view(parts)
    if array.dtype.name not in DTYPES:
        raise TypeError(f"a tensor has dtype {array.dtype}, expected {', '.join(DTYPES)}")
    return Tensor(array, array.dtype.name)


def _from_torch(tensor: Any) -> Tensor | Sparse:
    import torch

    tensor = tensor.detach()
    if tensor.layout == torch.sparse_coo:
        spatial = tuple(tensor.shape[1 : tensor.sparse_dim()])
        sites = tensor._indices().T
        return _sparse(SparseSites(tensor._values(), sites, spatial, tensor.shape[0]))
    if tensor.layout != torch.strided or tensor.is_quantized or tensor.is_meta:
        kind = "quantized" if tensor.is_quantized else "meta" if tensor.is_meta else tensor.layout
        raise TypeError(f"a tensor is {kind}, expected a strided or COO tensor with elements")
    dtype = str(tensor.dtype).partition(".")[2]
    try:
        array = to_numpy(tensor)
        return Tensor(array, dtype) if dtype == "bfloat16" else _from_numpy(array)
    except TypeError:
        raise TypeError(f"a tensor has dtype {dtype}, expected {', '.join(DTYPES)}") from None


def _sparse(parts: SparseSites) -> Sparse:
    features, sites = convert(parts.features), convert(parts.indices)
    if not isinstance(features, Tensor) or not isinstance(sites, Tensor):
        raise TypeError("features and indices of a sparse tensor must be tensors")
    if len(features.shape) < 1 or len(sites.shape) != 2 or sites.shape[1] < 2:
        raise ValueError(
            f"a sparse tensor has features {list(features.shape)} and indices {list(sites.shape)}, "
            "expected [N, C] and [N, 1 + dims]"
        )
    if features.shape[0] != sites.shape[0]:
        raise ValueError(
            f"a sparse tensor has {features.shape[0]} rows of features and {sites.shape[0]} rows "
            "of indices, expected equal numbers"
        )
    if sites.dtype == "bool":
        raise TypeError("indices of a sparse tensor have dtype bool, expected numbers")
    if sites.dtype == "uint64" and sites.array.size and int(sites.array.max()) >= 2**63:
        raise ValueError(f"an index of a sparse tensor is {sites.array.max()}, expected int64")
    dims = sites.shape[1] - 1
    shape = [None] * dims if parts.spatial_shape is None else list(map(int, parts.spatial_shape))
    if len(shape) != dims:
        raise ValueError(
            f"spatial_shape has {len(shape)} extents, expected {dims}, one for each column of "
            "indices after the batch"
        )
    if parts.columns is not None and sorted(parts.columns) != list(range(dims + 1)):
        raise ValueError(
            f"columns is {parts.columns}, expected each of the {dims + 1} columns once"
        )
    extents = None if parts.batch_size is None else int(parts.batch_size), *shape
    indices = sites.numbers()
    if sites.is_integer():
        indices = indices.astype(np.int64, copy=False)
    return Sparse(features, dataclasses.replace(parts, indices=indices).batch_first(), extents)
