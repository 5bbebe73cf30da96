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
from torch import Tensor

from mluop_omp import _extensions
from mluop_omp._library import bad_param
from mluop_omp._operators._declaration import operators
from mluop_omp.torch._arrays import apply_num_threads, to_int32, write
from mluop_omp.torch._pool import pool_points
from mluop_omp.torch._precision import dense, widened


def voxel_pooling_forward(
    batch_size: int,
    num_points: int,
    num_channels: int,
    num_voxel_x: Any,
    num_voxel_y: Any,
    num_voxel_z: Any,
    geom_xyz: Tensor,
    input_features: Tensor,
    output_features: Tensor,
    pos_memo: Tensor,
) -> None:
    """Writes output_features [B, Y, X, C] and pos_memo. The voxel numbers may be tensors."""
    apply_num_threads()
    voxel_num = [int(number) for number in (num_voxel_x, num_voxel_y, num_voxel_z)]
    (features,) = widened(input_features)
    outputs = {"output_features": output_features, "pos_memo": pos_memo}
    arguments = (to_int32("geom_xyz", geom_xyz), features, voxel_num)
    write(outputs, features.dtype, operators.voxel_pooling, *arguments)


def voxel_pooling_inference_forward(
    batch_size: int,
    num_cams: int,
    num_depth: int,
    num_height: int,
    num_width: int,
    num_channels: int,
    num_voxel_x: Any,
    num_voxel_y: Any,
    num_voxel_z: Any,
    geom_xyz: Tensor,
    depth_features: Tensor,
    context_features: Tensor,
    output_features: Tensor,
) -> None:
    """Writes output_features [B, Y, X, C]: the pooled products of depth and context.

    Products, which are not stored, and sums over all cameras are float32 for half and bfloat16.
    """
    B, D, pixels, C = batch_size, num_depth, num_height * num_width, num_channels
    X, Y, Z = (int(number) for number in (num_voxel_x, num_voxel_y, num_voxel_z))
    if output_features.shape != (B, Y, X, C):
        shapes = f"{list(output_features.shape)}, expected {[B, Y, X, C]}"
        raise bad_param(f"output_features has shape {shapes}")
    cameras = B * num_cams
    depth, context = widened(depth_features, context_features)
    # Points are in the order of depth: camera, bin, pixel.
    point = torch.arange(cameras * D * pixels, dtype=torch.int32)
    pixel = torch.arange(cameras * pixels, dtype=torch.int32).view(cameras, 1, pixels)
    geometry = to_int32("geom_xyz", geom_xyz).reshape(B, num_cams * D * pixels, 3)
    x, y, z = geometry.unbind(2)
    is_inside = (x >= 0) & (x < X) & (y >= 0) & (y < Y) & (z >= 0) & (z < Z)
    batch = torch.arange(B, dtype=torch.int32).unsqueeze(1)
    cell = torch.where(is_inside, (batch * Y + y) * X + x, -1)
    pool_points(
        output_features,
        depth.reshape(len(point)),
        dense(context.reshape(cameras, C, pixels).transpose(1, 2)).view(cameras * pixels, C),
        *(point, pixel.expand(-1, D, -1).flatten(), cell.flatten()),
    )


_MODULES: dict[str, tuple[str, Callable[..., None]]] = {
    "bevdepth.ops.voxel_pooling_train.voxel_pooling_train_ext": (
        "voxel_pooling_train_forward_wrapper",
        voxel_pooling_forward,
    ),
    "bevdepth.ops.voxel_pooling_inference.voxel_pooling_inference_ext": (
        "voxel_pooling_inference_forward_wrapper",
        voxel_pooling_inference_forward,
    ),
    "bevdepth.ops.voxel_pooling.voxel_pooling_ext": (
        "voxel_pooling_forward_wrapper",
        voxel_pooling_forward,
    ),
    "ops.voxel_pooling.voxel_pooling_ext": ("voxel_pooling_forward_wrapper", voxel_pooling_forward),
}


def install() -> None:
    """Provides the extension modules of BEVDepth for tensors of the CPU; once, if repeated."""
    for name, (function, ours) in _MODULES.items():
        _extensions.provide(name, {function: ours})
