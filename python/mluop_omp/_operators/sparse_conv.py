"""Operators of sparse convolution: the rulebook, the convolution and its gradients."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Callable

from mluop_omp._arrays import (
    ARRAY,
    LAYOUTS,
    Arrays,
    enumerator,
    extent,
    int32,
    int32s,
    integers,
)
from mluop_omp._definitions import sparse_conv as definitions
from mluop_omp._library import Object, bad_param, function, require
from mluop_omp._operators._declaration import Array, Precision, operator
from mluop_omp._operators._derivative import Linear
from mluop_omp._operators._descriptors import descriptors
from mluop_omp._operators._tensors import require_sizes
from mluop_omp._operators._torch import Tensor, ops, torch

__all__ = [
    "indice_conv",
    "indice_conv_backward_data",
    "indice_conv_backward_filter",
    "indice_pairs",
]

# A descriptor holds a result, so that each handle has its own.
_descriptor = descriptors(
    "SparseConvolution", "mluOpSetSparseConvolutionDescriptor", "piippppppiii"
)
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


_VECTORS = ("space", "kernel", "stride", "pad", "dilation", "out_space")


def _convolution(
    axes: int, batch_size: int, vectors: tuple[tuple[int, ...], ...], subm: bool
) -> tuple[Object, int, int, int]:
    """Returns the descriptor of a convolution, the number of its offsets, the most outputs of a
    site, and the cells of the output in all batches. out_space may be missing in the vectors.
    """
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
    in_order = pad, stride, dilation, space, kernel, out_space
    return (
        _descriptor(axes + 2, batch_size, *in_order, subm, 0, 0),
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
    indices_tensor = arrays.tensor("indices", indices, "L 1+axes")
    L, columns = indices_tensor[0].shape
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
            *(_query_pairs, descriptor, indices_tensor[0]),
            *(pairs_tensor[0], sites_tensor[0], num_tensor[0]),
        )
        own.call(
            *(_find_pairs, descriptor, *indices_tensor, *workspace),
            *(*pairs_tensor, *sites_tensor, *num_tensor),
        )
        require(_count_sites(descriptor, own.number_address))
        found = own.number.value
    return arrays.first_rows(sites, (capacity, columns), found), pairs, num


def _shapes_of_pairs(
    arrays: Arrays, indices: Any, batch_size: int, space: Any, kernel: Any, *others: Any
) -> tuple[Any, Any, Any]:
    *_, subm = (*others, False) if len(others) == 3 else others
    (L, columns), K = arrays.tensor("indices", indices, "L 1+axes")[0].shape, math.prod(kernel)
    with arrays.handle() as own:
        sites = L if subm else own.number.value
    shapes = {"out_indices": (sites, columns), "indice_pairs": (K, 2, L), "indice_num": (K,)}
    out_indices, pairs, num = (arrays.output(name, shape)[0] for name, shape in shapes.items())
    return out_indices, pairs, num


@operator(definitions, fake=_shapes_of_pairs)
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


def _filters(arrays: Arrays, filters: Any, layout: str) -> tuple[Any, int]:
    code = enumerator("layout", layout, LAYOUTS)
    dimensions = "D H W Ci Co" if code == ARRAY else "Co D H W Ci"
    return arrays.tensor("filters", filters, dimensions, code)


def _call(
    arrays: Arrays,
    function: Callable[..., int],
    query: Callable[..., int],
    tensors: tuple[Sequence[Any], ...],
    numbers: tuple,
    unqueried: tuple = (),
) -> None:
    """Calls a function of the library. Tensors are descriptors and addresses, the output last."""
    first, second, pairs, output = tensors
    with arrays.handle() as own:
        workspace = own.workspace(query, first[0], second[0], pairs[0], output[0], *numbers)
        own.call(function, *first, *second, *pairs, *numbers, *unqueried, *workspace, *output)


def _grad_filters(
    features: Tensor, grad: Tensor, filters: Tensor, pairs: Tensor, num: Tensor, layout: str
) -> Tensor:
    _, first, order = _LAYOUTS[layout]
    kernel = filters.shape[first : first + 3]
    return ops.indice_conv_backward_filter(features, grad, pairs, num, kernel).permute(order)


def _convolved(
    features: Tensor, like: Tensor, filters: Tensor, pairs: Tensor, num: Tensor, layout: str
) -> Tensor:
    """Convolves to the rows of `like`. Unlike the operator, takes filters without elements."""
    if filters.numel() == 0:
        return torch.zeros_like(like)
    return ops.indice_conv(features, filters, pairs, num, like.shape[0], False, layout)


@operator(
    definitions,
    derivative=Linear(
        features=lambda grad, _, filters, pairs, num, *options: ops.indice_conv_backward_data(
            grad, filters, pairs, num, options[-1]
        ),
        filters=lambda grad, features, filters, pairs, num, *options: _grad_filters(
            features, grad, filters, pairs, num, options[-1]
        ),
    ),
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
        MluOpError: a row is not below the number of rows of its array; a number is outside [0, L].

    Source: mluOpIndiceConvolutionForward; SECOND, doi:10.3390/s18103337; mmcv and spconv
        indice_conv.
    """
    features_tensor = arrays.tensor("features", features, "L Ci")
    filters_tensor = _filters(arrays, filters, layout)
    pairs_tensor = arrays.tensor("indice_pairs", pairs, "K 2 L")
    num_out, K = int32("num_out", num_out), pairs_tensor[0].shape[0]
    shape = filters_tensor[0].shape
    Co = shape[-1 if layout == "ARRAY" else 0]
    output, *output_tensor = arrays.output("output", (extent(num_out), Co), features)
    counts = arrays.pair_counts(num, K)
    inputs = features_tensor, filters_tensor, pairs_tensor
    if filters_tensor[0].is_empty and num_out >= 0 and layout in _LAYOUTS:
        dimensions, first, _ = _LAYOUTS[layout]
        require_sizes(f"features L Ci, filters {dimensions}, indice_pairs: K 2 L", *inputs)
        offsets = math.prod(shape[first : first + 3])
        if offsets != K:
            raise bad_param(f"indice_pairs dim 0 is {K}, expected {offsets}")
        arrays.fill(output, 0)
        return output
    numbers = counts, num_out, 0, bool(subm)
    _call(arrays, _convolve, _query_conv, (*inputs, output_tensor), numbers)
    return output


@operator(
    definitions,
    derivative=Linear(grad_output=_convolved, filters=_grad_filters),
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

    Source: mluOpIndiceConvolutionBackwardData; SECOND, doi:10.3390/s18103337.
    """
    grad_tensor = arrays.tensor("grad_output", grad_output, "num_out Co")
    filters_tensor = _filters(arrays, filters, layout)
    pairs_tensor = arrays.tensor("indice_pairs", pairs, "K 2 L")
    K, _, L = pairs_tensor[0].shape
    Ci = filters_tensor[0].shape[{"ARRAY": -2, "NCDHW": 1}.get(layout, -1)]
    grad_features, *features_tensor = arrays.output("grad_features", (L, Ci), grad_output)
    tensors = grad_tensor, filters_tensor, pairs_tensor, features_tensor
    numbers = arrays.pair_counts(num, K), 0
    _call(arrays, _convolve_data, _query_data, tensors, numbers, (False,))
    return grad_features


@operator(
    definitions,
    derivative=Linear(
        features=lambda grad, _, grad_output, pairs, num, kernel: ops.indice_conv_backward_data(
            grad_output, grad, pairs, num
        ),
        grad_output=lambda grad, features, grad_output, pairs, num, kernel: _convolved(
            features, grad_output, grad, pairs, num, "ARRAY"
        ),
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

    Source: mluOpIndiceConvolutionBackwardFilter; SECOND, doi:10.3390/s18103337.
    """
    features_tensor = arrays.tensor("features", features, "L Ci")
    grad_tensor = arrays.tensor("grad_output", grad_output, "num_out Co")
    pairs_tensor = arrays.tensor("indice_pairs", pairs, "K 2 L")
    sizes = map(extent, arrays.integers("kernel", kernel))
    shape = (*sizes, features_tensor[0].shape[1], grad_tensor[0].shape[1])
    grad_filters, *filters_tensor = arrays.output("grad_filters", shape, features)
    tensors = features_tensor, grad_tensor, pairs_tensor, filters_tensor
    numbers = arrays.pair_counts(num, pairs_tensor[0].shape[0]), 0, 0
    _call(arrays, _convolve_filter, _query_filter, tensors, numbers)
    return grad_filters
