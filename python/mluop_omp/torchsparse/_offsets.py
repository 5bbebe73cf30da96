"""Offsets of kernels, in torchsparse's order."""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor

from mluop_omp.torch.site_maps import cube_offsets
from mluop_omp.torchsparse._utils import Size, make_ntuple


def windows(kernel: tuple[int, ...], lowest: tuple[int, ...], steps: tuple[int, ...]) -> Tensor:
    """Returns int32 [K, 3]: (lowest + i) * step along each axis, in the order of the weights.

    If K, the number of all offsets, is odd, x varies fastest, else z.
    """
    return cube_offsets(kernel, math.prod(kernel) % 2 == 1, lowest, steps)


def centered(kernel: tuple[int, ...], steps: tuple[int, ...] = (1, 1, 1)) -> Tensor:
    """Returns the offsets -floor((k - 1) / 2) .. floor(k / 2) of each axis, times the steps."""
    return windows(kernel, tuple(-((size - 1) // 2) for size in kernel), steps)


def get_kernel_offsets(
    size: Size, stride: Size = 1, dilation: Size = 1, device: Any = "cpu"
) -> Tensor:
    """Returns the offsets int32 [K, 3] of a kernel, in the order of its weights.

    Along an axis they are -floor((k - 1) / 2) .. floor(k / 2), times stride and dilation. If K is
    odd, x varies fastest, else z.
    """
    strides, dilations = make_ntuple(stride, 3), make_ntuple(dilation, 3)
    steps = tuple(s * d for s, d in zip(strides, dilations))
    return centered(make_ntuple(size, 3), steps).to(device)
