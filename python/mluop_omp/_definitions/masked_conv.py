"""Masked convolution."""

from __future__ import annotations

import numpy as np


def masked_im2col(feature, mask_h_idx, mask_w_idx, kernel, pad):
    _, C, H, W = feature.shape
    h = mask_h_idx.astype(np.int64) - pad[0] + np.arange(kernel[0])[:, np.newaxis, np.newaxis]
    w = mask_w_idx.astype(np.int64) - pad[1] + np.arange(kernel[1])[:, np.newaxis]
    inside = (h >= 0) & (h < H) & (w >= 0) & (w < W)
    columns = np.zeros((C, *inside.shape), feature.dtype)
    if inside.any():
        h, w = np.broadcast_arrays(h, w)
        columns[:, inside] = feature[0][:, h[inside], w[inside]]
    return columns.reshape(C * kernel[0] * kernel[1], len(mask_h_idx))


def masked_col2im(col, mask_h_idx, mask_w_idx, size):
    C, masks = col.shape
    im = np.zeros((1, C, *size), col.dtype)
    if col.size:
        last = np.full(size, -1)  # of equal masks
        np.maximum.at(last, (mask_h_idx, mask_w_idx), np.arange(masks))
        im[0, :, last >= 0] = col[:, last[last >= 0]].T
    return im


def masked_im2col_arguments(random, C=3, H=5, W=4, masks=7, kernel_h=3, kernel_w=3):
    mask_h_idx, mask_w_idx = (random.integers(0, size, masks) for size in (H, W))
    return random.floats(1, C, H, W), mask_h_idx, mask_w_idx, (kernel_h, kernel_w), (1, 1)


def masked_col2im_arguments(random, C=3, masks=7, H=5, W=4):
    mask_h_idx, mask_w_idx = (random.integers(0, size, masks) for size in (H, W))
    return random.floats(C, masks), mask_h_idx, mask_w_idx, (H, W)
