"""Operators that pool the points or the pixels in boxes, on NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mluop_omp._arrays import NUMPY
from mluop_omp._operators import rois as _rois


def roiaware_pool3d(
    rois: np.ndarray,
    pts: np.ndarray,
    pts_feature: np.ndarray,
    out_size: Sequence[int],
    max_pts_each_voxel: int = 128,
    method: str = "max",
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pools the features of the points in each voxel of each box (Part-A2).

    A RoI ``(x, y, z, dx, dy, dz, yaw)`` contains points by the rule of `points_in_boxes_part`: z is
    that of the bottom. With lx and ly the coordinates of a point along its axes, the voxel is
    ``(lx + dx / 2) / (dx / X)``, ``(ly + dy / 2) / (dy / Y)``, ``(pz - z) / (dz / Z)``, in float32,
    truncated and limited to the voxels of each axis. A voxel keeps its first max_pts_each_voxel - 1
    points.

    Args:
        rois: float16, bfloat16 or float32 [R, 7]; yaw in radians, from the x axis to the y axis.
            The geometry of float16 and bfloat16 is computed in float32.
        pts: [N, 3], of the dtype of rois.
        pts_feature: [N, C], of the dtype of rois.
        out_size: X, Y, Z, the voxels of a RoI.
        max_pts_each_voxel: the numbers that pts_idx_of_voxels has of a voxel.
        method: "max", or "mean", which mmcv calls 'avg'.

    Returns:
        pooled_features: [R, X, Y, Z, C], of the dtype of rois: the maximum or the mean of the
            points of a voxel, 0 without points. NaN is never a maximum.
        argmax: int32 [R, X, Y, Z, C]: the first point with the maximum, -1 if there is none; 0 for
            "mean".
        pts_idx_of_voxels: int32 [R, X, Y, Z, max_pts_each_voxel]: the number of points of a voxel,
            their indices, ascending, and zeros.

    Raises:
        MluOpError: max_pts_each_voxel is 0; method is another word; shapes or dtypes differ from
            those above.

    Source: mluOpRoiAwarePool3dForward; Part-A2, arXiv:1907.03670; mmcv RoIAwarePool3d.
    """
    arguments = (rois, pts, pts_feature, out_size, max_pts_each_voxel, method)
    return _rois.roiaware_pool3d(NUMPY, *arguments)


def roiaware_pool3d_backward(
    grad_out: np.ndarray,
    pts_idx_of_voxels: np.ndarray,
    argmax: np.ndarray,
    N: int,
    method: str = "max",
) -> np.ndarray:
    """Returns the gradient of `roiaware_pool3d` for pts_feature.

    Args:
        grad_out: float16, bfloat16 or float32 [R, X, Y, Z, C].
        pts_idx_of_voxels: int32 [R, X, Y, Z, P], of `roiaware_pool3d`; "max" does not read it.
        argmax: int32 [R, X, Y, Z, C], of `roiaware_pool3d`; "mean" does not read it.
        N: the number of points.
        method: "max": each gradient is added to the point of argmax; "mean": to all points of the
            voxel, divided by their number.

    Returns:
        [N, C], of the dtype of grad_out, 0 for points in no voxel. Sums are float32, in the order
            of the voxels: the same bits in every run and at any number of threads.

    Raises:
        MluOpError: a count or a point is out of range; method is another word; shapes or dtypes
            differ from those above.

    Source: mluOpRoiAwarePool3dBackward; mmcv RoIAwarePool3d.
    """
    return _rois.roiaware_pool3d_backward(NUMPY, grad_out, pts_idx_of_voxels, argmax, N, method)


def roipoint_pool3d(
    points: np.ndarray,
    point_features: np.ndarray,
    boxes3d: np.ndarray,
    num_sampled_points: int = 512,
) -> tuple[np.ndarray, np.ndarray]:
    """Copies the first points of each box, with their features (PointRCNN).

    Args:
        points: float16, bfloat16 or float32 [B, N, 3].
        point_features: [B, N, C], of the dtype of points.
        boxes3d: [B, M, 7], of the dtype of points: x, y, z of the bottom, dx, dy, dz, yaw in
            radians. A box contains points by the rule of `points_in_boxes_part`; the geometry of
            float16 and bfloat16 is computed in float32.
        num_sampled_points: S, the rows of a box. If it has k < S points, row j is point j modulo k.

    Returns:
        pooled_features: [B, M, S, 3 + C], of the dtype of points: coordinates and features of the
            points of a box, in the order of their indices; 0 without points.
        pooled_empty_flag: int32 [B, M]: 1 if there are no points in a box, else 0.

    Raises:
        MluOpError: shapes or dtypes differ from those above.

    Source: mluOpRoiPointPool3d; PointRCNN, arXiv:1812.04244; mmcv RoIPointPool3d.
    """
    return _rois.roipoint_pool3d(NUMPY, points, point_features, boxes3d, num_sampled_points)


def roi_align(
    input: np.ndarray,
    rois: np.ndarray,
    output_size: Sequence[int],
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    method: str = "mean",
    aligned: bool = True,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pools interpolated samples of an image in each bin of each RoI (Mask R-CNN).

    Along each axis, a RoI starts at ``low * spatial_scale - offset``, where offset is 0.5 if
    aligned, else 0. Its bins have n samples, in the middle of n equal parts. A sample is
    interpolated from the four pixels around it; one more than a pixel outside of the image is 0.

    Args:
        input: float16, bfloat16 or float32 [B, C, H, W]. float16 and bfloat16 are computed in
            float32.
        rois: [R, 5], of the dtype of input: image, x1, y1, x2, y2.
        output_size: PH, PW, the bins of a RoI.
        spatial_scale: the pixels of input for each of rois.
        sampling_ratio: n; 0 for as many samples as the bin has pixels, rounded up.
        method: "mean", which mmcv calls 'avg', or "max".
        aligned: whether pixels are at the middle of their cells. If not, sizes are 1 at least.

    Returns:
        output: [R, C, PH, PW], of the dtype of input; 0 for a RoI of a negative size.
        argmax_y, argmax_x: of "max", [R, C, PH, PW], of the dtype of input: the first sample that
            is the maximum, -1 without samples. Of "mean", without elements.

    Raises:
        MluOpError: the image of a RoI does not exist; method is another word; shapes or dtypes
            differ from those above.

    Source: mluOpRoiAlignForward_v2; Mask R-CNN, arXiv:1703.06870; mmcv roi_align.
    """
    arguments = (input, rois, output_size, spatial_scale, sampling_ratio, method, aligned)
    return _rois.roi_align(NUMPY, *arguments)


def roi_align_backward(
    grad_output: np.ndarray,
    rois: np.ndarray,
    argmax_y: np.ndarray,
    argmax_x: np.ndarray,
    image_size: Sequence[int],
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    method: str = "mean",
    aligned: bool = True,
) -> np.ndarray:
    """Returns the gradient of `roi_align` for input.

    Args:
        grad_output: float16, bfloat16 or float32 [R, C, PH, PW].
        rois: [R, 5], of the dtype of grad_output.
        argmax_y: of `roi_align`, of the dtype of grad_output.
        argmax_x: of `roi_align`, of the dtype of grad_output.
        image_size: B, H, W of input.
        spatial_scale: as in `roi_align`, and so are the further arguments.

    Returns:
        [B, C, H, W], of the dtype of grad_output. Sums are float32, in the order of RoIs: the same
            bits in every run and at any number of threads.

    Raises:
        MluOpError: the image of a RoI does not exist; method is another word; shapes or dtypes
            differ from those above.

    Source: mluOpRoiAlignBackward_v2; mmcv roi_align.
    """
    arguments = (grad_output, rois, argmax_y, argmax_x, image_size)
    numbers = (spatial_scale, sampling_ratio, method, aligned)
    return _rois.roi_align_backward(NUMPY, *arguments, *numbers)
