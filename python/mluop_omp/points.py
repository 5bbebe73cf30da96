"""Operators on point sets, on NumPy arrays: sampling, gathering, neighbors, interpolation."""

from __future__ import annotations

import numpy as np

from mluop_omp._arrays import NUMPY
from mluop_omp._operators import points as _points


def furthest_point_sample(points: np.ndarray, num_points: int) -> np.ndarray:
    """Samples points that are far from each other (PointNet++).

    The first sample is point 0. Each further one is the point whose distance to the nearest sample
    is the largest. Differences, squares and sums ``(dx**2 + dy**2) + dz**2`` are rounded to
    float32; squares of more than 1e10 count as 1e10; distances that are NaN do not count.

    Of equal distances, the point comes first whose index, as a number of b bits, has the smallest
    reversal, with b = floor(log2(min(N, 1024))); of those, the lowest index. So do the kernels of
    mmcv and OpenPCDet.

    Args:
        points: float32 [B, N, 3].
        num_points: samples of each cloud. If there are more than different points, 0 repeats.

    Returns:
        int32 [B, num_points], the indices of the samples, in their order.

    Raises:
        MluOpError: N is 0 and there are samples; shapes or dtypes differ from those above.

    Source: mluOpOmpFurthestPointSample; PointNet++, arXiv:1706.02413; mmcv furthest_point_sample.
    """
    return _points.furthest_point_sample(NUMPY, points, num_points)


def furthest_point_sample_with_dist(distances: np.ndarray, num_points: int) -> np.ndarray:
    """Samples points that are far from each other, of any distances (3DSSD).

    As `furthest_point_sample`, with ``distances[b, i, k]`` in place of the square of the distance
    between the sample i and point k. Rows only are read, so that it need not be symmetric. Point 0
    is the sample if no distance is greater than -1.

    Args:
        distances: float32 [B, N, N].
        num_points: samples of each cloud.

    Returns:
        int32 [B, num_points], the indices of the samples, in their order.

    Raises:
        MluOpError: N is 0 and there are samples; shapes or dtypes differ from those above.

    Source: mluOpOmpFurthestPointSampleWithDist; 3DSSD, arXiv:2002.10187; mmcv
        furthest_point_sample_with_dist.
    """
    return _points.furthest_point_sample_with_dist(NUMPY, distances, num_points)


def gather_points(features: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Copies the features of points (PointNet++).

    ``output[b, c, m] = features[b, c, indices[b, m]]``; for groups of points, ``output[b, c, p, s]
    = features[b, c, indices[b, p, s]]``, which mmcv calls grouping_operation.

    Args:
        features: float16, bfloat16, float32 or float64 [B, C, N].
        indices: int32 [B, M] or [B, P, S], 0 to N - 1.

    Returns:
        [B, C, M] or [B, C, P, S] of the dtype of features.

    Raises:
        MluOpError: an index is outside [0, N - 1]; N is 0 and there are results; shapes or dtypes
            differ from those above.

    Source: mluOpOmpGatherPointsForward; PointNet++, arXiv:1706.02413; mmcv gather_points,
        grouping_operation.
    """
    return _points.gather_points(NUMPY, features, indices)


def gather_points_backward(grad_output: np.ndarray, indices: np.ndarray, N: int) -> np.ndarray:
    """Returns the gradient of the features of `gather_points`.

    Args:
        grad_output: float16, bfloat16, float32 or float64 [B, C, M] or [B, C, P, S].
        indices: int32 [B, M] or [B, P, S], 0 to N - 1.
        N: the number of points.

    Returns:
        [B, C, N] of the dtype of grad_output. Sums are fp32, in the order of the indices; fp64 for
            float64.

    Raises:
        MluOpError: an index is outside [0, N - 1]; N is negative, or 0 and there are gradients;
            shapes or dtypes differ from those above.

    Source: mluOpOmpGatherPointsBackward; PointNet++, arXiv:1706.02413; mmcv gather_points,
        grouping_operation.
    """
    return _points.gather_points_backward(NUMPY, grad_output, indices, N)


def ball_query(
    new_xyz: np.ndarray, xyz: np.ndarray, min_radius: float, max_radius: float, nsample: int
) -> np.ndarray:
    """Finds the first points in the ball, or the shell, around each center (PointNet++).

    The members of a center are the points at distance 0 or with ``min_radius**2 <= d**2 <
    max_radius**2``, in ascending order. Differences, squares and sums are rounded to the dtype;
    those of bfloat16 to float32.

    Args:
        new_xyz: float16, bfloat16 or float32 [B, M, 3], the centers. (ball_query of mmcv takes
            the points first.)
        xyz: [B, N, 3] of the dtype of new_xyz, the points.
        min_radius, max_radius: in the unit of the coordinates.
        nsample: members to return of a center.

    Returns:
        int32 [B, M, nsample]: the first members; if there are fewer, the first of them again; if
        there are none, 0.

    Raises:
        MluOpError: a radius is negative or NaN; nsample is negative.

    Source: mluOpBallQuery; PointNet++, arXiv:1706.02413; mmcv ball_query.
    """
    return _points.ball_query(NUMPY, new_xyz, xyz, min_radius, max_radius, nsample)


def stack_ball_query(
    new_xyz: np.ndarray,
    new_xyz_batch_cnt: np.ndarray,
    xyz: np.ndarray,
    xyz_batch_cnt: np.ndarray,
    max_radius: float,
    nsample: int,
) -> np.ndarray:
    """Finds the first points in the ball around each center of stacked clouds (PV-RCNN).

    Cloud b has the centers and points that follow those of cloud b - 1. The members of a center are
    the points of its cloud with ``d**2 < max_radius**2``, in ascending order. Differences, squares
    and sums are rounded to the dtype; those of bfloat16 to float32.

    Args:
        new_xyz: float16, bfloat16 or float32 [M, 3], the centers of all clouds.
        new_xyz_batch_cnt: int32 [B], the number of centers of each.
        xyz: [N, 3] of the dtype of new_xyz, the points of all clouds.
        xyz_batch_cnt: int32 [B], the number of points of each.
        max_radius: in the unit of the coordinates.
        nsample: members to return of a center.

    Returns:
        int32 [M, nsample]: the first members, counted in their cloud; if there are fewer, the first
        of them again; if there are none, -1, 0, 0, ...

    Raises:
        MluOpError: counts do not add up to the rows; max_radius is negative or NaN; nsample is
            negative.

    Source: mluOpOmpStackBallQuery; PV-RCNN, arXiv:1912.13192; mmcv ball_query with counts.
    """
    counts = new_xyz_batch_cnt, xyz_batch_cnt
    return _points.stack_ball_query(NUMPY, new_xyz, counts[0], xyz, counts[1], max_radius, nsample)


def stack_group_points(
    features: np.ndarray,
    features_batch_cnt: np.ndarray,
    indices: np.ndarray,
    indices_batch_cnt: np.ndarray,
) -> np.ndarray:
    """Copies the features of the points in groups of stacked clouds (PV-RCNN).

    ``output[m, c, s] = features[first + indices[m, s], c]`` with the first row of the cloud of m.

    Args:
        features: float16, bfloat16, float32 or float64 [N, C], of all clouds.
        features_batch_cnt: int32 [B], the number of features of each.
        indices: int32 [M, S], of the features of a cloud, from 0.
        indices_batch_cnt: int32 [B], the number of groups of each.

    Returns:
        [M, C, S] of the dtype of features.

    Raises:
        MluOpError: an index is not of a feature of its cloud; counts do not add up to the rows;
            shapes or dtypes differ from those above.

    Source: mluOpOmpStackGroupPointsForward; PV-RCNN, arXiv:1912.13192; mmcv
        grouping_operation.
    """
    return _points.stack_group_points(
        NUMPY, features, features_batch_cnt, indices, indices_batch_cnt
    )


def stack_group_points_backward(
    grad_output: np.ndarray,
    indices: np.ndarray,
    indices_batch_cnt: np.ndarray,
    features_batch_cnt: np.ndarray,
    N: int,
) -> np.ndarray:
    """Returns the gradient of the features of `stack_group_points`.

    Args:
        grad_output: float16, bfloat16, float32 or float64 [M, C, S].
        indices, indices_batch_cnt, features_batch_cnt: as in `stack_group_points`.
        N: the number of features of all clouds.

    Returns:
        [N, C] of the dtype of grad_output. Sums are fp32, in the order of the indices; fp64 for
            float64.

    Raises:
        MluOpError: as `stack_group_points`.

    Source: mluOpOmpStackGroupPointsBackward; PV-RCNN, arXiv:1912.13192; mmcv
        grouping_operation.
    """
    counts = indices_batch_cnt, features_batch_cnt
    return _points.stack_group_points_backward(NUMPY, grad_output, indices, *counts, N)


def assign_score_withk(
    scores: np.ndarray, points: np.ndarray, centers: np.ndarray, knn_idx: np.ndarray
) -> np.ndarray:
    """Assembles the features of neighbors from kernels, by their scores (PAConv).

    ``output[b, :, n, k]`` is the sum over m of ``scores[b, n, k, m] * (points[b, i, m] -
    centers[b, j, m])``, with ``i = knn_idx[b, n, k]`` and ``j = knn_idx[b, n, 0]``.

    Args:
        scores: float16, bfloat16, float32 or float64 [B, N1, K, M].
        points, centers: [B, N0, M, O] of the dtype of scores.
        knn_idx: int32 [B, N1, K], 0 to N0 - 1.

    Returns:
        [B, O, N1, K] of the dtype of scores. Sums are fp32, in the order of m; fp64 for float64.

    Raises:
        MluOpError: an index is outside [0, N0 - 1]; shapes or dtypes differ from those above.

    Source: mluOpOmpAssignScoreWithkForward; PAConv, arXiv:2103.14635; mmcv assign_score_withk.
    """
    return _points.assign_score_withk(NUMPY, scores, points, centers, knn_idx)


def assign_score_withk_backward(
    grad_output: np.ndarray,
    scores: np.ndarray,
    points: np.ndarray,
    centers: np.ndarray,
    knn_idx: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the gradients of scores, points and centers of `assign_score_withk`.

    Args:
        grad_output: float16, bfloat16, float32 or float64 [B, O, N1, K].
        scores, points, centers, knn_idx: as in `assign_score_withk`.

    Returns:
        Gradients of the shapes of scores, points and centers.

    Raises:
        MluOpError: as `assign_score_withk`.

    Source: mluOpOmpAssignScoreWithkBackward; PAConv, arXiv:2103.14635; mmcv assign_score_withk.
    """
    return _points.assign_score_withk_backward(NUMPY, grad_output, scores, points, centers, knn_idx)


def three_nn(unknown: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Finds the three known points nearest to each unknown point (PointNet++).

    Of equal distances, the lower index comes first. Differences, squares and sums are rounded to
    the dtype; those of bfloat16 to float32, of which dist2 are rounded once.

    Args:
        unknown: float16, bfloat16 or float32 [B, N, 3].
        known: [B, M, 3] of the dtype of unknown.

    Returns:
        dist2: [B, N, 3] of the dtype of unknown, the squares of the distances, ascending. (three_nn
            of mmcv returns their roots.) Infinity where there are fewer than three known points at
            a finite distance.
        idx: int32 [B, N, 3], the known points; 0 where dist2 is infinity.

    Raises:
        MluOpError: shapes or dtypes differ from those above.

    Source: mluOpThreeNNForward; PointNet++, arXiv:1706.02413; mmcv three_nn.
    """
    return _points.three_nn(NUMPY, unknown, known)


def knn(xyz: np.ndarray, new_xyz: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Finds the k points nearest to each center (PAConv).

    Differences, squares and sums ``(dx**2 + dy**2) + dz**2`` are rounded to float32.

    Of equal distances, which points are found, and their order, are those of mmcv's kernels: a heap
    that holds the k nearest, with the farthest at its root, takes each point that is nearer than
    its root in ascending order of indices; a heap sort ends it.

    Args:
        xyz: float32 [B, N, 3], the points.
        new_xyz: float32 [B, M, 3], the centers.
        k: 1 to 100.

    Returns:
        dist2: float32 [B, M, k], the squares of the distances, ascending. 1e10 where there are
            fewer than k points at a square of less than 1e10.
        idx: int32 [B, M, k], the points; 0 where dist2 is 1e10. (knn of mmcv returns [B, k, M], and
            no distances.)

    Raises:
        MluOpError: k is outside [1, 100]; shapes or dtypes differ from those above.

    Source: mluOpOmpKnn; PAConv, arXiv:2103.14635; mmcv knn.
    """
    return _points.knn(NUMPY, xyz, new_xyz, k)


def three_interpolate(features: np.ndarray, indices: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Interpolates each point from three features (PointNet++).

    ``output[b, c, n] = sum over k of weights[b, n, k] * features[b, c, indices[b, n, k]]``, in
    fp32; in fp64 for float64.

    Args:
        features: float16, bfloat16, float32 or float64 [B, C, M].
        indices: int32 [B, N, 3], 0 to M - 1.
        weights: [B, N, 3] of the dtype of features; any values.

    Returns:
        [B, C, N] of the dtype of features.

    Raises:
        MluOpError: an index is outside [0, M - 1].

    Source: mluOpThreeInterpolateForward; PointNet++, arXiv:1706.02413; mmcv three_interpolate.
    """
    return _points.three_interpolate(NUMPY, features, indices, weights)


def three_interpolate_backward(
    grad_output: np.ndarray, indices: np.ndarray, weights: np.ndarray, M: int
) -> np.ndarray:
    """Returns the gradient of the features of `three_interpolate`.

    Args:
        grad_output: float16, bfloat16, float32 or float64 [B, C, N].
        indices: int32 [B, N, 3], 0 to M - 1.
        weights: [B, N, 3] of the dtype of grad_output.
        M: the number of features.

    Returns:
        [B, C, M] of the dtype of grad_output. Sums are fp32, in the order of points and slots;
            fp64 for float64.

    Raises:
        MluOpError: an index is outside [0, M - 1].

    Source: mluOpThreeInterpolateBackward; PointNet++, arXiv:1706.02413; mmcv three_interpolate.
    """
    return _points.three_interpolate_backward(NUMPY, grad_output, indices, weights, M)
