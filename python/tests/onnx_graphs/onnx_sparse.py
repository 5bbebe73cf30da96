"""What nodes of sparse networks compute, by PyTorch's dense convolutions in double precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F


def dense(
    features: np.ndarray, indices: np.ndarray, batch: int, space: Sequence[int]
) -> torch.Tensor:
    """Returns [N, C, d0, d1, d2]."""
    grid = torch.zeros(batch, *space, features.shape[1], dtype=torch.float64)
    grid[tuple(torch.from_numpy(indices.astype(np.int64)).T)] = torch.from_numpy(features).double()
    return grid.movedim(-1, 1)


def at(grid: torch.Tensor, indices: np.ndarray) -> np.ndarray:
    """Returns the rows [n, C] of a dense tensor at sites."""
    places = tuple(torch.from_numpy(indices.astype(np.int64)).T)
    return grid.movedim(1, -1)[places].numpy()


def convolution(
    grid: torch.Tensor,
    filters: np.ndarray,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> torch.Tensor:
    """filters: [Co, k0, k1, k2, Ci]."""
    weight = torch.from_numpy(filters).double().movedim(-1, 1)
    return F.conv3d(grid, weight, None, tuple(stride), tuple(padding), tuple(dilation))


def active(
    indices: np.ndarray,
    batch: int,
    space: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> np.ndarray:
    """Returns the output sites of a convolution in ascending order."""
    grid = dense(np.ones((len(indices), 1)), indices, batch, space)
    reached = convolution(grid, np.ones((1, *kernel, 1)), stride, padding, dilation)
    return reached[:, 0].nonzero().numpy().astype(np.int32)


def vectors(attributes: dict[str, Any]) -> tuple[list[int], ...]:
    """Returns stride, padding and dilation of a node, as a dense convolution has them."""
    padding = attributes["padding"]
    if attributes["subm"]:
        kernel = attributes["ksize" if "ksize" in attributes else "kernel_size"]
        padding = [k // 2 * d for k, d in zip(kernel, attributes["dilation"])]
    return attributes["stride"], padding, attributes["dilation"]


def assert_near(found: np.ndarray, wanted: np.ndarray, dtype: type = np.float32) -> None:
    assert found.dtype == dtype
    eps = float(np.finfo(dtype).eps)
    scale = np.abs(wanted).max(initial=1)
    np.testing.assert_allclose(found, wanted, rtol=2 * eps, atol=40 * 1.2e-7 * scale + eps / 8)
