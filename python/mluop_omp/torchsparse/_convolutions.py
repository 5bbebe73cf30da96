"""Conv3d of torchsparse, forward, transposed and generative, in each version."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from mluop_omp._library import bad_param
from mluop_omp.torch._parameters import draw_uniform
from mluop_omp.torch.site_maps import KernelMap, convolve, exchanged, themselves
from mluop_omp.torchsparse import _config
from mluop_omp.torchsparse._maps import (
    Axes,
    Convolution,
    Map,
    divided_map,
    generative_map,
    map_of_multiples,
)
from mluop_omp.torchsparse._tensors import like
from mluop_omp.torchsparse._utils import Size, make_ntuple

_ONES = (1, 1, 1)


def _convolved(feats: Tensor, weight: Tensor, pairs: KernelMap, bias: Tensor | None) -> Tensor:
    if len(feats) != pairs.num_in:
        raise bad_param(
            f"feats has {len(feats)} rows, expected {pairs.num_in}, the inputs of the kernel map: "
            "tensors that share caches share the kernel maps of a stride"
        )
    output = convolve(feats, weight, pairs)
    # Under autocast, the output has its type.
    return output if bias is None else output + bias.to(output.dtype)


def _product(input: Any, weight: Tensor, bias: Tensor | None) -> Any:
    """A convolution of one offset and stride 1."""
    return like(input, _convolved(input.feats, weight, themselves(len(input.feats)), bias))


def _finer(input: Any, stride: Axes) -> Axes:
    return tuple(t // step for t, step in zip(input.stride, stride))


def _known(maps: dict[Any, Any], what: str, key: Any) -> Any:
    """Returns what an earlier layer has stored, which a transposed layer needs."""
    if key not in maps:
        raise KeyError(
            f"transposed Conv3d: no {what} for {key}, expected one of an earlier layer: kernel maps"
            " of the same kernel, stride and dilation, sites of a layer of stride 1"
        )
    return maps[key]


def _transposed(
    caches: Any, key: tuple[Any, ...], feats: Tensor, *parameters: Any
) -> tuple[Any, Any]:
    """Returns the features of a transposed layer, and the sites of its stride, the first of key.

    caches: the kernel maps and sites of earlier layers; parameters: weight and bias.
    """
    weight, bias = parameters
    pairs = exchanged(_known(caches.kmaps, "kernel map", key).pairs)
    return _convolved(feats, weight, pairs, bias), _known(caches.cmaps, "sites", key[0])


def conv3d(
    input: Any,
    weight: Tensor,
    kernel_size: Size,
    bias: Tensor | None = None,
    stride: Size = 1,
    dilation: Size = 1,
    transposed: bool = False,
    epsilon: float = 0.0,
    mm_thresh: int = 0,
    kmap_mode: str = "hashmap",
) -> Any:
    """A convolution in versions 1.4 and 2.0: y[o] = sum over k of x[o + offset_k] W[k], plus bias.

    Kernel maps are stored in input.kmaps by input stride, kernel, stride and dilation, and used
    again by that key; sites in input.cmaps by stride. A transposed layer exchanges input and output
    of the kernel map of an earlier layer.

    Args:
        input: a SparseTensor.
        weight: [K, Ci, Co], in the order of `get_kernel_offsets`; [Ci, Co] if K is 1.
        bias: [Co].
        dilation: part of the key only, as in torchsparse.
        epsilon, mm_thresh, kmap_mode: have no effect.
    """
    kernel, steps = make_ntuple(kernel_size, 3), make_ntuple(stride, 3)
    dilations = make_ntuple(dilation, 3)
    if kernel == steps == _ONES:
        output = _product(input, weight, bias)
    elif transposed:
        finer = _finer(input, steps)
        key = (finer, kernel, steps, dilations)
        feats, coords = _transposed(input, key, input.feats, weight, bias)
        output = like(input, feats, coords=coords, stride=finer)
    else:
        key = (tuple(input.stride), kernel, steps, dilations)
        if key not in input.kmaps:
            input.kmaps[key] = map_of_multiples(input.coords, kernel, steps, key[0])
        found: Map = input.kmaps[key]
        feats = _convolved(input.feats, weight, found.pairs, bias)
        coarser = tuple(t * step for t, step in zip(key[0], steps))
        coords = input.coords if steps == _ONES else found.coords
        output = like(input, feats, coords=coords, stride=coarser)
    output.cmaps.setdefault(output.stride, output.coords)
    return output


def conv3d_batch_first(
    input: Any,
    weight: Tensor,
    kernel_size: Size,
    bias: Tensor | None = None,
    stride: Size = 1,
    padding: Size = 0,
    dilation: Size = 1,
    config: Any = None,
    transposed: bool = False,
    generative: bool = False,
    training: bool = False,
) -> Any:
    """A convolution in version 2.1, as `conv3d`, with the caches of input._caches.

    Args:
        padding: of a layer with a stride.
        config: with kmap_mode "hashmap_on_the_fly" or "hashmap" and downsample_mode "spconv" or
            "minkowski", which choose output sites and offsets; by default, the global one.
        generative: of a transposed layer, whose output sites are then those that the kernel
            reaches. Kernel maps are forgotten.
        training: has no effect.
    """
    kernel, steps = make_ntuple(kernel_size, 3), make_ntuple(stride, 3)
    caches, dilations = input._caches, make_ntuple(dilation, 3)
    convolution = Convolution(kernel, steps, make_ntuple(padding, 3), *_config.modes(config))
    finer = _finer(input, steps)
    if kernel == steps == _ONES:
        output = _product(input, weight, bias)
    elif transposed and generative:
        found = generative_map(input.coords, convolution, input.spatial_range)
        feats = _convolved(input.feats, weight, found.pairs, bias)
        caches.cmaps[finer] = found.coords, found.spatial_range
        caches.kmaps, caches.hashmaps = {}, {}
        output = _at(input, feats, caches.cmaps[finer], finer)
    elif transposed:
        key = (finer, kernel, steps, dilations)
        feats, sites = _transposed(caches, key, input.feats, weight, bias)
        output = _at(input, feats, sites, finer)
    else:
        key = (tuple(input.stride), kernel, steps, dilations)
        if key not in caches.kmaps:
            caches.kmaps[key] = divided_map(input.coords, convolution, input.spatial_range)
        found = caches.kmaps[key]
        feats = _convolved(input.feats, weight, found.pairs, bias)
        coarser = tuple(t * step for t, step in zip(key[0], steps))
        output = _at(input, feats, (found.coords, found.spatial_range), coarser)
    caches.cmaps.setdefault(output.stride, (output.coords, output.spatial_range))
    return output


def _at(input: Any, feats: Tensor, sites: tuple[Tensor, Axes | None], stride: Axes) -> Any:
    """sites: coordinates and their range."""
    return like(input, feats, coords=sites[0], spatial_range=sites[1], stride=stride)


class _Conv3d(nn.Module):
    """What the layers of all versions have.

    Attributes:
        kernel: [K, in_channels, out_channels], in the order of `get_kernel_offsets`.
        bias: [out_channels], or None.
    """

    bias: nn.Parameter | None

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Size, stride: Size, dilation: Size
    ) -> None:
        super().__init__()
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride = make_ntuple(kernel_size, 3), make_ntuple(stride, 3)
        self.dilation = dilation
        self.kernel_volume = math.prod(self.kernel_size)

    def _make_parameters(self, is_matrix: bool, bias: bool, transposed: bool) -> None:
        self.transposed = transposed
        shape = (self.in_channels, self.out_channels)
        self.kernel = nn.Parameter(
            torch.zeros(shape if is_matrix else (self.kernel_volume, *shape))
        )
        of_bias = nn.Parameter(torch.zeros(self.out_channels)) if bias else None
        self.register_parameter("bias", of_bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws uniformly from +-1 / sqrt(channels K); out_channels if transposed."""
        channels = self.out_channels if self.transposed else self.in_channels
        draw_uniform(channels * self.kernel_volume, self.kernel, self.bias)

    def extra_repr(self) -> str:
        return (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}, bias={self.bias is not None}, transposed={self.transposed}"
        )


def _refuse(found: str, expected: str, version: str, sixth: str) -> None:
    """Raises MluOpError for an argument that the layers of another version have.

    sixth: the sixth argument in that version.
    """
    raise bad_param(
        f"Conv3d: found {found}, expected {expected}; layers of torchsparse {version}, whose sixth "
        f'argument is {sixth}, require mluop_omp.torchsparse.install(version="{version}")'
    )


class Conv3d(_Conv3d):
    """A convolution of versions 1.4 and 2.0; see `conv3d`.

    The kernel is [in_channels, out_channels] if it has one offset. config has no effect.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size = 3,
        stride: Size = 1,
        dilation: Size = 1,
        bias: bool = False,
        transposed: bool = False,
        config: Any = None,
        **of_later: Any,
    ) -> None:
        if not isinstance(bias, (bool, np.bool_)) or of_later:
            found = f"the arguments {', '.join(of_later)}" if of_later else f"bias {bias!r}"
            _refuse(found, "bias True or False and no others", "2.1", "dilation")
        super().__init__(in_channels, out_channels, kernel_size, stride, dilation)
        self.config = {} if config is None else config
        self._make_parameters(self.kernel_volume == 1, bool(bias), transposed)

    def forward(self, input: Any) -> Any:
        geometry = self.kernel_size, self.bias, self.stride, self.dilation, self.transposed
        return conv3d(input, self.kernel, *geometry)


class BatchFirstConv3d(_Conv3d):
    """A convolution of version 2.1, which calls it Conv3d; see `conv3d_batch_first`.

    The kernel is [in_channels, out_channels] if it has one offset and stride 1. Along an axis of an
    odd kernel and stride 1, padding is (kernel - 1) / 2.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size = 3,
        stride: Size = 1,
        padding: Size = 0,
        dilation: Size = 1,
        bias: bool = False,
        transposed: bool = False,
        generative: bool = False,
        config: Any = None,
    ) -> None:
        if isinstance(dilation, (bool, np.bool_)):
            _refuse(f"dilation {dilation}", "integers", "1.4", "bias")
        if generative and not transposed:
            raise bad_param("Conv3d: generative is True, expected transposed=True with it")
        super().__init__(in_channels, out_channels, kernel_size, stride, dilation)
        self.padding = tuple(
            (size - 1) // 2 if size % 2 and step == 1 else given
            for size, step, given in zip(self.kernel_size, self.stride, make_ntuple(padding, 3))
        )
        self.generative, self._config = generative, config
        is_matrix = self.kernel_volume == 1 and self.stride == _ONES
        self._make_parameters(is_matrix, bias, transposed)

    def forward(self, input: Any) -> Any:
        return conv3d_batch_first(
            *(input, self.kernel, self.kernel_size, self.bias, self.stride, self.padding),
            *(self.dilation, self._config, self.transposed, self.generative, self.training),
        )
