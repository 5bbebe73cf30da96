"""MinkowskiEngine.utils: collation, quantization, initialization."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from mluop_omp._library import bad_param
from mluop_omp.minkowski._collation import SparseCollation as SparseCollation
from mluop_omp.minkowski._collation import batch_sparse_collate as batch_sparse_collate
from mluop_omp.minkowski._collation import batched_coordinates as batched_coordinates
from mluop_omp.minkowski._collation import sparse_collate as sparse_collate
from mluop_omp.minkowski._quantization import fnv_hash_vec as fnv_hash_vec
from mluop_omp.minkowski._quantization import quantize as quantize
from mluop_omp.minkowski._quantization import quantize_label as quantize_label
from mluop_omp.minkowski._quantization import ravel_hash_vec as ravel_hash_vec
from mluop_omp.minkowski._quantization import sparse_quantize as sparse_quantize
from mluop_omp.minkowski._quantization import unique_coordinate_map as unique_coordinate_map


def _fans(tensor: Tensor) -> tuple[int, int]:
    """Returns the fans in and out of a kernel.

    [K, Ci, Co] has Ci K and Co K. [Ci, Co] has Co and Ci: MinkowskiEngine takes it for the matrix
    of a linear layer, whose outputs come first.
    """
    if tensor.dim() < 2:
        raise bad_param(f"tensor has {tensor.dim()} dimensions, expected at least 2")
    if tensor.dim() == 2:
        return tensor.shape[1], tensor.shape[0]
    volume = math.prod(tensor.shape[:-2])
    return tensor.shape[-2] * volume, tensor.shape[-1] * volume


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> Tensor:
    """Fills a kernel [K, Ci, Co] or [Ci, Co] with normal numbers: gain / sqrt(fan)."""
    fans = dict(zip(("fan_in", "fan_out"), _fans(tensor)))
    fan = fans.get(mode.lower())
    if fan is None:
        raise ValueError(f"mode is {mode!r}, expected 'fan_in' or 'fan_out'")
    deviation = torch.nn.init.calculate_gain(nonlinearity, a) / math.sqrt(fan)
    with torch.no_grad():
        return tensor.normal_(0, deviation)
