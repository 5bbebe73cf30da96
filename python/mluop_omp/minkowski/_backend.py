"""A MinkowskiEngine that is installed: its compiled functions for tensors of the CPU.

They are attributes of MinkowskiEngineBackend._C, which its autograd functions look up at each call,
and take its keys and managers.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
from typing import Any, Callable

import torch
from torch import Tensor

from mluop_omp import _dispatch
from mluop_omp.minkowski._points import sites_of_points
from mluop_omp.torch import rulebooks
from mluop_omp.torch.site_maps import (
    KernelMap,
    average_pool,
    convolve,
    max_pool,
    segment_max,
    segment_mean,
    segment_sum,
    sum_pool,
)


def build() -> Any:
    """Returns the compiled part of a MinkowskiEngine that is installed, or None."""
    finder = importlib.machinery.PathFinder
    if finder.find_spec("MinkowskiEngine") is None:
        return None
    try:
        return importlib.import_module("MinkowskiEngineBackend._C")
    except ImportError:
        return None


def is_replaceable(build: Any) -> bool:
    """Returns whether the build lacks CUDA, and no module has imported MinkowskiEngine."""
    return not build.is_cuda_available() and "MinkowskiEngine" not in sys.modules


def _sorted_map(pairs: dict[int, Tensor], K: int, num_in: int, num_out: int) -> KernelMap:
    """Returns the map of pairs int32 [2, n] by offset, ascending by output, then by input row.

    MinkowskiEngine's threads race for the order.
    """
    longest = max((rows.shape[1] for rows in pairs.values()), default=0)
    found = torch.full((K, 2, max(longest, num_in)), -1, dtype=torch.int32)
    num = torch.zeros(K, dtype=torch.int32)
    for k, rows in pairs.items():
        inputs, outputs = rows.long()
        order = (outputs * max(num_in, 1) + inputs).argsort()
        found[k, :, : len(order)] = rows[:, order]
        num[k] = len(order)
    return KernelMap(found, num, num_in, num_out)


def _pairs(
    geometry: tuple[Any, ...], keys: tuple[Any, Any, Any], is_transposed: bool, is_pool: bool
) -> KernelMap:
    """Returns the pairs of a layer of MinkowskiEngine, whose manager computes them.

    geometry: kernel_size, stride, dilation, region, offsets. keys: input, output, manager.
    """
    in_key, out_key, manager = keys
    found = manager.kernel_map(in_key, out_key, *geometry, is_transposed, is_pool)
    volume = max(found, default=0) + 1
    return _sorted_map(found, volume, manager.size(in_key), manager.size(out_key))


def _is_key_made(
    geometry: tuple[Any, ...], keys: tuple[Any, Any, Any], is_transposed: bool, expands: bool
) -> bool:
    """Sets the output key if the manager can make it. Its stride alone is exposed."""
    in_key, out_key, manager = keys
    if not (out_key.is_key_set() or is_transposed or expands):
        out_key.set_key(*manager.stride(in_key, geometry[1], "").get_key())
    return bool(out_key.is_key_set())


def _convolution_forward(is_transposed: bool) -> Callable[..., Any]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def forward(in_feat: Tensor, kernel: Tensor, *rest: Any) -> Tensor:
            *geometry, expands, _, in_key, out_key, manager = rest
            keys = in_key, out_key, manager
            if not _is_key_made(tuple(geometry), keys, is_transposed, expands):
                return original(in_feat, kernel, *rest)
            pairs = _pairs(tuple(geometry), keys, is_transposed, False)
            return convolve(in_feat, kernel[: len(pairs.num)], pairs)

        return forward

    return make


def _convolution_backward(is_transposed: bool) -> Callable[..., Any]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def backward(
            in_feat: Tensor, grad_out_feat: Tensor, kernel: Tensor, *rest: Any
        ) -> tuple[Tensor, Tensor]:
            *geometry, _, in_key, out_key, manager = rest
            pairs = _pairs(tuple(geometry), (in_key, out_key, manager), is_transposed, False)
            filters = kernel[: len(pairs.num)].reshape(-1, 1, 1, *kernel.shape[1:])
            directed = rulebooks.directed_pairs(pairs.pairs, False, len(in_feat))
            grad_feats, grad_filters = rulebooks.convolve_backward(
                in_feat, filters, grad_out_feat, directed, pairs.num, "ARRAY"
            )
            grad_kernel = torch.zeros_like(kernel)
            grad_kernel[: len(pairs.num)] = grad_filters
            return grad_feats, grad_kernel

        return backward

    return make


def _local_pool(mode: Any, is_transposed: bool) -> Callable[[Tensor, KernelMap], Tensor]:
    if is_transposed or mode.name == "LOCAL_SUM_POOLING":
        return sum_pool
    return average_pool if mode.name == "LOCAL_AVG_POOLING" else max_pool


def _pool_forward(is_transposed: bool) -> Callable[..., Any]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def forward(in_feat: Tensor, *rest: Any) -> tuple[Tensor, Tensor]:
            *geometry, mode, in_key, out_key, manager = rest
            expands = geometry.pop() if is_transposed else False
            keys = in_key, out_key, manager
            if not _is_key_made(tuple(geometry), keys, is_transposed, expands):
                return original(in_feat, *rest)
            pairs = _pairs(tuple(geometry), keys, is_transposed, True)
            # Backward takes the second result, which it does not need here.
            return _local_pool(mode, is_transposed)(in_feat, pairs), in_feat.new_empty(0)

        return forward

    return make


def _gradient(function: Callable[[Tensor], Tensor], features: Tensor, grad: Tensor) -> Tensor:
    with torch.enable_grad():
        leaf = features.detach().requires_grad_()
        return torch.autograd.grad(function(leaf), leaf, grad)[0]


def _pool_backward(is_transposed: bool) -> Callable[..., Any]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def backward(in_feat: Tensor, grad_out_feat: Tensor, _: Tensor, *rest: Any) -> Tensor:
            *geometry, mode, in_key, out_key, manager = rest
            pairs = _pairs(tuple(geometry), (in_key, out_key, manager), is_transposed, True)
            pool = _local_pool(mode, is_transposed)
            return _gradient(lambda features: pool(features, pairs), in_feat, grad_out_feat)

        return backward

    return make


def _batches(manager: Any, key: Any, rows: int) -> Tensor:
    """Returns the batch of each row of a key, or of a field's key."""
    for get in (manager.get_coordinates, manager.get_coordinate_field):
        try:
            coordinates = get(key)
        except RuntimeError:
            continue
        if len(coordinates) == rows:
            return sites_of_points("coordinates", coordinates)[:, 0].contiguous()
    raise RuntimeError(f"the manager has no {rows} rows of {key}")


_GLOBAL = {"SUM": segment_sum, "AVG": segment_mean, "MAX": segment_max}


def _global_pool(features: Tensor, mode: Any, keys: tuple[Any, Any, Any]) -> Tensor:
    in_key, out_key, manager = keys
    # The rows of the output are in the order of a hash table.
    of_rows, order = manager.get_coordinates(out_key)[:, 0].sort(stable=True)
    batches = _batches(manager, in_key, len(features))
    segments = order[torch.searchsorted(of_rows, batches)]
    return _GLOBAL[mode.name.split("_")[1]](features, segments, len(of_rows))


def _global_forward(original: Callable[..., Any]) -> Callable[..., Any]:
    def forward(in_feat: Tensor, mode: Any, *keys: Any) -> tuple[Tensor, Tensor]:
        in_key, out_key, manager = keys
        if not out_key.is_key_set():
            try:
                origin = manager.origin()
            except RuntimeError:  # There are fields alone.
                origin = manager.origin_field()
            out_key.set_key(*origin.get_key())
        return _global_pool(in_feat, mode, (in_key, out_key, manager)), in_feat.new_empty(0)

    return forward


def _global_backward(original: Callable[..., Any]) -> Callable[..., Any]:
    def backward(
        in_feat: Tensor, grad_out_feat: Tensor, _: Tensor, mode: Any, *keys: Any
    ) -> Tensor:
        named = keys[0], keys[1], keys[2]
        return _gradient(lambda each: _global_pool(each, mode, named), in_feat, grad_out_feat)

    return backward


# By name: takes the original, returns the function in its place.
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "ConvolutionForwardCPU": _convolution_forward(False),
    "ConvolutionBackwardCPU": _convolution_backward(False),
    "ConvolutionTransposeForwardCPU": _convolution_forward(True),
    "ConvolutionTransposeBackwardCPU": _convolution_backward(True),
    "LocalPoolingForwardCPU": _pool_forward(False),
    "LocalPoolingBackwardCPU": _pool_backward(False),
    "LocalPoolingTransposeForwardCPU": _pool_forward(True),
    "LocalPoolingTransposeBackwardCPU": _pool_backward(True),
    "GlobalPoolingForwardCPU": _global_forward,
    "GlobalPoolingBackwardCPU": _global_backward,
}


def install(build: Any) -> None:
    """Replaces functions of the compiled part for tensors of the CPU; once, if repeated."""
    for name, make in _FUNCTIONS.items():
        _dispatch.wrap(build, name, make)
