"""Operators of masked convolution."""

from __future__ import annotations

from typing import Any

from mluop_omp._arrays import NCHW, Arrays, extent
from mluop_omp._definitions import masked_conv as definitions
from mluop_omp._library import function
from mluop_omp._operators._declaration import Array, Pair, Precision, operator
from mluop_omp._operators._derivative import Linear, sum_by_index
from mluop_omp._operators._tensors import require_sizes
from mluop_omp._operators._torch import Tensor, torch

__all__ = ["masked_col2im", "masked_im2col"]

_query_im2col = function("mluOpGetMaskedIm2colForwardWorkspaceSize", "ppppiipp")
_im2col = function("mluOpMaskedIm2colForward", "pppppppiiiipspp")
_query_col2im = function("mluOpGetMaskedCol2imForwardWorkspaceSize", "pppppp")
_col2im = function("mluOpMaskedCol2imForward", "pppppppsppp")


def _windows_to_pixels(
    grad: Tensor, shape: Any, mask_h: Tensor, mask_w: Tensor, kernel: Pair, pad: Pair
) -> Tensor:
    (_, C, H, W), (kernel_h, kernel_w), (pad_h, pad_w) = shape, kernel, pad
    h = mask_h.long() - pad_h + torch.arange(kernel_h).view(-1, 1, 1)
    w = mask_w.long() - pad_w + torch.arange(kernel_w).view(1, -1, 1)
    inside = (h >= 0) & (h < H) & (w >= 0) & (w < W)
    # The last column collects what is outside.
    pixel = torch.where(inside, h * W + w, H * W).flatten()
    sums = sum_by_index(grad.reshape(C, len(pixel)).t(), pixel, H * W + 1)
    return sums[:-1].t().reshape(shape)


def _pixels_to_columns(grad: Tensor, _: Any, mask_h: Tensor, mask_w: Tensor, size: Pair) -> Tensor:
    if grad.numel() == 0:  # The masks may have any value.
        return grad.new_zeros(grad.shape[1], len(mask_h))
    H, W = size
    mask_h, mask_w = mask_h.long(), mask_w.long()
    pixel = mask_h * W + mask_w
    # If masks are equal, the last determines the pixel.
    number = torch.arange(pixel.shape[0])
    last = number.new_full((H * W,), -1).scatter_reduce(0, pixel, number, "amax")
    return grad.reshape(grad.shape[1], -1)[:, pixel] * (last[pixel] == number)


@operator(definitions, derivative=Linear(feature=_windows_to_pixels), precision=Precision.WIDEST)
def masked_im2col(
    arrays: Arrays,
    feature: Array,
    mask_h_idx: Array,
    mask_w_idx: Array,
    kernel: Pair,
    pad: Pair = (0, 0),
) -> Array:
    """Copies the window of each mask from the feature to a column of a matrix.

    Row ``(c * kernel_h + i) * kernel_w + j`` of column ``k`` is the pixel
    ``(mask_h_idx[k] - pad_h + i, mask_w_idx[k] - pad_w + j)`` of channel ``c``, or 0 outside the
    feature.

    Args:
        feature: float16, bfloat16, float32 or float64 [1, C, H, W].
        mask_h_idx, mask_w_idx: int32 [masks], pixels in any order; any value.
        kernel: (kernel_h, kernel_w), in pixels.
        pad: (pad_h, pad_w), in pixels.

    Returns:
        [C * kernel_h * kernel_w, masks] of the dtype of feature.

    Raises:
        MluOpError: the kernel is negative.

    Source: mluOpMaskedIm2colForward; mmcv MaskedConv2d.
    """
    feature_desc, feature_data = arrays.tensor("feature", feature, "1 C H W", NCHW)
    h_desc, h_data = arrays.tensor("mask_h_idx", mask_h_idx, "masks")
    w_desc, w_data = arrays.tensor("mask_w_idx", mask_w_idx)
    kernel_h, kernel_w = arrays.int32s("kernel", kernel, 2)
    pads = arrays.int32s("pad", pad, 2)
    rows = feature_desc.shape[1] * extent(kernel_h) * extent(kernel_w)
    col, col_desc, col_data = arrays.output("data_col", (rows, *h_desc.shape), feature)
    if (feature_desc.is_empty or col_desc.is_empty) and min(kernel_h, kernel_w) >= 0:
        declaration = "feature 1 C H W, mask_h_idx: masks, mask_w_idx: masks, data_col"
        descriptors = feature_desc, h_desc, w_desc, col_desc
        require_sizes(f"{declaration} {rows} masks", *((each, 0) for each in descriptors))
        arrays.fill(col, 0)
        return col
    with arrays.handle() as own:
        workspace = own.workspace(
            _query_im2col, feature_desc, h_desc, w_desc, kernel_h, kernel_w, col_desc
        )
        own.call(
            *(_im2col, feature_desc, feature_data, h_desc, h_data, w_desc, w_data),
            *(kernel_h, kernel_w, *pads, *workspace, col_desc, col_data),
        )
    return col


@operator(definitions, derivative=Linear(col=_pixels_to_columns), precision=Precision.WIDEST)
def masked_col2im(
    arrays: Arrays, col: Array, mask_h_idx: Array, mask_w_idx: Array, size: Pair
) -> Array:
    """Copies each column of a matrix to the pixel of its mask; the other pixels are 0.

    Args:
        col: float16, bfloat16, float32 or float64 [C, masks].
        mask_h_idx, mask_w_idx: int32 [masks], pixels of the image. If masks are equal, the
            last determines the pixel.
        size: (H, W), in pixels.

    Returns:
        [1, C, H, W] of the dtype of col.

    Raises:
        MluOpError: a mask is outside the image.

    Source: mluOpMaskedCol2imForward; mmcv MaskedConv2d.
    """
    col_desc, col_data = arrays.tensor("col", col, "C masks")
    h_desc, h_data = arrays.tensor("mask_h_idx", mask_h_idx)
    w_desc, w_data = arrays.tensor("mask_w_idx", mask_w_idx)
    height, width = arrays.int32s("size", size, 2)
    shape = (1, col_desc.shape[0], extent(height), extent(width))
    im, im_desc, im_data = arrays.output("im", shape, col, layout=NCHW)
    # A pixel of an image without pixels does not exist.
    if im_desc.is_empty and col_desc.is_empty and min(height, width) >= 0:
        declaration = f"col C masks, mask_h_idx: masks, mask_w_idx: masks, im 1 C {height} {width}"
        descriptors = col_desc, h_desc, w_desc, im_desc
        require_sizes(declaration, *((each, 0) for each in descriptors))
        return im
    with arrays.handle() as own:
        workspace, workspace_size = own.workspace(_query_col2im, col_desc, h_desc, w_desc, im_desc)
        inputs = (col_desc, col_data, h_desc, h_data, w_desc, w_data)
        own.call(_col2im, *inputs, workspace_size, workspace, im_desc, im_data)
    return im
