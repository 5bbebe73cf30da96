"""Operators from points to voxels and back."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from mluop_omp._arrays import NUMBER, Arrays, enumerator, extent, floats, int32
from mluop_omp._definitions import voxels as definitions
from mluop_omp._library import function
from mluop_omp._operators._declaration import Array, operator
from mluop_omp._operators._derivative import Kept, Linear, NoDerivative, sum_by_index
from mluop_omp._operators._tensors import require_sizes
from mluop_omp._operators._torch import Tensor, ops, torch

__all__ = ["dynamic_scatter", "dynamic_scatter_backward", "voxelization"]

_REDUCTIONS = {"sum": 0, "mean": 1, "max": 2}

_voxelization = function("mluOpVoxelization", "pppppppiiibpspppppppp")
_voxelization_size = function("mluOpGetVoxelizationWorkspaceSize", "ppppiiibppppp")
_scatter = function("mluOpDynamicPointToVoxelForward", "pipppppspppppppppp")
_scatter_size = function("mluOpGetDynamicPointToVoxelForwardWorkspaceSize", "pppp")
_scatter_backward = function("mluOpDynamicScatterBackward", "pipppppppppppppspp")
_scatter_backward_size = function("mluOpGetDynamicScatterBackwardWorkspaceSize", "pipp")


@operator(definitions, derivative=NoDerivative())
def voxelization(
    arrays: Arrays,
    points: Array,
    voxel_size: Sequence[float],
    coors_range: Sequence[float],
    max_points: int,
    max_voxels: int,
) -> tuple[Array, Array, Array]:
    """Collects the points of each cell of a grid: hard voxelization (mmcv, spconv).

    Along each axis, in the dtype of the points, the grid has ``round((max - min) / voxel_size)``
    cells and the cell of a point is ``floor((p - min) / voxel_size)``. The voxels are the cells
    with points, in the order of their first points.

    Args:
        points: float32 or float64 [N, F], F >= 3: x, y, z, then any other values.
        voxel_size: x, y, z, in the unit of the points.
        coors_range: the minima of x, y, z, then the maxima.
        max_points: only the first max_points points of a voxel are kept.
        max_voxels: only the first max_voxels voxels are kept.

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
    points_tensor = arrays.tensor("points", points, "N F")
    N, F = points_tensor[0].shape
    inputs = points_tensor, floats("voxel_size", voxel_size), floats("coors_range", coors_range)
    max_points, max_voxels = int32("max_points", max_points), int32("max_voxels", max_voxels)
    V, P = extent(max_voxels), extent(max_points)
    voxels, *voxels_tensor = arrays.output("voxels", (V, P, F), points)
    coors, *coors_tensor = arrays.output("coors", (V, 3))
    counts, *counts_tensor = arrays.output("num_points_per_voxel", (V,))
    outputs = voxels_tensor, coors_tensor, counts_tensor
    if points_tensor[0].is_empty and N == 0 and min(max_points, max_voxels) >= 0:
        declaration = "points N F, voxel_size 3, coors_range 6, voxels V P F, coors: V 3, counts: V"
        require_sizes(declaration, *inputs, *outputs)
        for array in (voxels, coors, counts):
            arrays.fill(array, 0)
        found = 0
    else:
        numbers = max_points, max_voxels, 3, True
        with arrays.handle() as own:
            workspace = own.workspace(
                *(_voxelization_size, *(desc for desc, _ in inputs), *numbers),
                *(*(desc for desc, _ in outputs), NUMBER),
            )
            own.call(
                *(_voxelization, *itertools.chain(*inputs), *numbers, *workspace),
                *(*itertools.chain(*outputs), NUMBER, own.number_address),
            )
            found = own.number.value
    return (
        arrays.first_rows(voxels, voxels_tensor[0].shape, found),
        arrays.first_rows(coors, (V, 3), found),
        arrays.first_rows(counts, (V,), found),
    )


def _keep(inputs: tuple, outputs: tuple) -> Kept:
    (feats, _, reduce), (voxel_feats, _, *voxels) = inputs, outputs
    return (voxel_feats.shape,), (feats, voxel_feats, *voxels), (reduce,)


def _scatter_as(
    values: Tensor,
    shape: Sequence[int],
    feats: Tensor,
    voxel_feats: Tensor,
    voxel_map: Tensor,
    count: Tensor,
    reduce: str,
) -> Tensor:
    """Reduces values as dynamic_scatter reduced feats; the transpose of its backward operator."""
    if reduce == "max":
        ones = torch.ones_like(voxel_feats)
        sources = ops.dynamic_scatter_backward(ones, feats, voxel_feats, voxel_map, count, reduce)
        values = torch.where(sources != 0, values, 0)
    V = shape[0]
    # The last row collects the points without voxel.
    voxel = torch.where(voxel_map < 0, V, voxel_map)
    sums = sum_by_index(values, voxel, V + 1)[:V]
    return sums / count.unsqueeze(1) if reduce == "mean" else sums


@operator(
    definitions,
    derivative=Linear(
        feats=lambda grad, _, *kept: ops.dynamic_scatter_backward(grad, *kept),
        keep=_keep,
        tangent=_scatter_as,
    ),
)
def dynamic_scatter(
    arrays: Arrays, feats: Array, coors: Array, reduce: str = "max"
) -> tuple[Array, Array, Array, Array]:
    """Finds the voxels of points, and reduces the features of each voxel (MVX-Net).

    The V voxels are the distinct rows of `coors` without a negative coordinate, in ascending
    lexicographic order.

    Args:
        feats: float32 or float64 [N, C].
        coors: int32 [N, 3], the voxel of each point; a point with a negative coordinate has no
            voxel.
        reduce: "max", "sum" or "mean". Sums have the dtype of feats and add points in ascending
            order. NaN is never the maximum.

    Returns:
        voxel_feats: [V, C] of the dtype of feats.
        voxel_coors: int32 [V, 3].
        point2voxel_map: int32 [N], the voxel of each point, or -1.
        voxel_points_count: int32 [V], the points of each voxel, at least 1.

    Raises:
        MluOpError: N is 2**31 or more; reduce is another word.

    Source: mluOpDynamicPointToVoxelForward; MVX-Net, arXiv:1904.01649; mmcv DynamicScatter.
    """
    reduction = enumerator("reduce", reduce, _REDUCTIONS)
    feats_tensor = arrays.tensor("feats", feats, "N C")
    coors_desc, _ = arrays.tensor("coors", coors, "N 3")
    # Overwritten where a coordinate is negative.
    coors, coors_data = arrays.copy(coors)
    N, C = feats_tensor[0].shape
    voxel_feats, voxel_feats_desc, voxel_feats_data = arrays.output("voxel_feats", (N, C), feats)
    voxel_coors, voxel_coors_desc, voxel_coors_data = arrays.output("voxel_coors", (N, 3))
    point2voxel_map, map_desc, map_data = arrays.output("point2voxel_map", (N,))
    counts, counts_desc, counts_data = arrays.output("voxel_points_count", (N,))
    with arrays.handle() as own:
        own.call(
            *(_scatter, reduction, *feats_tensor, coors_desc, coors_data),
            *own.workspace(_scatter_size, feats_tensor[0], coors_desc),
            *(voxel_feats_desc, voxel_feats_data, voxel_coors_desc, voxel_coors_data),
            *(map_desc, map_data, counts_desc, counts_data, NUMBER, own.number_address),
        )
        V = own.number.value
    return (
        arrays.first_rows(voxel_feats, (N, C), V),
        arrays.first_rows(voxel_coors, (N, 3), V),
        point2voxel_map,
        arrays.first_rows(counts, (N,), V),
    )


# Neither the features nor the maxima move the point that a maximum comes from.
@operator(definitions, derivative=Linear(grad_voxel_feats=_scatter_as))
def dynamic_scatter_backward(
    arrays: Arrays,
    grad_voxel_feats: Array,
    feats: Array,
    voxel_feats: Array,
    point2voxel_map: Array,
    voxel_points_count: Array,
    reduce: str = "max",
) -> Array:
    """Returns the gradient of the features of `dynamic_scatter`.

    "max" passes the gradient of each channel of a voxel to the first point whose feature equals the
    maximum; "sum" and "mean" pass it to all points of the voxel, the mean divided by their number.

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
    reduction = enumerator("reduce", reduce, _REDUCTIONS)
    feats_tensor = arrays.tensor("feats", feats, "N C")
    grad_tensor = arrays.tensor("grad_voxel_feats", grad_voxel_feats, "V C")
    grad_feats, *grad_feats_tensor = arrays.output("grad_feats", feats_tensor[0].shape, feats)
    with arrays.handle() as own:
        own.number.value = int32("V", grad_tensor[0].shape[0])
        own.call(
            *(_scatter_backward, reduction, *grad_tensor, *feats_tensor),
            *arrays.tensor("voxel_feats", voxel_feats),
            *arrays.tensor("point2voxel_map", point2voxel_map),
            *arrays.tensor("voxel_points_count", voxel_points_count),
            *(NUMBER, own.number_address),
            *own.workspace(_scatter_backward_size, reduction, feats_tensor[0]),
            *grad_feats_tensor,
        )
    return grad_feats
