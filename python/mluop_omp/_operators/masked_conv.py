"""Operators of masked convolution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mluop_omp._arrays import NCHW, Arrays, extent, handle, int32s, invoke
from mluop_omp._library import functions


def masked_im2col(
    arrays: Arrays,
    feature: Any,
    mask_h_idx: Any,
    mask_w_idx: Any,
    kernel: Sequence[int],
    pad: Sequence[int],
    out: Any = None,
) -> Any:
    C = arrays.shape("feature", feature, "1 C H W")[1]
    (masks,) = arrays.shape("mask_h_idx", mask_h_idx, "masks")
    kernel_h, kernel_w = int32s("kernel", kernel, 2)
    pad_h, pad_w = int32s("pad", pad, 2)
    rows = C * extent(kernel_h) * extent(kernel_w)
    data_col = arrays.empty((rows, masks), feature) if out is None else out
    feature_desc, feature_data = arrays.tensor("feature", feature, NCHW)
    h_desc, h_data = arrays.tensor("mask_h_idx", mask_h_idx)
    w_desc, w_data = arrays.tensor("mask_w_idx", mask_w_idx)
    data_col_desc, data_col_data = arrays.tensor("data_col", data_col)
    workspace = handle().workspace(
        functions.mluOpGetMaskedIm2colForwardWorkspaceSize,
        *(feature_desc, h_desc, w_desc, kernel_h, kernel_w, data_col_desc),
    )
    invoke(
        functions.mluOpMaskedIm2colForward,
        *(feature_desc, feature_data, h_desc, h_data, w_desc, w_data),
        *(kernel_h, kernel_w, pad_h, pad_w),
        *workspace,
        *(data_col_desc, data_col_data),
    )
    return data_col


def masked_col2im(
    arrays: Arrays, col: Any, mask_h_idx: Any, mask_w_idx: Any, size: Sequence[int], out: Any = None
) -> Any:
    C = arrays.shape("col", col, "C masks")[0]
    height, width = int32s("size", size, 2)
    im = arrays.empty((1, C, extent(height), extent(width)), col) if out is None else out
    col_desc, col_data = arrays.tensor("col", col)
    h_desc, h_data = arrays.tensor("mask_h_idx", mask_h_idx)
    w_desc, w_data = arrays.tensor("mask_w_idx", mask_w_idx)
    im_desc, im_data = arrays.tensor("im", im, NCHW)
    workspace, workspace_size = handle().workspace(
        functions.mluOpGetMaskedCol2imForwardWorkspaceSize, col_desc, h_desc, w_desc, im_desc
    )
    invoke(
        functions.mluOpMaskedCol2imForward,
        *(col_desc, col_data, h_desc, h_data, w_desc, w_data),
        *(workspace_size, workspace, im_desc, im_data),
    )
    return im
