"""Finds the tensors in the arguments and results of a module."""

from __future__ import annotations

import collections
import copy
import dataclasses
import math
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Callable

import numpy as np
import torch
from torch import Tensor

from mluop_omp.golden._numbers import STORED_AS, to_numpy
from mluop_omp.golden._text import below
from mluop_omp.golden.comparison._values import MappedSites, SparseSites, sparse_sites
from mluop_omp.golden.runs import _sampling

# Largest depth of objects with tensors in attributes, such as the samples of mmdetection3d.
_MAX_DEPTH = 13
_SEQUENCES = (list, tuple, collections.deque, range)
_WITHOUT_TENSORS = (
    *(str, bytes, type, torch.nn.Module, torch.device, torch.dtype, types.ModuleType),
    *(types.FunctionType, types.BuiltinFunctionType, types.MethodType),
)


class Source:
    """A tensor to record. Elements are copied to host memory when they are read.

    Attributes:
        dtype: the NumPy or PyTorch name of the element type.
        shape: the shape.
        size: the number of elements.
        itemsize: bytes of an element in the file.
        has_values: False for tensors without memory, such as tensors on the device "meta".
    """

    def __init__(self, tensor: Any) -> None:
        if isinstance(tensor, Tensor):
            self._tensor: Any = _strided(tensor.detach())
            self.dtype = str(self._tensor.dtype).partition(".")[2]
        else:
            self._tensor = np.asarray(tensor)
            self.dtype = self._tensor.dtype.name
        self.shape = tuple(self._tensor.shape)
        self.size = math.prod(self.shape)
        self.has_values = not getattr(self._tensor, "is_meta", False)
        stored = STORED_AS.get(self.dtype)
        self.itemsize = np.dtype(stored).itemsize if stored else self._tensor.dtype.itemsize

    def read(self, rows: np.ndarray | None = None) -> np.ndarray:
        return self._host(self._tensor if rows is None else self._at([rows]))

    def sample(self, parts: list[_sampling.Part]) -> np.ndarray:
        """Returns the elements of a sample [K]. Only these are copied."""
        places = [_sampling.positions(part, self.shape).reshape(-1) for part in parts]
        positions = np.concatenate(places)
        if isinstance(self._tensor, Tensor) and self._tensor.is_contiguous():
            return self._host(self._tensor.view(-1)[self._on_device(positions)])
        return self._host(self._at(np.unravel_index(positions, self.shape)))

    def _at(self, indices: Sequence[np.ndarray]) -> Any:
        return self._tensor[tuple(map(self._on_device, indices))]

    def _on_device(self, indices: np.ndarray) -> Any:
        """Returns indices for the tensor: PyTorch takes NumPy arrays as slow sequences."""
        if not isinstance(self._tensor, Tensor):
            return indices
        return torch.from_numpy(np.ascontiguousarray(indices)).to(self._tensor.device)

    def _host(self, values: Any) -> np.ndarray:
        if isinstance(values, Tensor):
            if self.dtype in STORED_AS and self.dtype != "bfloat16":
                values = values.to(getattr(torch, STORED_AS[self.dtype]))
            values = to_numpy(values)
        return np.asarray(values, values.dtype.newbyteorder("="), order="C")


def _strided(tensor: Tensor) -> Tensor:
    if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        raise TypeError("a tensor of torch.func or torch.vmap has no elements that can be recorded")
    if tensor.is_quantized:
        return tensor.dequantize()
    return tensor if tensor.layout is torch.strided else tensor.to_dense()


def leaves(value: Any, path: str = "", parents: tuple[int, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yields the tensors in a value with their paths: names and positions, joined by dots.

    A tensor is a PyTorch tensor, a NumPy array of numbers, a number, a sequence of numbers, or a
    SparseSites. Members of containers, dataclasses and other objects are searched in their order,
    iterators are not. For any other value that may contain tensors, yields its type.
    """
    if value is None or isinstance(value, _WITHOUT_TENSORS):
        return
    if isinstance(value, (set, frozenset)) and all(isinstance(e, _WITHOUT_TENSORS) for e in value):
        return
    if isinstance(value, Tensor) and value.is_nested:
        value = list(value.unbind())
    sparse = _sparse(value)
    if sparse is not None or isinstance(value, Tensor):
        yield path, value if sparse is None else sparse
        return
    if isinstance(value, np.ndarray) or _is_number(value):
        array = np.asarray(value)
        yield path, array if array.dtype.kind in "biufc" else type(value)
        return
    if id(value) in parents:
        return
    members = _members(value)
    if members is None or (members and len(parents) == _MAX_DEPTH):
        yield path, type(value)
        return
    for name, member in members:
        yield from leaves(member, below(path, name), (*parents, id(value)))


def replaced(
    value: Any, new: Callable[[str, Any], Any], path: str = "", parents: tuple[int, ...] = ()
) -> Any:
    """Returns a value with other tensors: `new` of each path and tensor that `leaves` yields.

    Containers and objects are copied where a member changes. Numbers, nested tensors and sparse
    tensors of PyTorch stay as they are.
    """
    if value is None or isinstance(value, _WITHOUT_TENSORS) or _is_number(value):
        return value
    if isinstance(value, (Tensor, np.ndarray)):
        is_strided = isinstance(value, np.ndarray) or _is_strided(value)
        return new(path, value) if is_strided else value
    sparse = _sparse(value)
    if sparse is not None:
        sites = new(path, sparse)
        others = {id(sparse.features): sites.features, id(sparse.indices): sites.indices}
        members = ((name, others.get(id(each), each)) for name, each in _members(value) or ())
        return _with_members(value, dict(members))
    if id(value) in parents or len(parents) == _MAX_DEPTH:
        return value
    changes = {
        name: replaced(member, new, below(path, name), (*parents, id(value)))
        for name, member in _members(value) or ()
    }
    return _with_members(value, changes)


def described(value: Any, path: str = "") -> Any:
    """Returns a value as JSON, with the paths of its tensors.

    Raises TypeError if it has anything but tensors, numbers, texts, lists, tuples and dicts.
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return {"value": value}
    if isinstance(value, (Tensor, np.ndarray)):
        return {"tensor": path}
    if type(value) in (list, tuple):
        kind = type(value).__name__
        return {kind: [described(each, below(path, k)) for k, each in enumerate(value)]}
    if type(value) is dict and all(isinstance(each, str) for each in value):
        return {"dict": {k: described(each, below(path, k)) for k, each in value.items()}}
    raise TypeError(f"{path} is of type {type(value).__name__}")


def restored(description: Any, tensor: Callable[[str], Any], where: str) -> Any:
    """Returns the value of a description, with tensor(path) for each tensor.

    Raises ValueError if there is none, or an invalid one: files are untrusted.
    """
    if isinstance(description, dict) and len(description) == 1:
        ((kind, content),) = description.items()
        if kind == "value" and (content is None or isinstance(content, (bool, int, float, str))):
            return content
        if kind == "tensor" and isinstance(content, str):
            return tensor(content)
        if kind in ("list", "tuple") and isinstance(content, list):
            members = [restored(each, tensor, where) for each in content]
            return members if kind == "list" else tuple(members)
        if kind == "dict" and isinstance(content, dict):
            return {name: restored(each, tensor, where) for name, each in content.items()}
    raise ValueError(f"{where} does not describe the arguments of the model, expected inputs")


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, complex, np.generic)) or _is_numbers(value)


def _is_strided(tensor: Tensor) -> bool:
    return not tensor.is_nested and tensor.layout is torch.strided


def _with_members(value: Any, members: dict[Any, Any]) -> Any:
    """Returns a copy with these members, or the value itself if they are its own."""
    if all(own is members[name] for name, own in _members(value) or ()):
        return value
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*members.values())
    if isinstance(value, _SEQUENCES):
        return type(value)(members.values())
    changed = copy.copy(value)
    for name, member in members.items():
        if isinstance(value, Mapping):
            changed[name] = member
        else:
            object.__setattr__(changed, name, member)
    return changed


def _sparse(value: Any) -> SparseSites | None:
    """Returns the parts of a sparse tensor of any library; None for any other value."""
    if isinstance(value, Tensor):
        if value.layout is not torch.sparse_coo or value.sparse_dim() < 2:
            return None
        sites = value.detach().coalesce()
        extents = list(sites.shape[: sites.sparse_dim()])
        return SparseSites(sites.values(), sites.indices().T, extents[1:], extents[0])
    found = None if isinstance(value, (Mapping, list, tuple)) else sparse_sites(value)
    if found is None:
        return None
    features, indices = found.features, found.indices
    if not isinstance(features, Tensor) or not isinstance(indices, Tensor):
        return None
    if indices.dim() != 2 or features.shape[:1] != indices.shape[:1]:
        return None
    if indices.is_floating_point() and not isinstance(found, MappedSites):
        return None
    shape, batch = _integers(found.spatial_shape), _integers([found.batch_size])
    size = batch[0] if batch else None
    return dataclasses.replace(found, spatial_shape=shape, batch_size=size)


def _integers(values: Any) -> list[int] | None:
    try:
        return [int(value) for value in values]
    except (TypeError, ValueError):
        return None


def _is_numbers(value: Any) -> bool:
    is_sequence = isinstance(value, _SEQUENCES) and len(value) > 0
    return is_sequence and all(isinstance(each, (bool, int, float)) for each in value)


def _members(value: Any) -> list[tuple[Any, Any]] | None:
    """Returns the members of a value, or None if it is not known to have any."""
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return list(zip(value._fields, value))
    if isinstance(value, _SEQUENCES):
        return list(enumerate(value))
    with_slots = (vars(kind) for kind in type(value).__mro__ if "__slots__" in vars(kind))
    slots = (name for kind in with_slots for name, each in kind.items() if _is_slot(each))
    attributes = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    return list({**attributes, **getattr(value, "__dict__", {})}.items()) or None


def _is_slot(attribute: Any) -> bool:
    return isinstance(attribute, types.MemberDescriptorType)
