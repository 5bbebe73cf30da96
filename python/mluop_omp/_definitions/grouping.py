"""Features of points and of groups of points."""

from __future__ import annotations

import numpy as np

from mluop_omp._definitions._indexing import counts_of_clouds, sum_columns, sum_rows, take_columns


def gather_points(features, indices):
    return take_columns(features, indices)


def gather_points_backward(grad_output, indices, N):
    return sum_columns(grad_output, indices, N)


def _rows(indices, indices_batch_cnt, features_batch_cnt):
    """Returns indices within clouds as rows of the features of all clouds."""
    starts = np.cumsum(features_batch_cnt) - features_batch_cnt
    return indices + np.repeat(starts, indices_batch_cnt)[:, np.newaxis]


def stack_group_points(features, features_batch_cnt, indices, indices_batch_cnt):
    rows = _rows(indices, indices_batch_cnt, features_batch_cnt)
    (M, S), C = indices.shape, features.shape[1]
    if 0 in (M, S, C):  # The indices may have any value.
        return np.zeros((M, C, S), features.dtype)
    return np.ascontiguousarray(features[rows].transpose(0, 2, 1))


def stack_group_points_backward(grad_output, indices, indices_batch_cnt, features_batch_cnt, N):
    rows = _rows(indices, indices_batch_cnt, features_batch_cnt)
    C = grad_output.shape[1]
    if grad_output.size == 0:
        return np.zeros((N, C))
    return sum_rows(grad_output.transpose(0, 2, 1).reshape(-1, C), rows.ravel(), N)


def gather_points_arguments(random, B=2, C=4, N=6, M=9):
    return random.floats(B, C, N), random.integers(0, N, B, M)


def gather_points_backward_arguments(random, B=2, C=4, N=6, M=9):
    return random.floats(B, C, M), random.integers(0, N, B, M), N


def stack_group_points_arguments(random, B=2, N=9, C=4, M=7, S=3):
    N, M = (N, M) if B else (0, 0)
    indices = random.integers(0, N // max(B, 1), M, S)
    return random.floats(N, C), counts_of_clouds(N, B), indices, counts_of_clouds(M, B)


def stack_group_points_backward_arguments(random, B=2, N=9, C=4, M=7, S=3):
    features, features_cnt, indices, indices_cnt = stack_group_points_arguments(
        random, B, N, C, M, S
    )
    return random.floats(len(indices), C, S), indices, indices_cnt, features_cnt, len(features)
