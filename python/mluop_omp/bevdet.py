"""BEVDet's pooling on CPUs.

    import mluop_omp.bevdet
    mluop_omp.bevdet.install()

before the import of BEVDet's operators provides the extension module bev_pool_v2_ext of the package
mmdet3d.ops.bev_pool_v2, forward and backward. An extension that was built remains that of other
devices.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from mluop_omp import _extensions
from mluop_omp.torch._arrays import to_index
from mluop_omp.torch._pool import points_of_intervals, pool_rows
from mluop_omp.torch._precision import widened


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

    The points are those of the intervals.
    """
    points = points_of_intervals(interval_starts, interval_lengths, len(ranks_bev))
    ranks = tuple(each[points] for each in (ranks_depth, ranks_feat, ranks_bev))
    depth_of, feat_of, cell = _points(depth, feat, *ranks, out)
    out.copy_(pool_rows(depth_of * feat_of, cell, out.shape[:-1].numel()).view(out.shape))


def _points(
    depth: Tensor,
    feat: Tensor,
    ranks_depth: Tensor,
    ranks_feat: Tensor,
    ranks_bev: Tensor,
    bev: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns depth [P, 1], feature [P, C] and cell [P] of each point."""
    depth, feat = widened(depth, feat)
    pixels = feat.flatten(0, -2)
    depth_of = depth.flatten()[to_index("ranks_depth", ranks_depth, depth.numel())].unsqueeze(1)
    feat_of = pixels[to_index("ranks_feat", ranks_feat, len(pixels))]
    return depth_of, feat_of, to_index("ranks_bev", ranks_bev, bev.shape[:-1].numel())


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
    points = points_of_intervals(interval_starts, interval_lengths, len(ranks_bev))
    ranks_depth, ranks_feat, ranks_bev = (
        each[points] for each in (ranks_depth, ranks_feat, ranks_bev)
    )
    depth_of, feat_of, cell = _points(depth, feat, ranks_depth, ranks_feat, ranks_bev, out_grad)
    rows = out_grad.flatten(0, -2)[cell].to(feat_of.dtype)
    products = (rows * feat_of).sum(1)
    sums = products.new_zeros(depth.numel()).index_put((ranks_depth.long(),), products)
    pooled = pool_rows(rows * depth_of, ranks_feat, feat.shape[:-1].numel())
    depth_grad.copy_(sums.view(depth.shape))
    feat_grad.copy_(pooled.view(feat.shape))


_FUNCTIONS: dict[str, Any] = {
    "bev_pool_v2_forward": bev_pool_v2_forward,
    "bev_pool_v2_backward": bev_pool_v2_backward,
    "bev_pool_v2_backward_opt": bev_pool_v2_backward,
}


def install() -> None:
    """Provides the extension module of BEVDet for tensors of the CPU; once, if repeated."""
    _extensions.provide("mmdet3d.ops.bev_pool_v2.bev_pool_v2_ext", _FUNCTIONS)
