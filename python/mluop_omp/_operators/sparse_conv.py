"""Operators of sparse convolution."""

from __future__ import annotations

import array
import ctypes
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from mluop_omp import _library
from mluop_omp._arrays import (
    ARRAY,
    LAYOUTS,
    Arrays,
    Descriptor,
    Tensor,
    enumerator,
    extent,
    handle,
    int32,
    int32s,
    integers,
)
from mluop_omp._library import bad_param, functions, require
from mluop_omp._operators import _double
from mluop_omp._operators._double import also_double
from mluop_omp._operators._empty import require_sizes


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


class _Descriptor(_library.Object):
    """A descriptor of a sparse convolution. It holds a result, so that each handle has its own."""

    _destroy = functions.mluOpDestroySparseConvolutionDescriptor


class _Convolution(NamedTuple):
    descriptor: _Descriptor
    offsets: int
    outputs_of_site: int  # at most
    cells: int  # of the output, in all batches


_VECTORS = ("space", "kernel", "stride", "pad", "dilation", "out_space")


def _convolution(
    axes: int, batch_size: int, vectors: tuple[tuple[int, ...], ...], subm: bool, default: bool
) -> _Convolution:
    """Returns the convolution of the vectors. `default`: out_space is that of the convolution."""
    space, kernel, stride, pad, dilation, out_space = (
        int32s(name, values, axes) for name, values in zip(_VECTORS, vectors)
    )
    if default and not subm:
        out = output_space(space, kernel, stride, pad, dilation)
        out_space = int32s("out_space", out, axes)
    vector = ctypes.c_int * axes
    in_order = (pad, stride, dilation, space, kernel, out_space)
    descriptor = _Descriptor.create(functions.mluOpCreateSparseConvolutionDescriptor)
    require(
        functions.mluOpSetSparseConvolutionDescriptor(
            *(descriptor, axes + 2, batch_size),
            *(vector(*values) for values in in_order),
            *(subm, 0, 0),
        )
    )
    return _Convolution(
        descriptor,
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
    indices_desc, indices_data = arrays.tensor("indices", indices, "L 1+axes")
    L, columns = indices_desc.shape
    if columns not in (3, 4):
        raise bad_param(f"indices dim 1 is {columns}, expected 3 or 4: batch and coordinates")
    geometry = (space, kernel, stride, pad, dilation, space if out_space is None else out_space)
    convolution = (
        columns - 1,
        int32("batch_size", batch_size),
        tuple(map(integers, _VECTORS, geometry)),
        bool(subm),
        out_space is None,
    )
    with handle() as own:
        descriptor, K, outputs_of_site, cells = own.keep(_convolution, *convolution)
        capacity = L if subm else min(L * outputs_of_site, cells)
        pairs, pairs_desc, pairs_data = arrays.output("indice_pairs", (K, 2, L))
        sites, sites_desc, sites_data = arrays.output("out_indices", (capacity, columns))
        num, num_desc, num_data = arrays.output("indice_num", (K,))
        workspace = own.workspace(
            functions.mluOpGetIndicePairsWorkspaceSize,
            *(descriptor, indices_desc, pairs_desc, sites_desc, num_desc),
        )
        require(
            functions.mluOpGetIndicePairs(
                own.pointer,
                *(descriptor, indices_desc, indices_data),
                *workspace,
                *(pairs_desc, pairs_data, sites_desc, sites_data, num_desc, num_data),
            )
        )
        require(functions.mluOpGetSparseConvolutionNumActOut(descriptor, own.number_address))
        found = own.number.value
    return arrays.first_rows(sites, (capacity, columns), found), pairs, num


def _counts(arrays: Arrays, num: Any, pairs_desc: Descriptor) -> bytes:
    """Returns the numbers of pairs as int64."""
    counts, K = arrays.counts(num), pairs_desc.shape[0]
    if len(counts) != K:
        raise bad_param(
            f"indice_num has shape [{len(counts)}], expected [{K}]: a number for each offset"
        )
    try:
        return array.array("q", counts).tobytes()
    except OverflowError:
        raise bad_param(f"indice_num is {counts}, expected 64-bit integers") from None


_FILTERS = {"ARRAY": "D H W Ci Co", "NDHWC": "Co D H W Ci", "NCDHW": "Co Ci D H W"}


def _filters(arrays: Arrays, filters: Any, layout: str) -> Tensor:
    code = enumerator("layout", layout, LAYOUTS)
    dimensions = "D H W Ci Co" if code == ARRAY else "Co D H W Ci"
    return arrays.tensor("filters", filters, dimensions, code)


@also_double(_double.indice_conv, 0)
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
    features_desc, features_data = arrays.tensor("features", features, "L Ci")
    filters_desc, filters_data = _filters(arrays, filters, layout)
    pairs_desc, pairs_data = arrays.tensor("indice_pairs", pairs, "K 2 L")
    num_out = int32("num_out", num_out)
    Co = filters_desc.shape[-1 if layout == "ARRAY" else 0]
    output, output_desc, output_data = arrays.output("output", (extent(num_out), Co), features)
    scalars = (_counts(arrays, num, pairs_desc), num_out, 0, bool(subm))
    if filters_desc.is_empty and num_out >= 0 and layout in _FILTERS:
        descriptors = features_desc, filters_desc, pairs_desc
        sizes = require_sizes(
            f"features L Ci, filters {_FILTERS[layout]}, indice_pairs: K 2 L", *descriptors
        )
        if sizes["K"] != (offsets := math.prod(map(sizes.get, "DHW"))):
            raise bad_param(f"indice_pairs dim 0 is {sizes['K']}, expected {offsets}")
        arrays.fill(output, 0)
        return output
    with handle() as own:
        workspace = own.workspace(
            functions.mluOpGetIndiceConvolutionForwardWorkspaceSize,
            *(features_desc, filters_desc, pairs_desc, output_desc),
            *scalars,
        )
        require(
            functions.mluOpIndiceConvolutionForward(
                own.pointer,
                *(features_desc, features_data, filters_desc, filters_data, pairs_desc, pairs_data),
                *scalars,
                *workspace,
                *(output_desc, output_data),
            )
        )
    return output


@also_double(_double.indice_conv_backward_data, 0)
def indice_conv_backward_data(
    arrays: Arrays,
    grad_output: Any,
    filters: Any,
    pairs: Any,
    num: Any,
    subm: bool = False,
    layout: str = "ARRAY",
) -> Any:
    grad_desc, grad_data = arrays.tensor("grad_output", grad_output, "num_out Co")
    filters_desc, filters_data = _filters(arrays, filters, layout)
    pairs_desc, pairs_data = arrays.tensor("indice_pairs", pairs, "K 2 L")
    shape = filters_desc.shape
    Ci = shape[1] if layout == "NCDHW" else shape[-2] if layout == "ARRAY" else shape[-1]
    output = arrays.output("grad_features", (pairs_desc.shape[2], Ci), grad_output)
    grad_features, grad_features_desc, grad_features_data = output
    counts = _counts(arrays, num, pairs_desc)
    with handle() as own:
        workspace = own.workspace(
            functions.mluOpGetIndiceConvolutionBackwardDataWorkspaceSize,
            *(grad_desc, filters_desc, pairs_desc, grad_features_desc, counts, 0),
        )
        require(
            functions.mluOpIndiceConvolutionBackwardData(
                own.pointer,
                *(grad_desc, grad_data, filters_desc, filters_data, pairs_desc, pairs_data),
                *(counts, 0, bool(subm)),
                *workspace,
                *(grad_features_desc, grad_features_data),
            )
        )
    return grad_features


@also_double(_double.indice_conv_backward_filter, 0)
def indice_conv_backward_filter(
    arrays: Arrays, features: Any, grad_output: Any, pairs: Any, num: Any, kernel: Sequence[int]
) -> Any:
    """Returns the gradient of the filters [*kernel, Ci, Co]."""
    features_desc, features_data = arrays.tensor("features", features, "L Ci")
    grad_desc, grad_data = arrays.tensor("grad_output", grad_output, "num_out Co")
    pairs_desc, pairs_data = arrays.tensor("indice_pairs", pairs, "K 2 L")
    shape = (*map(extent, integers("kernel", kernel)), features_desc.shape[1], grad_desc.shape[1])
    grad_filters, filters_desc, filters_data = arrays.output("grad_filters", shape, features)
    scalars = (_counts(arrays, num, pairs_desc), 0, 0)
    with handle() as own:
        workspace = own.workspace(
            functions.mluOpGetIndiceConvolutionBackwardFilterWorkspaceSize,
            *(features_desc, grad_desc, pairs_desc, filters_desc),
            *scalars,
        )
        require(
            functions.mluOpIndiceConvolutionBackwardFilter(
                own.pointer,
                *(features_desc, features_data, grad_desc, grad_data, pairs_desc, pairs_data),
                *scalars,
                *workspace,
                *(filters_desc, filters_data),
            )
        )
    return grad_filters


@also_double(_double.indice_maxpool, 0)
def indice_maxpool(arrays: Arrays, features: Any, pairs: Any, num: Any, num_out: int) -> Any:
    features_desc, features_data = arrays.tensor("features", features, "N C")
    pairs_desc, pairs_data = arrays.tensor("indice_pairs", pairs, "K 2 N")
    shape = (extent(int32("num_out", num_out)), features_desc.shape[1])
    output, *output_tensor = arrays.output("features_out", shape, features)
    counts = _counts(arrays, num, pairs_desc)
    with handle() as own:
        require(
            functions.mluOpOmpIndiceMaxpoolForward(
                *(own.pointer, features_desc, features_data, pairs_desc, pairs_data, counts),
                *output_tensor,
            )
        )
    return output


@also_double(_double.indice_maxpool_backward, 0)
def indice_maxpool_backward(
    arrays: Arrays, features: Any, features_out: Any, output_grad: Any, pairs: Any, num: Any
) -> Any:
    features_desc, features_data = arrays.tensor("features", features, "N C")
    pairs_desc, pairs_data = arrays.tensor("indice_pairs", pairs, "K 2 N")
    input_grad, *grad_tensor = arrays.output("input_grad", features_desc.shape, features)
    counts = _counts(arrays, num, pairs_desc)
    with handle() as own:
        require(
            functions.mluOpOmpIndiceMaxpoolBackward(
                *(own.pointer, features_desc, features_data),
                *arrays.tensor("features_out", features_out, "M C"),
                *arrays.tensor("output_grad", output_grad, "M C"),
                *(pairs_desc, pairs_data, counts),
                *grad_tensor,
            )
        )
    return input_grad
