"""torchsparse.backend and torchsparse.backends: what models call of the compiled part."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch import Tensor

from mluop_omp._library import bad_param, not_supported
from mluop_omp._operators._torch import ops
from mluop_omp.torch._arrays import to_int32
from mluop_omp.torch.site_maps import kernel_map
from mluop_omp.torchsparse._functions import sphashquery
from mluop_omp.torchsparse._offsets import centered
from mluop_omp.torchsparse._utils import make_divisible, make_ntuple

# Results have a multiple of this many rows.
_ROWS = 128


class GPUHashTable:
    """A table of coordinates or values in version 2.1; here, on the CPU.

    It is made of two tensors, or of a capacity, which have no effect: the object has what was
    inserted. A lookup finds the first row of equal ones.
    """

    def __init__(self, *_: Any) -> None:
        self._coords: Tensor | None = None
        self._keys: Tensor | None = None

    def insert_coords(self, coords: Tensor) -> None:
        """coords: int32 [N, 4]: x, y, z, batch."""
        self._coords = self._sites("coords", coords)

    def insert_vals(self, keys: Tensor) -> None:
        """keys: int64 [N]."""
        self._keys = keys.clone()

    def lookup_vals(self, keys: Tensor) -> Tensor:
        """Returns int32, the row of each key plus 1, 0 without one; 0 up to a multiple of 128."""
        if self._keys is None:
            raise not_supported("GPUHashTable: lookup_vals without insert_vals on this object")
        found = sphashquery(keys, self._keys).int() + 1
        return _padded(found)

    def lookup_coords(
        self, coords: Tensor, kernel_sizes: Any, tensor_strides: Any, kernel_volume: Any
    ) -> Tensor:
        """Returns int32 [M, K], the row plus 1 of coords * strides + offset_k, or 0.

        Args:
            coords: int32 [M, 4]: x, y, z, batch.
            kernel_sizes: three integers; K, their product, is kernel_volume.
            tensor_strides: three integers.
        """
        if self._coords is None:
            raise not_supported("GPUHashTable: lookup_coords without insert_coords on this object")
        kernel, strides = make_ntuple(kernel_sizes, 3), make_ntuple(tensor_strides, 3)
        offsets = centered(kernel)
        if operator.index(kernel_volume) != len(offsets):
            raise bad_param(f"kernel_volume is {int(kernel_volume)}, expected {len(offsets)}")
        scaled = self._sites("coords", coords).long() * torch.tensor([1, *strides])
        queries = to_int32("coords", scaled)
        # Equal queries are paired once.
        rows, inverse = ops.unique_rows(queries)
        pairs = kernel_map(self._coords, queries[rows.long()], offsets)
        found = torch.zeros(len(offsets), pairs.num_out, dtype=torch.int32)
        for row, (inputs, outputs), num in zip(found, pairs.pairs.long(), pairs.num.tolist()):
            row[outputs[:num]] = inputs[:num].int() + 1
        return _padded(found.t()[inverse.long()])

    @staticmethod
    def _sites(name: str, coords: Tensor) -> Tensor:
        if coords.dim() != 2 or coords.shape[1] != 4:
            raise bad_param(f"{name} has shape {list(coords.shape)}, expected [N, 4]")
        return to_int32(name, coords)[:, [3, 0, 1, 2]]


def _padded(rows: Tensor) -> Tensor:
    padded = rows.new_zeros(make_divisible(len(rows), _ROWS), *rows.shape[1:])
    padded[: len(rows)] = rows
    return padded


# Attributes of torchsparse.backends; they have no effect on a CPU.
BACKENDS: dict[str, Any] = {
    "benchmark": False,
    "allow_tf32": False,
    "allow_fp16": False,
    "hash_rsv_ratio": 2,
    "device_capability": 0,
    "init": lambda: None,
}
