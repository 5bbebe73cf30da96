"""Distances between two sets of points in a plane."""

from __future__ import annotations

import itertools

import numpy as np

from mluop_omp._definitions._precision import at_least_float32

_PAIRS = 2**20  # computed together


@np.errstate(invalid="ignore", over="ignore")
def _nearest(queries, known):
    """Returns the least squared distances of queries [B, N, 2] to known points [B, M, 2], and the
    first points at these distances.
    """
    queries, known = at_least_float32(queries), at_least_float32(known)
    (B, N, _), M = queries.shape, known.shape[1]
    dist, idx = np.zeros((B, N), queries.dtype), np.zeros((B, N), np.int32)
    step = max(1, _PAIRS // max(M, 1))
    for b, start in itertools.product(range(B if M else 0), range(0, N, step)):
        place = b, slice(start, start + step)
        x, y = (queries[place][:, np.newaxis, axis] - known[b, :, axis] for axis in range(2))
        d2 = x * x + y * y
        rows = np.arange(len(d2))
        nearest = np.where(np.isnan(d2), np.inf, d2).argmin(1)
        # Infinity is nearer than NaN.
        first_number = (~np.isnan(d2)).argmax(1)
        nearest = np.where(np.isnan(d2[rows, nearest]), first_number, nearest)
        dist[place], idx[place] = d2[rows, nearest], nearest
    return dist, idx


def chamfer_distance(xyz1, xyz2):
    (dist1, idx1), (dist2, idx2) = _nearest(xyz1, xyz2), _nearest(xyz2, xyz1)
    return dist1, dist2, idx1, idx2


@np.errstate(invalid="ignore", over="ignore")
def chamfer_distance_backward(xyz1, xyz2, idx1, idx2, grad_dist1, grad_dist2):
    points = [each.astype(np.float64) for each in (xyz1, xyz2)]
    grads = [np.zeros_like(each) for each in points]
    if xyz1.size == 0 or xyz2.size == 0:  # The indices may have any value.
        return tuple(grads)
    for side, (idx, grad) in enumerate(((idx1, grad_dist1), (idx2, grad_dist2))):
        if idx.min() < 0:
            raise IndexError(f"idx{side + 1} has the index {idx.min()}")
        rows = np.arange(len(idx))[:, np.newaxis], idx
        weights = 2 * grad.astype(np.float64)[..., np.newaxis]
        terms = weights * (points[side] - points[1 - side][rows])
        grads[side] += terms
        np.subtract.at(grads[1 - side], rows, terms)
    return tuple(grads)


def chamfer_distance_arguments(random, B=2, N=9, M=14):
    return random.floats(B, N, 2), random.floats(B, M, 2)


def chamfer_distance_backward_arguments(random, B=2, N=9, M=14):
    indices = random.integers(0, M, B, N), random.integers(0, N, B, M)
    points = random.floats(B, N, 2), random.floats(B, M, 2)
    return *points, *indices, random.floats(B, N), random.floats(B, M)
