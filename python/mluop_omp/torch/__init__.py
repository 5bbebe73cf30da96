"""The operators for PyTorch: differentiable functions, also as torch.ops.mluop_omp, and modules."""

from mluop_omp import _requirements

_requirements.require("torch")
# ruff: noqa: E402
from mluop_omp.torch.functional import (
    ball_query,
    box_iou_rotated,
    boxes_overlap_bev,
    dynamic_scatter,
    indice_conv,
    indice_pairs,
    masked_col2im,
    masked_im2col,
    nms,
    nms3d,
    nms3d_normal,
    nms_match,
    nms_rotated,
    soft_nms,
    three_interpolate,
    three_nn,
    voxel_pooling,
    voxelization,
)
from mluop_omp.torch.modules import DynamicScatter, MaskedConv2d, ThreeInterpolate, VoxelPooling
from mluop_omp.torch.sparse import SparseConv3d, SparseTensor, SubMConv3d

__all__ = [
    "DynamicScatter",
    "MaskedConv2d",
    "SparseConv3d",
    "SparseTensor",
    "SubMConv3d",
    "ThreeInterpolate",
    "VoxelPooling",
    "ball_query",
    "box_iou_rotated",
    "boxes_overlap_bev",
    "dynamic_scatter",
    "indice_conv",
    "indice_pairs",
    "masked_col2im",
    "masked_im2col",
    "nms_match",
    "nms",
    "nms3d",
    "nms3d_normal",
    "nms_rotated",
    "soft_nms",
    "three_interpolate",
    "three_nn",
    "voxel_pooling",
    "voxelization",
]
