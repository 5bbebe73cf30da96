"""The functions of mmcv._ext, with the names, arguments and outputs of mmcv."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from mluop_omp._library import not_supported
from mluop_omp._operators import masked_conv, points, sparse_conv, voxels
from mluop_omp.torch import _rulebooks
from mluop_omp.torch._arrays import TORCH

__all__ = [
    "ball_query_forward",
    "dynamic_point_to_voxel_backward",
    "dynamic_point_to_voxel_forward",
    "dynamic_voxelize_forward",
    "fused_indice_conv_forward",
    "get_indice_pairs_2d_forward",
    "get_indice_pairs_3d_forward",
    "get_indice_pairs_4d_forward",
    "hard_voxelize_forward",
    "indice_conv_backward",
    "indice_conv_forward",
    "masked_col2im_forward",
    "masked_im2col_forward",
    "three_interpolate_backward",
    "three_interpolate_forward",
    "three_nn_forward",
]


def _gathered(features: Tensor, idx: Tensor) -> Tensor:
    """Returns the features [B, C, N, 3] of indices [B, N, 3]."""
    B, C, _ = features.shape
    flat = idx.long().reshape(B, 1, -1).expand(-1, C, -1)
    return features.gather(2, flat).view(B, C, -1, 3)


def three_interpolate_forward(
    points_tensor: Tensor, idx_tensor: Tensor, weight_tensor: Tensor, out_tensor: Tensor, **_: int
) -> None:
    torch.get_num_threads()
    if points_tensor.dtype is torch.double:
        out_tensor.copy_((_gathered(points_tensor, idx_tensor) * weight_tensor.unsqueeze(1)).sum(3))
        return
    points.three_interpolate(TORCH, points_tensor, idx_tensor, weight_tensor, out=out_tensor)


def three_interpolate_backward(
    grad_out_tensor: Tensor,
    idx_tensor: Tensor,
    weight_tensor: Tensor,
    grad_points_tensor: Tensor,
    **_: int,
) -> None:
    torch.get_num_threads()
    if grad_out_tensor.dtype is torch.double:
        B, C, N = grad_out_tensor.shape
        flat = idx_tensor.long().reshape(B, 1, 3 * N).expand(-1, C, -1)
        products = grad_out_tensor.unsqueeze(3) * weight_tensor.unsqueeze(1)
        grad_points_tensor.zero_().scatter_add_(2, flat, products.view(B, C, 3 * N))
        return
    M = grad_points_tensor.shape[2]
    points.three_interpolate_backward(
        TORCH, grad_out_tensor, idx_tensor, weight_tensor, M, out=grad_points_tensor
    )


def three_nn_forward(
    unknown_tensor: Tensor, known_tensor: Tensor, dist2_tensor: Tensor, idx_tensor: Tensor, **_: int
) -> None:
    torch.get_num_threads()
    points.three_nn(TORCH, unknown_tensor, known_tensor, out=(dist2_tensor, idx_tensor))


def ball_query_forward(
    new_xyz_tensor: Tensor,
    xyz_tensor: Tensor,
    idx_tensor: Tensor,
    b: int,
    n: int,
    m: int,
    min_radius: float,
    max_radius: float,
    nsample: int,
) -> None:
    torch.get_num_threads()
    points.ball_query(
        TORCH, new_xyz_tensor, xyz_tensor, min_radius, max_radius, nsample, out=idx_tensor
    )


def masked_im2col_forward(
    im: Tensor,
    mask_h_idx: Tensor,
    mask_w_idx: Tensor,
    col: Tensor,
    kernel_h: int,
    kernel_w: int,
    pad_h: int,
    pad_w: int,
) -> None:
    torch.get_num_threads()
    masks = mask_h_idx.int(), mask_w_idx.int()
    masked_conv.masked_im2col(
        TORCH, im.contiguous(), *masks, (kernel_h, kernel_w), (pad_h, pad_w), out=col
    )


def masked_col2im_forward(
    col: Tensor,
    mask_h_idx: Tensor,
    mask_w_idx: Tensor,
    im: Tensor,
    height: int,
    width: int,
    channels: int,
) -> None:
    torch.get_num_threads()
    masks = mask_h_idx.int(), mask_w_idx.int()
    masked_conv.masked_col2im(TORCH, col.contiguous(), *masks, (height, width), out=im)


def dynamic_point_to_voxel_forward(feats: Tensor, coors: Tensor, reduce_type: str) -> list[Tensor]:
    torch.get_num_threads()
    voxel_feats, *others = voxels.dynamic_scatter(TORCH, feats.float(), coors.int(), reduce_type)
    return [voxel_feats.to(feats.dtype), *others]


def dynamic_point_to_voxel_backward(
    grad_feats: Tensor,
    grad_reduced_feats: Tensor,
    feats: Tensor,
    reduced_feats: Tensor,
    coors_idx: Tensor,
    reduce_count: Tensor,
    reduce_type: str,
) -> None:
    torch.get_num_threads()
    grad = voxels.dynamic_scatter_backward(
        TORCH,
        grad_reduced_feats.float(),
        feats.float(),
        reduced_feats.float(),
        coors_idx.int(),
        reduce_count.int(),
        reduce_type,
    )
    grad_feats.copy_(grad)


def hard_voxelize_forward(
    points: Tensor,
    voxel_size: Tensor,
    coors_range: Tensor,
    voxels: Tensor,
    coors: Tensor,
    num_points_per_voxel: Tensor,
    voxel_num: Tensor,
    max_points: int,
    max_voxels: int,
    NDim: int = 3,
    deterministic: bool = True,
) -> None:
    if len(points) == 0:
        voxel_num.zero_()
        return
    outputs = (voxels, coors, num_points_per_voxel)
    voxel_num.fill_(_voxelize(points, voxel_size, coors_range, max_points, max_voxels, outputs))


def _voxelize(
    points: Tensor, size: Tensor, bounds: Tensor, max_points: int, max_voxels: int, out: Any
) -> int:
    torch.get_num_threads()
    arguments = (points.contiguous(), size, bounds, max_points, max_voxels)
    return voxels.voxelization(TORCH, *arguments, out=out)[3]


def dynamic_voxelize_forward(
    points: Tensor, voxel_size: Tensor, coors_range: Tensor, coors: Tensor, NDim: int = 3
) -> None:
    """Writes the cell z, y, x of each point, or -1, -1, -1. PyTorch computes them."""
    minima, maxima = coors_range[:NDim], coors_range[NDim:]
    cells = torch.round((maxima - minima) / voxel_size)
    cell = torch.floor((points[:, :NDim] - minima) / voxel_size)
    inside = ((cell >= 0) & (cell < cells)).all(1, keepdim=True)
    coors.copy_(torch.where(inside, cell, -1).flip(1))


def _get_indice_pairs(
    indices: Tensor,
    batchSize: int,
    outSpatialShape: Sequence[int],
    spatialShape: Sequence[int],
    kernelSize: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    outPadding: Sequence[int],
    _subM: int,
    _transpose: int,
) -> list[Tensor]:
    torch.get_num_threads()
    if _transpose:
        raise not_supported("get_indice_pairs: mluop_omp has no transposed sparse convolution")
    # mmcv centers the filter of a submanifold convolution, whatever stride and padding are.
    if _subM:
        stride, padding = [1] * len(stride), [size // 2 for size in kernelSize]
    if len(kernelSize) > 3:
        geometry = (outSpatialShape, kernelSize, stride, padding, dilation)
        return list(_rulebooks.general_indice_pairs(indices, batchSize, *geometry, bool(_subM)))
    out_indices, pairs, num = sparse_conv.indice_pairs(
        TORCH,
        indices.contiguous(),
        batchSize,
        spatialShape,
        kernelSize,
        stride,
        padding,
        dilation,
        bool(_subM),
        outSpatialShape,
    )
    return [indices if _subM else out_indices, pairs, num]


get_indice_pairs_2d_forward = _get_indice_pairs
get_indice_pairs_3d_forward = _get_indice_pairs
get_indice_pairs_4d_forward = _get_indice_pairs


def _filters(filters: Tensor) -> Tensor:
    """Returns the filters of any number of axes as [K, 1, 1, Ci, Co]."""
    return filters.reshape(math.prod(filters.shape[:-2]), 1, 1, *filters.shape[-2:])


def indice_conv_forward(
    features: Tensor,
    filters: Tensor,
    indicePairs: Tensor,
    indiceNum: Tensor,
    numActOut: int,
    _inverse: int,
    _subM: int,
) -> Tensor:
    pairs = _rulebooks.directed_pairs(indicePairs, bool(_inverse), len(features))
    return _rulebooks.convolve(features, _filters(filters), pairs, indiceNum, numActOut, "ARRAY")


def fused_indice_conv_forward(
    features: Tensor,
    filters: Tensor,
    bias: Tensor,
    indicePairs: Tensor,
    indiceNum: Tensor,
    numActOut: int,
    _inverse: int,
    _subM: int,
) -> Tensor:
    output = indice_conv_forward(
        features, filters, indicePairs, indiceNum, numActOut, _inverse, _subM
    )
    return output.add_(bias)


def indice_conv_backward(
    features: Tensor,
    filters: Tensor,
    outGrad: Tensor,
    indicePairs: Tensor,
    indiceNum: Tensor,
    _inverse: int,
    _subM: int,
) -> list[Tensor]:
    pairs = _rulebooks.directed_pairs(indicePairs, bool(_inverse), len(features))
    grad_feats, grad_filters = _rulebooks.convolve_backward(
        features, _filters(filters), outGrad, pairs, indiceNum, "ARRAY"
    )
    return [grad_feats, grad_filters.view(filters.shape)]
