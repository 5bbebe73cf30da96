"""BEVDepth's voxel pooling on CPUs.

    import mluop_omp.bevdepth
    mluop_omp.bevdepth.install()

before the import of BEVDepth's operators provides the extension modules that its setup.py builds
with CUDA: voxel_pooling_train_ext and voxel_pooling_inference_ext of the package bevdepth.ops, and
voxel_pooling_ext of version 0.1, whose package is ops.voxel_pooling. Extensions that were built
remain those of other devices.
"""

from __future__ import annotations

from typing import Any, Callable

import torch
from torch import Tensor

from mluop_omp import _extensions
from mluop_omp._operators import voxels
from mluop_omp.torch._arrays import TORCH


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
    torch.get_num_threads()
    voxel_num = [int(number) for number in (num_voxel_x, num_voxel_y, num_voxel_z)]
    voxels.voxel_pooling(
        TORCH, geom_xyz.contiguous(), input_features, voxel_num, out=(output_features, pos_memo)
    )


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

    The products of one camera at a time are stored.
    """
    torch.get_num_threads()
    voxel_num = [int(number) for number in (num_voxel_x, num_voxel_y, num_voxel_z)]
    D, H, W, C = num_depth, num_height, num_width, num_channels
    geometry = geom_xyz.reshape(batch_size * num_cams, 1, D * H * W, 3)
    depth = depth_features.reshape(batch_size * num_cams, D, H, W, 1)
    context = context_features.reshape(batch_size * num_cams, C, H, W).permute(0, 2, 3, 1)
    output_features.zero_()
    for camera in range(batch_size * num_cams):
        features = (depth[camera] * context[camera]).reshape(1, -1, C)
        pooled, _ = voxels.voxel_pooling(TORCH, geometry[camera], features, voxel_num)
        output_features[camera // num_cams] += pooled[0]


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
