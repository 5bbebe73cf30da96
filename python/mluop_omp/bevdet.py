"""BEVDet's pooling on CPUs.

    import mluop_omp.bevdet
    mluop_omp.bevdet.install()

before the import of BEVDet's operators provides the extension module bev_pool_v2_ext of the package
mmdet3d.ops.bev_pool_v2, forward and backward. An extension that was built remains that of other
devices.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from mluop_omp import _extensions
from mluop_omp.torch._pool import pool_rows


def bev_pool_v2_forward(
    depth: Tensor,
    feat: Tensor,
    out: Tensor,
    ranks_depth: Tensor,
    ranks_feat: Tensor,
    ranks_bev: Tensor,
    interval_lengths: Tensor,
    interval_starts: Tensor,
) -> None:
    """Writes out [B, Z, Y, X, C]: in each cell, the sum of depth times feature of its points.

    The intervals are the points of each cell, which pooling here finds itself.
    """
    C = out.shape[-1]
    rows = depth.flatten()[ranks_depth].unsqueeze(1) * feat.reshape(-1, C)[ranks_feat]
    out.copy_(pool_rows(rows, ranks_bev, out.numel() // C).view(out.shape))


def bev_pool_v2_backward(
    out_grad: Tensor,
    depth_grad: Tensor,
    feat_grad: Tensor,
    depth: Tensor,
    feat: Tensor,
    ranks_depth: Tensor,
    ranks_feat: Tensor,
    ranks_bev: Tensor,
    interval_lengths: Tensor,
    interval_starts: Tensor,
) -> None:
    """Writes the gradients of depth and feat. Each element of depth is that of one point."""
    C = out_grad.shape[-1]
    rows = out_grad.reshape(-1, C)[ranks_bev]
    products = (rows * feat.reshape(-1, C)[ranks_feat]).sum(1)
    depth_grad.copy_(
        torch.zeros(depth.numel()).index_copy_(0, ranks_depth.long(), products).view(depth.shape)
    )
    rows *= depth.flatten()[ranks_depth].unsqueeze(1)
    feat_grad.copy_(pool_rows(rows, ranks_feat, feat.numel() // C).view(feat.shape))


_FUNCTIONS: dict[str, Any] = {
    "bev_pool_v2_forward": bev_pool_v2_forward,
    "bev_pool_v2_backward": bev_pool_v2_backward,
    "bev_pool_v2_backward_opt": bev_pool_v2_backward,
}


def install() -> None:
    """Provides the extension module of BEVDet for tensors of the CPU; once, if repeated."""
    _extensions.provide("mmdet3d.ops.bev_pool_v2.bev_pool_v2_ext", _FUNCTIONS)
