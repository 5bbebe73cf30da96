"""What SparseTensor and TensorField have in common: features, rows by batch, and operators."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor as Features

from mluop_omp._library import bad_param
from mluop_omp.minkowski._coordinates import CoordinateManager, CoordinateMapKey

COORDINATE_MANAGER_DIFFERENT_ERROR = (
    "the tensors have different coordinate managers: pass coordinate_manager of one to the "
    "other, or set_sparse_tensor_operation_mode(SHARE_COORDINATE_MANAGER)"
)
COORDINATE_KEY_DIFFERENT_ERROR = "the tensors have different coordinate map keys"

Self = TypeVar("Self", bound="Tensor")
Function = Callable[[Any, Any], Features]


class Tensor:
    """Features [N, C] of the rows of a key. `_F` may be replaced by features of as many rows.

    `float`, `double`, `half`, `bfloat16`, `to`, `cpu` and `detach` change the tensor and return it.
    """

    # NumPy's numbers leave operators to this class.
    __array_ufunc__ = None

    _manager: CoordinateManager
    _F: Features
    _C: Features | None
    _D: int
    _batch_rows: list[Features] | None

    def _with(self: Self, features: Features) -> Self:
        raise NotImplementedError

    def _united(self: Self, other: Self, function: Function) -> Self:
        """Computes the function of tensors with different keys."""
        raise NotImplementedError

    def _sliced(self, tensor: Any, with_own: bool) -> Any:
        """Returns the field of a SparseTensor's features at the points of this one.

        with_own: followed by the features of the points.
        """
        raise NotImplementedError

    def _get_coordinates(self) -> Features:
        raise NotImplementedError

    @property
    def coordinate_key(self) -> CoordinateMapKey:
        raise NotImplementedError

    @property
    def _batchwise_row_indices(self) -> list[Features]:
        raise NotImplementedError

    # Attributes.

    @property
    def coordinate_manager(self) -> CoordinateManager:
        return self._manager

    @property
    def tensor_stride(self) -> list[int]:
        return self.coordinate_key.get_tensor_stride()

    @property
    def coordinates(self) -> Features:
        """Returns the rows [N, 1 + D]: the batch, then the coordinates."""
        if self._C is None:
            self._C = self._get_coordinates()
        return self._C

    @property
    def C(self) -> Features:
        return self.coordinates

    @property
    def features(self) -> Features:
        return self._F

    @property
    def F(self) -> Features:
        return self._F

    @property
    def D(self) -> int:
        return self._D

    @property
    def dimension(self) -> int:
        return self._D

    @property
    def requires_grad(self) -> bool:
        return self._F.requires_grad

    @property
    def shape(self) -> torch.Size:
        return self._F.shape

    @property
    def device(self) -> torch.device:
        return self._F.device

    @property
    def dtype(self) -> torch.dtype:
        return self._F.dtype

    def size(self) -> torch.Size:
        return self._F.size()

    def get_device(self) -> int:
        return self._F.get_device()

    def __len__(self) -> int:
        return len(self._F)

    # Rows by batch: a list with an element for each batch number of the manager, up to the last.

    @property
    def decomposition_permutations(self) -> list[Features]:
        """Returns the rows of each batch, ascending."""
        return self._batchwise_row_indices

    @property
    def _sorted_batchwise_row_indices(self) -> list[Features]:
        return self._batchwise_row_indices

    @property
    def decomposed_coordinates(self) -> list[Features]:
        """Returns the coordinates of each batch, [n, D]."""
        return [self.coordinates[rows, 1:] for rows in self._batchwise_row_indices]

    @property
    def decomposed_features(self) -> list[Features]:
        """Returns the features of each batch, [n, C]."""
        return [self._F[rows] for rows in self._batchwise_row_indices]

    @property
    def decomposed_coordinates_and_features(self) -> tuple[list[Features], list[Features]]:
        return self.decomposed_coordinates, self.decomposed_features

    def coordinates_at(self, batch_index: int) -> Features:
        return self.coordinates[self._batchwise_row_indices[batch_index], 1:]

    def features_at(self, batch_index: int) -> Features:
        return self._F[self._batchwise_row_indices[batch_index]]

    def coordinates_and_features_at(self, batch_index: int) -> tuple[Features, Features]:
        return self.coordinates_at(batch_index), self.features_at(batch_index)

    # Changes of the features in place.

    def requires_grad_(self, requires_grad: bool = True) -> None:
        self._F.requires_grad_(requires_grad)

    def to(self: Self, *arguments: Any, **named: Any) -> Self:
        """Converts the features as `torch.Tensor.to`, in place. Sites stay on the CPU."""
        self._F = self._F.to(*arguments, **named)
        return self

    def float(self: Self) -> Self:
        return self.to(torch.float32)

    def double(self: Self) -> Self:
        return self.to(torch.float64)

    def half(self: Self) -> Self:
        return self.to(torch.float16)

    def bfloat16(self: Self) -> Self:
        return self.to(torch.bfloat16)

    def cpu(self: Self) -> Self:
        return self.to("cpu")

    def detach(self: Self) -> Self:
        self._F = self._F.detach()
        return self

    # Operators: with a tensor of this class, with numbers and with a torch.Tensor of features.

    def _require_same_manager(self, other: Tensor) -> None:
        if self._manager is not other._manager:
            raise bad_param(COORDINATE_MANAGER_DIFFERENT_ERROR)

    def _is_same_key(self, other: Tensor) -> bool:
        """Returns whether the sites are the same. Raises MluOpError for different managers."""
        self._require_same_manager(other)
        return self.coordinate_key == other.coordinate_key

    def _operand(self, other: Any) -> Any:
        """Returns what computes with the features, or NotImplemented."""
        if isinstance(other, Tensor):
            is_like = isinstance(other, type(self)) or isinstance(self, type(other))
            return other._F if is_like else NotImplemented
        return other if isinstance(other, (numbers.Number, Features)) else NotImplemented

    def _computed(self: Self, other: Any, function: Function) -> Self:
        operand = self._operand(other)
        if operand is NotImplemented:
            return NotImplemented
        if isinstance(other, Tensor) and not self._is_same_key(other):
            return self._united(other, function)  # type: ignore[arg-type]
        return self._with(function(self._F, operand))

    def __add__(self: Self, other: Any) -> Self:
        return self._computed(other, lambda a, b: a + b)

    def __sub__(self: Self, other: Any) -> Self:
        return self._computed(other, lambda a, b: a - b)

    def __mul__(self: Self, other: Any) -> Self:
        return self._computed(other, lambda a, b: a * b)

    def __truediv__(self: Self, other: Any) -> Self:
        return self._computed(other, lambda a, b: a / b)

    def __radd__(self: Self, other: Any) -> Self:
        return self._computed(other, lambda a, b: b + a)

    def __rsub__(self: Self, other: Any) -> Self:
        return self._computed(other, lambda a, b: b - a)

    def __rmul__(self: Self, other: Any) -> Self:
        return self._computed(other, lambda a, b: b * a)

    def __rtruediv__(self: Self, other: Any) -> Self:
        return self._computed(other, lambda a, b: b / a)

    def __pow__(self: Self, power: Any) -> Self:
        return self._with(self._F**power)

    __power__ = __pow__

    def __neg__(self: Self) -> Self:
        return self._with(-self._F)

    def _updated(self: Self, other: Any, update: Function) -> Self:
        operand = self._operand(other)
        if operand is NotImplemented:
            return NotImplemented
        if isinstance(other, Tensor) and not self._is_same_key(other):
            raise bad_param(
                f"{COORDINATE_KEY_DIFFERENT_ERROR}: {self.coordinate_key} and "
                f"{other.coordinate_key}; the operators +, -, * and / unite sites"
            )
        self._F = update(self._F, operand)
        return self

    def __iadd__(self: Self, other: Any) -> Self:
        return self._updated(other, lambda a, b: a.add_(b))

    def __isub__(self: Self, other: Any) -> Self:
        return self._updated(other, lambda a, b: a.sub_(b))

    def __imul__(self: Self, other: Any) -> Self:
        return self._updated(other, lambda a, b: a.mul_(b))

    def __itruediv__(self: Self, other: Any) -> Self:
        return self._updated(other, lambda a, b: a.div_(b))

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(\n  coordinates={self.coordinates}\n  features={self._F}\n"
            f"  {self.coordinate_key}\n  spatial dimension={self._D})"
        )
