"""The functions of BEVFusion's bev_pool_ext, with its names, arguments and outputs."""

from __future__ import annotations

from torch import Tensor

from mluop_omp.torch._arrays import to_index
from mluop_omp.torch._pool import points_of_intervals, pool_rows


def _cells(geom_feats: Tensor, B: int, D: int, H: int, W: int) -> Tensor:
    """Returns the cell of each point; geom_feats is [N, 4]: h, w, d, batch."""
    h, w, d, batch = (
        to_index(f"geom_feats[:, {axis}]", geom_feats[:, axis], size)
        for axis, size in enumerate((H, W, D, B))
    )
    return ((batch * D + d) * H + h) * W + w


def bev_pool_forward(
    x: Tensor,
    geom_feats: Tensor,
    interval_lengths: Tensor,
    interval_starts: Tensor,
    B: int,
    D: int,
    H: int,
    W: int,
) -> Tensor:
    """Returns [B, D, H, W, C], the sums of the features x [N, C] of the points of each cell.

    The intervals list the points.
    """
    points = points_of_intervals(interval_starts, interval_lengths, len(x))
    cells = _cells(geom_feats[points], B, D, H, W)
    pooled = pool_rows(x[points], cells, B * D * H * W)
    return pooled.view(B, D, H, W, x.shape[1])


def bev_pool_backward(
    out_grad: Tensor,
    geom_feats: Tensor,
    interval_lengths: Tensor,
    interval_starts: Tensor,
    B: int,
    D: int,
    H: int,
    W: int,
) -> Tensor:
    """Returns the gradient of x [N, C]: 0 for points that no interval covers."""
    points = points_of_intervals(interval_starts, interval_lengths, len(geom_feats))
    grads = out_grad.flatten(0, -2)[_cells(geom_feats[points], B, D, H, W)]
    grad_x = grads.new_zeros(len(geom_feats), grads.shape[1])
    grad_x[points] = grads
    return grad_x


FUNCTIONS = {"bev_pool_forward": bev_pool_forward, "bev_pool_backward": bev_pool_backward}
