"""The points of fields in a manager, and the voxels that hold them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from mluop_omp._library import bad_param
from mluop_omp.minkowski._keys import CoordinateMapKey
from mluop_omp.minkowski._points import floored, require_rows, rows_of, sites_of_points
from mluop_omp.minkowski._site_store import SiteStore
from mluop_omp.torch import functional


class FieldMaps(SiteStore):
    """A point lies in the voxel of its coordinates, floored to multiples of a tensor stride."""

    def insert_field(
        self, coordinates: Tensor, tensor_stride: Any = 1, string_id: str = ""
    ) -> CoordinateMapKey:
        """Stores the points of a field; repeated points remain."""
        require_rows("coordinates", coordinates, 1 + self.D)
        if coordinates.dtype in (torch.float16, torch.bfloat16):
            coordinates = coordinates.float()
        key = self._new_key(self._stride(tensor_stride), string_id, self._points)
        self._new_batches.append(sites_of_points("coordinates", coordinates)[:, 0])
        self._points[key.name] = coordinates.detach().clone()
        return key

    def voxels(self, field_key: CoordinateMapKey, stride: list[int]) -> Tensor:
        """Returns the voxel of each point."""
        return floored(sites_of_points("coordinates", self.points(field_key)), stride)

    def field_to_sparse_insert_and_map(
        self,
        field_map_key: CoordinateMapKey,
        sparse_tensor_stride: Any,
        sparse_tensor_string_id: str = "",
    ) -> tuple[CoordinateMapKey, tuple[Tensor, Tensor]]:
        """Stores the voxels of a field, in the order of their first points.

        Returns the key, the first point of each voxel, and the voxel of each point (int64).
        """
        stride = self._stride(sparse_tensor_stride)
        voxels = self.voxels(field_map_key, stride)
        key, (first, inverse) = self.insert_and_map(voxels, stride, sparse_tensor_string_id)
        self._maps["field", field_map_key.name, key.name] = inverse
        return key, (first, inverse)

    def field_rows(self, field_key: CoordinateMapKey, key: CoordinateMapKey) -> Tensor:
        """Returns the row in a key of each point's voxel, int64 [N], or -1."""

        def find() -> Tensor:
            return rows_of(self.sites(key), self.voxels(field_key, key.get_tensor_stride()))

        rows: Tensor = self._kept(("field", field_key.name, key.name), find)
        return rows

    def exists_field_to_sparse(
        self, field_map_key: CoordinateMapKey, sparse_map_key: CoordinateMapKey
    ) -> bool:
        """Returns whether the rows of the field's points in the key have been computed."""
        return ("field", field_map_key.name, sparse_map_key.name) in self._maps

    def field_to_sparse_keys(self, field_map_key: CoordinateMapKey) -> list[CoordinateMapKey]:
        """Returns the keys in which the rows of the field's points have been computed."""
        names = [each[1:] for each in self._maps if each[0] == "field"]
        return [CoordinateMapKey(*key) for field, key in names if field == field_map_key.name]

    def field_to_sparse_map(
        self, field_map_key: CoordinateMapKey, sparse_map_key: CoordinateMapKey
    ) -> tuple[Tensor, Tensor]:
        """Returns rows of the key, and the points that they hold; other points are missing."""
        rows = self.field_rows(field_map_key, sparse_map_key)
        (points,) = (rows >= 0).nonzero(as_tuple=True)
        return rows[points], points

    def get_field_to_sparse_map(
        self, field_map_key: CoordinateMapKey, sparse_map_key: CoordinateMapKey
    ) -> tuple[Tensor, Tensor]:
        """Returns the first point of each row of the key, and the row of each point, or -1.

        Raises MluOpError if they have not been computed.
        """
        if not self.exists_field_to_sparse(field_map_key, sparse_map_key):
            raise bad_param(f"{field_map_key} has no map to {sparse_map_key}")
        rows, points = self.field_to_sparse_map(field_map_key, sparse_map_key)
        first = torch.full((self.size(sparse_map_key),), -1)
        # In reverse, so that the first point of a row is written last.
        first[rows.flip(0)] = points.flip(0)
        return first, self.field_rows(field_map_key, sparse_map_key)

    def get_coordinate_field(self, coords_key: CoordinateMapKey) -> Tensor:
        """Returns a copy of the points of a field."""
        return self.points(coords_key).clone()

    def corners(self, key: CoordinateMapKey, samples: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the rows [N, 2**D] of a key at the corners of the cells of points, and weights.

        See `mluop_omp.torch.corners`. A cell has the tensor stride of the key.
        """
        require_rows("coordinates", samples, 1 + self.D)
        points = samples if samples.dtype == torch.float64 else samples.float()
        return functional.corners(points.detach(), self.sites(key), key.get_tensor_stride())

    def interpolation_map_weight(
        self, key: CoordinateMapKey, samples: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Returns rows of the key, rows of samples and their weights, for corners that exist."""
        corners, weights = self.corners(key, samples)
        samples_at, corner = (corners >= 0).nonzero(as_tuple=True)
        return corners[samples_at, corner], samples_at.int(), weights[samples_at, corner]
