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
from mluop_omp._adapters import Args, compute, takes
from mluop_omp._operators._declaration import operators
from mluop_omp.torch._arrays import to_index, to_int32
from mluop_omp.torch._pool import points_of_intervals, pool_points
from mluop_omp.torch._precision import dense, widened

_INTERVALS = "ranks_depth, ranks_feat, ranks_bev, interval_lengths, interval_starts"


def _ranks(args: Args, bev: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the ranks of the points of the intervals. The operator checks the first two."""
    every = len(args.ranks_bev)
    points = points_of_intervals(args.interval_starts, args.interval_lengths, every)
    cells = to_index("ranks_bev", args.ranks_bev[points], bev.shape[:-1].numel())
    return (
        to_int32("ranks_depth", args.ranks_depth[points]),
        to_int32("ranks_feat", args.ranks_feat[points]),
        dense(cells.int()),
    )


@takes(f"depth, feat, out, {_INTERVALS}")
def bev_pool_v2_forward(args: Args) -> None:
    """Writes out [B, Z, Y, X, C]: in each cell, the sum of depth times feature of its points."""
    ranks = _ranks(args, args.out)
    depth, feat = widened(args.depth, args.feat)
    pool_points(args.out, depth.flatten(), feat.flatten(0, -2), *ranks)


@takes(f"out_grad, depth_grad, feat_grad, depth, feat, {_INTERVALS}")
def bev_pool_v2_backward(args: Args) -> None:
    """Writes the gradients of depth and feat."""
    ranks = _ranks(args, args.out_grad)
    rows = args.out_grad.flatten(0, -2), args.depth.flatten(), args.feat.flatten(0, -2)
    of_depth, of_feat = compute(operators.bev_pool_backward, *rows, *ranks)
    args.depth_grad.copy_(of_depth.view(args.depth.shape))
    args.feat_grad.copy_(of_feat.view(args.feat.shape))


_FUNCTIONS: dict[str, Any] = {
    "bev_pool_v2_forward": bev_pool_v2_forward,
    "bev_pool_v2_backward": bev_pool_v2_backward,
    "bev_pool_v2_backward_opt": bev_pool_v2_backward,
}


def install() -> None:
    """Provides the extension module of BEVDet for tensors of the CPU; once, if repeated."""
    _extensions.provide("mmdet3d.ops.bev_pool_v2.bev_pool_v2_ext", _FUNCTIONS)
