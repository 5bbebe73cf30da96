"""Sums of the features of the points of each cell of a bird's-eye grid."""

from __future__ import annotations

import numpy as np

from mluop_omp._definitions._indexing import sum_rows


def voxel_pooling(geom_xyz, features, voxel_num):
    B, N, C = features.shape
    X, Y, _ = voxel_num
    inside = ((geom_xyz >= 0) & (geom_xyz < np.array(voxel_num))).all(2)
    batch, point = np.nonzero(inside)
    x, y, _ = geom_xyz[batch, point].T
    pos_memo = np.full((B, N, 3), -1, np.int32)
    pos_memo[inside] = np.stack((batch, y, x), 1)
    output = sum_rows(features[inside], (batch * Y + y) * X + x, B * Y * X)
    return output.reshape(B, Y, X, C), pos_memo


def voxel_pooling_backward(grad_output, pos_memo):
    grad_features = np.zeros((*pos_memo.shape[:2], grad_output.shape[3]), grad_output.dtype)
    has_cell = pos_memo[..., 0] >= 0
    grad_features[has_cell] = grad_output[tuple(pos_memo[has_cell].T)]
    return grad_features


def _pooled_points(depth, features, ranks_depth, ranks_feat, ranks_bev):
    """Returns cell, element of depth and row of features of each point that is not skipped, and
    the values of the latter two.
    """
    cell, element, row = (each[ranks_bev >= 0] for each in (ranks_bev, ranks_depth, ranks_feat))
    depths, rows = depth[element, np.newaxis], features[row]
    return cell, element, row, depths.astype(np.float64), rows.astype(np.float64)


def bev_pool(depth, features, *ranks_and_num_cells):
    *ranks, num_cells = ranks_and_num_cells
    if 0 in (num_cells, features.shape[1]):  # The ranks may have any value.
        return np.zeros((num_cells, features.shape[1]))
    cell, _, _, depths, rows = _pooled_points(depth, features, *ranks)
    return sum_rows(depths * rows, cell, num_cells)


def bev_pool_backward(grad_output, depth, features, *ranks):
    if depth.size == features.size == 0:
        return np.zeros(depth.shape), np.zeros(features.shape)
    cell, element, row, depths, rows = _pooled_points(depth, features, *ranks)
    grads = grad_output[cell].astype(np.float64)
    of_depth = (grads * rows).sum(1, keepdims=True)
    of_features = sum_rows(depths * grads, row, len(features))
    return sum_rows(of_depth, element, len(depth))[:, 0], of_features


def voxel_pooling_arguments(random, B=2, N=30, C=4, X=3, Y=3, Z=3):
    return random.integers(-1, 4, B, N, 3), random.floats(B, N, C), (X, Y, Z)


def voxel_pooling_backward_arguments(random, B=2, N=30, C=4, X=3, Y=3):
    cells = [random.integers(0, extent, B, N) for extent in (B, Y, X)]
    skipped = random.integers(0, 3 if B * X * Y else 1, B, N, 1) == 0
    return random.floats(B, Y, X, C), np.where(skipped, -1, np.stack(cells, 2)).astype(np.int32)


def bev_pool_arguments(random, D=12, F=5, P=20, M=6, C=4):
    ranks = [random.integers(low, high, P) for low, high in ((0, D), (0, F), (-1, M))]
    return random.floats(D), random.floats(F, C), *ranks, M


def bev_pool_backward_arguments(random, D=12, F=5, P=20, M=6, C=4):
    return random.floats(M, C), *bev_pool_arguments(random, D, F, P, M, C)[:-1]
