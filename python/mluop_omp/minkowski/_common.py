"""Functions of MinkowskiCommon and of the compiled part that models call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Union

import numpy as np
import torch
from torch import Tensor

from mluop_omp.minkowski import _geometry
from mluop_omp.minkowski._coordinates import CoordinateMapKey
from mluop_omp.minkowski._kernels import to_int_list
from mluop_omp.minkowski._tensors import SparseTensor

StrideType = Union[int, Sequence[int], np.ndarray, Tensor]


def convert_to_int_list(arg: StrideType, dimension: int) -> list[int]:
    """Returns a number for each of `dimension` axes."""
    return to_int_list("arg", arg, dimension)


def convert_to_int_tensor(arg: StrideType, dimension: int) -> Tensor:
    """As `convert_to_int_list`, int32."""
    return torch.tensor(convert_to_int_list(arg, dimension), dtype=torch.int32)


def get_postfix(tensor: Tensor) -> str:
    return "GPU" if tensor.is_cuda else "CPU"


def _get_coordinate_map_key(
    input: SparseTensor,
    coordinates: Any = None,
    tensor_stride: StrideType = 1,
    expand_coordinates: bool = False,
) -> CoordinateMapKey:
    """Returns the key of given coordinates; one that is not set if there are none, or to expand."""
    if coordinates is None or expand_coordinates:
        return CoordinateMapKey(input.coordinate_map_key.get_coordinate_size())
    if isinstance(coordinates, Tensor):
        strides = convert_to_int_list(tensor_stride, coordinates.shape[1] - 1)
        return input._manager.insert_and_map(coordinates, strides, "")[0]
    if isinstance(coordinates, SparseTensor):
        return coordinates.coordinate_map_key
    return _geometry.require_key(coordinates)


def is_cuda_available() -> bool:
    """Returns False: there are functions for tensors of the CPU alone."""
    return False


def cuda_version() -> int:
    return -1


cudart_version = cuda_version


def get_gpu_memory_info() -> tuple[int, int]:
    return 0, 0
