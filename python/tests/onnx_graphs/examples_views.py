"""Inputs and attributes of the nodes of bird's-eye views, pillars and rows."""

from __future__ import annotations

from typing import Any

import numpy as np

Example = tuple[list[np.ndarray], dict[str, Any]]

VOXELS = {
    "max_num_points_per_voxel": 4,
    "max_voxels": 30,
    "point_cloud_range": [-4.0, -3.0, -2.0, 4.0, 3.0, 2.0],
    "voxel_feature_num": 10,
    "voxel_size": [1.0, 0.5, 4.0],
}


def intervals(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns starts and lengths of the runs of equal cells in ascending cells."""
    _, starts, lengths = np.unique(cells, return_index=True, return_counts=True)
    return starts.astype(np.int32), lengths.astype(np.int32)


def bev_pool(rng: np.random.Generator, height: int = 6, width: int = 5) -> list[np.ndarray]:
    """Returns the inputs of a pool into a grid."""
    depth = rng.standard_normal((2, 4, 3, 5)).astype(np.float32)
    feat = rng.standard_normal((2, 3, 5, 7)).astype(np.float32)
    points, cells = 80, rng.choice(height * width, height * width // 2, replace=False)
    bev = np.sort(rng.choice(cells, points)).astype(np.int32)
    ranks = [rng.integers(0, each, points).astype(np.int32) for each in (depth.size, 30)]
    return [depth, feat, *ranks, bev, *intervals(bev)]


def bev_pool_v2(rng: np.random.Generator) -> Example:
    return bev_pool(rng), {"out_height": 6, "out_width": 5}


def quick_cumsum(rng: np.random.Generator) -> Example:
    extents = (2, 3, 4, 5)
    cells = np.sort(rng.integers(0, np.prod(extents), 90))
    batch, depth, row, column = np.unravel_index(cells, extents)
    geometry = np.stack((row, column, depth, batch), 1).astype(np.int32)
    x = rng.standard_normal((90, 6)).astype(np.float32)
    starts, lengths = intervals(cells)
    names = ("batch_size", "dimension", "height", "width")
    return [x, geometry, lengths, starts], dict(zip(names, extents))


def pillar_scatter(rng: np.random.Generator) -> Example:
    cells = np.stack([rng.permutation(6 * 8)[:20] for _ in range(2)])
    coords = np.stack((np.full_like(cells, 7), cells * 0, cells // 8, cells % 8), -1)
    voxels = rng.standard_normal((2, 20, 9)).astype(np.float32)
    return [voxels, coords.astype(np.int32), np.array([20, 13], np.int32)], {"dense_shape": [6, 8]}


def voxel_generator(rng: np.random.Generator) -> Example:
    points = rng.uniform(-4.5, 4.5, (2, 150, 4)).astype(np.float32)
    return [points, np.array([150, 90], np.int32)], dict(VOXELS)


def segment_csr(rng: np.random.Generator) -> Example:
    indptr = np.array([2, 5, 5, 6, 14, 20, 20], np.int64)
    return [rng.standard_normal((23, 4)).astype(np.float32), indptr], {"reduce": "max"}


def scatter_nd(rng: np.random.Generator) -> Example:
    places = rng.permutation(4 * 5)[:6]
    indices = np.stack((places // 5, places % 5), 1).reshape(2, 3, 2).astype(np.int32)
    data, updates = (rng.standard_normal(s).astype(np.float32) for s in ((4, 5, 3), (2, 3, 3)))
    return [data, indices, updates], {}


def select_and_pad(rng: np.random.Generator) -> Example:
    feat, invalid = (rng.standard_normal(s).astype(np.float32) for s in ((2, 9, 5), (5,)))
    return [feat, rng.integers(0, 2, (2, 9)).astype(np.int32), invalid], {"P": 9}


EXAMPLES = {
    "bev_pool_v2": bev_pool_v2,
    "BEVPoolV2TRT": bev_pool_v2,
    "BEVPoolV2TRT2": bev_pool_v2,
    "QuickCumsumCuda": quick_cumsum,
    "PillarScatterPlugin": pillar_scatter,
    "VoxelGeneratorPlugin": voxel_generator,
    "SegmentCSR": segment_csr,
    "ScatterND": scatter_nd,
    "SelectAndPadPlugin": select_and_pad,
}
