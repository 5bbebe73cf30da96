"""The pools of the points in boxes."""

from __future__ import annotations

import math

import numpy as np

from mluop_omp._definitions._indexing import places_in_runs
from mluop_omp._definitions._precision import at_least_float32
from mluop_omp._definitions.points_in_boxes import are_in_boxes


def _along_axes(points, box):
    """Returns x, y, z of points [N, 3] along the axes of a box, from the center of its bottom."""
    cos, sin = (f(-box[6:], dtype=np.float64).astype(box.dtype) for f in (np.cos, np.sin))
    x, y, z = (points - box[:3]).T
    return np.stack((x * cos - y * sin, x * sin + y * cos, z))


def _members(points, box):
    """Returns the numbers of the points in a box."""
    is_inside = are_in_boxes(points[np.newaxis], box[np.newaxis, np.newaxis])
    return np.flatnonzero(is_inside)


def _voxels(points, roi, out_size):
    """Returns the number of the voxel of each point, row by row."""
    counts = np.array(out_size)
    offset = _along_axes(points, roi).T
    offset[:, :2] += roi[3:5] / 2
    position = np.nan_to_num(offset / (roi[3:6] / counts.astype(roi.dtype)), nan=0)
    return np.ravel_multi_index(np.clip(position, 0, counts - 1).astype(np.int64).T, out_size)


@np.errstate(all="ignore")
def roiaware_pool3d(rois, pts, pts_feature, out_size, max_pts_each_voxel, method):
    shape, C, P = (len(rois), *out_size), pts_feature.shape[1], max_pts_each_voxel
    pooled = np.zeros((*shape, C))
    argmax = np.full(pooled.shape, -1 if method == "max" else 0, np.int32)
    listed = np.zeros((*shape, P), np.int32)
    rois, pts = at_least_float32(rois), at_least_float32(pts)
    voxels, members = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for r, roi in enumerate(rois if 0 not in shape else ()):
        members.append(_members(pts, roi))
        voxels.append(r * np.prod(out_size) + _voxels(pts[members[-1]], roi, out_size))
    voxel, point = np.concatenate(voxels), np.concatenate(members)
    if len(voxel) == 0:
        return pooled, argmax, listed
    order = np.argsort(voxel, kind="stable")
    voxel, point = voxel[order], point[order]
    counts = np.bincount(voxel)
    slot = 1 + places_in_runs(counts)
    rows = listed.reshape(-1, P)
    rows[: len(counts), 0] = np.minimum(counts, P - 1)
    voxel, point, slot = (each[slot < P] for each in (voxel, point, slot))
    rows[voxel, slot] = point
    first = np.flatnonzero(slot == 1)
    found, features = voxel[first], pts_feature[point].astype(np.float64)
    if method == "mean":
        pooled.reshape(len(rows), C)[found] = np.add.reduceat(features, first) / rows[found, :1]
        return pooled, argmax, listed
    features[np.isnan(features)] = -np.inf  # NaN is never selected.
    maxima = np.maximum.reduceat(features, first)
    is_first = features == np.repeat(maxima, rows[found, 0], axis=0)
    place = np.where(is_first, np.arange(len(point))[:, np.newaxis], len(point))
    is_found = maxima > -np.inf
    pooled.reshape(len(rows), C)[found] = np.where(is_found, maxima, 0)
    argmax.reshape(len(rows), C)[found] = np.where(
        is_found, point[np.minimum.reduceat(place, first)], -1
    )
    return pooled, argmax, listed


def roiaware_pool3d_backward(grad_out, pts_idx_of_voxels, argmax, N, method):
    *shape, C = grad_out.shape
    voxels = math.prod(shape)
    grad_in, grads = np.zeros((N, C)), grad_out.astype(np.float64).reshape(voxels, C)
    if pts_idx_of_voxels.size == 0:
        if N and grad_out.size:
            raise ValueError("voxels have no number of points")
        return grad_in
    if method == "max":
        points = argmax.reshape(voxels, C)
        voxel, channel = np.nonzero(points >= 0)
        np.add.at(grad_in, (points[voxel, channel], channel), grads[voxel, channel])
        return grad_in
    listed = pts_idx_of_voxels.reshape(voxels, pts_idx_of_voxels.shape[4])
    counts, points = listed[:, :1], listed[:, 1:]
    voxel, slot = np.nonzero(np.arange(points.shape[1]) < counts)
    np.add.at(grad_in, points[voxel, slot], grads[voxel] / counts[voxel])
    return grad_in


@np.errstate(all="ignore")
def roipoint_pool3d(points, point_features, boxes3d, num_sampled_points):
    rows = np.concatenate((points, point_features), 2)
    (B, M), S = boxes3d.shape[:2], num_sampled_points
    pooled, is_empty = np.zeros((B, M, S, rows.shape[2]), rows.dtype), np.ones((B, M), np.int32)
    points, boxes3d = at_least_float32(points), at_least_float32(boxes3d)
    for b, m in np.ndindex(B, M):
        samples = _members(points[b], boxes3d[b, m])[:S]
        if len(samples):
            pooled[b, m] = rows[b, np.resize(samples, S)]
            is_empty[b, m] = 0
    return pooled, is_empty


def roiaware_pool3d_arguments(random, R=3, N=40, C=4, X=3, Y=2, Z=2, P=5, method=("max", "mean")):
    return random.boxes(R), random.floats(N, 3), random.floats(N, C), (X, Y, Z), P, method


def roiaware_pool3d_backward_arguments(
    random, R=2, N=12, C=4, X=2, Y=2, Z=1, P=4, method=("max", "mean")
):
    listed = random.integers(0, N, R, X, Y, Z, P)
    listed[..., :1] = random.integers(0, P, R, X, Y, Z, 1)
    argmax = random.integers(-1, N, R, X, Y, Z, C)
    return random.floats(R, X, Y, Z, C), listed, argmax, N, method


def roipoint_pool3d_arguments(random, B=2, N=20, C=4, M=3, S=6):
    return random.floats(B, N, 3), random.floats(B, N, C), random.boxes(B, M), S
