"""The functions of mmcv._ext on voxels and of convolutions, with the names, arguments and outputs
of mmcv.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from mluop_omp._library import bad_param, not_supported
from mluop_omp._operators._declaration import operators
from mluop_omp._operators.sparse_conv import find_pairs
from mluop_omp.torch import rulebooks
from mluop_omp.torch._arrays import TORCH, apply_num_threads, to_int32, write
from mluop_omp.torch._precision import at_least_float32, dense, widened

__all__ = [
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
    "indice_maxpool_backward",
    "indice_maxpool_forward",
    "masked_col2im_forward",
    "masked_im2col_forward",
]


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
    apply_num_threads()
    (feature,) = widened(im)
    masks = to_int32("mask_h_idx", mask_h_idx), to_int32("mask_w_idx", mask_w_idx)
    arguments = (feature, *masks, (kernel_h, kernel_w), (pad_h, pad_w))
    write({"col": col}, feature.dtype, operators.masked_im2col, *arguments)


def masked_col2im_forward(
    col: Tensor,
    mask_h_idx: Tensor,
    mask_w_idx: Tensor,
    im: Tensor,
    height: int,
    width: int,
    channels: int,
) -> None:
    apply_num_threads()
    (columns,) = widened(col)
    masks = to_int32("mask_h_idx", mask_h_idx), to_int32("mask_w_idx", mask_w_idx)
    write({"im": im}, columns.dtype, operators.masked_col2im, columns, *masks, (height, width))


def dynamic_point_to_voxel_forward(feats: Tensor, coors: Tensor, reduce_type: str) -> list[Tensor]:
    """Half and bfloat16 are reduced in float32; coordinates keep their type."""
    apply_num_threads()
    (features,) = at_least_float32(feats)
    arguments = (features, to_int32("coors", coors), reduce_type)
    voxel_feats, voxel_coors, *others = operators.dynamic_scatter(TORCH, *arguments)
    return [voxel_feats.to(feats.dtype), voxel_coors.to(coors.dtype), *others]


def dynamic_point_to_voxel_backward(
    grad_feats: Tensor,
    grad_reduced_feats: Tensor,
    feats: Tensor,
    reduced_feats: Tensor,
    coors_idx: Tensor,
    reduce_count: Tensor,
    reduce_type: str,
) -> None:
    apply_num_threads()
    tensors = at_least_float32(grad_reduced_feats, feats, reduced_feats)
    counts = to_int32("coors_idx", coors_idx), to_int32("reduce_count", reduce_count)
    arguments = (*tensors, *counts, reduce_type)
    output = {"grad_feats": grad_feats}
    write(output, tensors[0].dtype, operators.dynamic_scatter_backward, *arguments)


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
    """Half and bfloat16 are located in float32, and copied."""
    if NDim != 3:
        raise bad_param(f"NDim is {NDim}, expected 3")
    if len(points) == 0:
        for output in (voxels, coors, num_points_per_voxel, voxel_num):
            output.zero_()
        return
    (rows,) = at_least_float32(points)
    outputs = [voxels, coors, num_points_per_voxel]
    if rows.dtype is not voxels.dtype:
        outputs[0] = voxels.new_empty(voxels.shape, dtype=rows.dtype)
    apply_num_threads()
    numbers = _numbers(voxel_size), _numbers(coors_range), max_points, max_voxels
    results = operators.voxelization(TORCH.into(outputs), rows, *numbers)
    if outputs[0] is not voxels:
        voxels.copy_(outputs[0])
    voxel_num.fill_(len(results[1]))


def _numbers(values: Tensor | Sequence[float]) -> Sequence[float]:
    return values.tolist() if isinstance(values, Tensor) else values


def dynamic_voxelize_forward(
    points: Tensor, voxel_size: Tensor, coors_range: Tensor, coors: Tensor, NDim: int = 3
) -> None:
    """Writes the cell z, y, x of each point, or -1, -1, -1. PyTorch computes them.

    Half and bfloat16 are located in float32.
    """
    rows, size, bounds = at_least_float32(points, voxel_size, coors_range)
    minima, maxima = bounds[:NDim], bounds[NDim:]
    # As C's round(): half away from zero. An axis of negative extent has no cells.
    extent = (maxima - minima) / size
    cells = extent.trunc() + (extent.frac() >= 0.5)
    cell = torch.floor((rows[:, :NDim] - minima) / size)
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
    apply_num_threads()
    if _transpose:
        raise not_supported("get_indice_pairs: mluop_omp has no transposed sparse convolution")
    # The descriptor requires a batch; mmcv also takes 0, for instance when no RoI is left.
    if batchSize == 0 and len(indices) == 0:
        batchSize = 1
    # mmcv centers the filter of a submanifold convolution, whatever stride and padding are.
    if _subM:
        stride, padding = [1] * len(stride), [size // 2 for size in kernelSize]
    if len(kernelSize) > 3:
        geometry = (spatialShape, outSpatialShape, kernelSize, stride, padding, dilation)
        results = rulebooks.general_indice_pairs(indices, batchSize, *geometry, bool(_subM))
        if _subM:
            rulebooks.pair_sites_with_themselves(results[1], results[2], kernelSize)
        return list(results)
    out_indices, pairs, num = find_pairs(
        TORCH,
        dense(indices),
        batchSize,
        spatialShape,
        kernelSize,
        stride,
        padding,
        dilation,
        bool(_subM),
        outSpatialShape,
    )
    if _subM:
        rulebooks.pair_sites_with_themselves(pairs, num, kernelSize)
    return [indices if _subM else out_indices, pairs, num]


get_indice_pairs_2d_forward = _get_indice_pairs
get_indice_pairs_3d_forward = _get_indice_pairs
get_indice_pairs_4d_forward = _get_indice_pairs


def indice_conv_forward(
    features: Tensor,
    filters: Tensor,
    indicePairs: Tensor,
    indiceNum: Tensor,
    numActOut: int,
    _inverse: int,
    _subM: int,
) -> Tensor:
    pairs = rulebooks.directed_pairs(indicePairs, bool(_inverse), len(features))
    flat = rulebooks.filters_of_mmcv(filters, pairs)
    return rulebooks.convolve(features, flat, pairs, indiceNum, numActOut, "ARRAY")


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
    return output + bias.to(output.dtype)


def indice_conv_backward(
    features: Tensor,
    filters: Tensor,
    outGrad: Tensor,
    indicePairs: Tensor,
    indiceNum: Tensor,
    _inverse: int,
    _subM: int,
) -> list[Tensor]:
    pairs = rulebooks.directed_pairs(indicePairs, bool(_inverse), len(features))
    grad_feats, grad = rulebooks.convolve_backward(
        features, rulebooks.filters_of_mmcv(filters, pairs), outGrad, pairs, indiceNum, "ARRAY"
    )
    # Offsets without pairs have no gradient.
    grad_filters = grad.new_zeros(math.prod(filters.shape[:-2]), *filters.shape[-2:])
    grad_filters[: len(grad)] = grad
    return [grad_feats, grad_filters.view(filters.shape)]


def indice_maxpool_forward(
    features: Tensor, indicePairs: Tensor, indiceNum: Tensor, numAct: int
) -> Tensor:
    apply_num_threads()
    (dense_features,) = widened(features)
    arguments = (dense_features, dense(indicePairs), indiceNum, numAct)
    return operators.indice_maxpool(TORCH, *arguments)


def indice_maxpool_backward(
    features: Tensor, outFeatures: Tensor, outGrad: Tensor, indicePairs: Tensor, indiceNum: Tensor
) -> Tensor:
    apply_num_threads()
    tensors = widened(features, outFeatures, outGrad)
    return operators.indice_maxpool_backward(TORCH, *tensors, dense(indicePairs), indiceNum)
