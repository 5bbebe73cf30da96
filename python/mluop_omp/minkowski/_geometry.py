"""The output keys of layers, and the pairs of rows of their inputs and outputs."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from mluop_omp._library import bad_param
from mluop_omp.minkowski._coordinates import CoordinateManager, CoordinateMapKey
from mluop_omp.minkowski._kernels import KernelGenerator
from mluop_omp.minkowski._keys import finer_stride
from mluop_omp.minkowski._tensors import SparseTensor
from mluop_omp.torch.site_maps import KernelMap, exchanged


def require_sparse(layer: Any, input: Any, dimension: int | None = None) -> None:
    """Raises if the input of a layer is not a SparseTensor (of this dimension)."""
    name = type(layer).__name__
    if not isinstance(input, SparseTensor):
        raise bad_param(f"{name}: the input is a {type(input).__name__}, expected a SparseTensor")
    if dimension is not None and dimension != input.D:
        raise bad_param(f"{name}: the input has dimension {input.D}, expected {dimension}")


def require_dimension(layer: Any, dimension: int | None) -> int:
    if dimension is None or dimension < 1:
        raise bad_param(
            f"{type(layer).__name__}: dimension is {dimension}, expected the number of coordinates"
        )
    return dimension


def require_key(coordinates: Any) -> CoordinateMapKey:
    """Raises unless coordinates, which are not a tensor, are a key."""
    if not isinstance(coordinates, CoordinateMapKey):
        raise bad_param(
            f"coordinates is a {type(coordinates).__name__}, expected a tensor, a SparseTensor or "
            "a CoordinateMapKey"
        )
    return coordinates


def _out_stride(
    key: CoordinateMapKey, generator: KernelGenerator, is_transposed: bool
) -> list[int]:
    if is_transposed:
        return finer_stride(key, generator.kernel_stride)
    return [t * step for t, step in zip(key.get_tensor_stride(), generator.kernel_stride)]


def _created_key(
    manager: CoordinateManager,
    key: CoordinateMapKey,
    generator: KernelGenerator,
    is_transposed: bool,
    out_stride: list[int],
) -> CoordinateMapKey:
    offsets = generator.offsets(out_stride if is_transposed else key.get_tensor_stride())
    if generator.expand_coordinates:
        return manager.reached(key, out_stride, offsets, aligned=not is_transposed)
    if is_transposed:
        return manager.transposed(key, generator.kernel_stride, offsets)
    return manager.stride(key, generator.kernel_stride)


def output_key(
    input: SparseTensor,
    generator: KernelGenerator,
    is_transposed: bool,
    coordinates: Tensor | CoordinateMapKey | SparseTensor | None = None,
) -> CoordinateMapKey:
    """Returns the key of a layer's output.

    The sites of a known key are those that it has, whatever the kernel. coordinates: the sites, or
    a tensor or key that has them; a key that is not set is set. Sites as a tensor get the stride
    that the layer has without them. A layer that expands coordinates ignores them.
    """
    key, manager = input.coordinate_map_key, input._manager
    if isinstance(coordinates, SparseTensor):
        coordinates = coordinates.coordinate_map_key
    if generator.expand_coordinates:
        coordinates = None
    if isinstance(coordinates, CoordinateMapKey) and coordinates.is_key_set():
        return coordinates
    out_stride = _out_stride(key, generator, is_transposed)
    if isinstance(coordinates, Tensor):
        return manager.insert_and_map(coordinates, out_stride, "")[0]
    created = _created_key(manager, key, generator, is_transposed, out_stride)
    if coordinates is not None:
        require_key(coordinates).set_key(*created.get_key())
    return created


def pairs(
    input: SparseTensor, key: CoordinateMapKey, generator: KernelGenerator, is_transposed: bool
) -> KernelMap:
    """Returns the pairs of input = output + offset; of a transposed layer, with exchanged rows."""
    ends = input.coordinate_map_key, key
    finer, coarser = ends[::-1] if is_transposed else ends
    offsets = generator.offsets(finer.get_tensor_stride())
    found = input._manager.kernel_map_of(finer, coarser, offsets, *generator.geometry())
    return exchanged(found) if is_transposed else found


def cells(
    input: SparseTensor, key: CoordinateMapKey, generator: KernelGenerator, is_transposed: bool
) -> KernelMap:
    """Returns the pairs of a pool whose windows are the cells of the coarser stride.

    They have one offset, which pairs several finer sites with a coarser one.
    """
    manager = input._manager
    ends = input.coordinate_map_key, key
    finer, coarser = ends[::-1] if is_transposed else ends
    rows = manager.stride_map(finer, coarser)
    sizes = manager.size(finer), manager.size(coarser)
    if is_transposed:
        rows, sizes = rows[::-1], sizes[::-1]
    num = torch.tensor([len(rows[0])], dtype=torch.int32)
    return KernelMap(torch.stack(rows).int().unsqueeze(0), num, *sizes)
