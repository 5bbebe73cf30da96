"""The functions of mmcv._ext on points, with the names, arguments and outputs of mmcv."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from mluop_omp._adapters import Args, adds, writes
from mluop_omp._operators._declaration import operators
from mluop_omp.torch import _addresses
from mluop_omp.torch._precision import at_least_float32, precise


@writes("idx_tensor", "points_tensor, temp_tensor, idx_tensor, b, n, m", at_least_float32)
def furthest_point_sampling_forward(args: Args) -> Any:
    """Neither reads nor writes temp_tensor, where mmcv's kernels hold distances."""
    return operators.furthest_point_sample, args.rows_of_three("points_tensor"), args.m


@writes("idx_tensor", "points_tensor, temp_tensor, idx_tensor, b, n, m", at_least_float32)
def furthest_point_sampling_with_dist_forward(args: Args) -> Any:
    """As `furthest_point_sampling_forward`; points_tensor are the distances [B, N, N]."""
    return operators.furthest_point_sample_with_dist, args.points_tensor, args.m


@writes("out_tensor", "points_tensor, idx_tensor, out_tensor, **sizes")
def gather_points_forward(args: Args) -> Any:
    return _addresses.gather_points, args.points_tensor, args.idx_tensor


@adds("grad_points_tensor", "grad_out_tensor, idx_tensor, grad_points_tensor, **sizes")
def gather_points_backward(args: Args) -> Any:
    """Sums of half and bfloat16 are rounded once."""
    points = args.grad_points_tensor.shape[2]
    return _addresses.gather_points_backward, args.grad_out_tensor, args.idx_tensor, points


group_points_forward = gather_points_forward
group_points_backward = gather_points_backward


def knn_forward(*arguments: Any, **named: Any) -> None:
    """Takes the numbers b, n, m, nsample after the tensors or before them, as mmcv."""
    if arguments and not isinstance(arguments[0], Tensor):
        arguments = arguments[4:] + arguments[:4]
    _knn_forward(*arguments, **named)


@writes(
    "dist2_tensor, idx_tensor",
    "xyz_tensor, new_xyz_tensor, idx_tensor, dist2_tensor, b, n, m, nsample",
    at_least_float32,
)
def _knn_forward(args: Args) -> Any:
    clouds = args.rows_of_three("xyz_tensor"), args.rows_of_three("new_xyz_tensor")
    return operators.knn, *clouds, args.nsample


# Its arguments by name; see inspect.signature.
knn_forward.__wrapped__ = _knn_forward  # type: ignore[attr-defined]


@writes("out_tensor", "points_tensor, idx_tensor, weight_tensor, out_tensor, **sizes")
def three_interpolate_forward(args: Args) -> Any:
    tensors = args.points_tensor, args.idx_tensor, args.weight_tensor
    return _addresses.three_interpolate, *tensors


@writes(
    "grad_points_tensor",
    "grad_out_tensor, idx_tensor, weight_tensor, grad_points_tensor, **sizes",
)
def three_interpolate_backward(args: Args) -> Any:
    tensors = args.grad_out_tensor, args.idx_tensor, args.weight_tensor
    return _addresses.three_interpolate_backward, *tensors, args.grad_points_tensor.shape[2]


@writes(
    "dist2_tensor, idx_tensor",
    "unknown_tensor, known_tensor, dist2_tensor, idx_tensor, **sizes",
    precise,
)
def three_nn_forward(args: Args) -> Any:
    clouds = args.rows_of_three("unknown_tensor"), args.rows_of_three("known_tensor")
    return operators.three_nn, *clouds


@writes(
    "idx_tensor",
    "new_xyz_tensor, xyz_tensor, idx_tensor, b, n, m, min_radius, max_radius, nsample",
    precise,
)
def ball_query_forward(args: Args) -> Any:
    clouds = args.rows_of_three("new_xyz_tensor"), args.rows_of_three("xyz_tensor")
    return operators.ball_query, *clouds, args.min_radius, args.max_radius, args.nsample


@writes(
    "idx_tensor",
    "new_xyz_tensor, new_xyz_batch_cnt, xyz_tensor, xyz_batch_cnt, idx_tensor, max_radius, nsample",
    precise,
)
def stack_ball_query_forward(args: Args) -> Any:
    centers = args.new_xyz_tensor, args.new_xyz_batch_cnt
    cloud = args.xyz_tensor, args.xyz_batch_cnt
    return operators.stack_ball_query, *centers, *cloud, args.max_radius, args.nsample


@writes(
    "out_tensor",
    "features_tensor, features_batch_cnt_tensor, idx_tensor, idx_batch_cnt_tensor, out_tensor, "
    "**sizes",
)
def stack_group_points_forward(args: Args) -> Any:
    features = args.features_tensor, args.features_batch_cnt_tensor
    operator = _addresses.stack_group_points_of_mmcv(args.out_tensor)
    return operator, *features, args.idx_tensor, args.idx_batch_cnt_tensor


@adds(
    "grad_features_tensor",
    "grad_out_tensor, idx_tensor, idx_batch_cnt_tensor, features_batch_cnt_tensor, "
    "grad_features_tensor, **sizes",
)
def stack_group_points_backward(args: Args) -> Any:
    """Sums of half and bfloat16 are rounded once."""
    tensors = args.grad_out_tensor, args.idx_tensor, args.idx_batch_cnt_tensor
    rows = args.features_batch_cnt_tensor, len(args.grad_features_tensor)
    return _addresses.stack_group_points_backward, *tensors, *rows


@adds("output", "points_tensor, centers, scores, knn_idx, output, *sizes, **named_sizes")
def assign_score_withk_forward(args: Args) -> Any:
    """`aggregate` has no effect, as in mmcv."""
    tensors = args.scores, args.points_tensor, args.centers
    return operators.assign_score_withk, *tensors, args.int32("knn_idx")


@adds(
    "grad_scores, grad_points, grad_centers",
    "grad_out, points_tensor, centers, scores, knn_idx, grad_points, grad_centers, grad_scores, "
    "*sizes, **named_sizes",
)
def assign_score_withk_backward(args: Args) -> Any:
    tensors = args.grad_out, args.scores, args.points_tensor, args.centers
    return operators.assign_score_withk_backward, *tensors, args.int32("knn_idx")


@writes("dist1, dist2, idx1, idx2", "xyz1, xyz2, dist1, dist2, idx1, idx2", precise)
def chamfer_distance_forward(args: Args) -> Any:
    """Half is computed in float32."""
    return operators.chamfer_distance, args.xyz1, args.xyz2


@adds(
    "gradxyz1, gradxyz2",
    "xyz1, xyz2, idx1, idx2, graddist1, graddist2, gradxyz1, gradxyz2",
    precise,
)
def chamfer_distance_backward(args: Args) -> Any:
    """Sums of half and bfloat16 are rounded once."""
    indices = args.int32("idx1"), args.int32("idx2")
    gradients = args.graddist1, args.graddist2
    return operators.chamfer_distance_backward, args.xyz1, args.xyz2, *indices, *gradients
