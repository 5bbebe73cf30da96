"""The operators in the namespace mluop_omp of PyTorch's dispatcher: kernels and shapes."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, Callable

import torch
from torch import Tensor

from mluop_omp._operators import (
    attention,
    boxes,
    deform_conv,
    losses,
    masked_conv,
    points,
    rois,
    sparse_conv,
    voxels,
)
from mluop_omp.torch._arrays import TORCH, apply_num_threads, is_channels_last
from mluop_omp.torch._precision import dense

NAMESPACE = "mluop_omp"
SCHEMAS: dict[str, str] = {}
KERNELS: dict[str, Callable[..., Any]] = {}
OPERATORS = getattr(torch.ops, NAMESPACE)
# torch.library.custom_op would define the same operators, with 7 us more for each call.
LIBRARY = torch.library.Library(NAMESPACE, "DEF")
_STRIDED = torch.strided
_TAGS = (torch.Tag.pt2_compliant_tag, torch.Tag.needs_fixed_stride_order)


def define(name: str, schema: str, kernel: Callable[..., Any], fake: Callable[..., Any]) -> None:
    """Defines an operator of PyTorch's dispatcher. `fake` returns the shapes."""
    LIBRARY.define(name + schema, tags=_TAGS)
    # The kernel of every device, so that the message on tensors of other devices is that of the
    # package.
    LIBRARY.impl(name, kernel, "CompositeExplicitAutograd")
    torch.library.register_fake(f"{NAMESPACE}::{name}", fake, lib=LIBRARY)


def _define(
    name: str,
    schema: str,
    kernel: Callable[..., Any],
    fake: Callable[..., Any],
    of_images: bool = False,
) -> None:
    """Defines one of the package's operators, whose `kernel` takes the Arrays first.

    Operators of images take tensors in the memory format channels_last as well.
    """
    count = len(re.findall(r"Tensor\??\s", schema.partition("->")[0]))  # They come first.

    def run(*arguments: Any) -> Any:
        apply_num_threads()
        tensors = [
            each
            if each is None
            or (each.layout is _STRIDED and each.is_contiguous())
            or (of_images and is_channels_last(each))
            else dense(each)
            for each in arguments[:count]
        ]
        return kernel(TORCH, *tensors, *arguments[count:])

    SCHEMAS[name] = schema
    KERNELS[name] = run
    define(name, schema, run, fake)


def _int32(like: Tensor, *shape: Any) -> Tensor:
    return like.new_empty(shape, dtype=torch.int32)


def _dynamic_size() -> torch.SymInt:
    return torch.library.get_ctx().new_dynamic_size()


def _voxel_pooling_fake(
    geom_xyz: Tensor, feats: Tensor, voxel_num: Sequence[int]
) -> tuple[Tensor, Tensor]:
    X, Y, _ = voxel_num
    B, N, C = feats.shape
    return feats.new_empty(B, Y, X, C), _int32(feats, B, N, 3)


def _voxel_pooling_backward_fake(grad: Tensor, pos_memo: Tensor) -> Tensor:
    return grad.new_empty(*pos_memo.shape[:2], grad.shape[3])


def _bev_pool_fake(depth: Tensor, features: Tensor, *ranks_and_cells: Any) -> Tensor:
    num_cells = ranks_and_cells[3]
    torch._check(num_cells >= 0, lambda: f"num_cells is {num_cells}, expected at least 0")
    return features.new_empty(num_cells, features.shape[1])


def _bev_pool_backward_fake(
    grad: Tensor, depth: Tensor, features: Tensor, *ranks: Tensor
) -> tuple[Tensor, Tensor]:
    return grad.new_empty(depth.shape), grad.new_empty(features.shape)


def _voxelization(*arguments: Any) -> tuple[Tensor, Tensor, Tensor]:
    return voxels.voxelization(*arguments)[:3]


def _voxelization_fake(
    points: Tensor, size: Sequence[float], bounds: Sequence[float], max_points: int, max_voxels: int
) -> tuple[Tensor, Tensor, Tensor]:
    V = _dynamic_size()
    voxels_of = points.new_empty(V, max_points, points.shape[1])
    return voxels_of, _int32(points, V, 3), _int32(points, V)


def _dynamic_scatter_fake(feats: Tensor, coors: Tensor, reduce: str) -> tuple[Tensor, ...]:
    V = _dynamic_size()
    N, C = feats.shape
    return feats.new_empty(V, C), _int32(feats, V, 3), _int32(feats, N), _int32(feats, V)


def _dynamic_scatter_backward_fake(grad: Tensor, feats: Tensor, *_: Any) -> Tensor:
    return feats.new_empty(feats.shape)


def _box_iou_rotated_fake(
    boxes1: Tensor, boxes2: Tensor, mode: str = "iou", aligned: bool = False
) -> Tensor:
    return boxes1.new_empty(boxes1.shape[:1] if aligned else (boxes1.shape[0], boxes2.shape[0]))


def _nms_fake(boxes: Tensor, scores: Tensor, iou_threshold: float, offset: int = 0) -> Tensor:
    return _int32(boxes, _dynamic_size())


def _boxes_overlap_bev_fake(boxes_a: Tensor, boxes_b: Tensor) -> Tensor:
    return boxes_a.new_empty(boxes_a.shape[0], boxes_b.shape[0])


def _soft_nms_fake(boxes: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    K = _dynamic_size()
    return boxes.new_empty(K, 5), _int32(boxes, K)


def _nms_match_fake(dets: Tensor, iou_threshold: float) -> tuple[Tensor, Tensor]:
    return _int32(dets, dets.shape[0]), _int32(dets, _dynamic_size())


def _points_in_boxes_fake(points: Tensor, boxes: Tensor) -> Tensor:
    return _int32(points, *points.shape[:2])


def _points_in_boxes_all_fake(points: Tensor, boxes: Tensor) -> Tensor:
    return _int32(points, *points.shape[:2], boxes.shape[1])


def _roiaware_pool3d_fake(
    rois: Tensor,
    pts: Tensor,
    pts_feature: Tensor,
    out_size: Sequence[int],
    max_pts_each_voxel: int,
    method: str = "max",
) -> tuple[Tensor, Tensor, Tensor]:
    voxels_of, C = (rois.shape[0], *out_size), pts_feature.shape[1]
    argmax, listed = (_int32(rois, *voxels_of, last) for last in (C, max_pts_each_voxel))
    return pts_feature.new_empty(*voxels_of, C), argmax, listed


def _ms_deform_attn_fake(
    value: Tensor, shapes: Tensor, starts: Tensor, locations: Tensor, weights: Tensor
) -> Tensor:
    (B, _, M, D), (_, Q, _, L, P, _) = value.shape, locations.shape
    for tensor, shape in ((locations, (B, Q, M, L, P, 2)), (weights, (B, Q, M, L, P))):
        torch._check(
            tensor.shape == shape,
            lambda found=tensor.shape, shape=shape: f"samples have shape {found}, expected {shape}",
        )
    return value.new_empty(B, Q, M, D)


def _ms_deform_attn_backward_fake(
    grad: Tensor, value: Tensor, shapes: Tensor, starts: Tensor, locations: Tensor, weights: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    return tuple(grad.new_empty(each.shape) for each in (value, locations, weights))


def _roi_align_fake(
    input: Tensor,
    rois: Tensor,
    output_size: Sequence[int],
    spatial_scale: float = 1,
    sampling_ratio: int = 0,
    method: str = "mean",
    aligned: bool = True,
) -> tuple[Tensor, Tensor, Tensor]:
    shape = (rois.shape[0], input.shape[1], *output_size)
    argmax = [_image(input, *shape) if method == "max" else input.new_empty(0) for _ in range(2)]
    return _image(input, *shape), *argmax


def _roi_align_backward_fake(
    grad: Tensor,
    rois: Tensor,
    argmax_y: Tensor,
    argmax_x: Tensor,
    image_size: Sequence[int],
    *_: Any,
) -> Tensor:
    B, H, W = image_size
    return _image(grad, B, grad.shape[1], H, W)


def _sigmoid_focal_loss_fake(
    input: Tensor, target: Tensor, weight: Tensor | None = None, gamma: float = 2, alpha: float = 0
) -> Tensor:
    return input.new_empty(input.shape)


def _roiaware_pool3d_backward_fake(
    grad: Tensor, listed: Tensor, argmax: Tensor, n: int, method: str = "max"
) -> Tensor:
    return grad.new_empty(n, grad.shape[4])


def _roipoint_pool3d_fake(
    points: Tensor, point_features: Tensor, boxes3d: Tensor, num_sampled_points: int
) -> tuple[Tensor, Tensor]:
    (B, _, C), M = point_features.shape, boxes3d.shape[1]
    return point_features.new_empty(B, M, num_sampled_points, 3 + C), _int32(points, B, M)


def _furthest_point_sample_fake(points: Tensor, num_points: int) -> Tensor:
    torch._check(num_points >= 0, lambda: f"num_points is {num_points}, expected at least 0")
    return _int32(points, points.shape[0], num_points)


def _gather_points_fake(features: Tensor, indices: Tensor) -> Tensor:
    return features.new_empty(*features.shape[:2], *indices.shape[1:])


def _gather_points_backward_fake(grad: Tensor, idx: Tensor, n: int) -> Tensor:
    torch._check(n >= 0, lambda: f"N is {n}, expected at least 0")
    return grad.new_empty(*grad.shape[:2], n)


def _knn_fake(xyz: Tensor, new_xyz: Tensor, k: int) -> tuple[Tensor, Tensor]:
    torch._check(k >= 1, lambda: f"k is {k}, expected 1 to 100")
    shape = (*new_xyz.shape[:2], k)
    return xyz.new_empty(shape), _int32(xyz, *shape)


def _ball_query_fake(
    new_xyz: Tensor, xyz: Tensor, min_radius: float, max_radius: float, nsample: int
) -> Tensor:
    return _int32(new_xyz, *new_xyz.shape[:2], nsample)


def _stack_ball_query_fake(
    new_xyz: Tensor,
    new_xyz_batch_cnt: Tensor,
    xyz: Tensor,
    xyz_batch_cnt: Tensor,
    max_radius: float,
    nsample: int,
) -> Tensor:
    return _int32(new_xyz, new_xyz.shape[0], nsample)


def _stack_group_points_fake(
    features: Tensor, features_batch_cnt: Tensor, indices: Tensor, indices_batch_cnt: Tensor
) -> Tensor:
    return features.new_empty(indices.shape[0], features.shape[1], indices.shape[1])


def _stack_group_points_backward_fake(
    grad: Tensor, indices: Tensor, indices_batch_cnt: Tensor, features_batch_cnt: Tensor, n: int
) -> Tensor:
    torch._check(n >= 0, lambda: f"N is {n}, expected at least 0")
    return grad.new_empty(n, grad.shape[1])


def _assign_score_withk_fake(
    scores: Tensor, points: Tensor, centers: Tensor, knn_idx: Tensor
) -> Tensor:
    B, N1, K, _ = scores.shape
    return scores.new_empty(B, points.shape[3], N1, K)


def _assign_score_withk_backward_fake(
    grad: Tensor, scores: Tensor, points: Tensor, centers: Tensor, knn_idx: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    shapes = scores.shape, points.shape, centers.shape
    return tuple(grad.new_empty(shape) for shape in shapes)


def _three_nn_fake(unknown: Tensor, known: Tensor) -> tuple[Tensor, Tensor]:
    return unknown.new_empty(unknown.shape), _int32(unknown, *unknown.shape)


def _three_interpolate_fake(feats: Tensor, idx: Tensor, weight: Tensor) -> Tensor:
    return feats.new_empty(*feats.shape[:2], idx.shape[1])


def _three_interpolate_backward_fake(grad: Tensor, idx: Tensor, weight: Tensor, m: int) -> Tensor:
    return grad.new_empty(*grad.shape[:2], m)


def _image(like: Tensor, *shape: Any) -> Tensor:
    """Returns [N, C, H, W] in the memory format of a tensor."""
    is_last = is_channels_last(like)
    return like.new_empty(shape).contiguous(
        memory_format=torch.channels_last if is_last else torch.contiguous_format
    )


def _deform_conv2d_fake(
    input: Tensor,
    offset: Tensor,
    weight: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
    *geometry: Any,
) -> Tensor:
    return _image(input, input.shape[0], weight.shape[0], *offset.shape[2:])


def _deform_conv2d_backward_data_fake(
    grad: Tensor,
    input: Tensor,
    offset: Tensor,
    weight: Tensor,
    mask: Tensor | None,
    *geometry: Any,
) -> tuple[Tensor, Tensor, Tensor]:
    (N, _, Ho, Wo), format_of_mask = offset.shape, offset if mask is None else mask
    mask_shape = (N, 0, Ho, Wo) if mask is None else mask.shape
    return (
        _image(input, *input.shape),
        _image(offset, *offset.shape),
        _image(format_of_mask, *mask_shape),
    )


def _deform_conv2d_backward_weight_fake(
    grad: Tensor,
    input: Tensor,
    offset: Tensor,
    mask: Tensor | None,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    deformable_groups: int,
) -> tuple[Tensor, Tensor]:
    Co, inputs = grad.shape[1], input.shape[1] // groups
    return _image(grad, Co, inputs, *kernel), grad.new_empty(Co)


def _masked_im2col_fake(
    im: Tensor, mask_h: Tensor, mask_w: Tensor, kernel: Sequence[int], pad: Sequence[int]
) -> Tensor:
    return im.new_empty(im.shape[1] * kernel[0] * kernel[1], mask_h.shape[0])


def _masked_col2im_fake(col: Tensor, mask_h: Tensor, mask_w: Tensor, size: Sequence[int]) -> Tensor:
    return col.new_empty(1, col.shape[0], *size)


def _indice_pairs_fake(
    indices: Tensor,
    batch: int,
    space: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    pad: Sequence[int],
    dilation: Sequence[int],
    subm: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    L, columns = indices.shape
    K = math.prod(kernel)
    sites = L if subm else _dynamic_size()
    return _int32(indices, sites, columns), _int32(indices, K, 2, L), _int32(indices, K)


def _indice_maxpool_fake(feats: Tensor, pairs: Tensor, num: Tensor, num_out: int) -> Tensor:
    torch._check(num_out >= 0, lambda: f"num_out is {num_out}, expected at least 0")
    return feats.new_empty(num_out, feats.shape[1])


def _indice_maxpool_backward_fake(
    feats: Tensor, feats_out: Tensor, grad: Tensor, pairs: Tensor, num: Tensor
) -> Tensor:
    return feats.new_empty(feats.shape)


def _indice_conv_fake(
    feats: Tensor,
    filters: Tensor,
    pairs: Tensor,
    num: Tensor,
    num_out: int,
    subm: bool,
    layout: str = "ARRAY",
) -> Tensor:
    return feats.new_empty(num_out, filters.shape[-1 if layout == "ARRAY" else 0])


def _indice_conv_backward_data_fake(
    grad: Tensor, filters: Tensor, pairs: Tensor, num: Tensor, subm: bool, layout: str = "ARRAY"
) -> Tensor:
    axis = {"ARRAY": 3, "NDHWC": 4, "NCDHW": 1}[layout]
    return grad.new_empty(pairs.shape[2], filters.shape[axis])


def _indice_conv_backward_filter_fake(
    feats: Tensor, grad: Tensor, pairs: Tensor, num: Tensor, kernel: Sequence[int]
) -> Tensor:
    return feats.new_empty(*kernel, feats.shape[1], grad.shape[1])


_define(
    "voxel_pooling",
    "(Tensor geom_xyz, Tensor feats, SymInt[3] voxel_num) -> (Tensor out, Tensor pos_memo)",
    voxels.voxel_pooling,
    _voxel_pooling_fake,
)
_define(
    "voxel_pooling_backward",
    "(Tensor grad, Tensor pos_memo) -> Tensor",
    voxels.voxel_pooling_backward,
    _voxel_pooling_backward_fake,
)
_define(
    "bev_pool",
    "(Tensor depth, Tensor features, Tensor ranks_depth, Tensor ranks_feat, Tensor ranks_bev, "
    "SymInt num_cells) -> Tensor",
    voxels.bev_pool,
    _bev_pool_fake,
)
_define(
    "bev_pool_backward",
    "(Tensor grad, Tensor depth, Tensor features, Tensor ranks_depth, Tensor ranks_feat, "
    "Tensor ranks_bev) -> (Tensor grad_depth, Tensor grad_features)",
    voxels.bev_pool_backward,
    _bev_pool_backward_fake,
)
_define(
    "voxelization",
    "(Tensor points, float[] voxel_size, float[] coors_range, SymInt max_points, "
    "SymInt max_voxels) -> (Tensor voxels, Tensor coors, Tensor num_points_per_voxel)",
    _voxelization,
    _voxelization_fake,
)
_define(
    "dynamic_scatter",
    "(Tensor feats, Tensor coors, str reduce) "
    "-> (Tensor voxel_feats, Tensor voxel_coors, Tensor map, Tensor count)",
    voxels.dynamic_scatter,
    _dynamic_scatter_fake,
)
_define(
    "dynamic_scatter_backward",
    "(Tensor grad, Tensor feats, Tensor voxel_feats, Tensor map, Tensor count, str reduce) "
    "-> Tensor",
    voxels.dynamic_scatter_backward,
    _dynamic_scatter_backward_fake,
)
_define(
    "box_iou_rotated",
    '(Tensor boxes1, Tensor boxes2, str mode="iou", bool aligned=False) -> Tensor',
    boxes.box_iou_rotated,
    _box_iou_rotated_fake,
)
_define(
    "nms",
    "(Tensor boxes, Tensor scores, float iou_threshold, int offset=0) -> Tensor",
    boxes.nms,
    _nms_fake,
)
for _kernel in (boxes.nms_rotated, boxes.nms3d, boxes.nms3d_normal):
    _define(
        _kernel.__name__,
        "(Tensor boxes, Tensor scores, float iou_threshold) -> Tensor",
        _kernel,
        _nms_fake,
    )
_define(
    "boxes_overlap_bev",
    "(Tensor boxes_a, Tensor boxes_b) -> Tensor",
    boxes.boxes_overlap_bev,
    _boxes_overlap_bev_fake,
)
_define(
    "soft_nms",
    "(Tensor boxes, Tensor scores, float iou_threshold=0.3, float sigma=0.5, "
    'float min_score=1e-3, str method="linear", int offset=0) -> (Tensor dets, Tensor inds)',
    boxes.soft_nms,
    _soft_nms_fake,
)
_define(
    "nms_match",
    "(Tensor dets, float iou_threshold) -> (Tensor members, Tensor group_sizes)",
    boxes.nms_match,
    _nms_match_fake,
)
for _kernel, _fake in (
    (boxes.points_in_boxes, _points_in_boxes_fake),
    (boxes.points_in_boxes_part, _points_in_boxes_fake),
    (boxes.points_in_boxes_all, _points_in_boxes_all_fake),
):
    _define(_kernel.__name__, "(Tensor points, Tensor boxes) -> Tensor", _kernel, _fake)
_define(
    "roiaware_pool3d",
    "(Tensor rois, Tensor pts, Tensor pts_feature, SymInt[3] out_size, SymInt max_pts_each_voxel, "
    'str method="max") -> (Tensor pooled_features, Tensor argmax, Tensor pts_idx_of_voxels)',
    rois.roiaware_pool3d,
    _roiaware_pool3d_fake,
)
_define(
    "roiaware_pool3d_backward",
    '(Tensor grad, Tensor pts_idx_of_voxels, Tensor argmax, SymInt n, str method="max") -> Tensor',
    rois.roiaware_pool3d_backward,
    _roiaware_pool3d_backward_fake,
)
_define(
    "roipoint_pool3d",
    "(Tensor points, Tensor point_features, Tensor boxes3d, SymInt num_sampled_points) "
    "-> (Tensor pooled_features, Tensor pooled_empty_flag)",
    rois.roipoint_pool3d,
    _roipoint_pool3d_fake,
)
_define(
    "roi_align",
    "(Tensor input, Tensor rois, SymInt[2] output_size, float spatial_scale=1.0, "
    'SymInt sampling_ratio=0, str method="mean", bool aligned=True) '
    "-> (Tensor output, Tensor argmax_y, Tensor argmax_x)",
    rois.roi_align,
    _roi_align_fake,
    of_images=True,
)
_define(
    "roi_align_backward",
    "(Tensor grad, Tensor rois, Tensor argmax_y, Tensor argmax_x, SymInt[3] image_size, "
    "float spatial_scale=1.0, SymInt sampling_ratio=0, "
    'str method="mean", bool aligned=True) -> Tensor',
    rois.roi_align_backward,
    _roi_align_backward_fake,
    of_images=True,
)
_define(
    "ms_deform_attn",
    "(Tensor value, Tensor spatial_shapes, Tensor level_start_index, Tensor sampling_locations, "
    "Tensor attention_weights) -> Tensor",
    attention.ms_deform_attn,
    _ms_deform_attn_fake,
)
_define(
    "ms_deform_attn_backward",
    "(Tensor grad, Tensor value, Tensor spatial_shapes, Tensor level_start_index, "
    "Tensor sampling_locations, Tensor attention_weights) "
    "-> (Tensor grad_value, Tensor grad_locations, Tensor grad_weights)",
    attention.ms_deform_attn_backward,
    _ms_deform_attn_backward_fake,
)
for _kernel in (losses.sigmoid_focal_loss, losses.sigmoid_focal_loss_backward):
    _define(
        _kernel.__name__,
        "(Tensor input, Tensor target, Tensor? weight=None, float gamma=2.0, float alpha=0.25) "
        "-> Tensor",
        _kernel,
        _sigmoid_focal_loss_fake,
    )
_define(
    "furthest_point_sample",
    "(Tensor points, SymInt num_points) -> Tensor",
    points.furthest_point_sample,
    _furthest_point_sample_fake,
)
_define(
    "furthest_point_sample_with_dist",
    "(Tensor distances, SymInt num_points) -> Tensor",
    points.furthest_point_sample_with_dist,
    _furthest_point_sample_fake,
)
_define(
    "gather_points",
    "(Tensor features, Tensor indices) -> Tensor",
    points.gather_points,
    _gather_points_fake,
)
_define(
    "gather_points_backward",
    "(Tensor grad, Tensor idx, SymInt n) -> Tensor",
    points.gather_points_backward,
    _gather_points_backward_fake,
)
_define(
    "knn",
    "(Tensor xyz, Tensor new_xyz, SymInt k) -> (Tensor dist2, Tensor idx)",
    points.knn,
    _knn_fake,
)
_define(
    "ball_query",
    "(Tensor new_xyz, Tensor xyz, float min_radius, float max_radius, SymInt nsample) -> Tensor",
    points.ball_query,
    _ball_query_fake,
)
_define(
    "stack_ball_query",
    "(Tensor new_xyz, Tensor new_xyz_batch_cnt, Tensor xyz, Tensor xyz_batch_cnt, "
    "float max_radius, SymInt nsample) -> Tensor",
    points.stack_ball_query,
    _stack_ball_query_fake,
)
_define(
    "stack_group_points",
    "(Tensor features, Tensor features_batch_cnt, Tensor indices, Tensor indices_batch_cnt) "
    "-> Tensor",
    points.stack_group_points,
    _stack_group_points_fake,
)
_define(
    "stack_group_points_backward",
    "(Tensor grad, Tensor indices, Tensor indices_batch_cnt, Tensor features_batch_cnt, SymInt n) "
    "-> Tensor",
    points.stack_group_points_backward,
    _stack_group_points_backward_fake,
)
_define(
    "assign_score_withk",
    "(Tensor scores, Tensor points, Tensor centers, Tensor knn_idx) -> Tensor",
    points.assign_score_withk,
    _assign_score_withk_fake,
)
_define(
    "assign_score_withk_backward",
    "(Tensor grad, Tensor scores, Tensor points, Tensor centers, Tensor knn_idx) "
    "-> (Tensor grad_scores, Tensor grad_points, Tensor grad_centers)",
    points.assign_score_withk_backward,
    _assign_score_withk_backward_fake,
)
_define(
    "three_nn",
    "(Tensor unknown, Tensor known) -> (Tensor dist2, Tensor idx)",
    points.three_nn,
    _three_nn_fake,
)
_define(
    "three_interpolate",
    "(Tensor feats, Tensor idx, Tensor weight) -> Tensor",
    points.three_interpolate,
    _three_interpolate_fake,
)
_define(
    "three_interpolate_backward",
    "(Tensor grad, Tensor idx, Tensor weight, SymInt m) -> Tensor",
    points.three_interpolate_backward,
    _three_interpolate_backward_fake,
)
_define(
    "masked_im2col",
    "(Tensor im, Tensor mask_h, Tensor mask_w, SymInt[2] kernel, SymInt[2] pad) -> Tensor",
    masked_conv.masked_im2col,
    _masked_im2col_fake,
)
_define(
    "masked_col2im",
    "(Tensor col, Tensor mask_h, Tensor mask_w, SymInt[2] size) -> Tensor",
    masked_conv.masked_col2im,
    _masked_col2im_fake,
)
_define(
    "indice_pairs",
    "(Tensor indices, SymInt batch, SymInt[] space, SymInt[] kernel, SymInt[] stride, "
    "SymInt[] pad, SymInt[] dilation, bool subm) -> (Tensor out_indices, Tensor pairs, Tensor num)",
    sparse_conv.indice_pairs,
    _indice_pairs_fake,
)
_define(
    "indice_maxpool",
    "(Tensor feats, Tensor pairs, Tensor num, SymInt num_out) -> Tensor",
    sparse_conv.indice_maxpool,
    _indice_maxpool_fake,
)
_define(
    "indice_maxpool_backward",
    "(Tensor feats, Tensor feats_out, Tensor grad, Tensor pairs, Tensor num) -> Tensor",
    sparse_conv.indice_maxpool_backward,
    _indice_maxpool_backward_fake,
)
_define(
    "indice_conv",
    "(Tensor feats, Tensor filters, Tensor pairs, Tensor num, SymInt num_out, bool subm, "
    'str layout="ARRAY") -> Tensor',
    sparse_conv.indice_conv,
    _indice_conv_fake,
)
_define(
    "indice_conv_backward_data",
    "(Tensor grad, Tensor filters, Tensor pairs, Tensor num, bool subm, "
    'str layout="ARRAY") -> Tensor',
    sparse_conv.indice_conv_backward_data,
    _indice_conv_backward_data_fake,
)
_define(
    "indice_conv_backward_filter",
    "(Tensor feats, Tensor grad, Tensor pairs, Tensor num, SymInt[] kernel) -> Tensor",
    sparse_conv.indice_conv_backward_filter,
    _indice_conv_backward_filter_fake,
)
_GEOMETRY = (
    "SymInt[2] stride, SymInt[2] padding, SymInt[2] dilation, SymInt groups, "
    "SymInt deformable_groups"
)
_define(
    "deform_conv2d",
    f"(Tensor input, Tensor offset, Tensor weight, Tensor? mask, Tensor? bias, {_GEOMETRY}) "
    "-> Tensor",
    deform_conv.deform_conv2d,
    _deform_conv2d_fake,
    of_images=True,
)
_define(
    "deform_conv2d_backward_data",
    f"(Tensor grad, Tensor input, Tensor offset, Tensor weight, Tensor? mask, {_GEOMETRY}) "
    "-> (Tensor grad_input, Tensor grad_offset, Tensor grad_mask)",
    deform_conv.deform_conv2d_backward_data,
    _deform_conv2d_backward_data_fake,
    of_images=True,
)
_define(
    "deform_conv2d_backward_weight",
    f"(Tensor grad, Tensor input, Tensor offset, Tensor? mask, SymInt[2] kernel, {_GEOMETRY}) "
    "-> (Tensor grad_weight, Tensor grad_bias)",
    deform_conv.deform_conv2d_backward_weight,
    _deform_conv2d_backward_weight_fake,
    of_images=True,
)
