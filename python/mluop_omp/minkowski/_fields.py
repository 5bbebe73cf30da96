"""TensorField, features of points, and interpolation as a layer."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor as Features
from torch import nn

from mluop_omp._library import bad_param
from mluop_omp.minkowski._base import Function, Tensor
from mluop_omp.minkowski._coordinates import CoordinateManager, CoordinateMapKey
from mluop_omp.minkowski._points import rows_of
from mluop_omp.minkowski._reduction import (
    MODES_OF_SLICES,
    checked,
    reduced,
    reduced_to,
    require_mode,
    splatted,
)
from mluop_omp.minkowski._settings import SparseTensorQuantizationMode
from mluop_omp.minkowski._tensors import SparseTensor

_Mode = SparseTensorQuantizationMode
_MODES = (
    *(_Mode.UNWEIGHTED_AVERAGE, _Mode.UNWEIGHTED_SUM),
    *(_Mode.RANDOM_SUBSAMPLE, _Mode.MAX_POOL),
)


class TensorField(Tensor):
    """Features [N, C] of points, which may repeat.

    Args:
        features: [N, C].
        coordinates: [N, 1 + D], the batch first. Either these, or coordinate_field_map_key and
            coordinate_manager, are given. Integers and float64 keep their precision.
        tensor_stride: of the field's key; points are anywhere.
        coordinate_field_map_key: the key of points that the manager has.
        coordinate_manager: the manager of the points; by default, a new one, or the shared one.
        quantization_mode: how the features of the points of a voxel become one row.
        allocator_type, minkowski_algorithm: have no effect.
        requires_grad: whether the features require gradients.
        device: where the features are moved to.
    """

    def __init__(
        self,
        features: Features,
        coordinates: Features | None = None,
        tensor_stride: Any = 1,
        coordinate_field_map_key: CoordinateMapKey | None = None,
        coordinate_manager: CoordinateManager | None = None,
        quantization_mode: SparseTensorQuantizationMode = _Mode.UNWEIGHTED_AVERAGE,
        allocator_type: Any = None,
        minkowski_algorithm: Any = None,
        requires_grad: bool | None = None,
        device: Any = None,
    ) -> None:
        require_mode(quantization_mode, _MODES)
        features, manager = checked(
            *(features, coordinates, coordinate_field_map_key, coordinate_manager, device),
            *("coordinate_field_map_key", lambda manager, key: len(manager.points(key))),
        )
        self._manager, self._D = manager, manager.D
        if coordinates is not None:
            coordinate_field_map_key = manager.insert_field(coordinates, tensor_stride, "")
        assert coordinate_field_map_key is not None
        self.coordinate_field_map_key = coordinate_field_map_key
        self.quantization_mode = quantization_mode
        if requires_grad is not None:
            features.requires_grad_(requires_grad)
        self._F, self._C, self._batch_rows = features, coordinates, None

    def _with(self, features: Features) -> TensorField:
        """Returns a field of the same points."""
        field = TensorField(
            features,
            coordinate_field_map_key=self.coordinate_field_map_key,
            coordinate_manager=self._manager,
            quantization_mode=self.quantization_mode,
        )
        field._C, field._batch_rows = self._C, self._batch_rows
        return field

    def _united(self, other: Tensor, function: Function) -> TensorField:
        raise bad_param(
            f"the fields have different keys, {self.coordinate_key} and {other.coordinate_key}: "
            "points have no union"
        )

    @property
    def coordinate_key(self) -> CoordinateMapKey:
        return self.coordinate_field_map_key

    def _get_coordinates(self) -> Features:
        return self._manager.get_coordinate_field(self.coordinate_field_map_key)

    @property
    def _batchwise_row_indices(self) -> list[Features]:
        if self._batch_rows is None:
            _, self._batch_rows = self._manager.origin_field_map(self.coordinate_field_map_key)
        return self._batch_rows

    def sparse(
        self,
        tensor_stride: Any = 1,
        coordinate_map_key: CoordinateMapKey | None = None,
        quantization_mode: SparseTensorQuantizationMode | None = None,
    ) -> SparseTensor:
        """Returns a tensor of the voxels that hold the points.

        A voxel is a point's coordinates, floored to multiples of tensor_stride; its batch is
        rounded. Voxels are in the order of their first points. With coordinate_map_key, its sites
        are the voxels; points in no voxel are left out, and voxels without points are 0.
        """
        mode = self.quantization_mode if quantization_mode is None else quantization_mode
        require_mode(mode, _MODES)
        key, manager = self.coordinate_field_map_key, self._manager
        if coordinate_map_key is None:
            voxels, (first, inverse) = manager.field_to_sparse_insert_and_map(key, tensor_stride)
            features = reduced(self._F, first, inverse, len(first), mode)
        else:
            voxels = coordinate_map_key
            features = reduced_to(self._F, manager, key, voxels, mode)
        return SparseTensor(features, coordinate_map_key=voxels, coordinate_manager=manager)

    def splat(self) -> SparseTensor:
        """Returns a tensor of the corners of the points' cells, to which features are spread.

        A point adds its features to the 2**D corners with the weights of
        `SparseTensor.features_at_coordinates`. The tensor stride is 1.
        """
        key, features = splatted(self._F, self._manager, self.C)
        return SparseTensor(features, coordinate_map_key=key, coordinate_manager=self._manager)

    def inverse_mapping(self, sparse_tensor_map_key: CoordinateMapKey) -> Features:
        """Returns the row in a key of the site that holds each point, int64 [N].

        The site is the point floored to the tensor stride of the key. Raises MluOpError if the key
        lacks the site of a point.
        """
        key = self.coordinate_field_map_key
        rows = self._manager.field_rows(key, sparse_tensor_map_key)
        return self._require_found(rows, sparse_tensor_map_key)

    def _require_found(self, rows: Features, key: CoordinateMapKey) -> Features:
        if len(rows) and int(rows.min()) < 0:
            point = int((rows < 0).nonzero()[0])
            raise bad_param(
                f"the point {self.C[point].tolist()} (row {point}) is in no site of {key}"
            )
        return rows

    def _rows_in(self, tensor: SparseTensor) -> Features:
        """Returns the row of the tensor's site that holds each point, in any manager."""
        key = tensor.coordinate_map_key
        if tensor._manager is self._manager:
            return self.inverse_mapping(key)
        sites = tensor._manager.sites(key)
        voxels = self._manager.voxels(self.coordinate_field_map_key, key.get_tensor_stride())
        return self._require_found(rows_of(sites, voxels), key)

    def _sliced(self, tensor: SparseTensor, with_own: bool) -> TensorField:
        require_mode(self.quantization_mode, MODES_OF_SLICES)
        features = tensor._F[self._rows_in(tensor)]
        return self._with(torch.cat((features, self._F), 1) if with_own else features)


SparseTensor._FIELD = TensorField


class MinkowskiInterpolation(nn.Module):
    """Interpolates the features of a tensor at points; see `SparseTensor.features_at_coordinates`.

    Args:
        return_kernel_map: whether to return rows and points of the corners that exist, too.
        return_weights: whether to return the weights of these corners, too.
    """

    def __init__(self, return_kernel_map: bool = False, return_weights: bool = False) -> None:
        super().__init__()
        self.return_kernel_map = return_kernel_map
        self.return_weights = return_weights

    def forward(self, input: SparseTensor, tfield: Features) -> Any:
        results: list[Any] = [input.features_at_coordinates(tfield)]
        if self.return_kernel_map or self.return_weights:
            key = input.coordinate_map_key
            *rows, weights = input._manager.interpolation_map_weight(key, tfield)
            if self.return_kernel_map:
                results.append(tuple(rows))
            if self.return_weights:
                results.append(weights)
        return results[0] if len(results) == 1 else tuple(results)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"
