"""The functions of mmcv._ext that pool the points or the pixels in boxes, with the names, arguments
and outputs of mmcv.
"""

from __future__ import annotations

from torch import Tensor

from mluop_omp._operators._declaration import operators
from mluop_omp._operators.roi_pools import METHODS
from mluop_omp.torch._arrays import apply_num_threads, write
from mluop_omp.torch._precision import dense, widened

__all__ = [
    "roi_align_backward",
    "roi_align_forward",
    "roiaware_pool3d_backward",
    "roiaware_pool3d_forward",
    "roipoint_pool3d_forward",
]


def _method(pool_method: int) -> str | int:
    """Returns its word; a number that mmcv does not have as it is."""
    return dict(enumerate(METHODS)).get(pool_method, pool_method)


def roiaware_pool3d_forward(
    rois: Tensor,
    pts: Tensor,
    pts_feature: Tensor,
    argmax: Tensor,
    pts_idx_of_voxels: Tensor,
    pooled_features: Tensor,
    pool_method: int,
) -> None:
    """The geometry of half and bfloat16 is computed in float32; mmcv's kernel for GPUs uses half.

    Without RoIs there is nothing to write: MLU-OPS refuses 0 RoIs, and mmdetection3d passes an
    empty tensor with a column less.
    """
    if not len(rois) and pts_idx_of_voxels.shape[-1]:
        return
    apply_num_threads()
    tensors = widened(rois, pts, pts_feature)
    sizes = tuple(pts_idx_of_voxels.shape)
    arguments = (*tensors, sizes[1:-1], sizes[-1], _method(pool_method))
    outputs = {
        "pooled_features": pooled_features,
        "argmax": argmax,
        "pts_idx_of_voxels": pts_idx_of_voxels,
    }
    write(outputs, tensors[0].dtype, operators.roiaware_pool3d, *arguments)


def roiaware_pool3d_backward(
    pts_idx_of_voxels: Tensor, argmax: Tensor, grad_out: Tensor, grad_in: Tensor, pool_method: int
) -> None:
    """Writes all elements of grad_in, to which mmcv's kernel adds."""
    if not len(grad_out):
        grad_in.zero_()
        return
    apply_num_threads()
    (grad,) = widened(grad_out)
    arguments = (grad, dense(pts_idx_of_voxels), dense(argmax), len(grad_in), _method(pool_method))
    write({"grad_in": grad_in}, grad.dtype, operators.roiaware_pool3d_backward, *arguments)


def roipoint_pool3d_forward(
    xyz: Tensor,
    boxes3d: Tensor,
    pts_feature: Tensor,
    pooled_features: Tensor,
    pooled_empty_flag: Tensor,
) -> None:
    """The geometry of half and bfloat16 is computed in float32; mmcv's GPU kernel uses half."""
    if not boxes3d.shape[1]:
        return
    apply_num_threads()
    points, boxes, features = widened(xyz, boxes3d, pts_feature)
    arguments = (points, features, boxes, pooled_features.shape[2])
    outputs = {"pooled_features": pooled_features, "pooled_empty_flag": pooled_empty_flag}
    write(outputs, points.dtype, operators.roipoint_pool3d, *arguments)


def roi_align_forward(
    input: Tensor,
    rois: Tensor,
    output: Tensor,
    argmax_y: Tensor,
    argmax_x: Tensor,
    aligned_height: int,
    aligned_width: int,
    spatial_scale: float,
    sampling_ratio: int,
    pool_mode: int,
    aligned: bool,
) -> None:
    """Means of half and bfloat16 are computed in float32, as are the positions of samples."""
    apply_num_threads()
    tensors, size = widened(input, rois), (aligned_height, aligned_width)
    numbers = (spatial_scale, sampling_ratio, _method(pool_mode), aligned)
    outputs = {"output": output, "argmax_y": argmax_y, "argmax_x": argmax_x}
    write(outputs, tensors[0].dtype, operators.roi_align, *tensors, size, *numbers)


def roi_align_backward(
    grad_output: Tensor,
    rois: Tensor,
    argmax_y: Tensor,
    argmax_x: Tensor,
    grad_input: Tensor,
    aligned_height: int,
    aligned_width: int,
    spatial_scale: float,
    sampling_ratio: int,
    pool_mode: int,
    aligned: bool,
) -> None:
    """Writes all elements of grad_input, to which mmcv's kernel adds."""
    apply_num_threads()
    tensors = widened(grad_output, rois, argmax_y, argmax_x)
    size = (grad_input.shape[0], *grad_input.shape[2:])
    numbers = (spatial_scale, sampling_ratio, _method(pool_mode), aligned)
    outputs, operator = {"grad_input": grad_input}, operators.roi_align_backward
    write(outputs, tensors[0].dtype, operator, *tensors, size, *numbers)
