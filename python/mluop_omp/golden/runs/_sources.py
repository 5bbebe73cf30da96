"""Finds the tensors in the arguments and results of a module."""

from __future__ import annotations

import collections
import dataclasses
import json
import types
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mluop_omp.golden._numbers import STORED_AS, to_numpy
from mluop_omp.golden.comparison._values import SparseSites, sparse_sites

# Largest depth of objects with tensors in attributes, such as the samples of mmdetection3d.
_MAX_DEPTH = 12
_SEQUENCES = (list, tuple, collections.deque)
_WITHOUT_TENSORS = (
    *(str, bytes, type, torch.nn.Module, torch.device, torch.dtype, types.ModuleType),
    *(types.FunctionType, types.BuiltinFunctionType, types.MethodType),
)


@dataclasses.dataclass(frozen=True)
class SparseLeaf(SparseSites):
    """A sparse tensor.

    inferred: True for a dense tensor that was given the sites of an earlier sparse tensor.
    """

    inferred: bool = False


@dataclasses.dataclass(frozen=True)
class Unrecorded:
    """A value that may contain tensors but is not searched: a set, an iterator, an object of an
    unknown class.
    """

    kind: str

    @classmethod
    def of(cls, value: Any) -> Unrecorded:
        kind = type(value)
        is_builtin = kind.__module__ == "builtins"
        return cls(kind.__qualname__ if is_builtin else f"{kind.__module__}.{kind.__qualname__}")


class Source:
    """A tensor to record. Elements are copied to host memory when they are read.

    Attributes:
        dtype: the NumPy or PyTorch name of the element type.
        shape: the shape.
        itemsize: bytes of an element in the file.
        has_values: False for tensors without memory, such as tensors on the device "meta".
    """

    def __init__(self, tensor: Any) -> None:
        if isinstance(tensor, Tensor):
            tensor = _strided(tensor.detach())
            self.dtype = str(tensor.dtype).partition(".")[2]
        else:
            tensor = np.asarray(tensor)
            self.dtype = tensor.dtype.name
        self.shape = tuple(tensor.shape)
        self.has_values = not getattr(tensor, "is_meta", False)
        self._tensor = tensor
        stored = STORED_AS.get(self.dtype)
        self.itemsize = np.dtype(stored).itemsize if stored else tensor.dtype.itemsize

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    def read(self) -> np.ndarray:
        return self._host(self._tensor)

    def elements(self, indices: np.ndarray) -> np.ndarray:
        """Returns elements [K] by their indices in the flattened tensor."""
        return self._host(self._tensor.reshape(-1)[self._index(indices)])

    def rows(self, indices: np.ndarray) -> np.ndarray:
        """Returns rows [K, ...]."""
        return self._host(self._tensor[self._index(indices)])

    def _index(self, indices: np.ndarray) -> Any:
        if isinstance(self._tensor, Tensor):
            return torch.from_numpy(indices).to(self._tensor.device)
        return indices

    def _host(self, values: Any) -> np.ndarray:
        if isinstance(values, Tensor):
            if self.dtype in STORED_AS and self.dtype != "bfloat16":
                values = values.to(getattr(torch, STORED_AS[self.dtype]))
            values = to_numpy(values)
        values = np.asarray(values, values.dtype.newbyteorder("="))
        return np.ascontiguousarray(values).reshape(values.shape)


def _strided(tensor: Tensor) -> Tensor:
    if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        raise TypeError("a tensor of torch.func or torch.vmap has no elements that can be recorded")
    if tensor.is_quantized:
        return tensor.dequantize()
    return tensor if tensor.layout is torch.strided else tensor.to_dense()


def leaves(value: Any, path: str = "", parents: tuple[int, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yields the tensors in a value with their paths: names and positions, joined by dots.

    A tensor is a PyTorch tensor, a NumPy array of numbers, a number, a sequence of numbers, or a
    SparseLeaf. Members of containers, dataclasses and other objects are searched in their order,
    iterators are not. Any other value that may contain tensors is yielded as Unrecorded.
    """
    if value is None or isinstance(value, _WITHOUT_TENSORS):
        return
    if isinstance(value, Tensor):
        yield from _tensors(value, path)
        return
    sparse = _sparse(value)
    if sparse is not None:
        yield path, sparse
        return
    if isinstance(value, (bool, int, float, complex, np.ndarray, np.generic)) or _is_numbers(value):
        array = np.asarray(value)
        yield path, array if array.dtype.kind in "biufc" else Unrecorded.of(value)
        return
    if id(value) in parents:
        return
    members = _members(value)
    if members is None or (members and len(parents) == _MAX_DEPTH):
        yield path, Unrecorded.of(value)
        return
    for name, member in members:
        below = f"{path}.{_quoted(name)}" if path else _quoted(name)
        yield from leaves(member, below, (*parents, id(value)))


def _quoted(name: Any) -> str:
    """Returns a name as one part of a path, quoted if it is empty or has a dot or a quote."""
    text = str(name)
    return json.dumps(text) if not text or "." in text or '"' in text else text


def _tensors(tensor: Tensor, path: str) -> Iterator[tuple[str, Any]]:
    if tensor.is_nested:
        yield from leaves(list(tensor.unbind()), path)
    elif tensor.layout is torch.sparse_coo and tensor.sparse_dim() > 1:
        sites = tensor.detach() if tensor.is_coalesced() else tensor.detach().coalesce()
        shape = list(tensor.shape[: tensor.sparse_dim()])
        yield path, SparseLeaf(sites.values(), sites.indices().T, shape[1:], shape[0])
    else:
        yield path, tensor


def _sparse(value: Any) -> SparseLeaf | None:
    sites = None if isinstance(value, (Mapping, list, tuple)) else sparse_sites(value)
    if sites is None:
        return None
    features, indices = sites.features, sites.indices
    if not isinstance(features, Tensor) or not isinstance(indices, Tensor):
        return None
    if indices.dim() != 2 or indices.is_floating_point() or features.shape[:1] != indices.shape[:1]:
        return None
    shape, batch = _integers(sites.spatial_shape), _integers([sites.batch_size])
    return SparseLeaf(features, indices, shape, batch[0] if batch else None)


def _integers(values: Any) -> list[int] | None:
    try:
        return [int(value) for value in values]
    except (TypeError, ValueError):
        return None


def _is_numbers(value: Any) -> bool:
    return (
        isinstance(value, (*_SEQUENCES, range))
        and bool(value)
        and all(isinstance(each, (bool, int, float)) for each in value)
    )


def _members(value: Any) -> list[tuple[Any, Any]] | None:
    """Returns the members of a value, or None if it is not known to have any."""
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return list(zip(value._fields, value))
    if isinstance(value, (*_SEQUENCES, range)):
        return list(enumerate(value))
    attributes: dict[str, Any] = {}
    for kind in type(value).__mro__:
        if "__slots__" in vars(kind):
            slots = (n for n, d in vars(kind).items() if isinstance(d, types.MemberDescriptorType))
            attributes.update(
                (name, getattr(value, name)) for name in slots if hasattr(value, name)
            )
    attributes.update(getattr(value, "__dict__", {}))
    return list(attributes.items()) or None
