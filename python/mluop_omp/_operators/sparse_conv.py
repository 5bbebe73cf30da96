"""Operators of sparse convolution."""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from mluop_omp._arrays import (
    ARRAY,
    LAYOUTS,
    Arrays,
    extent,
    handle,
    int32,
    int32s,
    integers,
    invoke,
)
from mluop_omp._library import bad_param, functions, require


def output_space(
    space: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    pad: Sequence[int],
    dilation: Sequence[int],
) -> list[int]:
    """Returns the cells along each axis of the output of a convolution."""
    return [
        (cells + 2 * p - d * (k - 1) - 1) // max(s, 1) + 1
        for cells, k, s, p, d in zip(space, kernel, stride, pad, dilation)
    ]


class Convolution(NamedTuple):
    """The geometry of a convolution."""

    arguments: tuple  # of mluOpSetSparseConvolutionDescriptor
    offsets: int
    outputs_of_site: int  # at most
    cells: int  # of the output, in all batches


_VECTORS = ("space", "kernel", "stride", "pad", "dilation", "out_space")


@functools.lru_cache(maxsize=256)
def _convolution(
    axes: int, batch_size: int, vectors: tuple[tuple[int, ...], ...], subm: bool, default: bool
) -> Convolution:
    """Returns the geometry of the vectors. `default`: out_space is that of the convolution."""
    space, kernel, stride, pad, dilation, out_space = (
        int32s(name, values, axes) for name, values in zip(_VECTORS, vectors)
    )
    if default and not subm:
        out = output_space(space, kernel, stride, pad, dilation)
        out_space = int32s("out_space", out, axes)
    vector = ctypes.c_int * axes
    in_order = (pad, stride, dilation, space, kernel, out_space)
    return Convolution(
        (axes + 2, batch_size, *(vector(*values) for values in in_order), subm, 0, 0),
        math.prod(kernel),
        # An input site contributes through every stride-th offset of an axis.
        math.prod(-(-k // max(s, 1)) for k, s in zip(kernel, stride)),
        batch_size * math.prod(out_space),
    )


def indice_pairs(
    arrays: Arrays,
    indices: Any,
    batch_size: int,
    space: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    pad: Sequence[int],
    dilation: Sequence[int],
    subm: bool,
    out_space: Sequence[int] | None = None,
) -> tuple[Any, Any, Any]:
    L, columns = arrays.shape("indices", indices, "L 1+axes")
    if columns not in (3, 4):
        raise bad_param(f"indices dim 1 is {columns}, expected 3 or 4: batch and coordinates")
    axes = columns - 1
    batch_size = int32("batch_size", batch_size)
    geometry = (space, kernel, stride, pad, dilation, space if out_space is None else out_space)
    vectors = tuple(map(integers, _VECTORS, geometry))
    convolution = _convolution(axes, batch_size, vectors, bool(subm), out_space is None)
    own = handle()
    descriptor = own.sparse_convolution
    if own.convolution is not convolution:
        own.convolution = None
        require(functions.mluOpSetSparseConvolutionDescriptor(descriptor, *convolution.arguments))
        own.convolution = convolution
    K = convolution.offsets
    capacity = L if subm else min(L * convolution.outputs_of_site, convolution.cells)
    pairs, out_indices = arrays.indices((K, 2, L)), arrays.indices((capacity, columns))
    num = arrays.indices((K,))
    indices_desc, indices_data = arrays.tensor("indices", indices)
    pairs_desc, pairs_data = arrays.own(pairs)
    sites_desc, sites_data = arrays.own(out_indices)
    num_desc, num_data = arrays.own(num)
    workspace = own.workspace(
        functions.mluOpGetIndicePairsWorkspaceSize,
        *(descriptor, indices_desc, pairs_desc, sites_desc, num_desc),
    )
    invoke(
        functions.mluOpGetIndicePairs,
        *(descriptor, indices_desc, indices_data),
        *workspace,
        *(pairs_desc, pairs_data, sites_desc, sites_data, num_desc, num_data),
    )
    sites = ctypes.c_int()
    require(functions.mluOpGetSparseConvolutionNumActOut(descriptor, ctypes.byref(sites)))
    return arrays.first_rows(out_indices, sites.value), pairs, num


def _layout(name: str) -> int:
    if name not in LAYOUTS:
        raise bad_param(f"layout is {name!r}, expected one of {', '.join(LAYOUTS)}")
    return LAYOUTS[name]


def _counts(arrays: Arrays, num: Any, pairs: Any) -> tuple[Any, int]:
    """Returns the numbers of pairs as int64, and their address."""
    K = arrays.shape("indice_pairs", pairs, "K 2 L")[0]
    counts = arrays.counts(num)
    if counts.shape != (K,):
        raise bad_param(
            f"indice_num has shape {list(counts.shape)}, expected [{K}]: a number for each offset"
        )
    return counts, arrays.own(counts)[1]


def indice_conv(
    arrays: Arrays,
    features: Any,
    filters: Any,
    pairs: Any,
    num: Any,
    num_out: int,
    subm: bool = False,
    layout: str = "ARRAY",
) -> Any:
    filters_layout = _layout(layout)
    arrays.shape("features", features, "L Ci")
    shape = arrays.shape("filters", filters, "D H W Ci Co" if layout == "ARRAY" else "Co D H W Ci")
    Co = shape[-1] if filters_layout == ARRAY else shape[0]
    _held, counts = _counts(arrays, num, pairs)
    num_out = int32("num_out", num_out)
    output = arrays.empty((extent(num_out), Co), features)
    features_desc, features_data = arrays.tensor("features", features)
    filters_desc, filters_data = arrays.tensor("filters", filters, filters_layout)
    pairs_desc, pairs_data = arrays.tensor("indice_pairs", pairs)
    output_desc, output_data = arrays.own(output)
    scalars = (counts, num_out, 0, bool(subm))
    workspace = handle().workspace(
        functions.mluOpGetIndiceConvolutionForwardWorkspaceSize,
        *(features_desc, filters_desc, pairs_desc, output_desc),
        *scalars,
    )
    invoke(
        functions.mluOpIndiceConvolutionForward,
        *(features_desc, features_data, filters_desc, filters_data, pairs_desc, pairs_data),
        *scalars,
        *workspace,
        *(output_desc, output_data),
    )
    return output


def indice_conv_backward_data(
    arrays: Arrays,
    grad_output: Any,
    filters: Any,
    pairs: Any,
    num: Any,
    subm: bool = False,
    layout: str = "ARRAY",
) -> Any:
    filters_layout = _layout(layout)
    arrays.shape("grad_output", grad_output, "num_out Co")
    shape = arrays.shape("filters", filters, "D H W Ci Co" if layout == "ARRAY" else "Co D H W Ci")
    Ci = shape[1] if layout == "NCDHW" else shape[-2] if filters_layout == ARRAY else shape[-1]
    _held, counts = _counts(arrays, num, pairs)
    grad_features = arrays.empty((pairs.shape[2], Ci), grad_output)
    grad_output_desc, grad_output_data = arrays.tensor("grad_output", grad_output)
    filters_desc, filters_data = arrays.tensor("filters", filters, filters_layout)
    pairs_desc, pairs_data = arrays.tensor("indice_pairs", pairs)
    grad_features_desc, grad_features_data = arrays.own(grad_features)
    workspace = handle().workspace(
        functions.mluOpGetIndiceConvolutionBackwardDataWorkspaceSize,
        *(grad_output_desc, filters_desc, pairs_desc, grad_features_desc, counts, 0),
    )
    invoke(
        functions.mluOpIndiceConvolutionBackwardData,
        *(grad_output_desc, grad_output_data, filters_desc, filters_data, pairs_desc, pairs_data),
        *(counts, 0, bool(subm)),
        *workspace,
        *(grad_features_desc, grad_features_data),
    )
    return grad_features


def indice_conv_backward_filter(
    arrays: Arrays, features: Any, grad_output: Any, pairs: Any, num: Any, kernel: Sequence[int]
) -> Any:
    """Returns the gradient of the filters [*kernel, Ci, Co]."""
    Ci = arrays.shape("features", features, "L Ci")[1]
    Co = arrays.shape("grad_output", grad_output, "num_out Co")[1]
    _held, counts = _counts(arrays, num, pairs)
    shape = [extent(size) for size in int32s("kernel", kernel, len(kernel))]
    grad_filters = arrays.empty((*shape, Ci, Co), features)
    features_desc, features_data = arrays.tensor("features", features)
    grad_output_desc, grad_output_data = arrays.tensor("grad_output", grad_output)
    pairs_desc, pairs_data = arrays.tensor("indice_pairs", pairs)
    grad_filters_desc, grad_filters_data = arrays.own(grad_filters)
    scalars = (counts, 0, 0)
    workspace = handle().workspace(
        functions.mluOpGetIndiceConvolutionBackwardFilterWorkspaceSize,
        *(features_desc, grad_output_desc, pairs_desc, grad_filters_desc),
        *scalars,
    )
    invoke(
        functions.mluOpIndiceConvolutionBackwardFilter,
        *(features_desc, features_data, grad_output_desc, grad_output_data, pairs_desc, pairs_data),
        *scalars,
        *workspace,
        *(grad_filters_desc, grad_filters_data),
    )
    return grad_filters
