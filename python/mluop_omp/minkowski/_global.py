"""Pools over the sites of each batch, and broadcasts to them."""

from __future__ import annotations

from typing import Any, Callable

import torch
from torch import Tensor

from mluop_omp._library import bad_param, not_supported
from mluop_omp.minkowski import _geometry
from mluop_omp.minkowski._convolutions import MinkowskiModuleBase
from mluop_omp.minkowski._fields import TensorField
from mluop_omp.minkowski._kernels import BroadcastMode, PoolingMode
from mluop_omp.minkowski._points import rows_of_batches
from mluop_omp.minkowski._tensors import SparseTensor
from mluop_omp.torch.site_maps import segment_max, segment_mean, segment_sum

_POOLS: dict[str, Callable[[Tensor, Tensor, int], Tensor]] = {
    "GLOBAL_SUM": segment_sum,
    "GLOBAL_AVG": segment_mean,
    "GLOBAL_MAX": segment_max,
}


class _Spread(torch.autograd.Function):
    """Returns values[rows]; the gradient is added in float64, in a fixed order."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, rows: Tensor) -> Tensor:
        ctx.save_for_backward(rows)
        ctx.count = len(values)
        return values[rows]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (rows,) = ctx.saved_tensors
        return segment_sum(grad, rows, ctx.count), None


def spread(values: Tensor, rows: Tensor) -> Tensor:
    """Returns values[rows], of few values and many rows."""
    result: Tensor = _Spread.apply(values, rows)
    return result


class MinkowskiGlobalPooling(MinkowskiModuleBase):
    """One row for each batch of the manager, ascending; numbers without a site have no row.

    mode: a sum, mean (default) or maximum. The key has stride 0. A batch that the input lacks is 0.
    """

    def __init__(self, mode: PoolingMode = PoolingMode.GLOBAL_AVG_POOLING_PYTORCH_INDEX) -> None:
        super().__init__()
        if not isinstance(mode, PoolingMode) or mode.name[:10] not in _POOLS:
            raise bad_param(f"mode is {mode!s}, expected a global PoolingMode")
        self.pooling_mode = mode

    def forward(self, input: SparseTensor, coordinates: Any = None) -> SparseTensor:
        _geometry.require_sparse(self, input)
        manager = input._manager
        segments = manager.origin_rows(input.coordinate_map_key)[0]
        return self._pool(input, segments, coordinates)

    def _pool(self, input: Any, segments: Tensor, coordinates: Any) -> SparseTensor:
        if coordinates is not None:
            raise not_supported(f"{type(self).__name__}: coordinates of the output")
        key = input._manager.origin()
        pool = _POOLS[self.pooling_mode.name[:10]]
        pooled = pool(input.F, segments, input._manager.size(key))
        return SparseTensor(pooled, coordinate_map_key=key, coordinate_manager=input._manager)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(mode={self.pooling_mode})"


class MinkowskiGlobalSumPooling(MinkowskiGlobalPooling):
    """The sum of each batch."""

    def __init__(self, mode: PoolingMode = PoolingMode.GLOBAL_SUM_POOLING_PYTORCH_INDEX) -> None:
        super().__init__(mode)


class MinkowskiGlobalAvgPooling(MinkowskiGlobalPooling):
    """The mean of each batch."""


class MinkowskiGlobalMaxPooling(MinkowskiGlobalPooling):
    """The maximum of each batch, whose gradient goes to the first of equal rows.

    Takes a TensorField too.
    """

    def __init__(self, mode: PoolingMode = PoolingMode.GLOBAL_MAX_POOLING_PYTORCH_INDEX) -> None:
        super().__init__(mode)

    def forward(self, input: SparseTensor | TensorField, coordinates: Any = None) -> SparseTensor:
        if isinstance(input, TensorField):
            key = input.coordinate_field_map_key
            segments = input._manager.origin_field_rows(key)[0]
            return self._pool(input, segments, coordinates)
        return super().forward(input, coordinates)


class _Broadcast(MinkowskiModuleBase):
    """A function of the features of x and of the row of glob that has the batch of each site."""

    def forward(self, input: SparseTensor, input_glob: SparseTensor) -> SparseTensor:
        _geometry.require_sparse(self, input)
        _geometry.require_sparse(self, input_glob)
        batches, of_rows = (
            each._manager.sites(each.coordinate_map_key)[:, 0] for each in (input, input_glob)
        )
        rows = rows_of_batches(batches, of_rows)
        return input._with(self._combine(input.F, spread(input_glob.F, rows)))

    def _combine(self, features: Tensor, of_batch: Tensor) -> Tensor:
        raise NotImplementedError

    def __repr__(self) -> str:
        return type(self).__name__


class MinkowskiBroadcastBase(_Broadcast):
    """Adds or multiplies, by operation_type."""

    def __init__(self, operation_type: BroadcastMode) -> None:
        super().__init__()
        self.operation_type = BroadcastMode(operation_type)

    def _combine(self, features: Tensor, of_batch: Tensor) -> Tensor:
        if features.shape[1] != of_batch.shape[1]:
            raise bad_param(
                f"input_glob has {of_batch.shape[1]} channels, expected {features.shape[1]} as "
                "the input"
            )
        is_sum = self.operation_type == BroadcastMode.ELEMENTWISE_ADDITON
        return features + of_batch if is_sum else features * of_batch


class MinkowskiBroadcastAddition(MinkowskiBroadcastBase):
    """x plus the row of its batch."""

    def __init__(self) -> None:
        super().__init__(BroadcastMode.ELEMENTWISE_ADDITON)


class MinkowskiBroadcastMultiplication(MinkowskiBroadcastBase):
    """x times the row of its batch."""

    def __init__(self) -> None:
        super().__init__(BroadcastMode.ELEMENTWISE_MULTIPLICATION)


class MinkowskiBroadcast(_Broadcast):
    """The row of its batch at each site of x."""

    def _combine(self, features: Tensor, of_batch: Tensor) -> Tensor:
        return of_batch


class MinkowskiBroadcastConcatenation(MinkowskiBroadcast):
    """The channels of x, then of the row of its batch."""

    def _combine(self, features: Tensor, of_batch: Tensor) -> Tensor:
        return torch.cat((features, of_batch), 1)
