"""Output sites and index pairs of convolutions in each version of torchsparse.

Sites here are int32 [N, 4]: batch, x, y, z. Coordinates are rounded down.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from mluop_omp._library import bad_param
from mluop_omp._operators._torch import ops
from mluop_omp.torch._arrays import to_int32
from mluop_omp.torch.site_maps import KernelMap, kernel_map
from mluop_omp.torchsparse import _tensors
from mluop_omp.torchsparse._offsets import centered, windows

Axes = tuple[int, ...]


class Convolution(NamedTuple):
    """A convolution of version 2.1."""

    kernel: Axes
    stride: Axes
    padding: Axes
    # kmap_mode "hashmap" in place of "hashmap_on_the_fly".
    is_hashmap: bool
    # downsample_mode "minkowski" in place of "spconv".
    is_minkowski: bool


class Map(NamedTuple):
    """A kernel map, the coordinates of its output, and version 2.1's range of the output."""

    pairs: KernelMap
    coords: Tensor
    spatial_range: Axes | None = None


def of_sites(coords: Tensor) -> Tensor:
    if coords.dim() != 2 or coords.shape[1] != 4:
        raise bad_param(f"coords has shape {list(coords.shape)}, expected [N, 4]")
    return to_int32("coords", coords)


def batch_first(coords: Tensor) -> Tensor:
    """Returns the sites of coordinates x, y, z, batch."""
    return of_sites(coords)[:, [3, 0, 1, 2]]


def batch_last(sites: Tensor) -> Tensor:
    """Returns sites as coordinates x, y, z, batch."""
    return sites[:, [1, 2, 3, 0]]


def _is_tiled(kernel: Axes, stride: Axes) -> bool:
    """Returns whether each stride is 1 or the size of the kernel."""
    return all(step in (1, size) for size, step in zip(kernel, stride))


def strided_sites(sites: Tensor, kernel: Axes, stride: Axes, tensor_stride: Axes) -> Tensor:
    """Returns the output sites of a strided convolution in versions 1.4 and 2.0, ascending.

    If each stride is 1 or the size of the kernel, they are the floors of the inputs; else the sums
    of an input and an offset that are multiples of the output's stride and not below the least
    coordinate along any axis.
    """
    multiples = [step * t for step, t in zip(stride, tensor_stride)]
    if len(sites) == 0 or _is_tiled(kernel, stride):
        floors: Tensor = ops.floor_sites(sites, multiples)[0]
        return floors
    reached: Tensor = ops.reached_sites(sites, centered(kernel, tensor_stride), multiples)
    return reached[(reached[:, 1:] >= sites[:, 1:].amin(0)).all(1)]


def map_of_multiples(coords: Tensor, kernel: Axes, stride: Axes, tensor_stride: Axes) -> Map:
    """Returns the kernel map of versions 1.4 and 2.0: coordinates are multiples of the stride."""
    sites, offsets = batch_first(coords), centered(kernel, tensor_stride)
    if max(stride) == 1:
        return Map(kernel_map(sites, sites, offsets), coords)
    outputs = strided_sites(sites, kernel, stride, tensor_stride)
    return Map(kernel_map(sites, outputs, offsets), batch_last(outputs))


def _scaled(sites: Tensor, factors: Axes) -> Tensor:
    return to_int32("coords", sites.long() * torch.tensor([1, *factors]))


def _divided(multiples: Tensor, stride: Axes) -> Tensor:
    return torch.div(multiples, torch.tensor([1, *stride]), rounding_mode="floor").int()


def output_range(spatial_range: Axes | None, convolution: Convolution) -> Axes | None:
    """Returns batches and extents of the output of a strided or generative convolution."""
    if spatial_range is None:
        return None
    kernel, stride, padding = convolution[:3]
    extents = (
        (extent + 2 * p - size) // step + 1
        for extent, size, step, p in zip(spatial_range[1:], kernel, stride, padding)
    )
    return (spatial_range[0], *extents)


def _bounds(sites: Tensor, convolution: Convolution, out_range: Axes | None) -> tuple[Any, Any]:
    """Returns the least and the greatest coordinates [3] of the output sites."""
    size, step, padding = (torch.tensor(each) for each in convolution[:3])
    low, high = torch.zeros(3, dtype=torch.int64), torch.tensor((out_range or (0,) * 4)[1:]) - 1
    if out_range is None:
        high = sites[:, 1:].amax(0) + 2 * padding - (size - 1)
        high = torch.div(high, step, rounding_mode="floor")
    if _tensors.get_allow_negative_coordinates():
        low = sites[:, 1:].amin(0) - 2 * padding + (size - 1)
        low = torch.div(low, step, rounding_mode="floor")
    return low, high


def divided_sites(sites: Tensor, convolution: Convolution, out_range: Axes | None) -> Tensor:
    """Returns the output sites of a strided convolution in version 2.1, ascending.

    By kmap_mode "hashmap" with downsample_mode "minkowski", or if each stride is 1 or the size of
    the kernel, they are the floors of the inputs, divided. Else they are the o with o * stride =
    input + padding - j for a j in 0 .. kernel - 1, from 0 to out_range - 1, which is by default
    floor((greatest coordinate + 2 * padding - (kernel - 1)) / stride).
    """
    kernel, stride, padding, is_hashmap, is_minkowski = convolution
    if len(sites) == 0:
        return sites
    if is_hashmap and (is_minkowski or _is_tiled(kernel, stride)):
        return _divided(ops.floor_sites(sites, list(stride))[0], stride)
    offsets = windows(kernel, tuple(p - k + 1 for p, k in zip(padding, kernel)), (1, 1, 1))
    reached = ops.reached_sites(sites, offsets, list(stride))
    outputs = _divided(reached, stride)
    low, high = _bounds(sites, convolution, out_range)
    return outputs[((outputs[:, 1:] >= low) & (outputs[:, 1:] <= high)).all(1)]


def _window(convolution: Convolution) -> Tensor:
    """Returns input - output * stride for each weight of version 2.1."""
    kernel, stride, padding, is_hashmap, _ = convolution
    if is_hashmap:
        return centered(kernel)
    if max(stride) > 1:
        return windows(kernel, tuple(-p for p in padding), (1, 1, 1))
    # Centered if K is odd.
    return centered(kernel) if all(k % 2 for k in kernel) else windows(kernel, (0,) * 3, (1,) * 3)


def divided_map(coords: Tensor, convolution: Convolution, spatial_range: Axes | None) -> Map:
    """Returns the kernel map of version 2.1: coordinates are divided by the stride."""
    sites, offsets = of_sites(coords), _window(convolution)
    if max(convolution.stride) == 1:
        return Map(kernel_map(sites, sites, offsets), coords, spatial_range)
    out_range = output_range(spatial_range, convolution)
    outputs = divided_sites(sites, convolution, out_range)
    pairs = kernel_map(sites, _scaled(outputs, convolution.stride), offsets)
    return Map(pairs, outputs, out_range)


def generative_map(coords: Tensor, convolution: Convolution, spatial_range: Axes | None) -> Map:
    """Returns the kernel map of a generative convolution of version 2.1.

    The output sites are input * stride + offset, limited to the range of a convolution's output;
    offset k pairs them with the input for which input * stride = output + offset.
    """
    if not convolution.is_hashmap:
        raise ValueError(
            "generative: kmap_mode is 'hashmap_on_the_fly', expected 'hashmap': a Conv3d takes a "
            "config, set_global_conv_config sets one for all"
        )
    out_range = output_range(spatial_range, convolution)
    if out_range is None:
        raise bad_param("generative: spatial_range is None, expected batches and three extents")
    if min(out_range[1:]) < 1:
        raise bad_param(f"generative: the range of the output is {out_range}, expected at least 1")
    offsets = centered(convolution.kernel)
    scaled = _scaled(of_sites(coords), convolution.stride)
    reached = ops.reached_sites(scaled, offsets, [1, 1, 1])
    last = torch.tensor([2**31, *out_range[1:]]) - 1
    first = torch.tensor([-(2**31), 0, 0, 0])
    limited = reached.long().clamp(first, last).int()
    rows, _ = ops.unique_rows(limited, True)
    outputs = limited[rows.long()]
    return Map(kernel_map(scaled, outputs, offsets), outputs, out_range)
