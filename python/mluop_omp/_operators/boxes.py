"""Overlaps of boxes, and the points in them."""

from __future__ import annotations

from typing import Any, Callable

from mluop_omp._arrays import Arrays, enumerator, int32
from mluop_omp._definitions import boxes as definitions
from mluop_omp._definitions import points_in_boxes as definitions_of_points
from mluop_omp._library import function
from mluop_omp._operators._declaration import Array, operator
from mluop_omp._operators._derivative import NoDerivative
from mluop_omp._operators._tensors import output_of

__all__ = [
    "bbox_overlaps",
    "box_iou_quadri",
    "box_iou_rotated",
    "boxes_overlap_bev",
    "diff_iou_rotated_sort_vertices",
    "points_in_boxes",
    "points_in_boxes_all",
    "points_in_boxes_part",
    "points_in_polygons",
]

MODES = {"iou": 0, "iof": 1}

_bbox_overlaps = function("mluOpBboxOverlaps", "pibipppppp")
_box_iou_quadri = function("mluOpOmpBoxIouQuadri", "pibpppppp")
_box_iou_rotated = function("mluOpBoxIouRotated", "pibpppppp")
_boxes_overlap_bev = function("mluOpOmpBoxesOverlapBev", "ppppppp")
_sort_vertices = function("mluOpDiffIouRotatedSortVerticesForward", "ppppppppp")
_points_in_boxes = function("mluOpPointsInBoxes", "ppppppp")
_points_in_boxes_part = function("mluOpOmpPointsInBoxesPart", "ppppppp")
_points_in_boxes_all = function("mluOpOmpPointsInBoxesAll", "ppppppp")
_points_in_polygons = function("mluOpOmpPointsInPolygons", "ppppppp")


def _ious(
    arrays: Arrays,
    kernel: Callable[..., int],
    columns: int,
    boxes1: Any,
    boxes2: Any,
    mode: str,
    aligned: bool,
    *numbers: int,
) -> Any:
    boxes1_tensor = arrays.tensor("boxes1", boxes1, f"N {columns}")
    boxes2_tensor = arrays.tensor("boxes2", boxes2, f"M {columns}")
    N, M = boxes1_tensor[0].shape[0], boxes2_tensor[0].shape[0]
    code = enumerator("mode", mode, MODES)
    shape = (N,) if aligned else (N, M)
    inputs = (code, bool(aligned), *numbers, *boxes1_tensor, *boxes2_tensor)
    return output_of(arrays, kernel, inputs, "ious", shape, boxes1)


@operator(definitions, derivative=NoDerivative())
def box_iou_rotated(
    arrays: Arrays, boxes1: Array, boxes2: Array, mode: str = "iou", aligned: bool = False
) -> Array:
    """Returns how much each pair of rotated boxes in a plane overlaps (mmcv).

    A box ``(x, y, w, h, a)`` is the rectangle with center ``(x, y)``, width w and height h, turned
    by a. With I the area of the intersection of both rectangles, "iou" is intersection over union,
    ``I / (area1 + area2 - I)``, and "iof" intersection over foreground, ``I / area1``.

    Args:
        boxes1: float32 or float64 [N, 5]. x, y, w and h have one unit; a is in radians, from the x
            axis to the y axis. For angles of the opposite direction, which mmcv takes with
            clockwise=False, negate the angles of both arguments.
        boxes2: [M, 5] of the dtype of boxes1; [N, 5] if aligned.
        mode: "iou" or "iof".
        aligned: pairs boxes1[n] with boxes2[n] only.

    Returns:
        [N, M], or [N] if aligned, of the dtype of boxes1. The intersection is computed exactly: in
            double, and rounded once; the same in every run and at any number of threads. mmcv's
            fp32 kernels differ for nearly parallel edges and for boxes below a millimeter. An
            element is 0 if w or h of a box is not positive, or w h less than 1e-14; else NaN if w h
            of a box is NaN; else 0 if another number of a box is NaN or infinite.

    Raises:
        MluOpError: mode is another word; aligned, N and M differ.

    Source: mluOpBoxIouRotated; arXiv:1703.01086; mmcv box_iou_rotated.
    """
    return _ious(arrays, _box_iou_rotated, 5, boxes1, boxes2, mode, aligned)


@operator(definitions, derivative=NoDerivative())
def box_iou_quadri(
    arrays: Arrays, boxes1: Array, boxes2: Array, mode: str = "iou", aligned: bool = False
) -> Array:
    """Returns how much each pair of quadrilaterals in a plane overlaps (mmcv).

    A box ``(x1, y1, ..., x4, y4)`` is the quadrilateral with these corners, in either direction,
    convex or not. With I the area of the intersection of both, "iou" is intersection over union,
    ``I / (area1 + area2 - I)``, and "iof" intersection over foreground, ``I / area1``.

    mmcv's kernels assume rectangles: of pairs of random convex quadrilaterals, 72 % are wrong by
    more than 1e-3.

    Args:
        boxes1: float32 or float64 [N, 8], in any unit.
        boxes2: [M, 8] of the dtype of boxes1; [N, 8] if aligned.
        mode: "iou" or "iof".
        aligned: pairs boxes1[n] with boxes2[n] only.

    Returns:
        [N, M], or [N] if aligned, of the dtype of boxes1. The intersection is computed exactly: in
            double, and rounded once; the same in every run and at any number of threads. An element
            is 0 if the area of a box is less than 1e-14; else NaN if a number of a box is NaN or
            infinite. Boxes whose sides cross have an overlap from 0 to 1.

    Raises:
        MluOpError: mode is another word; aligned, N and M differ.

    Source: mluOpOmpBoxIouQuadri; mmcv box_iou_quadri.
    """
    return _ious(arrays, _box_iou_quadri, 8, boxes1, boxes2, mode, aligned)


@operator(definitions, derivative=NoDerivative())
def bbox_overlaps(
    arrays: Arrays,
    boxes1: Array,
    boxes2: Array,
    mode: str = "iou",
    aligned: bool = False,
    offset: int = 0,
) -> Array:
    """Returns how much each pair of axis-aligned boxes overlaps (mmcv).

    With I the area that both boxes share, "iou" is intersection over union, ``I / max(area1 + area2
    - I, offset)``, and "iof" intersection over foreground, ``I / max(area1, offset)``.

    Args:
        boxes1: float16, bfloat16, float32 or float64 [N, 4]: x1, y1, x2, y2, in any unit.
        boxes2: [M, 4] of the dtype of boxes1; [N, 4] if aligned.
        mode: "iou" or "iof".
        aligned: pairs boxes1[n] with boxes2[n] only.
        offset: 0, or 1 if x2 and y2 are the last pixel of a box: added to each width and height.

    Returns:
        [N, M], or [N] if aligned, of the dtype of boxes1. Each step is rounded to float32, for
            float64 to float64; the result has the same bits in every run and at any number of
            threads. MLU-OPS and mmcv's kernels for GPUs compute float16 in float16, where areas
            above 65504 are infinite. NaN propagates; two boxes whose sides are 0 have an IoU of NaN
            if offset is 0.

    Raises:
        MluOpError: mode is another word; offset is neither 0 nor 1; aligned, N and M differ.

    Source: mluOpBboxOverlaps; mmcv bbox_overlaps.
    """
    number = int32("offset", offset)
    return _ious(arrays, _bbox_overlaps, 4, boxes1, boxes2, mode, aligned, number)


@operator(definitions, derivative=NoDerivative())
def boxes_overlap_bev(arrays: Arrays, boxes_a: Array, boxes_b: Array) -> Array:
    """Returns the area that each pair of 3-D boxes shares in the ground plane (iou3d of mmcv).

    A box ``(x, y, z, dx, dy, dz, yaw)`` covers the rectangle with center ``(x, y)`` and sides dx
    and dy, turned by yaw. Its area with another box is the polygon of the crossings of the edges,
    and of the corners of each box in the other one enlarged by 0.01 on each side. As mmcv's kernel,
    steps are rounded to the dtype: boxes less than 0.01 apart have a small overlap, and in float32
    errors exceed 0.001 at coordinates beyond 1000. `box_iou_rotated` has the exact intersection.

    Args:
        boxes_a: float32 or float64 [N, 7]. x, y, dx and dy are in meters; yaw is in radians, from
            the x axis to the y axis; z and dz are not read.
        boxes_b: [M, 7] of the dtype of boxes_a.

    Returns:
        [N, M] of the dtype of boxes_a: the bits of the serial loop, in every run and at any number
            of threads; 0 if x, y, dx, dy or yaw of a box is NaN, x, y or yaw infinite, or dx or dy
            not positive. A box with an infinite side has overlap 0 in float64; in float32 it
            contains corners like any other box, and overlaps that overflow are infinite or NaN.

    Source: mluOpOmpBoxesOverlapBev; PointRCNN, arXiv:1812.04244; mmcv boxes_overlap_bev.
    """
    boxes_a_tensor = arrays.tensor("boxes_a", boxes_a, "N 7")
    boxes_b_tensor = arrays.tensor("boxes_b", boxes_b, "M 7")
    shape = (boxes_a_tensor[0].shape[0], boxes_b_tensor[0].shape[0])
    inputs = (*boxes_a_tensor, *boxes_b_tensor)
    return output_of(arrays, _boxes_overlap_bev, inputs, "overlaps", shape, boxes_a)


@operator(definitions)
def diff_iou_rotated_sort_vertices(
    arrays: Arrays, vertices: Array, mask: Array, num_valid: Array
) -> Array:
    """Sorts the vertices of the intersections of rotated boxes, counter-clockwise (mmcv).

    diff_iou_rotated_2d and diff_iou_rotated_3d of mmcv compute areas from vertices in this order.
    The comparison is the one of mmcv's kernel, which is wrong for vertices with y = 0 and for
    vertices that nearly coincide: mluOpDiffIouRotatedSortVerticesForward defines it.

    Args:
        vertices: float32 or float64 [B, N, 24, 2], relative to the mean of the valid ones: 8
            corners, then 16 crossings of sides.
        mask: bool [B, N, 24]: which are valid.
        num_valid: int32 [B, N]. Numbers above 8 count as 8.

    Returns:
        int32 [B, N, 9]: the indices of the vertices, then the first again, then the first crossing
            that is not valid; 0 if there is none. If num_valid is less than 3, only the latter.
            Exact: operations are rounded to the dtype.

    Source: mluOpDiffIouRotatedSortVerticesForward; mmcv diff_iou_rotated_2d.
    """
    vertices_tensor = arrays.tensor("vertices", vertices, "B N 24 2")
    inputs = (
        *(*vertices_tensor, *arrays.tensor("mask", mask, "B N 24")),
        *arrays.tensor("num_valid", num_valid, "B N"),
    )
    shape = (*vertices_tensor[0].shape[:2], 9)
    return output_of(arrays, _sort_vertices, inputs, "idx", shape)


@operator(definitions_of_points)
def points_in_boxes(arrays: Arrays, points: Array, boxes: Array) -> Array:
    """Finds the first box that contains each point, as MLU-OPS does.

    A box ``(x, y, z, dx, dy, dz, yaw)`` has its center at ``(x, y, z)`` and is turned by yaw about
    the z axis. It contains a point if ``|pz - z| <= dz / 2`` and, in the axes of the box, ``|lx| <
    dx / 2 + 1e-5`` and ``|ly| < dy / 2 + 1e-5``. Differences, products, sums, cosine and sine are
    rounded to the dtype.

    Args:
        points: float32 or float64 [B, M, 3].
        boxes: [B, T, 7] of the dtype of points; yaw in radians, from the x axis to the y axis.

    Returns:
        int32 [B, M], the lowest index of the boxes that contain the point, or -1. A coordinate z of
            NaN counts as inside, x or y of NaN as outside.

    Source: mluOpPointsInBoxes. `points_in_boxes_part` has the rule of mmcv.
    """
    points_tensor = arrays.tensor("points", points, "B M 3")
    boxes_tensor = arrays.tensor("boxes", boxes, "B T 7")
    inputs, shape = (*points_tensor, *boxes_tensor), points_tensor[0].shape[:2]
    indices = output_of(arrays, _points_in_boxes, inputs, "points_indices", shape)
    if boxes_tensor[0].is_empty:  # The library leaves the output.
        arrays.fill(indices, -1)
    return indices


@operator(definitions_of_points)
def points_in_boxes_part(arrays: Arrays, points: Array, boxes: Array) -> Array:
    """Finds the first box that contains each point, as mmcv does.

    As `points_in_boxes`, but ``(x, y, z)`` is the center of the bottom, and a box contains a point
    if ``|pz - (z + dz / 2)| <= dz / 2``, ``|lx| < dx / 2`` and ``|ly| < dy / 2``, without a margin.

    Args:
        points: float32 or float64 [B, M, 3].
        boxes: [B, T, 7] of the dtype of points: x, y, z of the bottom, dx, dy, dz, yaw in radians.

    Returns:
        int32 [B, M], the lowest index of the boxes that contain the point, or -1.

    Source: mluOpOmpPointsInBoxesPart; mmcv points_in_boxes_part.
    """
    points_tensor = arrays.tensor("points", points, "B M 3")
    boxes_tensor = arrays.tensor("boxes", boxes, "B T 7")
    inputs, shape = (*boxes_tensor, *points_tensor), points_tensor[0].shape[:2]
    return output_of(arrays, _points_in_boxes_part, inputs, "indices", shape)


@operator(definitions_of_points)
def points_in_boxes_all(arrays: Arrays, points: Array, boxes: Array) -> Array:
    """Finds all boxes that contain each point, as mmcv does: by the rule of `points_in_boxes_part`.

    Args:
        points: float32 or float64 [B, M, 3].
        boxes: [B, T, 7] of the dtype of points: x, y, z of the bottom, dx, dy, dz, yaw in radians.

    Returns:
        int32 [B, M, T]: 1 if the box contains the point, else 0.

    Source: mluOpOmpPointsInBoxesAll; mmcv points_in_boxes_all, points_in_boxes_cpu.
    """
    points_tensor = arrays.tensor("points", points, "B M 3")
    boxes_tensor = arrays.tensor("boxes", boxes, "B T 7")
    shape = (*points_tensor[0].shape[:2], boxes_tensor[0].shape[1])
    inputs = (*boxes_tensor, *points_tensor)
    return output_of(arrays, _points_in_boxes_all, inputs, "is_inside", shape)


@operator(definitions_of_points, derivative=NoDerivative())
def points_in_polygons(arrays: Arrays, points: Array, polygons: Array) -> Array:
    """Finds all quadrilaterals that contain each point (mmcv).

    A polygon contains a point if an odd number of its sides cross the row of the point at a greater
    x. A point on the border is in or out depending on the corner with which the list begins: sides
    are counted in their order, until one crosses at the point or has an end there.

    Args:
        points: float32 or float64 [B, 2]: x, y, in any unit.
        polygons: [M, 8] of the dtype of points: the corners x1, y1, ..., x4, y4.

    Returns:
        [B, M] of the dtype of points: 1 if the polygon contains the point, else 0. In float32, they
            are the numbers of mmcv's kernel for GPUs. A point with a NaN is in no polygon.

    Source: mluOpOmpPointsInPolygons; mmcv points_in_polygons.
    """
    points_tensor = arrays.tensor("points", points, "B 2")
    polygons_tensor = arrays.tensor("polygons", polygons, "M 8")
    inputs = (*points_tensor, *polygons_tensor)
    shape = (points_tensor[0].shape[0], polygons_tensor[0].shape[0])
    return output_of(arrays, _points_in_polygons, inputs, "output", shape, points)
