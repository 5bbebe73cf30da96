"""Operators of masked convolution, on NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mluop_omp._arrays import NUMPY
from mluop_omp._operators import masked_conv as _masked_conv


def masked_im2col(
    feature: np.ndarray,
    mask_h_idx: np.ndarray,
    mask_w_idx: np.ndarray,
    kernel: Sequence[int],
    pad: Sequence[int] = (0, 0),
) -> np.ndarray:
    """Copies the window of each mask from the feature to a column of a matrix.

    Row ``(c * kernel_h + i) * kernel_w + j`` of column ``k`` is the pixel
    ``(mask_h_idx[k] - pad_h + i, mask_w_idx[k] - pad_w + j)`` of channel ``c``, or 0 outside the
    feature.

    Args:
        feature: float16, bfloat16 or float32 [1, C, H, W].
        mask_h_idx, mask_w_idx: int32 [masks], pixels in any order; any value.
        kernel: (kernel_h, kernel_w), in pixels.
        pad: (pad_h, pad_w), in pixels.

    Returns:
        [C * kernel_h * kernel_w, masks] of the dtype of feature.

    Raises:
        MluOpError: the kernel is negative; shapes or dtypes differ from those above.

    Source: mluOpMaskedIm2colForward; mmcv MaskedConv2d.
    """
    return _masked_conv.masked_im2col(NUMPY, feature, mask_h_idx, mask_w_idx, kernel, pad)


def masked_col2im(
    col: np.ndarray, mask_h_idx: np.ndarray, mask_w_idx: np.ndarray, size: Sequence[int]
) -> np.ndarray:
    """Copies each column of a matrix to the pixel of its mask; the other pixels are 0.

    Args:
        col: float16, bfloat16 or float32 [C, masks].
        mask_h_idx, mask_w_idx: int32 [masks], pixels of the image. If masks are equal, the
            last determines the pixel.
        size: (H, W), in pixels.

    Returns:
        [1, C, H, W] of the dtype of col.

    Raises:
        MluOpError: a mask is outside the image.

    Source: mluOpMaskedCol2imForward; mmcv MaskedConv2d.
    """
    return _masked_conv.masked_col2im(NUMPY, col, mask_h_idx, mask_w_idx, size)
