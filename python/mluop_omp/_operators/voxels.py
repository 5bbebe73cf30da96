"""Operators from points to voxels and back."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from mluop_omp._arrays import (
    NUMBER,
    Arrays,
    Tensor,
    enumerator,
    extent,
    floats,
    handle,
    int32,
    int32s,
    size,
)
from mluop_omp._library import functions, require
from mluop_omp._operators import _double
from mluop_omp._operators._double import also_double
from mluop_omp._operators._empty import require_sizes

REDUCTIONS = {"sum": 0, "mean": 1, "max": 2}


@also_double(_double.voxel_pooling, 1)
def voxel_pooling(
    arrays: Arrays,
    geom_xyz: Any,
    features: Any,
    voxel_num: Sequence[int],
    out: tuple[Any, Any] | None = None,
) -> tuple[Any, Any]:
    geom_xyz_desc, geom_xyz_data = arrays.tensor("geom_xyz", geom_xyz, "B N 3")
    features_desc, features_data = arrays.tensor("features", features, "B N C")
    B, N, C = features_desc.shape
    X, Y, Z = int32s("voxel_num", voxel_num, 3)
    of_output, of_memo = out or (None, None)
    shape = (B, extent(Y), extent(X), C)
    output, *output_tensor = arrays.output("output", shape, features, of_output)
    pos_memo, *memo_tensor = arrays.output("pos_memo", (B, N, 3), out=of_memo)
    if min(X, Y, Z) >= 0 and (features_desc.is_empty or 0 in (X, Y, Z)):
        declaration = f"geom_xyz: B N 3, features B N C, output B {Y} {X} C, pos_memo: B N 3"
        descriptors = geom_xyz_desc, features_desc, output_tensor[0], memo_tensor[0]
        require_sizes(declaration, *descriptors)
        if geom_xyz_desc.is_empty or 0 in (X, Y, Z):
            arrays.fill(output, 0)
            arrays.fill(pos_memo, -1)
        else:  # The cells of points do not depend on the channels.
            one = arrays.zeros((B, N, 1), features)
            _, pos_memo[...] = voxel_pooling(arrays, geom_xyz, one, voxel_num)
        return output, pos_memo
    with handle() as own:
        require(
            functions.mluOpVoxelPoolingForward(
                own.pointer,
                *(int32("B", B), int32("N", N), int32("C", C), X, Y, Z),
                *(geom_xyz_desc, geom_xyz_data, features_desc, features_data),
                *output_tensor,
                *memo_tensor,
            )
        )
    return output, pos_memo


@also_double(_double.voxel_pooling_backward, 0)
def voxel_pooling_backward(arrays: Arrays, grad_output: Any, pos_memo: Any) -> Any:
    grad_desc, grad_data = arrays.tensor("grad_output", grad_output, "B Y X C")
    memo_desc, memo_data = arrays.tensor("pos_memo", pos_memo, "B N 3")
    (B, N, _), C = memo_desc.shape, grad_desc.shape[3]
    grad_features, *features_tensor = arrays.output("grad_features", (B, N, C), grad_output)
    with handle() as own:
        require(
            functions.mluOpOmpVoxelPoolingBackward(
                own.pointer,
                *(grad_desc, grad_data, memo_desc, memo_data),
                *features_tensor,
            )
        )
    return grad_features


def _pooled_points(
    arrays: Arrays, depth: Any, features: Any, ranks_depth: Any, ranks_feat: Any, ranks_bev: Any
) -> tuple[Tensor, ...]:
    return (
        arrays.tensor("depth", depth, "D"),
        arrays.tensor("features", features, "F C"),
        arrays.tensor("ranks_depth", ranks_depth, "P"),
        arrays.tensor("ranks_feat", ranks_feat, "P"),
        arrays.tensor("ranks_bev", ranks_bev, "P"),
    )


@also_double(_double.bev_pool, 0)
def bev_pool(
    arrays: Arrays,
    depth: Any,
    features: Any,
    ranks_depth: Any,
    ranks_feat: Any,
    ranks_bev: Any,
    num_cells: int,
    out: Any = None,
) -> Any:
    inputs = _pooled_points(arrays, depth, features, ranks_depth, ranks_feat, ranks_bev)
    shape = (size("num_cells", num_cells), inputs[1][0].shape[1])
    output, *output_tensor = arrays.output("output", shape, features, out)
    with handle() as own:
        require(
            functions.mluOpOmpBevPoolForward(own.pointer, *itertools.chain(*inputs), *output_tensor)
        )
    return output


@also_double(_double.bev_pool_backward, 0)
def bev_pool_backward(
    arrays: Arrays,
    grad_output: Any,
    depth: Any,
    features: Any,
    ranks_depth: Any,
    ranks_feat: Any,
    ranks_bev: Any,
) -> tuple[Any, Any]:
    grad_desc, grad_data = arrays.tensor("grad_output", grad_output, "M C")
    inputs = _pooled_points(arrays, depth, features, ranks_depth, ranks_feat, ranks_bev)
    (depth_desc, _), (features_desc, _) = inputs[:2]
    grad_depth, *depth_tensor = arrays.output("grad_depth", depth_desc.shape, grad_output)
    grad_features, *features_tensor = arrays.output(
        "grad_features", features_desc.shape, grad_output
    )
    with handle() as own:
        require(
            functions.mluOpOmpBevPoolBackward(
                *(own.pointer, grad_desc, grad_data, *itertools.chain(*inputs)),
                *(*depth_tensor, *features_tensor),
            )
        )
    return grad_depth, grad_features


def _voxelize(
    points: Tensor,
    voxel_size: tuple[Any, Any],
    coors_range: tuple[Any, Any],
    max_points: int,
    max_voxels: int,
    *outputs: Tensor,
) -> int:
    """Calls mluOpVoxelization and returns the number of voxels."""
    inputs = points, voxel_size, coors_range
    with handle() as own:
        workspace = own.workspace(
            functions.mluOpGetVoxelizationWorkspaceSize,
            *(*(desc for desc, _ in inputs), max_points, max_voxels, 3, True),
            *(*(desc for desc, _ in outputs), NUMBER),
        )
        require(
            functions.mluOpVoxelization(
                *(own.pointer, *itertools.chain(*inputs), max_points, max_voxels, 3, True),
                *(*workspace, *itertools.chain(*outputs), NUMBER, own.number_address),
            )
        )
        return own.number.value


@also_double(_double.voxelization, 0)
def voxelization(
    arrays: Arrays,
    points: Any,
    voxel_size: Any,
    coors_range: Any,
    max_points: int,
    max_voxels: int,
    out: tuple[Any, Any, Any] | None = None,
) -> tuple[Any, Any, Any, int]:
    """Returns voxels, coors and num_points_per_voxel, and the number of voxels.

    `out`: those of max_voxels voxels.
    """
    points_desc, points_data = arrays.tensor("points", points, "N F")
    size_desc, size_data = floats("voxel_size", voxel_size)
    range_desc, range_data = floats("coors_range", coors_range)
    max_points, max_voxels = int32("max_points", max_points), int32("max_voxels", max_voxels)
    V, shape = extent(max_voxels), (extent(max_voxels), extent(max_points), points_desc.shape[1])
    of_voxels, of_coors, of_counts = out or (None, None, None)
    voxels, voxels_desc, voxels_data = arrays.output("voxels", shape, points, of_voxels)
    coors, coors_desc, coors_data = arrays.output("coors", (V, 3), out=of_coors)
    counts, counts_desc, counts_data = arrays.output("num_points_per_voxel", (V,), out=of_counts)
    if points_desc.shape[0] == 0 and min(max_points, max_voxels) >= 0:
        declaration = "voxel_size 3, coors_range 6, points N F, voxels V P F, coors: V 3, counts: V"
        descriptors = (voxels_desc, coors_desc, counts_desc)
        require_sizes(declaration, size_desc, range_desc, points_desc, *descriptors)
        for array in (voxels, coors, counts):
            arrays.fill(array, 0)
        found = 0
    else:
        found = _voxelize(
            *((points_desc, points_data), (size_desc, size_data), (range_desc, range_data)),
            *(max_points, max_voxels),
            *((voxels_desc, voxels_data), (coors_desc, coors_data), (counts_desc, counts_data)),
        )
    if out is None:
        voxels = arrays.first_rows(voxels, voxels_desc.shape, found)
        coors = arrays.first_rows(coors, coors_desc.shape, found)
        counts = arrays.first_rows(counts, counts_desc.shape, found)
    return voxels, coors, counts, found


@also_double(_double.dynamic_scatter, 0)
def dynamic_scatter(
    arrays: Arrays, feats: Any, coors: Any, reduce: str
) -> tuple[Any, Any, Any, Any]:
    reduction = enumerator("reduce", reduce, REDUCTIONS)
    feats_desc, feats_data = arrays.tensor("feats", feats, "N C")
    coors_desc, _ = arrays.tensor("coors", coors, "N 3")
    # Overwritten where a coordinate is negative.
    coors, coors_data = arrays.copy(coors)
    N, C = feats_desc.shape
    voxel_feats, voxel_feats_desc, voxel_feats_data = arrays.output("voxel_feats", (N, C), feats)
    voxel_coors, voxel_coors_desc, voxel_coors_data = arrays.output("voxel_coors", (N, 3))
    point2voxel_map, map_desc, map_data = arrays.output("point2voxel_map", (N,))
    counts, counts_desc, counts_data = arrays.output("voxel_points_count", (N,))
    with handle() as own:
        workspace = own.workspace(
            functions.mluOpGetDynamicPointToVoxelForwardWorkspaceSize, feats_desc, coors_desc
        )
        require(
            functions.mluOpDynamicPointToVoxelForward(
                own.pointer,
                *(reduction, feats_desc, feats_data, coors_desc, coors_data),
                *workspace,
                *(voxel_feats_desc, voxel_feats_data, voxel_coors_desc, voxel_coors_data),
                *(map_desc, map_data, counts_desc, counts_data, NUMBER, own.number_address),
            )
        )
        V = own.number.value
    return (
        arrays.first_rows(voxel_feats, (N, C), V),
        arrays.first_rows(voxel_coors, (N, 3), V),
        point2voxel_map,
        arrays.first_rows(counts, (N,), V),
    )


@also_double(_double.dynamic_scatter_backward, 0)
def dynamic_scatter_backward(
    arrays: Arrays,
    grad_voxel_feats: Any,
    feats: Any,
    voxel_feats: Any,
    point2voxel_map: Any,
    voxel_points_count: Any,
    reduce: str,
    out: Any = None,
) -> Any:
    reduction = enumerator("reduce", reduce, REDUCTIONS)
    feats_desc, feats_data = arrays.tensor("feats", feats, "N C")
    grad_desc, grad_data = arrays.tensor("grad_voxel_feats", grad_voxel_feats, "V C")
    grad_feats, *grad_tensor = arrays.output("grad_feats", feats_desc.shape, feats, out)
    with handle() as own:
        own.number.value = int32("V", grad_desc.shape[0])
        require(
            functions.mluOpDynamicScatterBackward(
                own.pointer,
                *(reduction, grad_desc, grad_data, feats_desc, feats_data),
                *arrays.tensor("voxel_feats", voxel_feats),
                *arrays.tensor("point2voxel_map", point2voxel_map),
                *arrays.tensor("voxel_points_count", voxel_points_count),
                *(NUMBER, own.number_address),
                *own.workspace(
                    functions.mluOpGetDynamicScatterBackwardWorkspaceSize, reduction, feats_desc
                ),
                *grad_tensor,
            )
        )
    return grad_feats
