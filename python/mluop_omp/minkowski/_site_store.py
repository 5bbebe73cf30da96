"""The sites of a manager by key, and the batches of the manager."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from mluop_omp._library import bad_param
from mluop_omp.minkowski._keys import CoordinateMapKey, Name
from mluop_omp.minkowski._points import require_rows, rows_of_segments, sites_of_points
from mluop_omp.torch import functional
from mluop_omp.torch._arrays import to_int32


class SiteStore:
    """Distinct sites int32 [N, 1 + D] by key. The sites of a key never change."""

    D: int

    def __init__(self) -> None:
        self._sites: dict[Name, Tensor] = {}
        # Points of fields, [N, 1 + D], whose keys are apart from the sites' keys.
        self._points: dict[Name, Tensor] = {}
        self._maps: dict[tuple[Any, ...], Any] = {}
        self._numbers = itertools.count()
        self._batches = torch.empty(0, dtype=torch.int32)
        # Batches of sites and points that _batches may lack.
        self._new_batches: list[Tensor] = []
        self._origin: CoordinateMapKey | None = None

    def _kept(self, name: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        if name not in self._maps:
            self._maps[name] = make()
        return self._maps[name]

    def _unused(self, stride: Sequence[int], string_id: str) -> str:
        """Returns the string with five characters after it, which no key of the stride has."""
        prefix = f"{string_id}-" if string_id else ""
        candidates = (f"{prefix}{number:05d}" for number in self._numbers)
        names = self._sites.keys() | self._points.keys()
        return next(each for each in candidates if (tuple(stride), each) not in names)

    def _new_key(
        self, stride: Sequence[int], string_id: str, taken: dict[Name, Tensor]
    ) -> CoordinateMapKey:
        if (tuple(stride), string_id) in taken:
            string_id = self._unused(stride, string_id)
        return CoordinateMapKey(stride, string_id)

    def _store(self, key: CoordinateMapKey, sites: Tensor) -> CoordinateMapKey:
        """Stores sites whose batches the manager has."""
        self._sites[key.name] = sites
        return key

    def get_unique_coordinate_map_key(
        self, tensor_stride: int | Sequence[int]
    ) -> tuple[list[int], str]:
        """Returns a tensor stride and a string that no key has."""
        stride = [tensor_stride] * self.D if isinstance(tensor_stride, int) else tensor_stride
        return list(stride), self._unused(stride, "")

    def sites(self, key: CoordinateMapKey) -> Tensor:
        """Returns the sites of a key, int32 [N, 1 + D]. They are shared: do not write to them."""
        sites = self._sites.get(key.name)
        if sites is None:
            raise bad_param(f"{key} is not in this manager, which has {list(self._sites)}")
        return sites

    def points(self, key: CoordinateMapKey) -> Tensor:
        """Returns the points of a field's key. They are shared: do not write to them."""
        points = self._points.get(key.name)
        if points is None:
            raise bad_param(f"{key} is not a field of this manager, which has {list(self._points)}")
        return points

    def size(self, coordinate_map_key: CoordinateMapKey) -> int:
        """Returns the number of sites of a key."""
        return len(self.sites(coordinate_map_key))

    def insert(self, sites: Tensor, stride: Sequence[int], string_id: str = "") -> CoordinateMapKey:
        """Stores distinct sites under (stride, string), or with five more characters if taken."""
        require_rows("coordinates", sites, 1 + self.D)
        key = self._new_key(stride, string_id, self._sites)
        self._new_batches.append(sites[:, 0])
        return self._store(key, sites)

    def insert_and_map(
        self, coordinates: Tensor, tensor_stride: Any = 1, string_id: str = ""
    ) -> tuple[CoordinateMapKey, tuple[Tensor, Tensor]]:
        """Stores the distinct sites of coordinates, in the order of their first occurrences.

        Returns the key, the first row of each site, and the site of each row (int64).
        """
        require_rows("coordinates", coordinates, 1 + self.D)
        sites = to_int32("coordinates", coordinates)
        first, inverse = (each.long() for each in functional.unique_rows(sites))
        key = self.insert(sites[first], self._stride(tensor_stride), string_id)
        return key, (first, inverse)

    def _stride(self, tensor_stride: Any) -> list[int]:
        raise NotImplementedError

    def origin(self) -> CoordinateMapKey:
        """Returns the key (0, ..., 0; "") of a site for each batch of the manager, ascending.

        Batches that come after the key has been made get another one, with a string.
        """
        if self._new_batches or self._origin is None:
            batches = torch.unique(torch.cat((self._batches, *self._new_batches)))
            self._new_batches = []
            if self._origin is None or len(batches) != len(self._batches):
                self._batches = batches
                self._origin = self._new_key([0] * self.D, "", self._sites)
                sites = batches.new_zeros(len(batches), 1 + self.D)
                sites[:, 0] = batches
                self._store(self._origin, sites)
        return self._origin

    origin_field = origin

    def number_of_unique_batch_indices(self) -> int:
        return self.size(self.origin())

    def _segments(self, kind: str, key: CoordinateMapKey, sites: Callable[[], Tensor]) -> Tensor:
        origin = self.origin()
        batches = self._batches
        return self._kept(
            (kind, origin.name, key.name),
            lambda: torch.searchsorted(batches, sites()[:, 0].contiguous()),
        )

    def origin_rows(self, key: CoordinateMapKey) -> tuple[Tensor, Tensor]:
        """Returns the row of `origin()` of each site, int64 [N], and the batches [B], ascending."""
        return self._segments("origin", key, lambda: self.sites(key)), self._batches

    def origin_field_rows(self, key: CoordinateMapKey) -> tuple[Tensor, Tensor]:
        """Returns the row of `origin()` of each point of a field, and the batches, ascending."""

        def sites() -> Tensor:
            return sites_of_points("coordinates", self.points(key))

        return self._segments("origin of field", key, sites), self._batches

    def origin_map(self, key: CoordinateMapKey) -> tuple[Tensor, list[Tensor]]:
        """Returns the batch of each row of `origin()`, and the rows of the key by batch number.

        Rows are ascending. A number that no site of the manager has before the last one has none.
        """
        return self._by_batch(*self.origin_rows(key))

    def origin_field_map(self, key: CoordinateMapKey) -> tuple[Tensor, list[Tensor]]:
        """As `origin_map`, of the points of a field."""
        return self._by_batch(*self.origin_field_rows(key))

    def _by_batch(self, segments: Tensor, batches: Tensor) -> tuple[Tensor, list[Tensor]]:
        numbers = batches.tolist()
        if numbers and numbers[0] < 0:
            raise bad_param(f"a site has batch {numbers[0]}, expected at least 0")
        rows = [torch.empty(0, dtype=torch.int64)] * (numbers[-1] + 1 if numbers else 0)
        for number, own in zip(numbers, rows_of_segments(segments, len(numbers))):
            rows[number] = own
        return batches.long(), rows
