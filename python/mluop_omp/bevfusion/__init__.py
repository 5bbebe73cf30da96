"""BEVFusion's operators on CPUs.

    import mluop_omp.bevfusion
    mluop_omp.bevfusion.install()

before the import of BEVFusion's operators provides the extension modules that its setup.py builds
with CUDA: the modules of mit-han-lab's BEVFusion, in the packages of mmdet3d.ops, and bev_pool_ext
and voxel_layer of mmdetection3d's projects.BEVFusion. Extensions that were built keep their
functions for other devices. Grids that precede the search for pairs (get_indice_pairs_grid) and
the feature decorator have no kernel here.
"""

from __future__ import annotations

from typing import Any, Callable

from mluop_omp import _extensions, _point_extensions
from mluop_omp._extensions import refusal
from mluop_omp._point_extensions import without_sizes
from mluop_omp.bevfusion import _bev_pool, _boxes, _voxels
from mluop_omp.bevfusion._bev_pool import bev_pool_backward, bev_pool_forward
from mluop_omp.mmcv import _functions, _points

__all__ = ["bev_pool_backward", "bev_pool_forward", "install"]


def _ball_query(
    B: int, N: int, M: int, min_radius: float, max_radius: float, nsample: int, *tensors: Any
) -> None:
    _points.ball_query_forward(*tensors, B, N, M, min_radius, max_radius, nsample)


_MODULES: dict[str, dict[str, Callable[..., Any]]] = {
    "ball_query.ball_query_ext": {"ball_query_wrapper": _ball_query},
    "bev_pool.bev_pool_ext": _bev_pool.FUNCTIONS,
    "feature_decorator.feature_decorator_ext": {
        "feature_decorator_forward": refusal("feature_decorator_forward")
    },
    "furthest_point_sample.furthest_point_sample_ext": {
        "furthest_point_sampling_wrapper": _point_extensions.furthest_point_sampling,
        "furthest_point_sampling_with_dist_wrapper": (
            _point_extensions.furthest_point_sampling_with_dist
        ),
    },
    "gather_points.gather_points_ext": _point_extensions.GATHERING,
    "group_points.group_points_ext": {
        "forward": without_sizes(_points.group_points_forward),
        "backward": without_sizes(_points.group_points_backward),
    },
    "interpolate.interpolate_ext": _point_extensions.INTERPOLATION,
    "iou3d.iou3d_cuda": _boxes.IOU3D_FUNCTIONS,
    "knn.knn_ext": {"knn_wrapper": _points.knn_forward},
    "paconv.assign_score_withk_ext": {
        "assign_score_withk_forward_wrapper": without_sizes(_points.assign_score_withk_forward),
        "assign_score_withk_backward_wrapper": without_sizes(_points.assign_score_withk_backward),
    },
    "roiaware_pool3d.roiaware_pool3d_ext": _boxes.ROIAWARE_FUNCTIONS,
    "spconv.sparse_conv_ext": {
        **{
            f"get_indice_pairs_{n}d": getattr(_functions, f"get_indice_pairs_{n}d_forward")
            for n in (2, 3, 4)
        },
        **{f"get_indice_pairs_grid_{n}d": refusal(f"get_indice_pairs_grid_{n}d") for n in (2, 3)},
        **{
            f"{name}_{dtype}": function
            for dtype in ("fp32", "half")
            for name, function in (
                ("indice_conv", _functions.indice_conv_forward),
                ("indice_conv_backward", _functions.indice_conv_backward),
                ("fused_indice_conv", _functions.fused_indice_conv_forward),
                ("indice_maxpool", _functions.indice_maxpool_forward),
                ("indice_maxpool_backward", _functions.indice_maxpool_backward),
            )
        },
    },
    "voxel.voxel_layer": _voxels.FUNCTIONS,
}


def install() -> None:
    """Provides the extension modules of BEVFusion for tensors of the CPU; once, if repeated."""
    for name, functions in _MODULES.items():
        _extensions.provide(f"mmdet3d.ops.{name}", functions)
    for name in ("bev_pool.bev_pool_ext", "voxel.voxel_layer"):
        _extensions.provide(f"projects.BEVFusion.bevfusion.ops.{name}", _MODULES[name])
