"""Sums of the features of neighbors, weighted or by kernels."""

from __future__ import annotations

import math

import numpy as np

from mluop_omp._definitions._indexing import sum_columns, sum_rows


def three_interpolate(features, indices, weights):
    (B, C, _), N = features.shape, indices.shape[1]
    if 0 in (B, C, N):  # The indices may have any value.
        return np.zeros((B, C, N))
    neighbors = np.take_along_axis(features, indices.reshape(B, 1, 3 * N), 2)
    products = neighbors.reshape(B, C, N, 3).astype(np.float64) * weights[:, np.newaxis]
    return products.sum(3)


def three_interpolate_backward(grad_output, indices, weights, M):
    B, C, N = grad_output.shape
    if grad_output.size == 0:
        return np.zeros((B, C, M))
    products = grad_output[..., np.newaxis].astype(np.float64) * weights[:, np.newaxis]
    return sum_columns(products.reshape(B, C, 3 * N), indices.reshape(B, 3 * N), M)


def _differences(points, centers, knn_idx):
    batch = np.arange(len(points))[:, np.newaxis, np.newaxis]
    neighbors, first = points[batch, knn_idx], centers[batch, knn_idx[..., :1]]
    return neighbors.astype(np.float64) - first


def assign_score_withk(scores, points, centers, knn_idx):
    differences = _differences(points, centers, knn_idx)
    return np.einsum("bnkm,bnkmo->bonk", scores.astype(np.float64), differences)


def assign_score_withk_backward(grad_output, scores, points, centers, knn_idx):
    grad_output, scores = grad_output.astype(np.float64), scores.astype(np.float64)
    differences = _differences(points, centers, knn_idx)
    products = np.einsum("bnkm,bonk->bnkmo", scores, grad_output)
    row = knn_idx + np.arange(len(points))[:, np.newaxis, np.newaxis] * points.shape[1]

    def sums(terms, row):
        rows = terms.reshape(row.size, math.prod(points.shape[2:]))
        return sum_rows(rows, row.ravel(), math.prod(points.shape[:2])).reshape(points.shape)

    return (
        np.einsum("bonk,bnkmo->bnkm", grad_output, differences),
        sums(products, row),
        sums(-products, np.broadcast_to(row[..., :1], row.shape)),
    )
