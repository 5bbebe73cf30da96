"""BEVDet's pooling on CPUs.

    import mluop_omp.bevdet
    mluop_omp.bevdet.install()

before the import of BEVDet's operators provides the extension module bev_pool_v2_ext of the package
mmdet3d.ops.bev_pool_v2, forward and backward. An extension that was built keeps its functions
for other devices.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from mluop_omp import _extensions
from mluop_omp._operators._declaration import operators
from mluop_omp.torch._arrays import TORCH, apply_num_threads, to_index, to_int32
from mluop_omp.torch._pool import points_of_intervals, pool_points
from mluop_omp.torch._precision import dense, widened


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

    The intervals list the points.
    """
    points = points_of_intervals(interval_starts, interval_lengths, len(ranks_bev))
    ranks = _ranks(points, ranks_depth, ranks_feat, ranks_bev, out)
    depth, feat = widened(depth, feat)
    pool_points(out, depth.flatten(), feat.flatten(0, -2), *ranks)


def _ranks(
    points: Tensor | slice, ranks_depth: Tensor, ranks_feat: Tensor, ranks_bev: Tensor, bev: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the ranks of the points. The operator checks the first two."""
    cells = to_index("ranks_bev", ranks_bev[points], bev.shape[:-1].numel())
    return (
        to_int32("ranks_depth", ranks_depth[points]),
        to_int32("ranks_feat", ranks_feat[points]),
        dense(cells.int()),
    )


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
    """Writes the gradients of depth and feat."""
    apply_num_threads()
    points = points_of_intervals(interval_starts, interval_lengths, len(ranks_bev))
    ranks = _ranks(points, ranks_depth, ranks_feat, ranks_bev, out_grad)
    out_grad, depth, feat = widened(out_grad, depth, feat)
    rows = out_grad.flatten(0, -2), depth.flatten(), feat.flatten(0, -2)
    of_depth, of_feat = operators.bev_pool_backward(TORCH, *rows, *ranks)
    depth_grad.copy_(of_depth.view(depth.shape))
    feat_grad.copy_(of_feat.view(feat.shape))


_FUNCTIONS: dict[str, Any] = {
    "bev_pool_v2_forward": bev_pool_v2_forward,
    "bev_pool_v2_backward": bev_pool_v2_backward,
    "bev_pool_v2_backward_opt": bev_pool_v2_backward,
}


def install() -> None:
    """Provides the extension module of BEVDet for tensors of the CPU; once, if repeated."""
    _extensions.provide("mmdet3d.ops.bev_pool_v2.bev_pool_v2_ext", _FUNCTIONS)
