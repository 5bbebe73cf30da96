"""Tensors of PyTorch, dense and sparse, from a SparseTensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor as Features

from mluop_omp._library import bad_param
from mluop_omp.minkowski._base import Tensor
from mluop_omp.torch._arrays import to_int32


def _vector(name: str, values: Any, tensor: Tensor) -> Features:
    """Returns D integers as int64 [1, D], which must be multiples of the tensor stride."""
    vector = to_int32(name, torch.as_tensor(values)).long().reshape(1, -1)
    if vector.shape[1] != tensor.D:
        raise bad_param(f"{name} has {vector.shape[1]} elements, expected {tensor.D}")
    if vector.remainder(_strides(tensor)).any():
        raise bad_param(
            f"{name} is {vector.tolist()[0]}, expected multiples of the tensor stride "
            f"{tensor.tensor_stride}"
        )
    return vector


def _strides(tensor: Tensor) -> Features:
    """Returns the tensor stride as int64 [D], 1 for the stride 0 of global pools."""
    return torch.tensor(tensor.tensor_stride).clamp(min=1)


def _minimum(tensor: Tensor) -> Features:
    if len(tensor) == 0:
        raise bad_param("the tensor has no sites, expected their minimum to be given")
    return tensor.coordinates[:, 1:].long().amin(0, keepdim=True)


def sparse(
    tensor: Tensor, min_coords: Any, max_coords: Any, contract_coords: bool
) -> tuple[Features, Features, Features]:
    """Returns a sparse tensor of PyTorch [B, X, Y, ..., C], the minimum [1, D], and the stride [D].

    Args:
        min_coords: D integers, the site of the first element; the minimum of the coordinates by
            default.
        max_coords: D integers, the site of the last element; the greatest index by default.
        contract_coords: whether indices and the minimum are divided by the tensor stride.
    """
    strides = _strides(tensor)
    minimum = _minimum(tensor) if min_coords is None else _vector("min_coords", min_coords, tensor)
    divisors = strides if contract_coords else torch.ones_like(strides)
    batches, coordinates = tensor.coordinates.long().split([1, tensor.D], 1)
    indices = (coordinates - minimum).div(divisors, rounding_mode="floor")
    indices = torch.cat((batches, indices), 1)
    if max_coords is None:
        if len(tensor) == 0:
            raise bad_param("max_coords is None, expected integers for a tensor without sites")
        size = (indices.amax(0) + 1).tolist()
    else:
        maximum = _vector("max_coords", max_coords, tensor)
        cells = ((maximum - minimum) // divisors + 1).tolist()[0]
        size = [len(tensor._batchwise_row_indices), *cells]
    _require_inside(indices, size)
    shape = (*size, tensor._F.shape[1])
    converted = torch.sparse_coo_tensor(indices.t(), tensor._F, shape, check_invariants=False)
    stride = torch.tensor(tensor.tensor_stride, dtype=torch.int32)
    return converted, (minimum // divisors).int(), stride


def _require_inside(indices: Features, size: Sequence[int]) -> None:
    """Raises MluOpError unless indices [N, 1 + D] are at least 0 and less than the size."""
    outside = ((indices < 0) | (indices >= torch.tensor(size))).any(1)
    if outside.any():
        row = int(outside.nonzero()[0])
        raise bad_param(
            f"row {row} has the batch and indices {indices[row].tolist()}, expected at least 0 "
            f"and less than {list(size)}"
        )


def dense(
    tensor: Tensor,
    shape: torch.Size | None,
    min_coordinate: Any,
    contract_stride: bool,
) -> tuple[Features, Features, Any]:
    """Returns a tensor [B, C, X, Y, ...], 0 at other sites, the minimum [1, D], and the stride [D].

    For an empty tensor, the minimum is 0, [D], and the stride a list, as in MinkowskiEngine.

    Args:
        shape: of the result, whose C is ignored; by default up to the last batch and site. An empty
            tensor requires it.
        min_coordinate: D integers, the site of the first element, multiples of the tensor stride.
            By default the first element is the site 0, also where the minimum of the coordinates,
            which is returned, is greater.
        contract_stride: whether indices are coordinates divided by the tensor stride.

    Raises:
        ValueError: a coordinate is negative, and min_coordinate is not given.
        MluOpError: a site is outside the shape; sites share an element, as they are not multiples
            of the tensor stride.
    """
    channels = tensor._F.shape[1]
    if shape is not None:
        if len(shape) != tensor.D + 2:
            raise bad_param(f"shape is {list(shape)}, expected {tensor.D + 2} numbers")
        shape = torch.Size((shape[0], channels, *shape[2:]))
    if len(tensor) == 0:
        if shape is None:
            raise bad_param("shape is None, expected numbers for a tensor without sites")
        nothing = torch.zeros(tensor.D, dtype=torch.int32)
        return tensor._F.new_zeros(shape), nothing, tensor.tensor_stride
    batches, coordinates = tensor.coordinates.long().split([1, tensor.D], 1)
    if min_coordinate is None:
        minimum = _minimum(tensor)
        if (minimum < 0).any():
            raise ValueError(
                f"the minimum of the coordinates is {minimum.tolist()[0]}, expected at least 0 "
                "unless min_coordinate is given"
            )
        _vector("the minimum of the coordinates", minimum, tensor)
    else:
        minimum = _vector("min_coordinate", min_coordinate, tensor)
        coordinates = coordinates - minimum
    if contract_stride:
        coordinates = coordinates.div(_strides(tensor), rounding_mode="floor")
    indices = torch.cat((batches, coordinates), 1)
    result = _placed(tensor._F, indices, shape)
    return result, minimum.int(), torch.tensor(tensor.tensor_stride, dtype=torch.int32)


def _placed(features: Features, indices: Features, shape: torch.Size | None) -> Features:
    if shape is None:
        batches, *cells = (indices.amax(0) + 1).tolist()
    else:
        batches, _, *cells = shape
    _require_inside(indices, (batches, *cells))
    if len(indices.unique(dim=0)) != len(indices):
        raise bad_param("several sites are in one element: they are not multiples of the stride")
    placed = features.new_zeros(batches, *cells, features.shape[1])
    return placed.index_put(tuple(indices.unbind(1)), features).movedim(-1, 1)
