"""The operators of 3-D perception networks on CPUs.

The functions of this module take and return NumPy arrays, which must be contiguous; those on
layouts of filters take tensors, too.
`mluop_omp.torch` provides the operators to PyTorch, `mluop_omp.mmcv`, `mluop_omp.spconv`,
`mluop_omp.pcdet`, `mluop_omp.pointnet2`, `mluop_omp.bevdepth`, `mluop_omp.bevdet` and
`mluop_omp.bevfusion` to these libraries. An argument that an operator refuses raises `MluOpError`;
no element type is converted to a narrower one.

Arrays of bfloat16 are those of the package ml_dtypes. float64 is for tests such as gradcheck:
compositions of NumPy's functions compute it, where the functions below list it. The library
computes the other types.

Functions may be called from any thread, and from signal handlers and finalizers that interrupt
another call. An exception that interrupts a call, such as KeyboardInterrupt, affects no other.

Settings of the library, such as OMP_NUM_THREADS, are described in docs/settings.md and mlu_op.h.
MLUOP_LOG_LEVEL is off unless it is set, as exceptions carry the messages of the log.
"""

from mluop_omp._install import install, no_cuda
from mluop_omp._library import MluOpError, Status
from mluop_omp._settings import __version__, algorithm, info, release_memory, threads
from mluop_omp.attention import ms_deform_attn, ms_deform_attn_backward
from mluop_omp.boxes import (
    box_iou_rotated,
    boxes_overlap_bev,
    nms,
    nms3d,
    nms3d_normal,
    nms_match,
    nms_rotated,
    points_in_boxes,
    points_in_boxes_all,
    points_in_boxes_part,
    soft_nms,
)
from mluop_omp.checking import CheckedCall, CheckFailure, check
from mluop_omp.comparison import Comparison, SparseSites, compare
from mluop_omp.deform_conv import (
    deform_conv2d,
    deform_conv2d_backward_data,
    deform_conv2d_backward_weight,
)
from mluop_omp.filters import FILTER_LAYOUTS, convert_filters, matching_layouts
from mluop_omp.losses import sigmoid_focal_loss, sigmoid_focal_loss_backward
from mluop_omp.masked_conv import masked_col2im, masked_im2col
from mluop_omp.points import (
    assign_score_withk,
    assign_score_withk_backward,
    ball_query,
    furthest_point_sample,
    furthest_point_sample_with_dist,
    gather_points,
    gather_points_backward,
    knn,
    stack_ball_query,
    stack_group_points,
    stack_group_points_backward,
    three_interpolate,
    three_interpolate_backward,
    three_nn,
)
from mluop_omp.rois import (
    roi_align,
    roi_align_backward,
    roiaware_pool3d,
    roiaware_pool3d_backward,
    roipoint_pool3d,
)
from mluop_omp.runs import Run, RunComparison, compare_runs, record, recording
from mluop_omp.sparse_conv import (
    indice_conv,
    indice_conv_backward_data,
    indice_conv_backward_filter,
    indice_maxpool,
    indice_maxpool_backward,
    indice_pairs,
)
from mluop_omp.voxels import (
    bev_pool,
    bev_pool_backward,
    dynamic_scatter,
    dynamic_scatter_backward,
    voxel_pooling,
    voxel_pooling_backward,
    voxelization,
)

__all__ = [
    "CheckFailure",
    "CheckedCall",
    "Comparison",
    "FILTER_LAYOUTS",
    "MluOpError",
    "Run",
    "RunComparison",
    "SparseSites",
    "Status",
    "__version__",
    "algorithm",
    "assign_score_withk",
    "assign_score_withk_backward",
    "ball_query",
    "bev_pool",
    "bev_pool_backward",
    "box_iou_rotated",
    "boxes_overlap_bev",
    "check",
    "compare",
    "compare_runs",
    "convert_filters",
    "deform_conv2d",
    "deform_conv2d_backward_data",
    "deform_conv2d_backward_weight",
    "dynamic_scatter",
    "dynamic_scatter_backward",
    "furthest_point_sample",
    "furthest_point_sample_with_dist",
    "gather_points",
    "gather_points_backward",
    "indice_conv",
    "indice_conv_backward_data",
    "indice_conv_backward_filter",
    "indice_maxpool",
    "indice_maxpool_backward",
    "indice_pairs",
    "info",
    "install",
    "knn",
    "masked_col2im",
    "masked_im2col",
    "matching_layouts",
    "nms_match",
    "ms_deform_attn",
    "ms_deform_attn_backward",
    "nms",
    "nms3d",
    "nms3d_normal",
    "nms_rotated",
    "no_cuda",
    "points_in_boxes",
    "points_in_boxes_all",
    "points_in_boxes_part",
    "record",
    "recording",
    "release_memory",
    "roi_align",
    "roi_align_backward",
    "roiaware_pool3d",
    "roiaware_pool3d_backward",
    "roipoint_pool3d",
    "sigmoid_focal_loss",
    "sigmoid_focal_loss_backward",
    "soft_nms",
    "stack_ball_query",
    "stack_group_points",
    "stack_group_points_backward",
    "three_interpolate",
    "three_interpolate_backward",
    "three_nn",
    "threads",
    "voxel_pooling",
    "voxel_pooling_backward",
    "voxelization",
]
