"""The manager that holds the sites of keys, and the maps between keys.

Sites are rows int32 [N, 1 + D], batch first, and distinct; a key's sites never change. Maps are
computed once for each pair of keys. Sites made from other sites are in ascending order, pruned
sites keep their order, and a union has the sites of its first key first. `_site_store.py` has the
sites and batches, `_field_maps.py` the points of fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from mluop_omp._library import bad_param
from mluop_omp.minkowski._field_maps import FieldMaps
from mluop_omp.minkowski._kernels import (
    CoordinateMapType,
    GPUMemoryAllocatorType,
    MinkowskiAlgorithm,
    RegionType,
    region_offsets,
    to_int_list,
)
from mluop_omp.minkowski._keys import CoordinateMapKey as CoordinateMapKey
from mluop_omp.minkowski._keys import finer_stride
from mluop_omp.minkowski._points import floored, rows_of
from mluop_omp.torch import functional, site_maps
from mluop_omp.torch.site_maps import KernelMap


class CoordinateManager(FieldMaps):
    """The sites of keys, and the maps between keys.

    Args:
        D: the number of coordinates of a site, at least 1.
        num_threads, coordinate_map_type, allocator_type, minkowski_algorithm: have no effect.
    """

    def __init__(
        self,
        D: int = 0,
        num_threads: int = -1,
        coordinate_map_type: CoordinateMapType | None = None,
        allocator_type: GPUMemoryAllocatorType | None = None,
        minkowski_algorithm: MinkowskiAlgorithm | None = None,
    ) -> None:
        if D < 1:
            raise ValueError(f"D is {D}, expected at least 1")
        super().__init__()
        self.D = D
        self.minkowski_algorithm = minkowski_algorithm or MinkowskiAlgorithm.DEFAULT

    def _stride(self, tensor_stride: Any) -> list[int]:
        return to_int_list("tensor_stride", tensor_stride, self.D)

    def _key(self, key_or_stride: Any) -> CoordinateMapKey:
        """Returns the key, or the first key that has been made with a tensor stride."""
        if isinstance(key_or_stride, CoordinateMapKey):
            return key_or_stride
        stride = tuple(self._stride(key_or_stride))
        for name in self._sites:
            if name[0] == stride:
                return CoordinateMapKey(*name)
        raise bad_param(f"no key has the tensor stride {list(stride)}")

    def get_coordinates(self, coords_key_or_tensor_strides: Any) -> Tensor:
        """Returns a copy of the sites of a key, or of the first key of a tensor stride."""
        return self.sites(self._key(coords_key_or_tensor_strides)).clone()

    # Keys made from other keys.

    def stride(
        self, coordinate_map_key: CoordinateMapKey, stride: Any, string_id: str = ""
    ) -> CoordinateMapKey:
        """Returns the key of stride t * s and the same string, or of string_id.

        If the manager lacks it, its sites are the floors to multiples of t * s, ascending.
        """
        own, own_id = coordinate_map_key.name
        strides = [t * step for t, step in zip(own, to_int_list("stride", stride, self.D))]
        key = CoordinateMapKey(strides, string_id or own_id)
        if key.name not in self._sites:
            sites = self.sites(coordinate_map_key)
            floors, inverse = functional.floor_sites(sites, strides)
            self._maps["stride", coordinate_map_key.name, key.name] = (
                torch.arange(len(sites)),
                inverse.long(),
            )
            self._store(key, floors)
        return key

    def transposed(
        self, key: CoordinateMapKey, stride: Sequence[int], offsets: Tensor
    ) -> CoordinateMapKey:
        """Returns the key (t / s, ""), with whatever sites it has.

        If the manager lacks it, its sites are the sums of sites and offsets, ascending.
        """
        strides = finer_stride(key, stride)
        transposed = CoordinateMapKey(strides, "")
        if transposed.name in self._sites:
            return transposed
        return self.reached(key, strides, offsets, aligned=False)

    def reached(
        self,
        key: CoordinateMapKey,
        out_stride: Sequence[int],
        offsets: Tensor,
        aligned: bool = True,
    ) -> CoordinateMapKey:
        """Makes a key of the sums of sites and offsets, ascending.

        Its name is (out_stride, ""), with five characters if that is taken. aligned: whether sums
        that are not multiples of out_stride are left out.
        """
        multiples = list(out_stride) if aligned else [1] * self.D
        sites = functional.reached_sites(self.sites(key), offsets, multiples)
        return self._store(self._new_key(out_stride, "", self._sites), sites)

    def pruned(self, key: CoordinateMapKey, rows: Tensor) -> CoordinateMapKey:
        """Makes a key (t, "pruned") of rows of a key; with five characters if that is taken."""
        pruned = self._new_key(key.get_tensor_stride(), "pruned", self._sites)
        return self._store(pruned, self.sites(key)[rows])

    def united(self, keys: Sequence[CoordinateMapKey]) -> tuple[CoordinateMapKey, list[Tensor]]:
        """Makes a key of the sites of keys: the first key's, then those that each other one adds.

        Its stride is the smallest along each axis, its string "merge-" and five characters.
        Returns it, and the row of each site of the keys, int64.
        """
        first, *others = keys
        sites = self.sites(first)
        rows = [torch.arange(len(sites))]
        for other in others:
            sites, _, added = functional.union_rows(sites, self.sites(other))
            rows.append(added.long())
        stride = [min(each) for each in zip(*(key.get_tensor_stride() for key in keys))]
        key = CoordinateMapKey(stride, self._unused(stride, "merge"))
        return self._store(key, sites), rows

    # Maps between keys.

    def union_map(
        self, in_keys: Sequence[CoordinateMapKey], out_key: CoordinateMapKey
    ) -> list[Tensor]:
        """Sets out_key to the union of keys. Returns for each the rows of it and of the union."""
        if len(in_keys) < 2:
            raise bad_param(f"in_keys has {len(in_keys)} keys, expected at least 2")
        if out_key.is_key_set():
            raise bad_param(f"out_key is {out_key}, expected a key that is not set")
        key, rows = self.united(in_keys)
        out_key.set_key(key.name)
        return [torch.stack((torch.arange(len(each)), each)) for each in rows]

    def stride_map(
        self, in_key: CoordinateMapKey, stride_key: CoordinateMapKey
    ) -> tuple[Tensor, Tensor]:
        """Returns rows of a key, and the row of a strided key that holds each (int64).

        A site whose floor the strided key lacks is missing.
        """

        def find() -> tuple[Tensor, Tensor]:
            floors = floored(self.sites(in_key), stride_key.get_tensor_stride())
            rows = rows_of(self.sites(stride_key), floors)
            (found,) = (rows >= 0).nonzero(as_tuple=True)
            return found, rows[found]

        rows: tuple[Tensor, Tensor] = self._kept(("stride", in_key.name, stride_key.name), find)
        return rows

    def kernel_map_of(
        self, in_key: CoordinateMapKey, out_key: CoordinateMapKey, offsets: Tensor, *cache_key: Any
    ) -> KernelMap:
        """Returns the pairs of input = output + offset.

        They are kept by the keys and cache_key, which determines the offsets; without one, by the
        values of the offsets. A transposed layer exchanges the rows of
        `kernel_map_of(out_key, in_key, offsets)`.
        """
        kept = cache_key or (str(offsets.tolist()),)

        def find() -> KernelMap:
            return site_maps.kernel_map(self.sites(in_key), self.sites(out_key), offsets)

        pairs: KernelMap = self._kept(("kernel", in_key.name, out_key.name, *kept), find)
        return pairs

    def kernel_map(
        self,
        in_key: Any,
        out_key: Any,
        stride: Any = 1,
        kernel_size: Any = 3,
        dilation: Any = 1,
        region_type: RegionType = RegionType.HYPER_CUBE,
        region_offset: Tensor | None = None,
        is_transpose: bool = False,
        is_pool: bool = False,
    ) -> dict[int, Tensor]:
        """Returns the pairs of a layer: int32 [2, n], input and output rows, by offset.

        An offset without pairs is missing. Keys may be given as tensor strides.
        """
        in_key, out_key = self._key(in_key), self._key(out_key)
        sizes = {"kernel_size": kernel_size, "stride": stride, "dilation": dilation}
        kernel, steps, dilations = (to_int_list(*each, self.D) for each in sizes.items())
        finer, coarser = (out_key, in_key) if is_transpose else (in_key, out_key)
        if is_pool and kernel == steps:
            pairs = {0: torch.stack(self.stride_map(finer, coarser)).int()}
        else:
            if all(size == 1 for size in kernel):
                region_type = RegionType.HYPER_CUBE
            offsets = region_offsets(region_type, kernel, dilations, finer.get_tensor_stride())
            found = self.kernel_map_of(finer, coarser, offsets)
            counts = found.num.tolist()
            pairs = {k: found.pairs[k, :, :count] for k, count in enumerate(counts)}
        turn = (lambda rows: rows.flip(0)) if is_transpose else torch.clone
        return {k: turn(rows) for k, rows in pairs.items() if rows.shape[1]}

    get_kernel_map = kernel_map

    def __repr__(self) -> str:
        keys = "".join(f"  {CoordinateMapKey(*name)}\n" for name in self._sites)
        return f"{type(self).__name__}(D={self.D}\n{keys})"
