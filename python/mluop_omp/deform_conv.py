"""Deformable convolution, on NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mluop_omp._arrays import NUMPY
from mluop_omp._operators import deform_conv as _deform_conv


def deform_conv2d(
    input: np.ndarray,
    offset: np.ndarray,
    weight: np.ndarray,
    mask: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
    deformable_groups: int = 1,
) -> np.ndarray:
    """Convolves images at positions that offsets move: DCNv1, and with mask DCNv2.

    Output pixel ``(ho, wo)`` reads channel c, of deformable group d, for offset ``(i, j)`` of the
    filter, number ``k = i * kernel_w + j`` of K, at the position

    - ``y = ho * stride[0] - padding[0] + i * dilation[0] + offset[n, 2 * s, ho, wo]``,
    - ``x = wo * stride[1] - padding[1] + j * dilation[1] + offset[n, 2 * s + 1, ho, wo]``,

    s = d * K + k, and multiplies the bilinear interpolation there by ``mask[n, s, ho, wo]``. Pixels
    outside of the image count as 0, and so does a sample unless ``-1 < y < H`` and ``-1 < x < W``.

    Args:
        input: float16, bfloat16, float32 or float64 [N, Ci, H, W].
        offset: [N, deformable_groups * K * 2, Ho, Wo], in pixels, along height and width.
        weight: [Co, Ci / groups, kernel_h, kernel_w].
        mask: [N, deformable_groups * K, Ho, Wo]; None: 1.
        bias: [Co]; None: 0. All arrays have the dtype of input.
        stride, padding, dilation: along height and width, in pixels.
        groups: groups of channels that are convolved on their own.
        deformable_groups: groups of channels of input with positions of their own.

    Returns:
        [N, Co, Ho, Wo], of the dtype of input. Ho is
            (H + 2 * padding[0] - dilation[0] * (kernel_h - 1) - 1) // stride[0] + 1, Wo likewise.
            Sums are float32, the same bits in every run and at any number of threads.

    Raises:
        MluOpError: a number of channels is not a multiple of a number of groups; the filter exceeds
            the padded image; shapes or dtypes differ from those above. Messages number the
            dimensions of the arrays as N, H, W, C, the order of the library.

    Source: mluOpDCNForward; arXiv:1703.06211, arXiv:1811.11168; mmcv deform_conv2d and
    modulated_deform_conv2d.
    """
    arguments = (input, offset, weight, mask, bias, stride, padding, dilation)
    return _deform_conv.deform_conv2d(NUMPY, *arguments, groups, deformable_groups)


def deform_conv2d_backward_data(
    grad_output: np.ndarray,
    input: np.ndarray,
    offset: np.ndarray,
    weight: np.ndarray,
    mask: np.ndarray | None = None,
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
    deformable_groups: int = 1,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the gradients of `deform_conv2d` for input, offset and mask.

    Args:
        grad_output: float16, bfloat16, float32 or float64 [N, Co, Ho, Wo].
        input, offset, weight, mask, stride, padding, dilation, groups, deformable_groups: those of
            `deform_conv2d`.

    Returns:
        grad_input: [N, Ci, H, W].
        grad_offset: [N, deformable_groups * K * 2, Ho, Wo]: of the interpolation, whose slope at a
            pixel is that to the next one.
        grad_mask: [N, deformable_groups * K, Ho, Wo], without channels if mask is None. All have
            the dtype of grad_output. Sums are float32, the same bits in every run and at any number
            of threads.

    Raises:
        MluOpError: as `deform_conv2d`.

    Source: mluOpDCNBackwardData; mmcv deform_conv_backward_input, modulated_deform_conv_backward.
    """
    arguments = (grad_output, input, offset, weight, mask, stride, padding, dilation)
    return _deform_conv.deform_conv2d_backward_data(NUMPY, *arguments, groups, deformable_groups)


def deform_conv2d_backward_weight(
    grad_output: np.ndarray,
    input: np.ndarray,
    offset: np.ndarray,
    mask: np.ndarray | None,
    kernel: Sequence[int],
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
    deformable_groups: int = 1,
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the gradients of `deform_conv2d` for weight and bias.

    Args:
        grad_output: float16, bfloat16, float32 or float64 [N, Co, Ho, Wo].
        kernel: (kernel_h, kernel_w), of weight.
        input, offset, mask, stride, padding, dilation, groups, deformable_groups: those of
            `deform_conv2d`.

    Returns:
        grad_weight: [Co, Ci / groups, kernel_h, kernel_w].
        grad_bias: [Co]. Both have the dtype of grad_output. Sums are float32, the same bits in
            every run and at any number of threads.

    Raises:
        MluOpError: as `deform_conv2d`.

    Source: mluOpDCNBackwardWeight; mmcv deform_conv_backward_parameters,
    modulated_deform_conv_backward.
    """
    arguments = (grad_output, input, offset, mask, kernel, stride, padding, dilation)
    return _deform_conv.deform_conv2d_backward_weight(NUMPY, *arguments, groups, deformable_groups)
