"""SparseTensor, features of sites."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import torch
from torch import Tensor as Features

from mluop_omp._library import bad_param
from mluop_omp.minkowski import _layouts
from mluop_omp.minkowski._base import Function, Tensor
from mluop_omp.minkowski._coordinates import CoordinateManager, CoordinateMapKey
from mluop_omp.minkowski._points import floors
from mluop_omp.minkowski._reduction import MODES_OF_SLICES, checked, reduced, require_mode
from mluop_omp.minkowski._settings import SparseTensorQuantizationMode
from mluop_omp.torch import site_maps

_Mode = SparseTensorQuantizationMode


class SparseTensor(Tensor):
    """Features [N, C] of distinct sites: a batch and D coordinates of any sign.

    Args:
        features: [N, C].
        coordinates: integers [N, 1 + D], the batch first; other numbers are floored, with a
            warning. Either these, or coordinate_map_key and coordinate_manager, are given.
        tensor_stride: the distance of neighboring sites. Coordinates need not be multiples.
        coordinate_map_key: the key of sites that the manager has.
        coordinate_manager: the manager of the sites; by default, a new one, or the shared one.
        quantization_mode: how the features of repeated sites become one row.
        allocator_type, minkowski_algorithm: have no effect.
        requires_grad: whether the features require gradients.
        device: where the features are moved to.

    Attributes:
        coordinate_map_key, coordinate_manager.
        unique_index: the first row of each site, in ascending order, if made from coordinates.
        inverse_mapping: the site of each row, if made from coordinates.
        quantization_mode.
    """

    # TensorField, which `_fields.py` sets: it imports this module.
    _FIELD: ClassVar[Any]
    unique_index: Features
    inverse_mapping: Features

    def __init__(
        self,
        features: Features,
        coordinates: Features | None = None,
        tensor_stride: Any = 1,
        coordinate_map_key: CoordinateMapKey | None = None,
        coordinate_manager: CoordinateManager | None = None,
        quantization_mode: SparseTensorQuantizationMode = _Mode.RANDOM_SUBSAMPLE,
        allocator_type: Any = None,
        minkowski_algorithm: Any = None,
        requires_grad: bool | None = None,
        device: Any = None,
    ) -> None:
        if not isinstance(quantization_mode, _Mode):
            raise bad_param(
                f"quantization_mode is {quantization_mode!r}, expected a "
                "SparseTensorQuantizationMode"
            )
        features, manager = checked(
            *(features, coordinates, coordinate_map_key, coordinate_manager, device),
            *("coordinate_map_key", CoordinateManager.size),
        )
        self._manager, self._D, self._batch_rows = manager, manager.D, None
        self.quantization_mode = quantization_mode
        if coordinates is not None:
            features = self._insert(features, coordinates, tensor_stride)
        elif coordinate_map_key is not None:
            self.coordinate_map_key, self._C = coordinate_map_key, None
        if requires_grad is not None:
            features.requires_grad_(requires_grad)
        self._F = features

    def _insert(self, features: Features, coordinates: Features, tensor_stride: Any) -> Features:
        """Stores the sites, and returns their features."""
        if coordinates.dtype is not torch.int32:
            warnings.warn(
                f"coordinates have dtype {coordinates.dtype} and are converted to torch.int32, "
                "floored; `.int()` avoids this warning",
                stacklevel=3,
            )
            coordinates = floors("coordinates", coordinates)
        key, maps = self._manager.insert_and_map(coordinates, tensor_stride, "")
        self.coordinate_map_key, (self.unique_index, self.inverse_mapping) = key, maps
        self._C = coordinates[self.unique_index]
        return reduced(
            *(features, self.unique_index, self.inverse_mapping, len(self.unique_index)),
            self.quantization_mode,
        )

    def _with(self, features: Features, key: CoordinateMapKey | None = None) -> SparseTensor:
        """Returns a tensor of the same manager, and of the same sites unless a key is given."""
        result = SparseTensor(
            features,
            coordinate_map_key=key or self.coordinate_map_key,
            coordinate_manager=self._manager,
        )
        if result.coordinate_map_key == self.coordinate_map_key:
            result._C, result._batch_rows = self._C, self._batch_rows
        return result

    @property
    def coordinate_key(self) -> CoordinateMapKey:
        return self.coordinate_map_key

    def _get_coordinates(self) -> Features:
        return self._manager.get_coordinates(self.coordinate_map_key)

    @property
    def _batchwise_row_indices(self) -> list[Features]:
        if self._batch_rows is None:
            _, self._batch_rows = self._manager.origin_map(self.coordinate_map_key)
        return self._batch_rows

    def _united(self, other: Tensor, function: Function) -> SparseTensor:
        """Unites the sites: a site of other gets function(a or 0, b), the rest keep their a."""
        if self._F.shape[1] != other._F.shape[1]:
            raise bad_param(
                f"the tensors have {self._F.shape[1]} and {other._F.shape[1]} channels, expected "
                "equal numbers for different sites"
            )
        key, (rows, others) = self._manager.united((self.coordinate_map_key, other.coordinate_key))
        a = self._F.new_zeros(self._manager.size(key), self._F.shape[1])
        a = a.index_copy(0, rows, self._F)
        computed = function(a[others], other._F)
        return self._with(a.to(computed.dtype).index_copy(0, others, computed), key)

    def sparse(
        self,
        min_coords: Features | None = None,
        max_coords: Features | None = None,
        contract_coords: bool = True,
    ) -> tuple[Features, Features, Features]:
        """Returns a sparse tensor of PyTorch; see `_layouts.sparse`."""
        return _layouts.sparse(self, min_coords, max_coords, contract_coords)

    def dense(
        self,
        shape: torch.Size | None = None,
        min_coordinate: Features | None = None,
        contract_stride: bool = True,
    ) -> tuple[Features, Features, Any]:
        """Returns a dense tensor; see `_layouts.dense`."""
        return _layouts.dense(self, shape, min_coordinate, contract_stride)

    def slice(self, X: Tensor) -> Any:
        """Returns a field: the features of the site that holds each point of X.

        X: a TensorField; or a SparseTensor of this key, which stands for the rows of coordinates
        that it was made from.
        """
        return self._slice(X, with_own=False)

    def cat_slice(self, X: Tensor) -> Any:
        """As `slice`, followed by the features of X."""
        return self._slice(X, with_own=True)

    def _slice(self, X: Any, with_own: bool) -> Any:
        if not isinstance(X, Tensor):
            raise bad_param(f"X is a {type(X).__name__}, expected a TensorField or a SparseTensor")
        return X._sliced(self, with_own)

    def _sliced(self, tensor: SparseTensor, with_own: bool) -> Any:
        require_mode(self.quantization_mode, MODES_OF_SLICES)
        if not tensor._is_same_key(self):
            raise bad_param(
                f"the tensors have different keys: {tensor.coordinate_map_key} and "
                f"{self.coordinate_map_key}"
            )
        if not hasattr(self, "inverse_mapping"):
            raise bad_param(
                f"X has {self.coordinate_map_key} and no rows of coordinates, expected a "
                "TensorField, or a SparseTensor made from coordinates"
            )
        rows = self.inverse_mapping
        features = tensor._F[rows]
        return self._FIELD(
            torch.cat((features, self._F[rows]), 1) if with_own else features,
            coordinates=tensor.coordinates[rows],
            coordinate_manager=tensor._manager,
            quantization_mode=tensor.quantization_mode,
        )

    def features_at_coordinates(self, query_coordinates: Features) -> Features:
        """Interpolates the features at points: floating-point [M, 1 + D], the batch first.

        The corners of a point's cell of the tensor stride have multilinear weights. Missing corners
        count 0, and the other weights remain. Gradients flow to the features only.
        """
        corners, weights = self._manager.corners(self.coordinate_map_key, query_coordinates)
        return site_maps.gather_sum(self._F, corners, weights)

    def interpolate(self, X: Tensor) -> Any:
        """Returns a field: the features interpolated at the points of X."""
        return X._with(self.features_at_coordinates(X.C))
