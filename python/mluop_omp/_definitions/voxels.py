"""Voxels of points."""

from __future__ import annotations

import numpy as np

from mluop_omp._definitions._indexing import places_in_runs, sum_rows


def _cells(points, voxel_size, coors_range):
    """Returns the cell [N, 3] of each point, and which points are in the grid."""
    dtype = np.result_type(points.dtype, np.float32)
    size, (low, high) = np.array(voxel_size, dtype), np.array(coors_range, dtype).reshape(2, 3)
    extent = (high - low) / size
    # Rounded half away from zero. An axis whose maximum is not above its minimum has no cells.
    cells = np.trunc(extent) + (extent - np.trunc(extent) >= 0.5)
    with np.errstate(invalid="ignore", over="ignore"):
        cell = np.floor((points[:, :3].astype(dtype) - low) / size)
        return cell, ((cell >= 0) & (cell < cells)).all(1)


def voxelization(points, voxel_size, coors_range, max_points, max_voxels):
    cell, inside = _cells(points, voxel_size, coors_range)
    cell, points = cell[inside].astype(np.int32), points[inside]
    _, first, voxel = np.unique(cell, axis=0, return_index=True, return_inverse=True)
    # Voxels are numbered in the order of their first points.
    number = np.argsort(np.argsort(first))
    voxel, first = number[voxel.reshape(-1)], np.sort(first)[:max_voxels]
    order = np.argsort(voxel, kind="stable")
    counts = np.bincount(voxel, minlength=len(number))
    slot = np.empty(len(voxel), np.intp)
    slot[order] = places_in_runs(counts)
    kept = (voxel < max_voxels) & (slot < max_points)
    voxels = np.zeros((len(first), max_points, points.shape[1]), points.dtype)
    voxels[voxel[kept], slot[kept]] = points[kept]
    counts = np.minimum(counts[: len(first)], max_points)
    return voxels, cell[first, ::-1].copy(), counts.astype(np.int32)


def dynamic_scatter(feats, coors, reduce):
    has_voxel = (coors >= 0).all(1)
    voxel_coors, voxel, counts = np.unique(
        coors[has_voxel], axis=0, return_inverse=True, return_counts=True
    )
    voxel, feats = voxel.reshape(-1), feats[has_voxel].astype(np.float64)
    point2voxel_map = np.full(len(coors), -1, np.int32)
    point2voxel_map[has_voxel] = voxel
    if reduce == "max":
        voxel_feats = np.full((len(counts), feats.shape[1]), -np.inf)
        np.fmax.at(voxel_feats, voxel, feats)  # NaN loses to every value.
    else:
        voxel_feats = sum_rows(feats, voxel, len(counts))
        voxel_feats /= counts[:, np.newaxis] if reduce == "mean" else 1
    return voxel_feats, voxel_coors, point2voxel_map, counts.astype(np.int32)


def dynamic_scatter_backward(
    grad_voxel_feats, feats, voxel_feats, point2voxel_map, voxel_points_count, reduce
):
    grad_feats = np.zeros(feats.shape)
    points = np.flatnonzero(point2voxel_map >= 0)
    voxels = point2voxel_map[points]
    if reduce != "max":
        counts = voxel_points_count[voxels, np.newaxis] if reduce == "mean" else 1
        grad_feats[points] = grad_voxel_feats[voxels].astype(np.float64) / counts
        return grad_feats
    # The first point of each voxel and channel that equals the maximum.
    source = np.full(voxel_feats.shape, len(feats))
    is_maximum = feats[points] == voxel_feats[voxels]
    np.minimum.at(source, voxels, np.where(is_maximum, points[:, np.newaxis], len(feats)))
    voxel, channel = np.nonzero(source < len(feats))
    grad_feats[source[voxel, channel], channel] = grad_voxel_feats[voxel, channel]
    return grad_feats


def voxelization_arguments(random, N=50, max_points=3, max_voxels=20):
    return random.floats(N, 4), (0.5, 1, 2), (-2, -2, -1, 2, 2, 1), max_points, max_voxels


def dynamic_scatter_arguments(random, N=40, C=3, reduce=("mean", "max", "sum")):
    return random.floats(N, C), random.integers(-1, 3, N, 3), reduce


def dynamic_scatter_backward_arguments(random, N=40, V=9, C=3, reduce=("mean", "max", "sum")):
    feats, voxel_map = random.floats(N, C), random.integers(-1, V, N)
    maxima = np.full((V, C), -9, np.float32)
    np.maximum.at(maxima, voxel_map[voxel_map >= 0], feats[voxel_map >= 0])
    return random.floats(V, C), feats, maxima, voxel_map, random.integers(1, 5, V), reduce
