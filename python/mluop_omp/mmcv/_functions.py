"""The functions of mmcv._ext on voxels and of convolutions, with the names, arguments and outputs
of mmcv.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from mluop_omp._adapters import Args, compute, takes, writes
from mluop_omp._library import bad_param
from mluop_omp._operators._declaration import operators
from mluop_omp._operators.sparse_conv import find_pairs
from mluop_omp.torch import rulebooks
from mluop_omp.torch._arrays import TORCH
from mluop_omp.torch._precision import at_least_float32, dense


@writes("col", "im, mask_h_idx, mask_w_idx, col, kernel_h, kernel_w, pad_h, pad_w")
def masked_im2col_forward(args: Args) -> Any:
    masks = args.int32("mask_h_idx"), args.int32("mask_w_idx")
    geometry = (args.kernel_h, args.kernel_w), (args.pad_h, args.pad_w)
    return operators.masked_im2col, args.im, *masks, *geometry


@writes("im", "col, mask_h_idx, mask_w_idx, im, height, width, channels")
def masked_col2im_forward(args: Args) -> Any:
    masks = args.int32("mask_h_idx"), args.int32("mask_w_idx")
    return operators.masked_col2im, args.col, *masks, (args.height, args.width)


@takes("feats, coors, reduce_type")
def dynamic_point_to_voxel_forward(args: Args) -> list[Tensor]:
    """Half and bfloat16 are reduced in float32; coordinates keep their type."""
    arguments = args.feats, args.int32("coors"), args.reduce_type
    results = compute(operators.dynamic_scatter, *arguments, conversion=at_least_float32)
    voxel_feats, voxel_coors, *others = results
    return [voxel_feats.to(args.feats.dtype), voxel_coors.to(args.coors.dtype), *others]


@writes(
    "grad_feats",
    "grad_feats, grad_reduced_feats, feats, reduced_feats, coors_idx, reduce_count, reduce_type",
    at_least_float32,
)
def dynamic_point_to_voxel_backward(args: Args) -> Any:
    tensors = args.grad_reduced_feats, args.feats, args.reduced_feats
    counts = args.int32("coors_idx"), args.int32("reduce_count")
    return operators.dynamic_scatter_backward, *tensors, *counts, args.reduce_type


@takes(
    "points, voxel_size, coors_range, voxels, coors, num_points_per_voxel, voxel_num, "
    "max_points, max_voxels, NDim=3, deterministic=True"
)
def hard_voxelize_forward(args: Args) -> None:
    """Half and bfloat16 are located in float32, and copied."""
    if args.NDim != 3:
        raise bad_param(f"NDim is {args.NDim}, expected 3")
    outputs = [args.voxels, args.coors, args.num_points_per_voxel]
    if len(args.points) == 0:
        for output in (*outputs, args.voxel_num):
            output.zero_()
        return
    (rows,) = at_least_float32(args.points)
    if rows.dtype is not args.voxels.dtype:
        outputs[0] = args.voxels.new_empty(args.voxels.shape, dtype=rows.dtype)
    geometry = _numbers(args.voxel_size), _numbers(args.coors_range)
    limits = args.max_points, args.max_voxels
    results = operators.voxelization(TORCH.into(outputs), rows, *geometry, *limits)
    if outputs[0] is not args.voxels:
        args.voxels.copy_(outputs[0])
    args.voxel_num.fill_(len(results[1]))


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


_GEOMETRY = (
    "batchSize, outSpatialShape, spatialShape, kernelSize, stride, padding, dilation, outPadding, "
    "_subM, _transpose"
)


@takes(f"indices, {_GEOMETRY}")
def _get_indice_pairs(args: Args) -> list[Tensor]:
    return _pairs(args)


@takes(f"indices, gridOut, {_GEOMETRY}")
def _get_indice_pairs_in_grid(args: Args) -> list[Tensor]:
    """As `_get_indice_pairs`; neither reads nor writes gridOut, scratch of mmcv's kernels."""
    cells, found = args.batchSize * math.prod(args.outSpatialShape), args.gridOut.numel()
    if found < cells:
        raise bad_param(f"gridOut has {found} elements, expected at least {cells}")
    return _pairs(args)


def _pairs(args: Args) -> list[Tensor]:
    indices, batch, kernel = args.indices, args.batchSize, args.kernelSize
    space, out_space, is_subm = args.spatialShape, args.outSpatialShape, bool(args._subM)
    is_transposed = bool(args._transpose) and not is_subm
    # The descriptor requires a batch; mmcv also takes 0, for instance when no RoI is left.
    if batch == 0 and len(indices) == 0:
        batch = 1
    # mmcv centers the filter of a submanifold convolution, whatever stride and padding are.
    stride = [1] * len(args.stride) if is_subm else args.stride
    padding = [size // 2 for size in kernel] if is_subm else args.padding
    geometry: tuple[Any, ...] = kernel, stride, padding, args.dilation, is_subm
    sites: tuple[Any, ...] = dense(indices), batch, space
    if is_transposed:
        geometry = out_space, *geometry[:-1]
        out_indices, pairs, num = rulebooks.transposed_indice_pairs(*sites, *geometry)
    elif len(kernel) > 3:
        out_indices, pairs, num = rulebooks.general_indice_pairs(*sites, out_space, *geometry)
    else:
        out_indices, pairs, num = find_pairs(TORCH, *sites, *geometry, out_space)
    if is_subm:
        rulebooks.pair_sites_with_themselves(pairs, num, kernel)
    return [indices if is_subm else out_indices, pairs, num]


get_indice_pairs_2d_forward = _get_indice_pairs
get_indice_pairs_3d_forward = _get_indice_pairs
get_indice_pairs_4d_forward = _get_indice_pairs
# mmcv calls these if a SparseConvTensor has a grid. They compute no gradient.
get_indice_pairs_2d_backward = _get_indice_pairs_in_grid
get_indice_pairs_3d_backward = _get_indice_pairs_in_grid


def _operands(args: Args) -> tuple[Tensor, Tensor, Tensor]:
    """Returns features, filters and pairs of a convolution."""
    pairs = rulebooks.directed_pairs(args.indicePairs, bool(args._inverse), len(args.features))
    return args.features, rulebooks.filters_of_mmcv(args.filters, pairs), pairs


@takes("features, filters, indicePairs, indiceNum, numActOut, _inverse, _subM")
def indice_conv_forward(args: Args) -> Tensor:
    return rulebooks.convolve(*_operands(args), args.indiceNum, args.numActOut, "ARRAY")


@takes("features, filters, bias, indicePairs, indiceNum, numActOut, _inverse, _subM")
def fused_indice_conv_forward(args: Args) -> Tensor:
    output = rulebooks.convolve(*_operands(args), args.indiceNum, args.numActOut, "ARRAY")
    return output + args.bias.to(output.dtype)


@takes("features, filters, outGrad, indicePairs, indiceNum, _inverse, _subM")
def indice_conv_backward(args: Args) -> list[Tensor]:
    features, flat, pairs = _operands(args)
    grad_feats, grad = rulebooks.convolve_backward(
        features, flat, args.outGrad, pairs, args.indiceNum, "ARRAY"
    )
    # Offsets without pairs have no gradient.
    shape = args.filters.shape
    grad_filters = grad.new_zeros(math.prod(shape[:-2]), *shape[-2:])
    grad_filters[: len(grad)] = grad
    return [grad_feats, grad_filters.view(shape)]


def indice_maxpool_forward(
    features: Tensor, indicePairs: Tensor, indiceNum: Tensor, numAct: int
) -> Tensor:
    return compute(operators.indice_maxpool, features, indicePairs, indiceNum, numAct)


def indice_maxpool_backward(
    features: Tensor, outFeatures: Tensor, outGrad: Tensor, indicePairs: Tensor, indiceNum: Tensor
) -> Tensor:
    tensors = features, outFeatures, outGrad, indicePairs, indiceNum
    return compute(operators.indice_maxpool_backward, *tensors)
