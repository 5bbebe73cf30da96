"""Operators of sparse convolution, on NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mluop_omp._arrays import NUMPY
from mluop_omp._operators import sparse_conv as _sparse_conv


def indice_pairs(
    indices: np.ndarray,
    batch_size: int,
    space: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    pad: Sequence[int],
    dilation: Sequence[int],
    subm: bool = False,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
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
    return _sparse_conv.indice_pairs(
        NUMPY, indices, batch_size, space, kernel, stride, pad, dilation, subm
    )


def indice_conv(
    features: np.ndarray,
    filters: np.ndarray,
    pairs: np.ndarray,
    num: np.ndarray,
    num_out: int,
    subm: bool = False,
    layout: str = "ARRAY",
) -> np.ndarray:
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
        subm: whether the pairs are those of a submanifold convolution. The result does not depend
            on it.
        layout: of filters.

    Returns:
        [num_out, Co] of the dtype of features.

    Raises:
        MluOpError: a row is not below that of its array; a number is outside [0, L]; shapes or
            dtypes differ from those above.

    Source: mluOpIndiceConvolutionForward; SECOND, doi:10.3390/s18103337; mmcv and spconv
        indice_conv.
    """
    return _sparse_conv.indice_conv(NUMPY, features, filters, pairs, num, num_out, subm, layout)


def indice_conv_backward_data(
    grad_output: np.ndarray,
    filters: np.ndarray,
    pairs: np.ndarray,
    num: np.ndarray,
    layout: str = "ARRAY",
) -> np.ndarray:
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
    return _sparse_conv.indice_conv_backward_data(
        NUMPY, grad_output, filters, pairs, num, False, layout
    )


def indice_conv_backward_filter(
    features: np.ndarray,
    grad_output: np.ndarray,
    pairs: np.ndarray,
    num: np.ndarray,
    kernel: Sequence[int],
) -> np.ndarray:
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
    return _sparse_conv.indice_conv_backward_filter(
        NUMPY, features, grad_output, pairs, num, kernel
    )


def indice_maxpool(
    features: np.ndarray, pairs: np.ndarray, num: np.ndarray, num_out: int
) -> np.ndarray:
    """Pools the features of active sites by their maximum, which starts at 0 (mmcv, spconv).

    Args:
        features: float16, bfloat16, float32 or float64 [N, C].
        pairs: int32 [K, 2, N], as `indice_pairs` returns them. Pairs with a negative index are
            skipped.
        num: integers [K], the number of pairs of each offset.
        num_out: the number of output sites.

    Returns:
        [num_out, C] of the dtype of features. NaN is never selected.

    Raises:
        MluOpError: an index or a number is out of range; shapes or dtypes differ from those above.

    Source: mluOpOmpIndiceMaxpoolForward; SECOND, Sensors 2018; mmcv SparseMaxPool2d, 3d.
    """
    return _sparse_conv.indice_maxpool(NUMPY, features, pairs, num, num_out)


def indice_maxpool_backward(
    features: np.ndarray,
    features_out: np.ndarray,
    output_grad: np.ndarray,
    pairs: np.ndarray,
    num: np.ndarray,
) -> np.ndarray:
    """Returns the gradient of the features of `indice_maxpool`.

    Every input that is equal to its output receives the gradient of that output.

    Args:
        features, pairs, num: as in `indice_maxpool`.
        features_out: [num_out, C], its result.
        output_grad: [num_out, C], the gradient of the result.

    Returns:
        [N, C] of the dtype of features.

    Raises:
        MluOpError: as `indice_maxpool`.

    Source: mluOpOmpIndiceMaxpoolBackward; SECOND, Sensors 2018; mmcv SparseMaxPool2d, 3d.
    """
    return _sparse_conv.indice_maxpool_backward(
        NUMPY, features, features_out, output_grad, pairs, num
    )
