"""Operators that pool the points or the pixels in boxes."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from mluop_omp import _library
from mluop_omp._arrays import (
    NCHW,
    NHWC,
    Arrays,
    Descriptor,
    enumerator,
    extent,
    handle,
    int32,
    int32s,
)
from mluop_omp._library import functions, require
from mluop_omp._operators._empty import require_sizes

METHODS = {"max": 0, "mean": 1}


def roiaware_pool3d(
    arrays: Arrays,
    rois: Any,
    pts: Any,
    pts_feature: Any,
    out_size: Sequence[int],
    max_pts_each_voxel: int = 128,
    method: str = "max",
    out: Any = None,
) -> tuple[Any, Any, Any]:
    rois_desc, rois_data = arrays.tensor("rois", rois, "R 7")
    pts_desc, pts_data = arrays.tensor("pts", pts, "N 3")
    feature_desc, feature_data = arrays.tensor("pts_feature", pts_feature, "N C")
    R, (N, C) = rois_desc.shape[0], feature_desc.shape
    sizes = int32s("out_size", out_size, 3)
    P, code = int32("max_pts_each_voxel", max_pts_each_voxel), enumerator("method", method, METHODS)
    of_pooled, of_argmax, of_points = (None,) * 3 if out is None else out
    voxels = (R, *map(extent, sizes))
    pooled, *pooled_tensor = arrays.output("pooled_features", (*voxels, C), pts_feature, of_pooled)
    argmax, *argmax_tensor = arrays.output("argmax", (*voxels, C), out=of_argmax)
    points, *points_tensor = arrays.output("pts_idx_of_voxels", (*voxels, extent(P)), out=of_points)
    if min(*sizes, P) >= 0 and 0 in (*voxels, N, C):
        size = " ".join(map(str, sizes))
        declaration = "rois R 7, pts N 3, pts_feature N C, pooled_features R {0} C, argmax: R {0} C"
        require_sizes(
            f"{declaration}, pts_idx_of_voxels: R {{0}} {P}".format(size),
            *(rois_desc, pts_desc, feature_desc),
            *(tensor[0] for tensor in (pooled_tensor, argmax_tensor, points_tensor)),
        )
        if 0 in (*voxels, N):
            arrays.fill(pooled, 0)
            arrays.fill(argmax, -1 if method == "max" else 0)
            arrays.fill(points, 0)
        else:  # The points of voxels do not depend on the channels.
            one = arrays.zeros((N, 1), pts_feature)
            points[...] = roiaware_pool3d(arrays, rois, pts, one, out_size, P, method)[2]
        return pooled, argmax, points
    with handle() as own:
        workspace = own.workspace(
            functions.mluOpGetRoiAwarePool3dForwardWorkspaceSize, rois_desc, pts_desc, feature_desc
        )
        require(
            functions.mluOpRoiAwarePool3dForward(
                *(own.pointer, code, R, N, C, rois_desc, rois_data, pts_desc, pts_data),
                *(feature_desc, feature_data, *workspace, P, *sizes),
                *(*argmax_tensor, *points_tensor, *pooled_tensor),
            )
        )
    return pooled, argmax, points


def roiaware_pool3d_backward(
    arrays: Arrays,
    grad_out: Any,
    pts_idx_of_voxels: Any,
    argmax: Any,
    N: int,
    method: str = "max",
    out: Any = None,
) -> Any:
    grad_desc, grad_data = arrays.tensor("grad_out", grad_out, "R X Y Z C")
    points_desc, points_data = arrays.tensor("pts_idx_of_voxels", pts_idx_of_voxels, "R X Y Z P")
    argmax_desc, argmax_data = arrays.tensor("argmax", argmax)
    *voxels, C = grad_desc.shape
    code, N = enumerator("method", method, METHODS), int32("N", N)
    grad_in, *grad_in_tensor = arrays.output("grad_in", (extent(N), C), grad_out, out)
    if N == 0 or (N > 0 and grad_desc.is_empty):
        declaration = "grad_out R X Y Z C, pts_idx_of_voxels: R X Y Z P, argmax: R X Y Z C"
        descriptors = grad_desc, points_desc, argmax_desc, grad_in_tensor[0]
        require_sizes(f"{declaration}, grad_in {N} C", *descriptors)
        listed = arrays.to_numpy("argmax", argmax) + 1
        if method == "mean":
            listed = arrays.to_numpy("pts_idx_of_voxels", pts_idx_of_voxels)[..., :1]
        # Without points, none is in a voxel.
        if grad_desc.is_empty or not listed.any():
            arrays.fill(grad_in, 0)
            return grad_in
    with handle() as own:
        require(
            functions.mluOpRoiAwarePool3dBackward(
                *(own.pointer, code, *voxels, C, points_desc.shape[4], points_desc, points_data),
                *(argmax_desc, argmax_data, grad_desc, grad_data, *grad_in_tensor),
            )
        )
    return grad_in


def roipoint_pool3d(
    arrays: Arrays,
    points: Any,
    point_features: Any,
    boxes3d: Any,
    num_sampled_points: int = 512,
    out: Any = None,
) -> tuple[Any, Any]:
    points_desc, points_data = arrays.tensor("points", points, "B N 3")
    feature_desc, feature_data = arrays.tensor("point_features", point_features, "B N C")
    boxes_desc, boxes_data = arrays.tensor("boxes3d", boxes3d, "B M 7")
    (B, N, C), M = feature_desc.shape, boxes_desc.shape[1]
    S = int32("num_sampled_points", num_sampled_points)
    of_pooled, of_flag = (None, None) if out is None else out
    pooled, *pooled_tensor = arrays.output(
        "pooled_features", (B, M, extent(S), 3 + C), point_features, of_pooled
    )
    flag, *flag_tensor = arrays.output("pooled_empty_flag", (B, M), out=of_flag)
    if S >= 0 and 0 in (B, N, C, M, S):
        declaration = "points B N 3, point_features B N C, boxes3d B M 7, pooled_features B M"
        require_sizes(
            f"{declaration} {S} {3 + C}, pooled_empty_flag: B M",
            *(points_desc, feature_desc, boxes_desc, pooled_tensor[0], flag_tensor[0]),
        )
        if 0 in (B, N, M, S):
            arrays.fill(pooled, 0)
            arrays.fill(flag, 1)
        else:
            one = arrays.zeros((B, N, 1), point_features)
            xyz, flag[...] = roipoint_pool3d(arrays, points, one, boxes3d, S)
            pooled[...] = xyz[..., :3]
        return pooled, flag
    with handle() as own:
        workspace = own.workspace(
            functions.mluOpGetRoiPointPool3dWorkspaceSize,
            *(B, N, M, C, S, points_desc, feature_desc, boxes_desc),
            *(pooled_tensor[0], flag_tensor[0]),
        )
        require(
            functions.mluOpRoiPointPool3d(
                *(own.pointer, B, N, M, C, S, points_desc, points_data),
                *(feature_desc, feature_data, boxes_desc, boxes_data, *workspace),
                *(*pooled_tensor, *flag_tensor),
            )
        )
    return pooled, flag


class _RoiAlign(_library.Object):
    """A descriptor of a pooling. It is never modified, so calls of all threads may share it."""

    _destroy = functions.mluOpDestroyRoiAlignForwardDescriptor


@functools.lru_cache(maxsize=256)
def _pooling(
    height: int, width: int, sampling_ratio: int, scale: float, code: int, aligned: bool
) -> _RoiAlign:
    descriptor = _RoiAlign.create(functions.mluOpCreateRoiAlignForwardDescriptor)
    arguments = (height, width, sampling_ratio, scale, code, aligned)
    require(functions.mluOpSetRoiAlignForwardDescriptor_v2(descriptor, *arguments))
    return descriptor


class _Pixels:
    """The arrays [N, C, H, W] of a call: in NHWC, if the first one is in the memory format
    channels_last, else in NCHW.
    """

    def __init__(self, arrays: Arrays, first: Any) -> None:
        self._arrays, self._first = arrays, first
        self._is_last = arrays.is_channels_last(first)

    def sizes(self, images: str, height: Any = "H", width: Any = "W") -> str:
        """Returns the dimensions of an array in the layout."""
        pixels = f"{height} {width}"
        return f"{images} {pixels} C" if self._is_last else f"{images} C {pixels}"

    def tensor(
        self, name: str, array: Any, dimensions: str = "", has_pixels: bool = True
    ) -> tuple[Any, Descriptor, int]:
        """Returns the array in the layout, which is held until the call returns, its descriptor and
        its address. Without `has_pixels`, it is an array that the call does not need.
        """
        if not has_pixels:
            return array, *self._arrays.tensor(name, array)
        if self._is_last:
            return self._arrays.to_nhwc(name, array)
        array = self._arrays.to_nchw(array)
        return array, *self._arrays.tensor(name, array, dimensions, NCHW)

    def output(
        self, name: str, shape: tuple[int, ...], out: Any = None
    ) -> tuple[Any, Descriptor, int]:
        if not self._is_last:
            return self._arrays.output(name, shape, self._first, out, NCHW)
        N, C, H, W = shape
        return self._arrays.output(name, (N, H, W, C), self._first, layout=NHWC)

    def nchw(self, output: Any) -> Any:
        """Returns an output as [N, C, H, W]."""
        if self._is_last and len(output.shape) == 4:
            return self._arrays.from_nhwc(output, self._first)
        return output


def roi_align(
    arrays: Arrays,
    input: Any,
    rois: Any,
    output_size: Sequence[int],
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    method: str = "mean",
    aligned: bool = True,
    out: Any = None,
) -> tuple[Any, Any, Any]:
    pixels = _Pixels(arrays, input)
    held, *input_tensor = pixels.tensor("input", input, "B C H W")
    rois_desc, rois_data = arrays.tensor("rois", rois, "R 5")
    size, ratio = int32s("output_size", output_size, 2), int32("sampling_ratio", sampling_ratio)
    code = enumerator("method", method, METHODS)
    shape = (rois_desc.shape[0], input.shape[1], *map(extent, size))
    of_output, of_y, of_x = (None,) * 3 if out is None else out
    output, *output_tensor = pixels.output("output", shape, of_output)
    argmax = pixels.output if method == "max" else functools.partial(arrays.output, like=input)
    shape_of_argmax = shape if method == "max" else (0,)
    argmax_y, *y_tensor = argmax("argmax_y", shape_of_argmax, out=of_y)
    argmax_x, *x_tensor = argmax("argmax_x", shape_of_argmax, out=of_x)
    if output_tensor[0].is_empty and min(size) >= 0:  # The images of RoIs need not exist.
        declaration = f"input {pixels.sizes('B')}, rois R 5, output {pixels.sizes('R', *size)}"
        require_sizes(declaration, input_tensor[0], rois_desc, output_tensor[0])
        return tuple(map(pixels.nchw, (output, argmax_y, argmax_x)))
    descriptor = _pooling(*size, ratio, float(spatial_scale), code, bool(aligned))
    with handle() as own:
        require(
            functions.mluOpRoiAlignForward_v2(
                *(own.pointer, descriptor, *input_tensor, rois_desc, rois_data),
                *(*output_tensor, *x_tensor, *y_tensor),
            )
        )
    return tuple(map(pixels.nchw, (output, argmax_y, argmax_x)))


def roi_align_backward(
    arrays: Arrays,
    grad_output: Any,
    rois: Any,
    argmax_y: Any,
    argmax_x: Any,
    image_size: Sequence[int],
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    method: str = "mean",
    aligned: bool = True,
    out: Any = None,
) -> Any:
    pixels = _Pixels(arrays, grad_output)
    grad_held, *grad_tensor = pixels.tensor("grad_output", grad_output, "R C PH PW")
    code, ratio = enumerator("method", method, METHODS), int32("sampling_ratio", sampling_ratio)
    x_held, *x_tensor = pixels.tensor("argmax_x", argmax_x, has_pixels=method == "max")
    y_held, *y_tensor = pixels.tensor("argmax_y", argmax_y, has_pixels=method == "max")
    rois_desc, rois_data = arrays.tensor("rois", rois, "R 5")
    sizes = int32s("image_size", image_size, 3)
    B, H, W = map(extent, sizes)
    grad_input, *input_tensor = pixels.output("grad_input", (B, grad_output.shape[1], H, W), out)
    if grad_tensor[0].is_empty and min(sizes) >= 0:
        outputs = pixels.sizes(str(B), H, W)
        declaration = f"grad_output {pixels.sizes('R')}, rois R 5, grad_input {outputs}"
        require_sizes(declaration, grad_tensor[0], rois_desc, input_tensor[0])
        arrays.fill(grad_input, 0)
        return pixels.nchw(grad_input)
    with handle() as own:
        require(
            functions.mluOpRoiAlignBackward_v2(
                *(own.pointer, *grad_tensor, rois_desc, rois_data, *x_tensor, *y_tensor),
                *(float(spatial_scale), ratio, bool(aligned), code, *input_tensor),
            )
        )
    return pixels.nchw(grad_input)
