"""build_kernel_map of torchsparse.nn.functional."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from mluop_omp.torch.site_maps import KernelMap, listed
from mluop_omp.torchsparse import _config, _maps
from mluop_omp.torchsparse._utils import Size, make_ntuple


def _listed(pairs: KernelMap) -> tuple[Tensor, Tensor]:
    """Returns the pairs int64 [P, 2], input and output row, by offset; and their numbers [K]."""
    return torch.stack(listed(pairs)[1:], 1), pairs.num.long()


def build_kernel_map(
    _coords: Tensor,
    kernel_size: Size = 2,
    stride: Size = 2,
    tensor_stride: Size = 1,
    mode: str = "hashmap",
) -> tuple[Any, ...]:
    """Returns the kernel map of a convolution in version 2.0.

    Args:
        _coords: int32 [N, 4]: x, y, z, batch.
        mode: has no effect.

    Returns:
        nbmaps: int64 [P, 2], input and output row of each pair, ascending by offset and output.
        nbsizes: int64 [K], the pairs of each offset.
        coords: of the output; only if there is a stride.
        None, None: in place of the masks of a GPU.
    """
    kernel, steps = make_ntuple(kernel_size, 3), make_ntuple(stride, 3)
    found = _maps.map_of_multiples(_coords, kernel, steps, make_ntuple(tensor_stride, 3))
    coords = (found.coords,) if max(steps) > 1 else ()
    return (*_listed(found.pairs), *coords, None, None)


def build_kernel_map_batch_first(
    _coords: Tensor,
    input_node_num: int,
    kernel_size: Size = 2,
    stride: Size = 2,
    padding: Size = 0,
    hashmap_keys: Any = None,
    hashmap_vals: Any = None,
    spatial_range: Any = None,
    mode: str = "hashmap",
    dataflow: Any = None,
    downsample_mode: str = "spconv",
    training: bool = False,
    ifsort: bool = False,
    generative: bool = False,
    split_mask_num: int = 1,
    split_mask_num_bwd: int = 1,
) -> dict[str, Any]:
    """Returns the kernel map of a convolution in version 2.1: a dictionary with coords, sizes,
    spatial_range, nbmaps and nbsizes, as `build_kernel_map` has them.
    """
    modes = _config.modes({"kmap_mode": mode, "downsample_mode": downsample_mode})
    kernel, steps = make_ntuple(kernel_size, 3), make_ntuple(stride, 3)
    convolution = _maps.Convolution(kernel, steps, make_ntuple(padding, 3), *modes)
    extents = None if spatial_range is None else make_ntuple(spatial_range, 4)
    find = _maps.generative_map if generative else _maps.divided_map
    found = find(_coords, convolution, extents)
    nbmaps, nbsizes = _listed(found.pairs)
    return {
        **{"coords": found.coords, "spatial_range": found.spatial_range},
        **{"nbmaps": nbmaps, "nbsizes": nbsizes, "sizes": found.pairs[2:]},
    }
