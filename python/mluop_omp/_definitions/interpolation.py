"""Sums of the features of neighbors, weighted or by kernels."""

from __future__ import annotations

import math

import numpy as np

from mluop_omp._definitions._indexing import sum_columns, sum_rows, take_columns


def three_interpolate(features, indices, weights):
    neighbors = take_columns(features, indices).astype(np.float64)
    return (neighbors * weights[:, np.newaxis]).sum(3)


def three_interpolate_backward(grad_output, indices, weights, M):
    grad_neighbors = grad_output[..., np.newaxis].astype(np.float64) * weights[:, np.newaxis]
    return sum_columns(grad_neighbors, indices, M)


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

    of_scores = np.einsum("bonk,bnkmo->bnkm", grad_output, differences)
    first = np.broadcast_to(row[..., :1], row.shape)
    return of_scores, sums(products, row), sums(-products, first)


def three_interpolate_arguments(random, B=2, C=4, M=6, N=9):
    return random.floats(B, C, M), random.integers(0, M, B, N, 3), random.floats(B, N, 3)


def three_interpolate_backward_arguments(random, B=2, C=4, N=9, M=6):
    return random.floats(B, C, N), random.integers(0, M, B, N, 3), random.floats(B, N, 3), M


def assign_score_withk_arguments(random, B=2, N0=6, N1=5, K=3, M=4, channels=7):
    points, centers = (random.floats(B, N0, M, channels) for _ in range(2))
    return random.floats(B, N1, K, M), points, centers, random.integers(0, N0, B, N1, K)


def assign_score_withk_backward_arguments(random, B=2, N0=6, N1=5, K=3, M=4, channels=7):
    arguments = assign_score_withk_arguments(random, B, N0, N1, K, M, channels)
    return random.floats(B, channels, N1, K), *arguments
