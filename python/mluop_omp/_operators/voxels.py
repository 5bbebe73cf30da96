"""Operators from points to voxels and back."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from mluop_omp._arrays import Arrays, extent, floats, handle, int32, int32s, invoke, number
from mluop_omp._library import bad_param, functions

REDUCTIONS = {"sum": 0, "mean": 1, "max": 2}


def _reduction(name: str) -> int:
    if name not in REDUCTIONS:
        raise bad_param(f"reduce is {name!r}, expected one of {', '.join(REDUCTIONS)}")
    return REDUCTIONS[name]


def voxel_pooling(
    arrays: Arrays,
    geom_xyz: Any,
    features: Any,
    voxel_num: Sequence[int],
    out: tuple[Any, Any] | None = None,
) -> tuple[Any, Any]:
    arrays.shape("geom_xyz", geom_xyz, "B N 3")
    B, N, C = arrays.shape("features", features, "B N C")
    X, Y, Z = int32s("voxel_num", voxel_num, 3)
    output, pos_memo = out or (
        arrays.empty((B, extent(Y), extent(X), C), features),
        arrays.indices((B, N, 3)),
    )
    invoke(
        functions.mluOpVoxelPoolingForward,
        *(int32("B", B), int32("N", N), int32("C", C), X, Y, Z),
        *arrays.tensor("geom_xyz", geom_xyz),
        *arrays.tensor("features", features),
        *arrays.tensor("output", output),
        *arrays.tensor("pos_memo", pos_memo),
    )
    return output, pos_memo


def voxel_pooling_backward(arrays: Arrays, grad_output: Any, pos_memo: Any) -> Any:
    B, N, _ = arrays.shape("pos_memo", pos_memo, "B N 3")
    C = arrays.shape("grad_output", grad_output, "B Y X C")[3]
    grad_features = arrays.empty((B, N, C), grad_output)
    invoke(
        functions.mluOpOmpVoxelPoolingBackward,
        *arrays.tensor("grad_output", grad_output),
        *arrays.tensor("pos_memo", pos_memo),
        *arrays.own(grad_features),
    )
    return grad_features


def voxelization(
    arrays: Arrays,
    points: Any,
    voxel_size: Any,
    coors_range: Any,
    max_points: int,
    max_voxels: int,
    out: tuple[Any, Any, Any] | None = None,
) -> tuple[Any, Any, Any, int]:
    """Returns voxels, coors and num_points_per_voxel of max_voxels voxels, and their number."""
    F = arrays.shape("points", points, "N F")[1]
    max_points, max_voxels = int32("max_points", max_points), int32("max_voxels", max_voxels)
    voxels_of = extent(max_voxels)
    voxel_num = ctypes.c_int32(0)
    voxels, coors, num_points_per_voxel = out or (
        arrays.empty((voxels_of, extent(max_points), F), points),
        arrays.indices((voxels_of, 3)),
        arrays.indices((voxels_of,)),
    )
    points_desc, points_data = arrays.tensor("points", points)
    size_desc, size_data = floats("voxel_size", voxel_size)
    range_desc, range_data = floats("coors_range", coors_range)
    voxels_desc, voxels_data = arrays.tensor("voxels", voxels)
    coors_desc, coors_data = arrays.tensor("coors", coors)
    counts_desc, counts_data = arrays.tensor("num_points_per_voxel", num_points_per_voxel)
    number_desc, number_data = number(voxel_num)
    workspace = handle().workspace(
        functions.mluOpGetVoxelizationWorkspaceSize,
        *(points_desc, size_desc, range_desc, max_points, max_voxels, 3, True),
        *(voxels_desc, coors_desc, counts_desc, number_desc),
    )
    invoke(
        functions.mluOpVoxelization,
        *(points_desc, points_data, size_desc, size_data, range_desc, range_data),
        *(max_points, max_voxels, 3, True),
        *workspace,
        *(voxels_desc, voxels_data, coors_desc, coors_data, counts_desc, counts_data),
        *(number_desc, number_data),
    )
    return voxels, coors, num_points_per_voxel, voxel_num.value


def dynamic_scatter(
    arrays: Arrays, feats: Any, coors: Any, reduce: str
) -> tuple[Any, Any, Any, Any]:
    N, C = arrays.shape("feats", feats, "N C")
    arrays.shape("coors", coors, "N 3")
    reduction = _reduction(reduce)
    # The library does not write the outputs of tensors without elements: no voxels.
    point2voxel_map = arrays.indices((N,), None if C else -1)
    voxel_num = ctypes.c_int32(0)
    voxel_feats, voxel_coors = arrays.empty((N, C), feats), arrays.indices((N, 3))
    counts = arrays.indices((N,))
    # Overwritten where a coordinate is negative.
    coors = arrays.copy(coors)
    feats_desc, feats_data = arrays.tensor("feats", feats)
    coors_desc, coors_data = arrays.tensor("coors", coors)
    workspace = handle().workspace(
        functions.mluOpGetDynamicPointToVoxelForwardWorkspaceSize, feats_desc, coors_desc
    )
    invoke(
        functions.mluOpDynamicPointToVoxelForward,
        *(reduction, feats_desc, feats_data, coors_desc, coors_data),
        *workspace,
        *arrays.own(voxel_feats),
        *arrays.own(voxel_coors),
        *arrays.own(point2voxel_map),
        *arrays.own(counts),
        *number(voxel_num),
    )
    V = voxel_num.value
    return (
        arrays.first_rows(voxel_feats, V),
        arrays.first_rows(voxel_coors, V),
        point2voxel_map,
        arrays.first_rows(counts, V),
    )


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
    N, C = arrays.shape("feats", feats, "N C")
    V = arrays.shape("grad_voxel_feats", grad_voxel_feats, "V C")[0]
    reduction = _reduction(reduce)
    grad_feats = arrays.empty((N, C), feats) if out is None else out
    voxel_num = ctypes.c_int32(int32("V", V))
    feats_desc, feats_data = arrays.tensor("feats", feats)
    workspace = handle().workspace(
        functions.mluOpGetDynamicScatterBackwardWorkspaceSize, reduction, feats_desc
    )
    invoke(
        functions.mluOpDynamicScatterBackward,
        reduction,
        *arrays.tensor("grad_voxel_feats", grad_voxel_feats),
        *(feats_desc, feats_data),
        *arrays.tensor("voxel_feats", voxel_feats),
        *arrays.tensor("point2voxel_map", point2voxel_map),
        *arrays.tensor("voxel_points_count", voxel_points_count),
        *number(voxel_num),
        *workspace,
        *arrays.tensor("grad_feats", grad_feats),
    )
    return grad_feats
