"""Distinct coordinates of points, with features and labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from mluop_omp._library import bad_param
from mluop_omp.minkowski._collation import as_tensor, is_array
from mluop_omp.minkowski._kernels import to_int_list
from mluop_omp.minkowski._points import floors
from mluop_omp.torch import functional
from mluop_omp.torch._arrays import to_int32

_FNV_OFFSET = np.uint64(14695981039346656037)
_FNV_PRIME = np.uint64(1099511628211)


def fnv_hash_vec(arr: np.ndarray) -> np.ndarray:
    """Returns FNV-1 of the 64-bit columns of integers [N, C]: uint64 [N]."""
    columns = arr.astype(np.uint64)
    hashes = np.full(len(columns), _FNV_OFFSET)
    for column in columns.T:
        hashes = hashes * _FNV_PRIME ^ column
    return hashes


def ravel_hash_vec(arr: np.ndarray) -> np.ndarray:
    """Returns the index of each row of integers [N, C] in their bounding box: uint64 [N]."""
    columns = (arr - arr.min(0)).astype(np.uint64)
    sizes = columns.max(0) + np.uint64(1)
    keys = np.zeros(len(columns), np.uint64)
    for column, size in zip(columns.T, sizes):
        keys = keys * size + column
    return keys


def _unique(coordinates: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the first row of each distinct one, and the distinct row of each row, int64."""
    first, inverse = functional.unique_rows(to_int32("coordinates", coordinates))
    return first.long(), inverse.long()


def quantize(coords: Any) -> tuple[Any, Any]:
    """Returns the first row of each distinct row of integers, and the distinct row of each row.

    Arrays for an array, tensors for a tensor.
    """
    first, inverse = _unique(as_tensor(coords))
    if is_array(coords):
        return first.numpy(), inverse.numpy()
    return first, inverse


def _integers(labels: Tensor, ignore_label: int) -> Tensor:
    """Returns labels as integers of a type that has ignore_label."""
    if labels.dtype not in (torch.int32, torch.int64):
        converted = labels.long()
        if not torch.equal(converted.to(labels.dtype), labels):
            raise bad_param("labels has numbers that are not integers, expected integers")
        labels = to_int32("labels", converted)
    limits = torch.iinfo(labels.dtype)
    if not limits.min <= ignore_label <= limits.max:
        raise bad_param(f"ignore_label is {ignore_label}, expected a number of {labels.dtype}")
    return labels


def _shared_labels(labels: Tensor, first: Tensor, inverse: Tensor, ignore_label: int) -> Tensor:
    """Returns the label of each distinct row, if all of its rows have it, else ignore_label."""
    shared = labels[first]
    (conflicts,) = (labels != shared[inverse]).nonzero(as_tuple=True)
    shared[inverse[conflicts]] = ignore_label
    return shared


def quantize_label(coords: Any, labels: Any, ignore_label: int) -> tuple[Any, Any, Any]:
    """As `quantize`, and the label of each distinct row; ignore_label where its rows differ.

    Labels in tensors are int64, as losses of PyTorch require; in arrays, int32 unless given as
    int64.
    """
    first, inverse = _unique(as_tensor(coords))
    integers = _integers(as_tensor(labels), ignore_label)
    if integers.shape != (len(inverse),):
        raise bad_param(f"labels has shape {list(integers.shape)}, expected [{len(inverse)}]")
    shared = _shared_labels(integers, first, inverse, ignore_label)
    if is_array(coords):
        return first.numpy(), inverse.numpy(), shared.numpy()
    return first, inverse, shared.long()


def _discrete(coordinates: Any, quantization_size: Any) -> Tensor:
    """Returns the floors of coordinates / quantization_size, int32.

    The division is NumPy's or PyTorch's, so that sizes keep their precision; integers are divided
    by integers exactly, by others in float64.
    """
    numbers = as_tensor(coordinates)
    if quantization_size is None:
        return floors("coordinates", numbers)
    size = np.asarray(quantization_size)
    if size.ndim > 1 or size.size not in (1, numbers.shape[1]):
        raise bad_param(
            f"quantization_size is {quantization_size}, expected a number or "
            f"{numbers.shape[1]} of them"
        )
    if not (size > 0).all():
        raise bad_param(f"quantization_size is {quantization_size}, expected positive numbers")
    if not numbers.is_floating_point():
        if size.dtype.kind in "iu":
            divisor = torch.from_numpy(size.astype(np.int64))
            numbers = numbers.long().div(divisor, rounding_mode="floor")
            return to_int32("coordinates", numbers)
        numbers = numbers.double()
    elif is_array(coordinates) and size.ndim:
        # NumPy divides arrays in the wider type.
        numbers = torch.from_numpy(coordinates / size)
        return floors("coordinates", numbers)
    return floors("coordinates", numbers / torch.as_tensor(size, dtype=numbers.dtype))


def sparse_quantize(
    coordinates: Any,
    features: Any = None,
    labels: Any = None,
    ignore_label: int = -100,
    return_index: bool = False,
    return_inverse: bool = False,
    return_maps_only: bool = False,
    quantization_size: Any = None,
    device: Any = "cpu",
) -> Any:
    """Returns the distinct floors of coordinates, in the order of their first rows.

    Args:
        coordinates: [N, D], an array or a tensor; floored after a division by quantization_size.
        features: [N, C]; the first row of each distinct one is returned.
        labels: integers [N]; returns the label that all points of a row have, or ignore_label.
        ignore_label: for points whose labels differ.
        return_index: whether to return the first point of each row.
        return_inverse: whether to return the row of each point; requires return_index.
        return_maps_only: whether to return only these; has no effect with labels.
        quantization_size: the side of a voxel, or one for each axis.
        device: of coordinates and maps without labels.

    Returns:
        Coordinates int32, features, labels, index and inverse, in this order, as far as they are
        given or asked for; one alone, else a tuple. Coordinates, index and inverse are tensors;
        with labels, arrays for an array. Features remain arrays.
    """
    if coordinates.ndim != 2:
        raise bad_param(f"coordinates has shape {list(coordinates.shape)}, expected [N, D]")
    for name, each in {"features": features, "labels": labels}.items():
        if each is not None and len(each) != len(coordinates):
            raise bad_param(f"{name} has {len(each)} rows, expected {len(coordinates)}")
    if return_inverse and not return_index:
        raise bad_param("return_index is False, expected True with return_inverse")
    discrete = _discrete(coordinates, quantization_size)
    results: list[Any] = []
    if labels is not None:
        if is_array(coordinates):
            discrete = discrete.numpy()
        first, inverse, shared = quantize_label(discrete, labels, ignore_label)
        results.append(shared)
    else:
        first, inverse = _unique(discrete)
        discrete, first, inverse = (each.to(device) for each in (discrete, first, inverse))
        if return_maps_only:
            return (first, inverse) if return_inverse else first
    if features is not None:
        results.insert(0, features[np.asarray(first) if is_array(features) else first])
    results.insert(0, discrete[first])
    results += [first] * return_index + [inverse] * return_inverse
    return results[0] if len(results) == 1 else tuple(results)


def unique_coordinate_map(coordinates: Tensor, tensor_stride: Any = 1) -> tuple[Tensor, Tensor]:
    """Returns the first row of each distinct site, and the site of each row, int64."""
    if coordinates.dim() != 2:
        raise bad_param(f"coordinates has shape {list(coordinates.shape)}, expected [N, 1 + D]")
    to_int_list("tensor_stride", tensor_stride, coordinates.shape[1] - 1)
    return _unique(coordinates)
