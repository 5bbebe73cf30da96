"""spconv's layers on CPUs.

    import mluop_omp.spconv
    mluop_omp.spconv.install()

makes the layers of spconv 2.3 compute tensors of the CPU with this library, in training and in
evaluation: submanifold, regular, transposed and inverse convolutions of one to four dimensions,
maximum, average and global pools, PointToVoxel. Results are the same at any number of threads,
where spconv's own kernels race; gradients need no CUDA, and biases and activations of the
evaluation mode have theirs. float32, float16, bfloat16 and float64; under torch.autocast
convolutions compute its type, pools the type of the features. Layers that ask for
ConvAlgo.MaskImplicitGemm get the same. All else is computed by spconv.

Differences from spconv's own CPU kernels:
    - The output sites of regular and transposed convolutions are in ascending order.
    - SparseMaxPool starts at the first value of a window; spconv starts at 0.
    - The gradient of SparseAvgPool is divided by the number of active sites of the window, as the
      average is; spconv multiplies by it.
    - A site outside the spatial shape or the batch is an error.

As on every device, spconv's SparseGlobalAvgPool returns the mean of the first channel of each
batch, [B]; SparseGlobalMaxPool returns all channels, [B, C].
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from mluop_omp import _dispatch, _requirements
from mluop_omp._library import not_supported
from mluop_omp.spconv import _convolutions, _pools


def _refuse(*_: Any, **__: Any) -> Any:
    raise not_supported("get_indice_pairs: neither even kernels of submanifold layers nor bounds")


def functions() -> dict[str, Callable[..., Any]]:
    """Returns what computes the functions of spconv.pytorch.ops for tensors of the CPU, by name.

    They raise MluOpError for calls that the functions of `install` leave to spconv.
    """
    pairs = _convolutions.OPS["get_indice_pairs"](_refuse)
    implicit = _convolutions.implicit_gemm, _convolutions.implicit_gemm_backward
    return {
        **{name: make(_refuse) for name, make in (_convolutions.OPS | _pools.OPS).items()},
        **{function.__name__: function for function in implicit},
        "get_indice_pairs": pairs,
        "get_indice_pairs_implicit_gemm": _pools.pairs_of_implicit_gemm(pairs),
    }


def _in_native_algorithm(initialize: Any) -> Any:
    """Returns the constructor of a layer that selects the algorithm of this library."""
    from spconv.core import ConvAlgo

    @functools.wraps(initialize)
    def initialize_native(self: Any, *arguments: Any, **named: Any) -> None:
        if named.get("algo") is not None:
            named["algo"] = ConvAlgo.Native
        initialize(self, *arguments, **named)

    return initialize_native


def install() -> None:
    """Provides the functions of spconv.pytorch for tensors of the CPU; once, if repeated."""
    _requirements.require("spconv")
    from spconv.cppconstants import CPU_ONLY_BUILD
    from spconv.pytorch import conv, functional, ops, pool, utils

    for name, make in (_convolutions.OPS | _pools.OPS).items():
        _dispatch.replace(ops, name, make(getattr(ops, name)))
    for name, make in _convolutions.FUNCTIONAL.items():
        _dispatch.replace(functional, name, make(getattr(functional, name)))
    with_activation, with_means = _convolutions.with_activation_of_layer, _pools.with_means
    _dispatch.wrap(conv.SparseConvolution, "_conv_forward", with_activation)
    _dispatch.wrap(utils.PointToVoxel, "generate_voxel_with_id", with_means)
    # The CPU build of spconv refuses other algorithms.
    for layer in (conv.SparseConvolution, pool.SparseMaxPool) if CPU_ONLY_BUILD else ():
        _dispatch.wrap(layer, "__init__", _in_native_algorithm)
