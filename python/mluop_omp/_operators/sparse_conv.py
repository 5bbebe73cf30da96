"""Operators of sparse convolution: the rulebook, the convolution and its gradients."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from mluop_omp import _library
from mluop_omp._arrays import (
    ARRAY,
    LAYOUTS,
    Arrays,
    Tensor,
    enumerator,
    extent,
    int32,
    int32s,
    integers,
)
from mluop_omp._definitions import sparse_conv as definitions
from mluop_omp._library import bad_param, function, require
from mluop_omp._operators._declaration import Array, Precision, operator
from mluop_omp._operators._derivative import Derivative, linear_in, save_inputs
from mluop_omp._operators._empty import require_sizes
from mluop_omp._operators._torch import ops, torch

if TYPE_CHECKING:
    import torch as pytorch

__all__ = [
    "indice_conv",
    "indice_conv_backward_data",
    "indice_conv_backward_filter",
    "indice_pairs",
]

_create = function("mluOpCreateSparseConvolutionDescriptor", "p")
_destroy = function("mluOpDestroySparseConvolutionDescriptor", "p")
_set = function("mluOpSetSparseConvolutionDescriptor", "piippppppiii")
_count_sites = function("mluOpGetSparseConvolutionNumActOut", "pp")
_query_pairs = function("mluOpGetIndicePairsWorkspaceSize", "ppppppp")
_find_pairs = function("mluOpGetIndicePairs", "pppppspppppp")
_query_conv = function("mluOpGetIndiceConvolutionForwardWorkspaceSize", "pppppplllp")
_convolve = function("mluOpIndiceConvolutionForward", "pppppppplllpspp")
_query_data = function("mluOpGetIndiceConvolutionBackwardDataWorkspaceSize", "pppppplp")
_convolve_data = function("mluOpIndiceConvolutionBackwardData", "ppppppppllpspp")
_query_filter = function("mluOpGetIndiceConvolutionBackwardFilterWorkspaceSize", "ppppppllp")
_convolve_filter = function("mluOpIndiceConvolutionBackwardFilter", "ppppppppllpspp")


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

    _destroy = _destroy


class _Convolution(NamedTuple):
    descriptor: _Descriptor
    offsets: int
    outputs_of_site: int  # at most
    cells: int  # of the output, in all batches


_VECTORS = ("space", "kernel", "stride", "pad", "dilation", "out_space")


def _convolution(
    axes: int, batch_size: int, vectors: tuple[tuple[int, ...], ...], subm: bool
) -> _Convolution:
    """Returns the convolution of the vectors, of which out_space may be missing."""
    space, kernel, stride, pad, dilation, *given = (
        int32s(name, values, axes) for name, values in zip(_VECTORS, vectors)
    )
    if given:
        (out_space,) = given
    elif subm:
        out_space = space
    else:
        out = output_space(space, kernel, stride, pad, dilation)
        out_space = int32s("out_space", out, axes)
    vector = ctypes.c_int * axes
    in_order = (pad, stride, dilation, space, kernel, out_space)
    descriptor = _Descriptor.create(_create)
    arguments = (descriptor, axes + 2, batch_size, *(vector(*values) for values in in_order))
    require(_set(*arguments, subm, 0, 0))
    return _Convolution(
        descriptor,
        math.prod(kernel),
        # An input site contributes through every stride-th offset of an axis.
        math.prod(-(-k // max(s, 1)) for k, s in zip(kernel, stride)),
        batch_size * math.prod(out_space),
    )


def find_pairs(
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
    """As `indice_pairs`, to output sites in a space that may be another than the convolution's."""
    indices_desc, indices_data = arrays.tensor("indices", indices, "L 1+axes")
    L, columns = indices_desc.shape
    if columns not in (3, 4):
        raise bad_param(f"indices dim 1 is {columns}, expected 3 or 4: batch and coordinates")
    geometry = (space, kernel, stride, pad, dilation)
    if out_space is not None:
        geometry = (*geometry, out_space)
    vectors = tuple(map(integers, _VECTORS, geometry))
    convolution = (_convolution, columns - 1, int32("batch_size", batch_size), vectors, bool(subm))
    with arrays.handle() as own:
        descriptor, K, outputs_of_site, cells = own.keep(*convolution)
        capacity = L if subm else min(L * outputs_of_site, cells)
        pairs, *pairs_tensor = arrays.output("indice_pairs", (K, 2, L))
        sites, *sites_tensor = arrays.output("out_indices", (capacity, columns))
        num, *num_tensor = arrays.output("indice_num", (K,))
        workspace = own.workspace(
            *(_query_pairs, descriptor, indices_desc),
            *(pairs_tensor[0], sites_tensor[0], num_tensor[0]),
        )
        own.call(
            *(_find_pairs, descriptor, indices_desc, indices_data, *workspace),
            *(*pairs_tensor, *sites_tensor, *num_tensor),
        )
        require(_count_sites(descriptor, own.number_address))
        found = own.number.value
    return arrays.first_rows(sites, (capacity, columns), found), pairs, num


def _shapes_of_pairs(
    arrays: Arrays,
    indices: Any,
    batch_size: int,
    space: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    pad: Sequence[int],
    dilation: Sequence[int],
    subm: bool = False,
) -> tuple[Any, Any, Any]:
    (L, columns), K = arrays.tensor("indices", indices, "L 1+axes")[0].shape, math.prod(kernel)
    with arrays.handle() as own:
        sites = L if subm else own.number.value
    shapes = {"out_indices": (sites, columns), "indice_pairs": (K, 2, L), "indice_num": (K,)}
    out_indices, pairs, num = (arrays.output(name, shape)[0] for name, shape in shapes.items())
    return out_indices, pairs, num


@operator(definition=definitions.indice_pairs, fake=_shapes_of_pairs)
def indice_pairs(
    arrays: Arrays,
    indices: Array,
    batch_size: int,
    space: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    pad: Sequence[int],
    dilation: Sequence[int],
    subm: bool = False,
) -> tuple[Array, Array, Array]:
    """Finds the output sites and the index pairs (the rulebook) of a sparse convolution.

    Offset ``k = (kd * Kh + kh) * Kw + kw`` of the filter takes input site ``i`` to the output site
    ``o`` of the same batch with ``o * stride = i + pad - k * dilation`` along each axis, if there
    is one. Sites are in two dimensions, (h, w), or three, (d, h, w); the sequences below have as
    many elements.

    Args:
        indices: int32 [L, 3] or [L, 4], the input sites: batch, then coordinates.
        batch_size: the number of batches.
        space: cells of the input along each axis.
        kernel, stride, pad, dilation: of the convolution, in cells. Along an axis, stride or
            dilation must be 1.
        subm: a submanifold convolution: the output sites are the input sites. The usual pad is
            kernel // 2.

    Returns:
        out_indices: int32 [sites, 3 or 4], the output sites, ascending; with subm, a copy of
            indices.
        pairs: int32 [K, 2, L]: ``pairs[k, 0, :num[k]]`` are input rows, ascending, and ``pairs[k,
            1, :num[k]]`` the output rows; the rest is -1.
        num: int32 [K], the pairs of each offset.

    Raises:
        MluOpError: a site is outside its batch or space; a parameter is not positive; with subm, a
            stride or dilation is not 1; there are 2**31 sites, or more than 2**62 cells.

    Source: mluOpGetIndicePairs; SECOND, doi:10.3390/s18103337; mmcv and spconv get_indice_pairs.
    """
    return find_pairs(arrays, indices, batch_size, space, kernel, stride, pad, dilation, subm)


# The dimensions of filters; where the offsets begin, and the order of [D, H, W, Ci, Co].
_LAYOUTS: dict[str, tuple[str, int, tuple[int, ...]]] = {
    "ARRAY": ("D H W Ci Co", 0, (0, 1, 2, 3, 4)),
    "NDHWC": ("Co D H W Ci", 1, (4, 0, 1, 2, 3)),
    "NCDHW": ("Co Ci D H W", 2, (4, 3, 0, 1, 2)),
}


def _filters(arrays: Arrays, filters: Any, layout: str) -> Tensor:
    code = enumerator("layout", layout, LAYOUTS)
    dimensions = "D H W Ci Co" if code == ARRAY else "Co D H W Ci"
    return arrays.tensor("filters", filters, dimensions, code)


def _grad_filters(
    features: pytorch.Tensor,
    grad: pytorch.Tensor,
    pairs: pytorch.Tensor,
    num: pytorch.Tensor,
    filters: pytorch.Tensor,
    layout: str,
) -> pytorch.Tensor:
    _, first, order = _LAYOUTS[layout]
    kernel = filters.shape[first : first + 3]
    return ops.indice_conv_backward_filter(features, grad, pairs, num, kernel).permute(order)


def _convolved(
    features: pytorch.Tensor,
    filters: pytorch.Tensor,
    pairs: pytorch.Tensor,
    num: pytorch.Tensor,
    like: pytorch.Tensor,
    layout: str,
) -> pytorch.Tensor:
    """Convolves to the rows of `like`. Unlike the operator, takes filters without elements."""
    if filters.numel() == 0:
        return torch.zeros_like(like)
    return ops.indice_conv(features, filters, pairs, num, like.shape[0], False, layout)


def _save(ctx: Any, inputs: tuple, output: pytorch.Tensor) -> None:
    ctx.layout = inputs[-1]
    save_inputs(ctx, inputs, output)


def _backward(ctx: Any, grad: pytorch.Tensor) -> tuple:
    features, filters, pairs, num = ctx.saved_tensors
    grad_features = grad_filters = None
    if ctx.needs[0]:
        grad_features = ops.indice_conv_backward_data(grad, filters, pairs, num, ctx.layout)
    if ctx.needs[1]:
        grad_filters = _grad_filters(features, grad, pairs, num, filters, ctx.layout)
    return grad_features, grad_filters, None, None, None, None, None


def _backward_of_data(ctx: Any, grad: pytorch.Tensor) -> tuple:
    grad_output, filters, pairs, num = ctx.saved_tensors
    grad_grad = grad_filters = None
    if ctx.needs[0]:
        grad_grad = _convolved(grad, filters, pairs, num, grad_output, ctx.layout)
    if ctx.needs[1]:
        grad_filters = _grad_filters(grad, grad_output, pairs, num, filters, ctx.layout)
    return grad_grad, grad_filters, None, None, None


def _backward_of_filter(ctx: Any, grad: pytorch.Tensor) -> tuple:
    features, grad_output, pairs, num = ctx.saved_tensors
    grad_features = grad_grad = None
    if ctx.needs[0]:
        grad_features = ops.indice_conv_backward_data(grad_output, grad, pairs, num)
    if ctx.needs[1]:
        grad_grad = _convolved(features, grad, pairs, num, grad_output, "ARRAY")
    return grad_features, grad_grad, None, None, None


@operator(
    definition=definitions.indice_conv,
    derivative=Derivative(_save, _backward, linear_in("indice_conv", 0, 1)),
    precision=Precision.CONVOLUTION,
)
def indice_conv(
    arrays: Arrays,
    features: Array,
    filters: Array,
    pairs: Array,
    num: Array,
    num_out: int,
    subm: bool = False,
    layout: str = "ARRAY",
) -> Array:
    """Convolves the features of active sites (mmcv, spconv sparse convolution).

    Each pair (i, o) of offset k adds ``features[i] @ filters[k]`` to ``output[o]``. Sums are fp32,
    in the order of offsets, pairs and channels; fp64 for float64.

    Args:
        features: float16, bfloat16, float32 or float64 [L, Ci].
        filters: of the dtype of features, [D, H, W, Ci, Co] (layout "ARRAY"), [Co, D, H, W, Ci]
            ("NDHWC") or [Co, Ci, D, H, W] ("NCDHW").
        pairs: int32 [K, 2, L], K = D * H * W, from `indice_pairs`; a pair with a negative row is
            skipped.
        num: integers [K], the pairs of each offset.
        num_out: the number of output sites.
        subm: whether the pairs belong to a submanifold convolution. It does not change the result.
        layout: of filters.

    Returns:
        [num_out, Co] of the dtype of features.

    Raises:
        MluOpError: a row is not below the number of rows of its array; a number is outside [0, L];
            a shape or dtype differs from the list above.

    Source: mluOpIndiceConvolutionForward; SECOND, doi:10.3390/s18103337; mmcv and spconv
        indice_conv.
    """
    features_desc, features_data = arrays.tensor("features", features, "L Ci")
    filters_desc, filters_data = _filters(arrays, filters, layout)
    pairs_desc, pairs_data = arrays.tensor("indice_pairs", pairs, "K 2 L")
    num_out = int32("num_out", num_out)
    Co = filters_desc.shape[-1 if layout == "ARRAY" else 0]
    output, *output_tensor = arrays.output("output", (extent(num_out), Co), features)
    scalars = (arrays.pair_counts(num, pairs_desc.shape[0]), num_out, 0, bool(subm))
    if filters_desc.is_empty and num_out >= 0 and layout in _LAYOUTS:
        dimensions, first, _ = _LAYOUTS[layout]
        declaration = f"features L Ci, filters {dimensions}, indice_pairs: K 2 L"
        require_sizes(declaration, features_desc, filters_desc, pairs_desc)
        K, offsets = pairs_desc.shape[0], math.prod(filters_desc.shape[first : first + 3])
        if offsets != K:
            raise bad_param(f"indice_pairs dim 0 is {K}, expected {offsets}")
        arrays.fill(output, 0)
        return output
    with arrays.handle() as own:
        workspace = own.workspace(
            *(_query_conv, features_desc, filters_desc, pairs_desc, output_tensor[0], *scalars)
        )
        own.call(
            *(_convolve, features_desc, features_data, filters_desc, filters_data),
            *(pairs_desc, pairs_data, *scalars, *workspace, *output_tensor),
        )
    return output


@operator(
    definition=definitions.indice_conv_backward_data,
    derivative=Derivative(_save, _backward_of_data, linear_in("indice_conv_backward_data", 0, 1)),
    precision=Precision.CONVOLUTION,
)
def indice_conv_backward_data(
    arrays: Arrays,
    grad_output: Array,
    filters: Array,
    pairs: Array,
    num: Array,
    layout: str = "ARRAY",
) -> Array:
    """Returns the gradient of the features of `indice_conv`.

    Args:
        grad_output: float16, bfloat16, float32 or float64 [num_out, Co].
        filters, pairs, num, layout: as in `indice_conv`.

    Returns:
        [L, Ci] of the dtype of grad_output.

    Raises:
        MluOpError: as `indice_conv`.

    Source: mluOpIndiceConvolutionBackwardData; SECOND, doi:10.3390/s18103337.
    """
    grad_desc, grad_data = arrays.tensor("grad_output", grad_output, "num_out Co")
    filters_desc, filters_data = _filters(arrays, filters, layout)
    pairs_desc, pairs_data = arrays.tensor("indice_pairs", pairs, "K 2 L")
    Ci = filters_desc.shape[{"ARRAY": -2, "NCDHW": 1}.get(layout, -1)]
    grad_features, *features_tensor = arrays.output(
        "grad_features", (pairs_desc.shape[2], Ci), grad_output
    )
    counts = arrays.pair_counts(num, pairs_desc.shape[0])
    with arrays.handle() as own:
        workspace = own.workspace(
            *(_query_data, grad_desc, filters_desc, pairs_desc, features_tensor[0], counts, 0)
        )
        own.call(
            *(_convolve_data, grad_desc, grad_data, filters_desc, filters_data),
            *(pairs_desc, pairs_data, counts, 0, False, *workspace, *features_tensor),
        )
    return grad_features


@operator(
    definition=definitions.indice_conv_backward_filter,
    derivative=Derivative(
        save_inputs, _backward_of_filter, linear_in("indice_conv_backward_filter", 0, 1)
    ),
    precision=Precision.CONVOLUTION,
)
def indice_conv_backward_filter(
    arrays: Arrays,
    features: Array,
    grad_output: Array,
    pairs: Array,
    num: Array,
    kernel: Sequence[int],
) -> Array:
    """Returns the gradient of the filters of `indice_conv`.

    Args:
        features: float16, bfloat16, float32 or float64 [L, Ci].
        grad_output: [num_out, Co] of the dtype of features.
        pairs, num: as in `indice_conv`.
        kernel: (D, H, W).

    Returns:
        [D, H, W, Ci, Co] of the dtype of features, whatever the layout of the filters is.

    Raises:
        MluOpError: as `indice_conv`.

    Source: mluOpIndiceConvolutionBackwardFilter; SECOND, doi:10.3390/s18103337.
    """
    features_desc, features_data = arrays.tensor("features", features, "L Ci")
    grad_desc, grad_data = arrays.tensor("grad_output", grad_output, "num_out Co")
    pairs_desc, pairs_data = arrays.tensor("indice_pairs", pairs, "K 2 L")
    shape = (
        *map(extent, arrays.integers("kernel", kernel)),
        features_desc.shape[1],
        grad_desc.shape[1],
    )
    grad_filters, *filters_tensor = arrays.output("grad_filters", shape, features)
    scalars = (arrays.pair_counts(num, pairs_desc.shape[0]), 0, 0)
    with arrays.handle() as own:
        workspace = own.workspace(
            *(_query_filter, features_desc, grad_desc, pairs_desc, filters_tensor[0], *scalars)
        )
        own.call(
            *(_convolve_filter, features_desc, features_data, grad_desc, grad_data),
            *(pairs_desc, pairs_data, *scalars, *workspace, *filters_tensor),
        )
    return grad_filters
