"""The functions of mmcv._ext that pool the points or the pixels in boxes, with the names, arguments
and outputs of mmcv.
"""

from __future__ import annotations

from typing import Any

from mluop_omp._adapters import Args, adds, word, writes
from mluop_omp._operators._declaration import operators
from mluop_omp._operators.roi_pools import METHODS


@writes(
    "pooled_features, argmax, pts_idx_of_voxels",
    "rois, pts, pts_feature, argmax, pts_idx_of_voxels, pooled_features, pool_method",
)
def roiaware_pool3d_forward(args: Args) -> Any:
    """The geometry of half and bfloat16 is computed in float32; mmcv's kernel for GPUs uses half.

    Without RoIs there is nothing to write: MLU-OPS refuses 0 RoIs, and mmdetection3d passes an
    empty tensor with a column less.
    """
    sizes = tuple(args.pts_idx_of_voxels.shape)
    if not len(args.rois) and sizes[-1]:
        return None
    tensors, method = (args.rois, args.pts, args.pts_feature), word(METHODS, args.pool_method)
    return operators.roiaware_pool3d, *tensors, sizes[1:-1], sizes[-1], method


@writes("grad_in", "pts_idx_of_voxels, argmax, grad_out, grad_in, pool_method")
def roiaware_pool3d_backward(args: Args) -> Any:
    """Writes all elements of grad_in, to which mmcv's kernel adds."""
    if not len(args.grad_out):
        args.grad_in.zero_()
        return None
    tensors = args.grad_out, args.pts_idx_of_voxels, args.argmax
    method = word(METHODS, args.pool_method)
    return operators.roiaware_pool3d_backward, *tensors, len(args.grad_in), method


@writes(
    "pooled_features, pooled_empty_flag",
    "xyz, boxes3d, pts_feature, pooled_features, pooled_empty_flag",
)
def roipoint_pool3d_forward(args: Args) -> Any:
    """The geometry of half and bfloat16 is computed in float32; mmcv's GPU kernel uses half."""
    if not args.boxes3d.shape[1]:
        return None
    tensors = args.xyz, args.pts_feature, args.boxes3d
    return operators.roipoint_pool3d, *tensors, args.pooled_features.shape[2]


_BINS = "pooled_height, pooled_width, spatial_scale"


@writes("output, argmax", f"input, rois, output, argmax, {_BINS}")
def roi_pool_forward(args: Args) -> Any:
    """Bins have the corners of mmcv's CUDA kernel, which are not rounded. The geometry of half and
    bfloat16 is computed in float32. argmax of a RoI without positive size is -1, not 0.
    """
    size = args.pooled_height, args.pooled_width
    return operators.roi_pool, args.input, args.rois, size, args.spatial_scale


@writes("grad_input", f"grad_output, rois, argmax, grad_input, {_BINS}")
def roi_pool_backward(args: Args) -> Any:
    """Writes all elements of grad_input, to which mmcv's kernel adds."""
    images, _, *pixels = args.grad_input.shape
    tensors = args.grad_output, args.rois, args.int32("argmax")
    return operators.roi_pool_backward, *tensors, (images, *pixels)


@writes("output", f"input, rois, output, {_BINS}")
def prroi_pool_forward(args: Args) -> Any:
    """Half and bfloat16, which mmcv refuses, are computed in float32."""
    size = args.pooled_height, args.pooled_width
    return operators.prroi_pool, args.input, args.rois, size, args.spatial_scale


@writes("grad_input", f"grad_output, rois, grad_input, {_BINS}")
def prroi_pool_backward(args: Args) -> Any:
    """Writes all elements of grad_input, to which mmcv's kernel adds."""
    images, _, *pixels = args.grad_input.shape
    tensors = args.grad_output, args.rois
    return operators.prroi_pool_backward, *tensors, (images, *pixels), args.spatial_scale


@writes("grad_rois", f"output, grad_output, input, rois, grad_rois, {_BINS}")
def prroi_pool_coor_backward(args: Args) -> Any:
    """Writes all elements of grad_rois, to which mmcv's kernel adds."""
    tensors = args.output, args.grad_output, args.input, args.rois
    return operators.prroi_pool_coor_backward, *tensors, args.spatial_scale


_MOVED_BINS = "pooled_height, pooled_width, spatial_scale, sampling_ratio, gamma"


def _moved(args: Args) -> tuple[Any, ...]:
    return args.spatial_scale, args.sampling_ratio, args.gamma


def _offset(args: Args) -> Any:
    """Returns None for the tensor [0] that mmcv passes without offsets."""
    return None if tuple(args.offset.shape) == (0,) else args.offset


@writes("output", f"input, rois, offset, output, {_MOVED_BINS}")
def deform_roi_pool_forward(args: Args) -> Any:
    """Half and bfloat16 are computed in float32."""
    tensors, size = (args.input, args.rois, _offset(args)), (args.pooled_height, args.pooled_width)
    return operators.deform_roi_pool, *tensors, size, *_moved(args)


@adds(
    "grad_input, grad_offset",
    f"grad_output, input, rois, offset, grad_input, grad_offset, {_MOVED_BINS}",
)
def deform_roi_pool_backward(args: Args) -> Any:
    tensors = args.grad_output, args.input, args.rois, _offset(args)
    return operators.deform_roi_pool_backward, *tensors, *_moved(args)


_ALIGNMENT = "aligned_height, aligned_width, spatial_scale, sampling_ratio, pool_mode, aligned"


def _alignment(args: Args) -> tuple[Any, ...]:
    return args.spatial_scale, args.sampling_ratio, word(METHODS, args.pool_mode), args.aligned


@writes("output, argmax_y, argmax_x", f"input, rois, output, argmax_y, argmax_x, {_ALIGNMENT}")
def roi_align_forward(args: Args) -> Any:
    """Means of half and bfloat16 are computed in float32, as are the positions of samples."""
    size = args.aligned_height, args.aligned_width
    return operators.roi_align, args.input, args.rois, size, *_alignment(args)


@writes("grad_input", f"grad_output, rois, argmax_y, argmax_x, grad_input, {_ALIGNMENT}")
def roi_align_backward(args: Args) -> Any:
    """Writes all elements of grad_input, to which mmcv's kernel adds."""
    tensors = args.grad_output, args.rois, args.argmax_y, args.argmax_x
    images, _, *pixels = args.grad_input.shape
    return operators.roi_align_backward, *tensors, (images, *pixels), *_alignment(args)
