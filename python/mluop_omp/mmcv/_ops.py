"""Functions of mmcv.ops, in place of those that use CUDA, or require more than mmcv._ext does,
before they call it.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from mluop_omp.torch import modules


def _extension() -> Any:
    return importlib.import_module("mmcv._ext")


def furthest_point_sampling(ctx: Any, points_xyz: Tensor, num_points: int) -> Tensor:
    """FurthestPointSampling.forward."""
    B, N = points_xyz.shape[:2]
    output = points_xyz.new_empty((B, num_points), dtype=torch.int32)
    temp = points_xyz.new_full((B, N), 1e10, dtype=torch.float32)
    sizes = {"b": B, "n": N, "m": num_points}
    _extension().furthest_point_sampling_forward(points_xyz, temp, output, **sizes)
    ctx.mark_non_differentiable(output)
    return output


def knn(
    ctx: Any, k: int, xyz: Tensor, center_xyz: Tensor | None = None, transposed: bool = False
) -> Tensor:
    """KNN.forward."""
    if center_xyz is None:
        center_xyz = xyz
    if transposed:
        xyz, center_xyz = xyz.transpose(1, 2), center_xyz.transpose(1, 2)
    (B, M, _), N = center_xyz.shape, xyz.shape[1]
    idx = center_xyz.new_zeros((B, M, k), dtype=torch.int32)
    dist2 = center_xyz.new_zeros((B, M, k), dtype=torch.float32)
    sizes = {"b": B, "n": N, "m": M, "nsample": k}
    _extension().knn_forward(xyz.contiguous(), center_xyz.contiguous(), idx, dist2, **sizes)
    idx = idx.transpose(1, 2).contiguous()
    ctx.mark_non_differentiable(idx)
    return idx


def points_in_boxes_part(points: Tensor, boxes: Tensor) -> Tensor:
    output = points.new_full(points.shape[:2], -1, dtype=torch.int32)
    _extension().points_in_boxes_part_forward(boxes.contiguous(), points.contiguous(), output)
    return output


def points_in_boxes_all(points: Tensor, boxes: Tensor) -> Tensor:
    output = points.new_zeros((*points.shape[:2], boxes.shape[1]), dtype=torch.int32)
    _extension().points_in_boxes_all_forward(boxes.contiguous(), points.contiguous(), output)
    return output


# sparse_ops asks for float32 or half; these take any element type.


def indice_conv(
    features: Tensor,
    filters: Tensor,
    indice_pairs: Tensor,
    indice_pair_num: Tensor,
    num_activate_out: int,
    inverse: bool = False,
    subm: bool = False,
) -> Tensor:
    arguments = (features, filters, indice_pairs, indice_pair_num, num_activate_out)
    return _extension().indice_conv_forward(*arguments, int(inverse), int(subm))


def indice_conv_backward(
    features: Tensor,
    filters: Tensor,
    out_bp: Tensor,
    indice_pairs: Tensor,
    indice_pair_num: Tensor,
    inverse: bool = False,
    subm: bool = False,
) -> list[Tensor]:
    arguments = (features, filters, out_bp, indice_pairs, indice_pair_num)
    return _extension().indice_conv_backward(*arguments, int(inverse), int(subm))


def indice_maxpool(
    features: Tensor, indice_pairs: Tensor, indice_pair_num: Tensor, num_activate_out: int
) -> Tensor:
    arguments = (features, indice_pairs, indice_pair_num, num_activate_out)
    return _extension().indice_maxpool_forward(*arguments)


def indice_maxpool_backward(
    features: Tensor,
    out_features: Tensor,
    out_bp: Tensor,
    indice_pairs: Tensor,
    indice_pair_num: Tensor,
) -> Tensor:
    arguments = (features, out_features, out_bp, indice_pairs, indice_pair_num)
    return _extension().indice_maxpool_backward(*arguments)


def masked_conv2d(
    features: Tensor,
    mask: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """Unlike mmcv's, takes no bias too, and weights of any memory format, and has gradients.

    mmcv calls no kernel for a mask without pixels.
    """
    if any(each != 1 for each in _pair(stride)):
        raise ValueError(f"stride is {stride}, expected 1")
    if mask.numel() == 0 or not (mask > 0).any():
        function = importlib.import_module("mmcv.ops.masked_conv").MaskedConv2dFunction
        return function.apply(features, mask, weight, bias, padding)
    return modules.masked_conv2d(features, mask, weight, bias, _pair(padding))


def _pair(value: int | Sequence[int]) -> tuple[int, ...]:
    return (value, value) if isinstance(value, int) else tuple(value)
