"""The functions of BEVFusion's voxel_layer, with its names, arguments and outputs.

Unlike mmcv's, the coordinates of voxels are x, y, z.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from mluop_omp._adapters import Args, takes
from mluop_omp.mmcv import _functions as mmcv


@takes(
    "points, voxels, coors, num_points_per_voxel, voxel_size, coors_range, max_points, max_voxels, "
    "NDim=3, deterministic=True"
)
def hard_voxelize(args: Args) -> int:
    """Returns the number of voxels."""
    count = torch.zeros((), dtype=torch.int64)
    outputs = args.voxels, args.coors, args.num_points_per_voxel, count
    limits = args.max_points, args.max_voxels, args.NDim
    geometry = args.voxel_size, args.coors_range
    mmcv.hard_voxelize_forward(args.points, *geometry, *outputs, *limits)
    args.coors.copy_(args.coors.flip(1))
    return int(count)


def dynamic_voxelize(
    points: Tensor,
    coors: Tensor,
    voxel_size: Sequence[float],
    coors_range: Sequence[float],
    NDim: int = 3,
) -> None:
    """Writes the cell of each point, or -1, -1, -1."""
    sizes = (points.new_tensor(each) for each in (voxel_size, coors_range))
    mmcv.dynamic_voxelize_forward(points, *sizes, coors, NDim)
    coors.copy_(coors.flip(1))


FUNCTIONS = {
    "hard_voxelize": hard_voxelize,
    "dynamic_voxelize": dynamic_voxelize,
    "dynamic_point_to_voxel_forward": mmcv.dynamic_point_to_voxel_forward,
    "dynamic_point_to_voxel_backward": mmcv.dynamic_point_to_voxel_backward,
}
