"""The operators as functions on PyTorch tensors.

Arguments, results and errors are those of the functions of the same names in `mluop_omp`, which
document shapes and dtypes. Tensors are on the device cpu. Those that are not contiguous are copied;
results are contiguous. `deform_conv2d` and `roi_align` take images in the memory format
channels_last as they are, in which they are faster, and then return them so.

Derivatives are those of the definitions, in reverse and forward mode and of any order, also under
torch.func and torch.vmap, which calls the operator for each element of the batch. `voxelization`,
`box_iou_rotated`, `boxes_overlap_bev`, `roipoint_pool3d` and `soft_nms` have none and say so;
`ball_query`, `stack_ball_query`, `furthest_point_sample`, `indice_pairs`, `nms`, `nms_match`,
`nms_rotated`, `nms3d`, `nms3d_normal` and `points_in_boxes`, and their variants, return integers.
Under torch.autocast, `deform_conv2d` and `indice_conv` compute its type, as PyTorch's convolutions
do. Operators that copy, pool or interpolate features compute the widest type of their tensors, all
others float32 at least.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from mluop_omp.torch import _operators, _transforms  # noqa: F401  registers the operators

_ops = _operators.OPERATORS


def voxel_pooling(
    geom_xyz: Tensor, feats: Tensor, voxel_num: Sequence[int]
) -> tuple[Tensor, Tensor]:
    """Sums the features of the points of each cell of a grid: `mluop_omp.voxel_pooling`."""
    return _ops.voxel_pooling(geom_xyz, feats, voxel_num)


def bev_pool(
    depth: Tensor,
    features: Tensor,
    ranks_depth: Tensor,
    ranks_feat: Tensor,
    ranks_bev: Tensor,
    num_cells: int,
) -> Tensor:
    """Sums the features of the points of each cell, weighted by depth: `mluop_omp.bev_pool`."""
    return _ops.bev_pool(depth, features, ranks_depth, ranks_feat, ranks_bev, num_cells)


def voxelization(
    points: Tensor,
    voxel_size: Sequence[float],
    coors_range: Sequence[float],
    max_points: int,
    max_voxels: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """Collects the points of each cell of a grid: `mluop_omp.voxelization`."""
    return _ops.voxelization(points, voxel_size, coors_range, max_points, max_voxels)


def dynamic_scatter(
    feats: Tensor, coors: Tensor, reduce: str = "max"
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Reduces the features of the points of each voxel: `mluop_omp.dynamic_scatter`."""
    return _ops.dynamic_scatter(feats, coors, reduce)


def box_iou_rotated(
    boxes1: Tensor, boxes2: Tensor, mode: str = "iou", aligned: bool = False
) -> Tensor:
    """Returns how much of each pair of rotated boxes overlaps: `mluop_omp.box_iou_rotated`."""
    return _ops.box_iou_rotated(boxes1, boxes2, mode, aligned)


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float, offset: int = 0) -> Tensor:
    """Keeps the boxes with the higher scores of those that overlap: `mluop_omp.nms`."""
    return _ops.nms(boxes, scores, iou_threshold, offset)


def nms_rotated(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Keeps the boxes with the higher scores of those that overlap: `mluop_omp.nms_rotated`."""
    return _ops.nms_rotated(boxes, scores, iou_threshold)


def nms3d(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Keeps the boxes with the higher scores of those that overlap: `mluop_omp.nms3d`."""
    return _ops.nms3d(boxes, scores, iou_threshold)


def nms3d_normal(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Keeps the boxes with the higher scores of those that overlap: `mluop_omp.nms3d_normal`."""
    return _ops.nms3d_normal(boxes, scores, iou_threshold)


def boxes_overlap_bev(boxes_a: Tensor, boxes_b: Tensor) -> Tensor:
    """Returns the area that each pair of 3-D boxes shares: `mluop_omp.boxes_overlap_bev`."""
    return _ops.boxes_overlap_bev(boxes_a, boxes_b)


def soft_nms(
    boxes: Tensor,
    scores: Tensor,
    iou_threshold: float = 0.3,
    sigma: float = 0.5,
    min_score: float = 1e-3,
    method: str = "linear",
    offset: int = 0,
) -> tuple[Tensor, Tensor]:
    """Decays the scores of boxes that overlap one of a higher score: `mluop_omp.soft_nms`."""
    return _ops.soft_nms(boxes, scores, iou_threshold, sigma, min_score, method, offset)


def nms_match(dets: Tensor, iou_threshold: float) -> tuple[Tensor, Tensor]:
    """Groups boxes by the box that NMS keeps of them: `mluop_omp.nms_match`."""
    return _ops.nms_match(dets, iou_threshold)


def points_in_boxes(points: Tensor, boxes: Tensor) -> Tensor:
    """Finds the first box of each point, by the rule of MLU-OPS: `mluop_omp.points_in_boxes`."""
    return _ops.points_in_boxes(points, boxes)


def points_in_boxes_part(points: Tensor, boxes: Tensor) -> Tensor:
    """Finds the first box of each point, by the rule of mmcv: `mluop_omp.points_in_boxes_part`."""
    return _ops.points_in_boxes_part(points, boxes)


def points_in_boxes_all(points: Tensor, boxes: Tensor) -> Tensor:
    """Finds all boxes of each point, by the rule of mmcv: `mluop_omp.points_in_boxes_all`."""
    return _ops.points_in_boxes_all(points, boxes)


def sigmoid_focal_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    gamma: float = 2.0,
    alpha: float = 0.25,
) -> Tensor:
    """Returns the loss of each class of each row: `mluop_omp.sigmoid_focal_loss`.

    It has derivatives with respect to input and weight.
    """
    return _ops.sigmoid_focal_loss(input, target, weight, gamma, alpha)


def ms_deform_attn(
    value: Tensor,
    spatial_shapes: Tensor,
    level_start_index: Tensor,
    sampling_locations: Tensor,
    attention_weights: Tensor,
) -> Tensor:
    """Adds samples of several levels for each query and head: `mluop_omp.ms_deform_attn`.

    It has derivatives with respect to value, sampling_locations and attention_weights.
    """
    levels = spatial_shapes, level_start_index
    return _ops.ms_deform_attn(value, *levels, sampling_locations, attention_weights)


def roi_align(
    input: Tensor,
    rois: Tensor,
    output_size: Sequence[int],
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    method: str = "mean",
    aligned: bool = True,
) -> tuple[Tensor, Tensor, Tensor]:
    """Pools samples of an image in each bin of each RoI: `mluop_omp.roi_align`.

    The first output has the derivative with respect to input; that for rois is 0.
    """
    numbers = (spatial_scale, sampling_ratio, method, aligned)
    return _ops.roi_align(input, rois, output_size, *numbers)


def roiaware_pool3d(
    rois: Tensor,
    pts: Tensor,
    pts_feature: Tensor,
    out_size: Sequence[int],
    max_pts_each_voxel: int = 128,
    method: str = "max",
) -> tuple[Tensor, Tensor, Tensor]:
    """Pools the features of the points in each voxel of each box: `mluop_omp.roiaware_pool3d`.

    pooled_features has the derivative with respect to pts_feature; that for rois and pts is 0.
    """
    return _ops.roiaware_pool3d(rois, pts, pts_feature, out_size, max_pts_each_voxel, method)


def roipoint_pool3d(
    points: Tensor, point_features: Tensor, boxes3d: Tensor, num_sampled_points: int = 512
) -> tuple[Tensor, Tensor]:
    """Copies the first points of each box, with their features: `mluop_omp.roipoint_pool3d`."""
    return _ops.roipoint_pool3d(points, point_features, boxes3d, num_sampled_points)


def furthest_point_sample(points: Tensor, num_points: int) -> Tensor:
    """Samples points that are far from each other: `mluop_omp.furthest_point_sample`."""
    return _ops.furthest_point_sample(points, num_points)


def furthest_point_sample_with_dist(distances: Tensor, num_points: int) -> Tensor:
    """Samples points, of any distances: `mluop_omp.furthest_point_sample_with_dist`."""
    return _ops.furthest_point_sample_with_dist(distances, num_points)


def gather_points(features: Tensor, indices: Tensor) -> Tensor:
    """Copies the features of points, or of groups of points: `mluop_omp.gather_points`."""
    return _ops.gather_points(features, indices)


def knn(xyz: Tensor, new_xyz: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Finds the k points nearest to each center: `mluop_omp.knn`."""
    return _ops.knn(xyz, new_xyz, k)


def ball_query(
    new_xyz: Tensor, xyz: Tensor, min_radius: float, max_radius: float, nsample: int
) -> Tensor:
    """Finds the first points in the ball around each center: `mluop_omp.ball_query`."""
    return _ops.ball_query(new_xyz, xyz, min_radius, max_radius, nsample)


def stack_ball_query(
    new_xyz: Tensor,
    new_xyz_batch_cnt: Tensor,
    xyz: Tensor,
    xyz_batch_cnt: Tensor,
    max_radius: float,
    nsample: int,
) -> Tensor:
    """Finds the first points in the balls of stacked clouds: `mluop_omp.stack_ball_query`."""
    counts = new_xyz_batch_cnt, xyz_batch_cnt
    return _ops.stack_ball_query(new_xyz, counts[0], xyz, counts[1], max_radius, nsample)


def stack_group_points(
    features: Tensor, features_batch_cnt: Tensor, indices: Tensor, indices_batch_cnt: Tensor
) -> Tensor:
    """Copies the features of groups of stacked clouds: `mluop_omp.stack_group_points`."""
    return _ops.stack_group_points(features, features_batch_cnt, indices, indices_batch_cnt)


def assign_score_withk(scores: Tensor, points: Tensor, centers: Tensor, knn_idx: Tensor) -> Tensor:
    """Assembles the features of neighbors from kernels: `mluop_omp.assign_score_withk`."""
    return _ops.assign_score_withk(scores, points, centers, knn_idx)


def three_nn(unknown: Tensor, known: Tensor) -> tuple[Tensor, Tensor]:
    """Finds the three known points nearest to each unknown point: `mluop_omp.three_nn`."""
    return _ops.three_nn(unknown, known)


def three_interpolate(feats: Tensor, idx: Tensor, weight: Tensor) -> Tensor:
    """Interpolates each point from three features: `mluop_omp.three_interpolate`."""
    return _ops.three_interpolate(feats, idx, weight)


def masked_im2col(
    im: Tensor, mask_h: Tensor, mask_w: Tensor, kernel: Sequence[int], pad: Sequence[int] = (0, 0)
) -> Tensor:
    """Copies the window of each mask to a column of a matrix: `mluop_omp.masked_im2col`."""
    return _ops.masked_im2col(im, mask_h, mask_w, kernel, pad)


def masked_col2im(col: Tensor, mask_h: Tensor, mask_w: Tensor, size: Sequence[int]) -> Tensor:
    """Copies each column of a matrix to the pixel of its mask: `mluop_omp.masked_col2im`."""
    return _ops.masked_col2im(col, mask_h, mask_w, size)


def indice_pairs(
    indices: Tensor,
    batch: int,
    space: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    pad: Sequence[int],
    dilation: Sequence[int],
    subm: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Finds the output sites and index pairs of a convolution: `mluop_omp.indice_pairs`."""
    return _ops.indice_pairs(indices, batch, space, kernel, stride, pad, dilation, subm)


def indice_conv(
    feats: Tensor,
    filters: Tensor,
    pairs: Tensor,
    num: Tensor,
    num_out: int,
    subm: bool = False,
    layout: str = "ARRAY",
) -> Tensor:
    """Convolves the features of active sites: `mluop_omp.indice_conv`."""
    return _ops.indice_conv(feats, filters, pairs, num, num_out, subm, layout)


def indice_maxpool(feats: Tensor, pairs: Tensor, num: Tensor, num_out: int) -> Tensor:
    """Pools the features of active sites by their maximum: `mluop_omp.indice_maxpool`."""
    return _ops.indice_maxpool(feats, pairs, num, num_out)


def deform_conv2d(
    input: Tensor,
    offset: Tensor,
    weight: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
    deformable_groups: int = 1,
) -> Tensor:
    """Convolves images at positions that offsets move: `mluop_omp.deform_conv2d`."""
    geometry = (stride, padding, dilation, groups, deformable_groups)
    return _ops.deform_conv2d(input, offset, weight, mask, bias, *geometry)
