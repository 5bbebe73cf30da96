"""Operators on point sets, on NumPy arrays: neighbors and interpolation."""

from __future__ import annotations

import numpy as np

from mluop_omp._arrays import NUMPY
from mluop_omp._operators import points as _points


def ball_query(
    new_xyz: np.ndarray, xyz: np.ndarray, min_radius: float, max_radius: float, nsample: int
) -> np.ndarray:
    """Finds the first points in the ball, or the shell, around each center (PointNet++).

    The members of a center are the points at distance 0 or with ``min_radius**2 <= d**2 <
    max_radius**2``, in ascending order. Differences, squares and sums are rounded to the dtype.

    Args:
        new_xyz: float16 or float32 [B, M, 3], the centers. (ball_query of mmcv takes the points
            first.)
        xyz: [B, N, 3] of the dtype of new_xyz, the points.
        min_radius, max_radius: in the unit of the coordinates.
        nsample: members to return of a center.

    Returns:
        int32 [B, M, nsample]: the first members; if there are fewer, the first of them again; if
        there are none, 0.

    Raises:
        MluOpError: B or M is 0; a radius is negative or NaN; nsample is negative.

    Source: mluOpBallQuery; PointNet++, arXiv:1706.02413; mmcv ball_query.
    """
    return _points.ball_query(NUMPY, new_xyz, xyz, min_radius, max_radius, nsample)


def three_nn(unknown: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Finds the three known points nearest to each unknown point (PointNet++).

    Of equal distances, the lower index comes first. Differences, squares and sums are rounded to
    the dtype.

    Args:
        unknown: float16 or float32 [B, N, 3].
        known: [B, M, 3] of the dtype of unknown.

    Returns:
        dist2: [B, N, 3] of the dtype of unknown, the squares of the distances, ascending. (three_nn
            of mmcv returns their roots.) Infinity where there are fewer than three known points at
            a finite distance.
        idx: int32 [B, N, 3], the known points; 0 where dist2 is infinity.

    Raises:
        MluOpError: B or N is 0; shapes or dtypes differ from those above.

    Source: mluOpThreeNNForward; PointNet++, arXiv:1706.02413; mmcv three_nn.
    """
    return _points.three_nn(NUMPY, unknown, known)


def three_interpolate(features: np.ndarray, indices: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Interpolates each point from three features (PointNet++).

    ``output[b, c, n] = sum over k of weights[b, n, k] * features[b, c, indices[b, n, k]]``, in
    fp32; in fp64 for float64.

    Args:
        features: float16, float32 or float64 [B, C, M].
        indices: int32 [B, N, 3], 0 to M - 1.
        weights: [B, N, 3] of the dtype of features; any values.

    Returns:
        [B, C, N] of the dtype of features.

    Raises:
        MluOpError: B, C, M or N is 0; an index is outside [0, M - 1].

    Source: mluOpThreeInterpolateForward; PointNet++, arXiv:1706.02413; mmcv three_interpolate.
    """
    return _points.three_interpolate(NUMPY, features, indices, weights)


def three_interpolate_backward(
    grad_output: np.ndarray, indices: np.ndarray, weights: np.ndarray, M: int
) -> np.ndarray:
    """Returns the gradient of the features of `three_interpolate`.

    Args:
        grad_output: float16, float32 or float64 [B, C, N].
        indices: int32 [B, N, 3], 0 to M - 1.
        weights: [B, N, 3] of the dtype of grad_output.
        M: the number of features.

    Returns:
        [B, C, M] of the dtype of grad_output. Sums are fp32, in the order of points and slots;
            fp64 for float64.

    Raises:
        MluOpError: B, C, N or M is 0; an index is outside [0, M - 1].

    Source: mluOpThreeInterpolateBackward; PointNet++, arXiv:1706.02413; mmcv three_interpolate.
    """
    return _points.three_interpolate_backward(NUMPY, grad_output, indices, weights, M)
