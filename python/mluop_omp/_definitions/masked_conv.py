"""Masked convolution."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def masked_im2col(
    feature: np.ndarray,
    mask_h_idx: np.ndarray,
    mask_w_idx: np.ndarray,
    kernel: Sequence[int],
    pad: Sequence[int] = (0, 0),
) -> np.ndarray:
    _, C, H, W = feature.shape
    h = mask_h_idx.astype(np.int64) - pad[0] + np.arange(kernel[0])[:, np.newaxis, np.newaxis]
    w = mask_w_idx.astype(np.int64) - pad[1] + np.arange(kernel[1])[:, np.newaxis]
    inside = (h >= 0) & (h < H) & (w >= 0) & (w < W)
    columns = np.zeros((C, *inside.shape), feature.dtype)
    if inside.any():
        h, w = np.broadcast_arrays(h, w)
        columns[:, inside] = feature[0][:, h[inside], w[inside]]
    return columns.reshape(C * kernel[0] * kernel[1], len(mask_h_idx))


def masked_col2im(
    col: np.ndarray, mask_h_idx: np.ndarray, mask_w_idx: np.ndarray, size: Sequence[int]
) -> np.ndarray:
    C, masks = col.shape
    im = np.zeros((1, C, *size), col.dtype)
    if col.size:
        last = np.full(size, -1)  # of equal masks
        np.maximum.at(last, (mask_h_idx, mask_w_idx), np.arange(masks))
        im[0, :, last >= 0] = col[:, last[last >= 0]].T
    return im
