"""The functions of mmcv._ext that sample maps at rotated RoIs, at the boxes of pixels and at the
borders of boxes, with the names, arguments and outputs of mmcv.
"""

from __future__ import annotations

from typing import Any

from mluop_omp._adapters import Args, writes
from mluop_omp._operators._declaration import operators

_ALIGNMENT = "pooled_height, pooled_width, spatial_scale, sampling_ratio, aligned, clockwise"
_ORIENTED = "pooled_height, pooled_width, spatial_scale, num_samples, num_orientations, clockwise"


def _numbers(args: Args) -> tuple[Any, ...]:
    return args.spatial_scale, args.sampling_ratio, args.aligned, args.clockwise


def _oriented(args: Args) -> tuple[Any, ...]:
    return args.spatial_scale, args.num_samples, args.num_orientations, args.clockwise


def _image_size(grad_input: Any) -> tuple[int, int, int]:
    images, _, height, width = grad_input.shape
    return images, height, width


@writes("output", f"input, rois, output, {_ALIGNMENT}")
def roi_align_rotated_forward(args: Args) -> Any:
    """Positions of samples and sums of half and bfloat16 are computed in float32."""
    size = args.pooled_height, args.pooled_width
    return operators.roi_align_rotated, args.input, args.rois, size, *_numbers(args)


@writes("grad_input", f"grad_output, rois, grad_input, {_ALIGNMENT}")
def roi_align_rotated_backward(args: Args) -> Any:
    """Writes all elements of grad_input, to which mmcv's kernel adds. The tensors have the order in
    which mmcv passes them, not the names of its binding.
    """
    tensors = args.grad_output, args.rois
    size = _image_size(args.grad_input)
    return operators.roi_align_rotated_backward, *tensors, size, *_numbers(args)


@writes("output", f"features, rois, output, {_ORIENTED}")
def riroi_align_rotated_forward(args: Args) -> Any:
    """mmcv's kernel reads outside of its tensor if an angle is below -2 pi; this does not."""
    size = args.pooled_height, args.pooled_width
    return operators.riroi_align_rotated, args.features, args.rois, size, *_oriented(args)


@writes("bottom_grad", f"top_grad, rois, bottom_grad, {_ORIENTED}")
def riroi_align_rotated_backward(args: Args) -> Any:
    """Writes all elements of bottom_grad, to which mmcv's kernel adds."""
    tensors, size = (args.top_grad, args.rois), _image_size(args.bottom_grad)
    return operators.riroi_align_rotated_backward, *tensors, size, *_oriented(args)


def _boxes(best_bboxes: Any, maps: Any) -> Any:
    """Returns boxes, which mmcv takes in any shape, as [N, H, W, 5]."""
    images, _, height, width = maps.shape
    return best_bboxes.reshape(images, height, width, 5)


@writes("output", "features, best_bboxes, output, spatial_scale, points")
def rotated_feature_align_forward(args: Args) -> Any:
    """best_bboxes may have any shape of N H W 5 elements, as R3Det passes [N H W, 5]."""
    tensors = args.features, _boxes(args.best_bboxes, args.features)
    return operators.rotated_feature_align, *tensors, args.spatial_scale, args.points


@writes("bottom_grad", "top_grad, best_bboxes, bottom_grad, spatial_scale, points")
def rotated_feature_align_backward(args: Args) -> Any:
    """Writes all elements of bottom_grad, to which mmcv's kernel adds."""
    tensors = args.top_grad, _boxes(args.best_bboxes, args.top_grad)
    return operators.rotated_feature_align_backward, *tensors, args.spatial_scale, args.points


@writes("output, argmax_idx", "input, boxes, output, argmax_idx, pool_size")
def border_align_forward(args: Args) -> Any:
    """mmcv has no kernel for CPUs."""
    return operators.border_align, args.input, args.boxes, args.pool_size


@writes("grad_input", "grad_output, boxes, argmax_idx, grad_input, pool_size")
def border_align_backward(args: Args) -> Any:
    """Writes all elements of grad_input, to which mmcv's kernel adds."""
    tensors, size = (args.grad_output, args.boxes, args.argmax_idx), args.grad_input.shape[2:]
    return operators.border_align_backward, *tensors, size, args.pool_size
