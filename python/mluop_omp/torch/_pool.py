"""Points by cell, for the BEV pools of other libraries."""

from __future__ import annotations

import torch
from torch import Tensor

from mluop_omp._library import bad_param
from mluop_omp._operators._declaration import operators
from mluop_omp.torch._arrays import TORCH, apply_num_threads, to_index, write
from mluop_omp.torch._precision import widened


def points_of_intervals(starts: Tensor, lengths: Tensor, points: int) -> Tensor | slice:
    """Returns the points that intervals cover, interval by interval, as an index."""
    lengths = to_index("interval_lengths", lengths, points + 1)
    starts = to_index("interval_starts", starts, points + 1)
    to_index("interval_starts + interval_lengths", starts + lengths, points + 1)
    shifts, count = starts - (lengths.cumsum(0) - lengths), int(lengths.sum())
    first = int(shifts[0]) if count else 0
    if count == 0 or bool((shifts == first).all()):
        return slice(first, first + count)
    return torch.arange(count, device=lengths.device) + shifts.repeat_interleave(lengths)


def pool_rows(rows: Tensor, cell: Tensor, cells: int) -> Tensor:
    """Returns [cells, C]: the sum of the rows [P, C] of each cell, by voxel pooling."""
    apply_num_threads()
    (rows,) = widened(rows)
    P, C = rows.shape
    if P == 0 or C == 0:
        return rows.new_zeros(cells, C)
    if cells >= 2**31:
        raise bad_param(f"the number of cells is {cells}, expected fewer than 2^31")
    geom_xyz = torch.zeros(1, P, 3, dtype=torch.int32)
    geom_xyz[0, :, 0] = cell
    return operators.voxel_pooling(TORCH, geom_xyz, rows.unsqueeze(0), (cells, 1, 1))[0].view(
        cells, C
    )


def pool_points(
    out: Tensor,
    depth: Tensor,
    features: Tensor,
    ranks_depth: Tensor,
    ranks_feat: Tensor,
    ranks_bev: Tensor,
) -> None:
    """Writes the result of bev_pool to the cells of out [..., C].

    depth [D] and features [F, C] are dense tensors of one element type.
    """
    apply_num_threads()
    rows = out.flatten(0, -2)  # a copy if out is not contiguous
    points = depth, features, ranks_depth, ranks_feat, ranks_bev
    write({"out": rows}, depth.dtype, operators.bev_pool, *points, len(rows))
    if rows.data_ptr() != out.data_ptr():
        out.copy_(rows.view(out.shape))


def runs(groups: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Returns start and length of the run of each of `count` groups in ascending numbers."""
    lengths = torch.bincount(groups, minlength=count)
    return lengths.cumsum(0) - lengths, lengths
