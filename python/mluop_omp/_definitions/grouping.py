"""Features of points and of groups of points."""

from __future__ import annotations

import math

import numpy as np

from mluop_omp._definitions._indexing import sum_columns, sum_rows


def gather_points(features, indices):
    B, C, _ = features.shape
    shape = (B, C, *indices.shape[1:])
    if 0 in shape:  # The indices may have any value.
        return np.zeros(shape, features.dtype)
    return np.take_along_axis(features, indices.reshape(B, 1, -1), 2).reshape(shape)


def gather_points_backward(grad_output, indices, N):
    B, C = grad_output.shape[:2]
    if grad_output.size == 0:
        return np.zeros((B, C, N))
    K = math.prod(indices.shape[1:])
    return sum_columns(grad_output.reshape(B, C, K), indices.reshape(B, K), N)


def _rows(indices, indices_batch_cnt, features_batch_cnt):
    """Returns indices within clouds as rows of the features of all clouds."""
    starts = np.cumsum(features_batch_cnt) - features_batch_cnt
    return indices + np.repeat(starts, indices_batch_cnt)[:, np.newaxis]


def stack_group_points(features, features_batch_cnt, indices, indices_batch_cnt):
    rows = _rows(indices, indices_batch_cnt, features_batch_cnt)
    (M, S), C = indices.shape, features.shape[1]
    if 0 in (M, S, C):
        return np.zeros((M, C, S), features.dtype)
    return np.ascontiguousarray(features[rows].transpose(0, 2, 1))


def stack_group_points_backward(grad_output, indices, indices_batch_cnt, features_batch_cnt, N):
    rows = _rows(indices, indices_batch_cnt, features_batch_cnt)
    C = grad_output.shape[1]
    if grad_output.size == 0:
        return np.zeros((N, C))
    return sum_rows(grad_output.transpose(0, 2, 1).reshape(-1, C), rows.ravel(), N)
