"""Operators of masked convolution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mluop_omp._arrays import NCHW, Arrays, extent, handle, int32s
from mluop_omp._library import functions, require
from mluop_omp._operators._empty import require_sizes


def masked_im2col(
    arrays: Arrays,
    feature: Any,
    mask_h_idx: Any,
    mask_w_idx: Any,
    kernel: Sequence[int],
    pad: Sequence[int],
    out: Any = None,
) -> Any:
    feature_desc, feature_data = arrays.tensor("feature", feature, "1 C H W", NCHW)
    h_desc, h_data = arrays.tensor("mask_h_idx", mask_h_idx, "masks")
    w_desc, w_data = arrays.tensor("mask_w_idx", mask_w_idx)
    kernel_h, kernel_w = int32s("kernel", kernel, 2)
    pad_h, pad_w = int32s("pad", pad, 2)
    rows = feature_desc.shape[1] * extent(kernel_h) * extent(kernel_w)
    shape = (rows, *h_desc.shape)
    data_col, data_col_desc, data_col_data = arrays.output("data_col", shape, feature, out)
    if min(kernel_h, kernel_w) >= 0 and (feature_desc.is_empty or rows == 0):
        declaration = "feature 1 C H W, mask_h_idx: masks, mask_w_idx: masks, data_col"
        descriptors = feature_desc, h_desc, w_desc, data_col_desc
        require_sizes(f"{declaration} {rows} masks", *descriptors)
        arrays.fill(data_col, 0)
        return data_col
    with handle() as own:
        workspace = own.workspace(
            functions.mluOpGetMaskedIm2colForwardWorkspaceSize,
            *(feature_desc, h_desc, w_desc, kernel_h, kernel_w, data_col_desc),
        )
        require(
            functions.mluOpMaskedIm2colForward(
                own.pointer,
                *(feature_desc, feature_data, h_desc, h_data, w_desc, w_data),
                *(kernel_h, kernel_w, pad_h, pad_w),
                *workspace,
                *(data_col_desc, data_col_data),
            )
        )
    return data_col


def masked_col2im(
    arrays: Arrays, col: Any, mask_h_idx: Any, mask_w_idx: Any, size: Sequence[int], out: Any = None
) -> Any:
    col_desc, col_data = arrays.tensor("col", col, "C masks")
    h_desc, h_data = arrays.tensor("mask_h_idx", mask_h_idx)
    w_desc, w_data = arrays.tensor("mask_w_idx", mask_w_idx)
    height, width = int32s("size", size, 2)
    shape = (1, col_desc.shape[0], extent(height), extent(width))
    im, im_desc, im_data = arrays.output("im", shape, col, out, NCHW)
    # A pixel of an image without pixels does not exist.
    if im_desc.is_empty and col_desc.is_empty and min(height, width) >= 0:
        declaration = "col C masks, mask_h_idx: masks, mask_w_idx: masks, im 1 C"
        require_sizes(f"{declaration} {height} {width}", col_desc, h_desc, w_desc, im_desc)
        return im
    with handle() as own:
        workspace, workspace_size = own.workspace(
            functions.mluOpGetMaskedCol2imForwardWorkspaceSize, col_desc, h_desc, w_desc, im_desc
        )
        require(
            functions.mluOpMaskedCol2imForward(
                own.pointer,
                *(col_desc, col_data, h_desc, h_data, w_desc, w_data),
                *(workspace_size, workspace, im_desc, im_data),
            )
        )
    return im
