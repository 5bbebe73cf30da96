"""Operators from points to voxels and back, on NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mluop_omp._arrays import NUMPY
from mluop_omp._operators import voxels as _voxels


def voxel_pooling(
    geom_xyz: np.ndarray, features: np.ndarray, voxel_num: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Sums the features of the points of each cell of a bird's-eye grid (BEVDepth).

    A point ``p`` of batch ``b`` at ``geom_xyz[b, p] = (x, y, z)`` is in range if ``0 <= x < X``,
    ``0 <= y < Y`` and ``0 <= z < Z``. ``output[b, y, x]`` is the sum of the features of the points
    of batch ``b`` in range at ``(x, y)``, in ascending order.

    Args:
        geom_xyz: int32 [B, N, 3], the voxel of each point: x, y, z; any value.
        features: float16, bfloat16, float32 or float64 [B, N, C]. Sums are fp32, rounded once; fp64
            for float64.
        voxel_num: (X, Y, Z), the extents of the grid in voxels. Z bounds z; the output has no such
            dimension.

    Returns:
        output: [B, Y, X, C] of the dtype of features.
        pos_memo: int32 [B, N, 3], ``(b, y, x)`` of a point in range, else ``(-1, -1, -1)``.

    Raises:
        MluOpError: shapes or dtypes differ from those above; there are 2**31 points or cells; with
            the device algorithm, a tensor has 2**31 elements.

    Source: mluOpVoxelPoolingForward; BEVDepth, arXiv:2206.10092.
    """
    return _voxels.voxel_pooling(NUMPY, geom_xyz, features, voxel_num)


def voxel_pooling_backward(grad_output: np.ndarray, pos_memo: np.ndarray) -> np.ndarray:
    """Returns the gradient of the features of `voxel_pooling`: that of a point's cell, or 0.

    Args:
        grad_output: float16, bfloat16, float32 or float64 [B, Y, X, C].
        pos_memo: int32 [B, N, 3], from `voxel_pooling`.

    Returns:
        [B, N, C] of the dtype of grad_output.

    Raises:
        MluOpError: pos_memo has a value outside the range of its dimension.

    Source: mluOpOmpVoxelPoolingBackward; BEVDepth, arXiv:2206.10092.
    """
    return _voxels.voxel_pooling_backward(NUMPY, grad_output, pos_memo)


def bev_pool(
    depth: np.ndarray,
    features: np.ndarray,
    ranks_depth: np.ndarray,
    ranks_feat: np.ndarray,
    ranks_bev: np.ndarray,
    num_cells: int,
) -> np.ndarray:
    """Sums the features of the points of each cell, weighted by depth (BEVDet bev_pool_v2).

    ``output[m]`` is the sum over the points ``p`` with ``ranks_bev[p] == m``, in ascending order,
    of ``depth[ranks_depth[p]] * features[ranks_feat[p]]``. No array of the products is stored.

    Args:
        depth: float16, bfloat16, float32 or float64 [D].
        features: [F, C] of the dtype of depth.
        ranks_depth: int32 [P], the element of depth of each point, 0 to D - 1.
        ranks_feat: int32 [P], the row of features of each point, 0 to F - 1.
        ranks_bev: int32 [P], the cell of each point, 0 to num_cells - 1, or -1: the point is
            skipped, and its other numbers may have any value.
        num_cells: the rows of the output.

    Returns:
        [num_cells, C] of the dtype of depth. Products and sums are fp32, rounded once; fp64 for
        float64.

    Raises:
        MluOpError: a number is outside the range above; num_cells is negative; shapes or dtypes
            differ from those above; P, F or num_cells is 2**31 or more.

    Source: mluOpOmpBevPoolForward; BEVPoolv2, arXiv:2211.17111; BEVDet bev_pool_v2.
    """
    ranks = ranks_depth, ranks_feat, ranks_bev
    return _voxels.bev_pool(NUMPY, depth, features, *ranks, num_cells)


def bev_pool_backward(
    grad_output: np.ndarray,
    depth: np.ndarray,
    features: np.ndarray,
    ranks_depth: np.ndarray,
    ranks_feat: np.ndarray,
    ranks_bev: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the gradients of depth and features of `bev_pool`.

    Args:
        grad_output: float16, bfloat16, float32 or float64 [num_cells, C].
        depth, features: as in `bev_pool`, of the dtype of grad_output.
        ranks_depth, ranks_feat, ranks_bev: as in `bev_pool`.

    Returns:
        Gradients of the shapes of depth and features.

    Raises:
        MluOpError: as `bev_pool`.

    Source: mluOpOmpBevPoolBackward; BEVPoolv2, arXiv:2211.17111; BEVDet bev_pool_v2.
    """
    ranks = ranks_depth, ranks_feat, ranks_bev
    return _voxels.bev_pool_backward(NUMPY, grad_output, depth, features, *ranks)


def voxelization(
    points: np.ndarray,
    voxel_size: Sequence[float],
    coors_range: Sequence[float],
    max_points: int,
    max_voxels: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Collects the points of each cell of a grid: hard voxelization (mmcv, spconv).

    Along each axis, in the dtype of the points, the grid has ``round((max - min) / voxel_size)``
    cells and the cell of a point is ``floor((p - min) / voxel_size)``. The voxels are the cells
    with points, in the order of their first points.

    Args:
        points: float32 or float64 [N, F], F >= 3: x, y, z, then any other values.
        voxel_size: x, y, z, in the unit of the points.
        coors_range: the minima of x, y, z, then the maxima.
        max_points: points to keep of a voxel: the first.
        max_voxels: voxels to keep: the first.

    Returns:
        voxels: [V, max_points, F] of the dtype of points, V <= max_voxels; zeros past the points of
            a voxel.
        coors: int32 [V, 3], the cell of each voxel: z, y, x.
        num_points_per_voxel: int32 [V], at most max_points.

    Raises:
        MluOpError: F is less than 3; max_points or max_voxels is negative; voxel_size is not
            positive; coors_range is not finite; an axis has more than 2**31 cells.

    Source: mluOpVoxelization; VoxelNet, arXiv:1711.06396; mmcv Voxelization.
    """
    return _voxels.voxelization(NUMPY, points, voxel_size, coors_range, max_points, max_voxels)[:3]


def dynamic_scatter(
    feats: np.ndarray, coors: np.ndarray, reduce: str = "max"
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Finds the voxels of points, and reduces the features of each voxel (MVX-Net).

    The V voxels are the distinct rows of `coors` without a negative coordinate, in ascending
    lexicographic order.

    Args:
        feats: float32 or float64 [N, C].
        coors: int32 [N, 3], the voxel of each point; a point with a negative coordinate has no
            voxel.
        reduce: "max", "sum" or "mean". Sums have the dtype of feats and add points in ascending
            order.

    Returns:
        voxel_feats: [V, C] of the dtype of feats.
        voxel_coors: int32 [V, 3].
        point2voxel_map: int32 [N], the voxel of each point, or -1.
        voxel_points_count: int32 [V], the points of each voxel, at least 1.

    Raises:
        MluOpError: N is 2**31 or more; reduce is another word; shapes or dtypes differ from those
            above.

    Source: mluOpDynamicPointToVoxelForward; MVX-Net, arXiv:1904.01649; mmcv DynamicScatter.
    """
    return _voxels.dynamic_scatter(NUMPY, feats, coors, reduce)


def dynamic_scatter_backward(
    grad_voxel_feats: np.ndarray,
    feats: np.ndarray,
    voxel_feats: np.ndarray,
    point2voxel_map: np.ndarray,
    voxel_points_count: np.ndarray,
    reduce: str = "max",
) -> np.ndarray:
    """Returns the gradient of the features of `dynamic_scatter`.

    "max" passes the gradient of each channel of a voxel to the first point whose feature equals the
    maximum; "sum" and "mean" to all points of the voxel, for the mean divided by their number.

    Args:
        grad_voxel_feats: float32 or float64 [V, C].
        feats: [N, C] of the same dtype, the features of the points. "sum" and "mean" use the shape
            only.
        voxel_feats, point2voxel_map, voxel_points_count: the results of `dynamic_scatter`.
        reduce: "max", "sum" or "mean".

    Returns:
        [N, C] of the dtype of grad_voxel_feats.

    Raises:
        MluOpError: a value of point2voxel_map is below -1 or not below V; a count is below 1; V
            exceeds N.

    Source: mluOpDynamicScatterBackward; MVX-Net, arXiv:1904.01649; mmcv DynamicScatter.
    """
    return _voxels.dynamic_scatter_backward(
        NUMPY, grad_voxel_feats, feats, voxel_feats, point2voxel_map, voxel_points_count, reduce
    )
