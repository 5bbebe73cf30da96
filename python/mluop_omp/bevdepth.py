"""BEVDepth's voxel pooling on CPUs.

    import mluop_omp.bevdepth
    mluop_omp.bevdepth.install()

before the import of BEVDepth's operators provides the extension modules that its setup.py builds
with CUDA: voxel_pooling_train_ext and voxel_pooling_inference_ext of the package bevdepth.ops, and
voxel_pooling_ext of version 0.1, whose package is ops.voxel_pooling. Extensions that were built
keep their functions for other devices.
"""

from __future__ import annotations

from typing import Any, Callable

import torch

from mluop_omp import _extensions
from mluop_omp._adapters import Args, takes, writes
from mluop_omp._library import bad_param
from mluop_omp._operators._declaration import operators
from mluop_omp.torch._pool import pool_points
from mluop_omp.torch._precision import dense, widened

_SIZES = "num_channels, num_voxel_x, num_voxel_y, num_voxel_z"


def _voxel_num(args: Args) -> list[int]:
    """Returns the numbers of voxels, which may be tensors."""
    return [int(number) for number in (args.num_voxel_x, args.num_voxel_y, args.num_voxel_z)]


@writes(
    "output_features, pos_memo",
    f"batch_size, num_points, {_SIZES}, geom_xyz, input_features, output_features, pos_memo",
)
def voxel_pooling_forward(args: Args) -> Any:
    """Writes output_features [B, Y, X, C] and pos_memo."""
    geom_xyz = args.int32("geom_xyz")
    return operators.voxel_pooling, geom_xyz, args.input_features, _voxel_num(args)


@takes(
    f"batch_size, num_cams, num_depth, num_height, num_width, {_SIZES}, "
    "geom_xyz, depth_features, context_features, output_features"
)
def voxel_pooling_inference_forward(args: Args) -> None:
    """Writes output_features [B, Y, X, C]: the pooled products of depth and context.

    Products, which are not stored, and sums over all cameras are float32 for half and bfloat16.
    """
    B, D, C, (X, Y, Z) = args.batch_size, args.num_depth, args.num_channels, _voxel_num(args)
    pixels, cameras = args.num_height * args.num_width, B * args.num_cams
    output = args.output_features
    if output.shape != (B, Y, X, C):
        shapes = f"{list(output.shape)}, expected {[B, Y, X, C]}"
        raise bad_param(f"output_features has shape {shapes}")
    depth, context = widened(args.depth_features, args.context_features)
    # Points are in the order of depth: camera, bin, pixel.
    point = torch.arange(cameras * D * pixels, dtype=torch.int32)
    pixel = torch.arange(cameras * pixels, dtype=torch.int32).view(cameras, 1, pixels)
    geometry = args.int32("geom_xyz").reshape(B, args.num_cams * D * pixels, 3)
    x, y, z = geometry.unbind(2)
    is_inside = (x >= 0) & (x < X) & (y >= 0) & (y < Y) & (z >= 0) & (z < Z)
    batch = torch.arange(B, dtype=torch.int32).unsqueeze(1)
    cell = torch.where(is_inside, (batch * Y + y) * X + x, -1)
    pool_points(
        output,
        depth.reshape(len(point)),
        dense(context.reshape(cameras, C, pixels).transpose(1, 2)).view(cameras * pixels, C),
        *(point, pixel.expand(-1, D, -1).flatten(), cell.flatten()),
    )


_MODULES: dict[str, dict[str, Callable[..., None]]] = {
    "bevdepth.ops.voxel_pooling_train.voxel_pooling_train_ext": {
        "voxel_pooling_train_forward_wrapper": voxel_pooling_forward
    },
    "bevdepth.ops.voxel_pooling_inference.voxel_pooling_inference_ext": {
        "voxel_pooling_inference_forward_wrapper": voxel_pooling_inference_forward
    },
    **dict.fromkeys(
        ("bevdepth.ops.voxel_pooling.voxel_pooling_ext", "ops.voxel_pooling.voxel_pooling_ext"),
        {"voxel_pooling_forward_wrapper": voxel_pooling_forward},
    ),
}


def install() -> None:
    """Provides the extension modules of BEVDepth for tensors of the CPU; once, if repeated."""
    for name, functions in _MODULES.items():
        _extensions.provide(name, functions)
