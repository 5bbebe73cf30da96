"""Operators of sparse convolution."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mluop_omp._arrays import ARRAY, LAYOUTS, Arrays, extent, handle, int32, int32s, invoke
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


def most_output_sites(
    L: int, batch_size: int, out_space: Sequence[int], kernel: Sequence[int], stride: Sequence[int]
) -> int:
    """Returns a bound of the number of output sites of L input sites."""
    # An input site contributes through every stride-th offset of an axis.
    offsets = math.prod(-(-k // max(s, 1)) for k, s in zip(kernel, stride))
    return min(L * offsets, batch_size * math.prod(out_space))


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
    space, kernel = int32s("space", space, axes), int32s("kernel", kernel, axes)
    stride, pad = int32s("stride", stride, axes), int32s("pad", pad, axes)
    dilation = int32s("dilation", dilation, axes)
    if out_space is None:
        out_space = space if subm else output_space(space, kernel, stride, pad, dilation)
    out_space = int32s("out_space", out_space, axes)
    own = handle()
    convolution = own.sparse_convolution
    vector = ctypes.c_int * axes
    vectors = [vector(*values) for values in (pad, stride, dilation, space, kernel, out_space)]
    require(
        functions.mluOpSetSparseConvolutionDescriptor(
            convolution, axes + 2, batch_size, *vectors, bool(subm), 0, 0
        )
    )
    K = math.prod(kernel)
    capacity = L if subm else most_output_sites(L, batch_size, out_space, kernel, stride)
    pairs, out_indices = arrays.indices((K, 2, L)), arrays.indices((capacity, columns))
    num = arrays.indices((K,))
    indices_desc, indices_data = arrays.tensor("indices", indices)
    outputs = (
        arrays.tensor("indice_pairs", pairs),
        arrays.tensor("out_indices", out_indices),
        arrays.tensor("indice_num", num),
    )
    workspace = own.workspace(
        functions.mluOpGetIndicePairsWorkspaceSize,
        *(convolution, indices_desc),
        *(descriptor for descriptor, _ in outputs),
    )
    invoke(
        functions.mluOpGetIndicePairs,
        *(convolution, indices_desc, indices_data),
        *workspace,
        *(argument for pair in outputs for argument in pair),
    )
    sites = ctypes.c_int()
    require(functions.mluOpGetSparseConvolutionNumActOut(convolution, ctypes.byref(sites)))
    return arrays.first_rows(out_indices, sites.value), pairs, num


def _layout(name: str) -> int:
    if name not in LAYOUTS:
        raise bad_param(f"layout is {name!r}, expected one of {', '.join(LAYOUTS)}")
    return LAYOUTS[name]


def _counts(arrays: Arrays, num: Any, pairs: Any) -> np.ndarray:
    K = arrays.shape("indice_pairs", pairs, "K 2 L")[0]
    counts = arrays.counts(num)
    if counts.shape != (K,):
        raise bad_param(
            f"indice_num has shape {list(counts.shape)}, expected [{K}]: a number for each offset"
        )
    return counts


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
    counts = _counts(arrays, num, pairs)
    num_out = int32("num_out", num_out)
    output = arrays.empty((extent(num_out), Co), features)
    features_desc, features_data = arrays.tensor("features", features)
    filters_desc, filters_data = arrays.tensor("filters", filters, filters_layout)
    pairs_desc, pairs_data = arrays.tensor("indice_pairs", pairs)
    output_desc, output_data = arrays.tensor("output", output)
    scalars = (counts.ctypes.data, num_out, 0, bool(subm))
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
    counts = _counts(arrays, num, pairs)
    grad_features = arrays.empty((pairs.shape[2], Ci), grad_output)
    grad_output_desc, grad_output_data = arrays.tensor("grad_output", grad_output)
    filters_desc, filters_data = arrays.tensor("filters", filters, filters_layout)
    pairs_desc, pairs_data = arrays.tensor("indice_pairs", pairs)
    grad_features_desc, grad_features_data = arrays.tensor("grad_features", grad_features)
    workspace = handle().workspace(
        functions.mluOpGetIndiceConvolutionBackwardDataWorkspaceSize,
        *(grad_output_desc, filters_desc, pairs_desc, grad_features_desc, counts.ctypes.data, 0),
    )
    invoke(
        functions.mluOpIndiceConvolutionBackwardData,
        *(grad_output_desc, grad_output_data, filters_desc, filters_data, pairs_desc, pairs_data),
        *(counts.ctypes.data, 0, bool(subm)),
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
    counts = _counts(arrays, num, pairs)
    shape = [extent(size) for size in int32s("kernel", kernel, len(kernel))]
    grad_filters = arrays.empty((*shape, Ci, Co), features)
    features_desc, features_data = arrays.tensor("features", features)
    grad_output_desc, grad_output_data = arrays.tensor("grad_output", grad_output)
    pairs_desc, pairs_data = arrays.tensor("indice_pairs", pairs)
    grad_filters_desc, grad_filters_data = arrays.tensor("grad_filters", grad_filters)
    scalars = (counts.ctypes.data, 0, 0)
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
