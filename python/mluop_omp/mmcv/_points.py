"""The functions of mmcv._ext on points, with the names, arguments and outputs of mmcv."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from mluop_omp._library import bad_param
from mluop_omp._operators._declaration import operators
from mluop_omp.torch import _addresses
from mluop_omp.torch._arrays import TORCH, add, apply_num_threads, to_int32, write
from mluop_omp.torch._precision import at_least_float32, dense, precise, widened

__all__ = [
    "assign_score_withk_backward",
    "assign_score_withk_forward",
    "ball_query_forward",
    "furthest_point_sampling_forward",
    "furthest_point_sampling_with_dist_forward",
    "gather_points_backward",
    "gather_points_forward",
    "group_points_backward",
    "group_points_forward",
    "knn_forward",
    "stack_ball_query_forward",
    "stack_group_points_backward",
    "stack_group_points_forward",
    "three_interpolate_backward",
    "three_interpolate_forward",
    "three_nn_forward",
]


def _sample(operator: Any, cloud: Tensor, idx_tensor: Tensor, count: int) -> None:
    apply_num_threads()
    write({"idx_tensor": idx_tensor}, torch.int32, operator, cloud, count)


def furthest_point_sampling_forward(
    points_tensor: Tensor, temp_tensor: Tensor, idx_tensor: Tensor, b: int, n: int, m: int
) -> None:
    """Neither reads nor writes temp_tensor, where mmcv's kernels hold distances."""
    (cloud,) = at_least_float32(points_tensor)
    cloud = rows_of_three("points_tensor", cloud)
    _sample(operators.furthest_point_sample, cloud, idx_tensor, m)


def furthest_point_sampling_with_dist_forward(
    points_tensor: Tensor, temp_tensor: Tensor, idx_tensor: Tensor, b: int, n: int, m: int
) -> None:
    """As `furthest_point_sampling_forward`; points_tensor are the distances [B, N, N]."""
    (distances,) = at_least_float32(points_tensor)
    _sample(operators.furthest_point_sample_with_dist, distances, idx_tensor, m)


def gather_points_forward(
    points_tensor: Tensor, idx_tensor: Tensor, out_tensor: Tensor, **_: int
) -> None:
    apply_num_threads()
    (features,) = widened(points_tensor)
    arguments = (features, dense(idx_tensor))
    write({"out_tensor": out_tensor}, features.dtype, _addresses.gather_points, *arguments)


def gather_points_backward(
    grad_out_tensor: Tensor, idx_tensor: Tensor, grad_points_tensor: Tensor, **_: int
) -> None:
    """Adds the sums to grad_points_tensor. Sums of half and bfloat16 are rounded once."""
    apply_num_threads()
    (grad,) = widened(grad_out_tensor)
    arguments = (grad, dense(idx_tensor), grad_points_tensor.shape[2])
    outputs = {"grad_points_tensor": grad_points_tensor}
    add(outputs, _addresses.gather_points_backward(TORCH, *arguments))


group_points_forward = gather_points_forward
group_points_backward = gather_points_backward


def rows_of_three(name: str, tensor: Tensor) -> Tensor:
    """Returns the points that mmcv's kernel reads of a tensor [B, N, C]: rows of three numbers.

    If C is not 3, they are other points. mmdetection3d's DGCNN calls knn with features of 64
    channels, and its SA-SSD calls three_nn with four columns, of which the first is the scene; so
    their weights belong to these neighbors.
    """
    if tensor.dim() != 3 or tensor.shape[2] == 3:
        return tensor  # The operator refuses other dimensions.
    B, N, C = tensor.shape
    if C < 3:
        raise bad_param(f"{name} has {C} columns, expected x, y and z")
    return tensor.reshape(B * N * C)[: B * N * 3].view(B, N, 3)


def knn_forward(*arguments: Any, **named: Any) -> None:
    """Takes the numbers b, n, m, nsample after the tensors or before them, as mmcv."""
    if arguments and not isinstance(arguments[0], Tensor):
        arguments = arguments[4:] + arguments[:4]
    _knn_forward(*arguments, **named)


def _knn_forward(
    xyz_tensor: Tensor,
    new_xyz_tensor: Tensor,
    idx_tensor: Tensor,
    dist2_tensor: Tensor,
    b: int,
    n: int,
    m: int,
    nsample: int,
) -> None:
    apply_num_threads()
    xyz, new_xyz = at_least_float32(xyz_tensor, new_xyz_tensor)
    xyz, new_xyz = rows_of_three("xyz_tensor", xyz), rows_of_three("new_xyz_tensor", new_xyz)
    outputs = {"dist2_tensor": dist2_tensor, "idx_tensor": idx_tensor}
    write(outputs, xyz.dtype, operators.knn, xyz, new_xyz, nsample)


# Its arguments by name; see inspect.signature.
knn_forward.__wrapped__ = _knn_forward  # type: ignore[attr-defined]


def three_interpolate_forward(
    points_tensor: Tensor, idx_tensor: Tensor, weight_tensor: Tensor, out_tensor: Tensor, **_: int
) -> None:
    apply_num_threads()
    features, weights = widened(points_tensor, weight_tensor)
    arguments = (features, dense(idx_tensor), weights)
    write({"out_tensor": out_tensor}, features.dtype, _addresses.three_interpolate, *arguments)


def three_interpolate_backward(
    grad_out_tensor: Tensor,
    idx_tensor: Tensor,
    weight_tensor: Tensor,
    grad_points_tensor: Tensor,
    **_: int,
) -> None:
    apply_num_threads()
    grad, weights = widened(grad_out_tensor, weight_tensor)
    arguments = (grad, dense(idx_tensor), weights, grad_points_tensor.shape[2])
    output = {"grad_points_tensor": grad_points_tensor}
    write(output, grad.dtype, _addresses.three_interpolate_backward, *arguments)


def three_nn_forward(
    unknown_tensor: Tensor, known_tensor: Tensor, dist2_tensor: Tensor, idx_tensor: Tensor, **_: int
) -> None:
    apply_num_threads()
    unknown, known = precise(unknown_tensor, known_tensor)
    unknown = rows_of_three("unknown_tensor", unknown)
    known = rows_of_three("known_tensor", known)
    outputs = {"dist2_tensor": dist2_tensor, "idx_tensor": idx_tensor}
    write(outputs, unknown.dtype, operators.three_nn, unknown, known)


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
    apply_num_threads()
    new_xyz, xyz = precise(new_xyz_tensor, xyz_tensor)
    clouds = rows_of_three("new_xyz_tensor", new_xyz), rows_of_three("xyz_tensor", xyz)
    arguments = (*clouds, min_radius, max_radius, nsample)
    write({"idx_tensor": idx_tensor}, torch.int32, operators.ball_query, *arguments)


def stack_ball_query_forward(
    new_xyz_tensor: Tensor,
    new_xyz_batch_cnt: Tensor,
    xyz_tensor: Tensor,
    xyz_batch_cnt: Tensor,
    idx_tensor: Tensor,
    max_radius: float,
    nsample: int,
) -> None:
    apply_num_threads()
    new_xyz, xyz = precise(new_xyz_tensor, xyz_tensor)
    counts = dense(new_xyz_batch_cnt), dense(xyz_batch_cnt)
    arguments = (new_xyz, counts[0], xyz, counts[1], max_radius, nsample)
    write({"idx_tensor": idx_tensor}, torch.int32, operators.stack_ball_query, *arguments)


def stack_group_points_forward(
    features_tensor: Tensor,
    features_batch_cnt_tensor: Tensor,
    idx_tensor: Tensor,
    idx_batch_cnt_tensor: Tensor,
    out_tensor: Tensor,
    **_: int,
) -> None:
    apply_num_threads()
    (features,) = widened(features_tensor)
    integers = (features_batch_cnt_tensor, idx_tensor, idx_batch_cnt_tensor)
    operator = _addresses.stack_group_points_of_mmcv(out_tensor)
    arguments = (operator, features, *map(dense, integers))
    write({"out_tensor": out_tensor}, features.dtype, *arguments)


def stack_group_points_backward(
    grad_out_tensor: Tensor,
    idx_tensor: Tensor,
    idx_batch_cnt_tensor: Tensor,
    features_batch_cnt_tensor: Tensor,
    grad_features_tensor: Tensor,
    **_: int,
) -> None:
    """Adds the sums to grad_features_tensor. Sums of half and bfloat16 are rounded once."""
    apply_num_threads()
    (grad,) = widened(grad_out_tensor)
    integers = (idx_tensor, idx_batch_cnt_tensor, features_batch_cnt_tensor)
    arguments = (grad, *map(dense, integers), grad_features_tensor.shape[0])
    outputs = {"grad_features_tensor": grad_features_tensor}
    add(outputs, _addresses.stack_group_points_backward(TORCH, *arguments))


def assign_score_withk_forward(
    points_tensor: Tensor,
    centers: Tensor,
    scores: Tensor,
    knn_idx: Tensor,
    output: Tensor,
    *_: int,
    **__: int,
) -> None:
    """Adds the sums to output. `aggregate` has no effect, as in mmcv."""
    apply_num_threads()
    arguments = (*widened(scores, points_tensor, centers), to_int32("knn_idx", knn_idx))
    add({"output": output}, operators.assign_score_withk(TORCH, *arguments))


def assign_score_withk_backward(
    grad_out: Tensor,
    points_tensor: Tensor,
    centers: Tensor,
    scores: Tensor,
    knn_idx: Tensor,
    grad_points: Tensor,
    grad_centers: Tensor,
    grad_scores: Tensor,
    *_: int,
    **__: int,
) -> None:
    """Adds the sums to the gradients."""
    apply_num_threads()
    tensors = widened(grad_out, scores, points_tensor, centers)
    outputs = {"grad_scores": grad_scores, "grad_points": grad_points, "grad_centers": grad_centers}
    add(
        outputs,
        operators.assign_score_withk_backward(TORCH, *tensors, to_int32("knn_idx", knn_idx)),
    )
