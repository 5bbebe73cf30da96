"""Convex hulls of sets of nine points: their overlaps with quadrilaterals, and rectangles."""

from __future__ import annotations

from mluop_omp._arrays import Arrays
from mluop_omp._definitions import point_sets as definitions
from mluop_omp._library import function
from mluop_omp._operators._declaration import Array, operator
from mluop_omp._operators._derivative import NoDerivative
from mluop_omp._operators._tensors import output_of

__all__ = ["convex_giou", "convex_iou", "min_area_polygons"]

_convex_giou = function("mluOpOmpConvexGiou", "ppppppp")
_convex_iou = function("mluOpOmpConvexIou", "ppppppp")
_min_area_polygons = function("mluOpOmpMinAreaPolygons", "ppppp")


@operator(definitions, derivative=NoDerivative())
def convex_iou(arrays: Arrays, pointsets: Array, polygons: Array) -> Array:
    """Returns the IoU of each convex hull of nine points with each quadrilateral (mmcv).

    Args:
        pointsets: float32 or float64 [N, 18]: x1, y1, ..., x9, y9, the points in any order.
        polygons: [K, 8] of the dtype of pointsets, in the same unit: the corners x1, y1, ..., x4,
            y4, in either direction, convex or not.

    Returns:
        [N, K] of the dtype of pointsets: intersection over union. It is computed exactly: in
            double, and rounded once; the same in every run and at any number of threads. In mmcv's
            kernel, cross products of 1e-8 or less are 0: equal squares of side 1e-4 have an IoU of
            0 there. An element is 0 if the area of hull or polygon is less than 1e-14; else NaN if
            a number of either is NaN or infinite. Polygons whose sides cross have an IoU from 0 to
            1.

    Source: mluOpOmpConvexIou; mmcv convex_iou.
    """
    pointsets_tensor = arrays.tensor("pointsets", pointsets, "N 18")
    polygons_tensor = arrays.tensor("polygons", polygons, "K 8")
    inputs = (*pointsets_tensor, *polygons_tensor)
    shape = (pointsets_tensor[0].shape[0], polygons_tensor[0].shape[0])
    return output_of(arrays, _convex_iou, inputs, "ious", shape, pointsets)


@operator(definitions, derivative=NoDerivative())
def convex_giou(arrays: Arrays, pointsets: Array, polygons: Array) -> Array:
    """Returns the generalized IoU of convex hulls of nine points, and its gradient (mmcv).

    With A, B and I the areas of the hull, of the quadrilateral and of their intersection, C the
    area of the convex hull of both, and ``U = A + B - I``, GIoU is ``I / U - (C - U) / C``.

    Where the borders coincide, the derivatives of both directions differ. The choice is mmcv's and
    depends on where the origin is: I is a sum of areas of triangles with the origin, in which cross
    products and differences of 1e-8 or less are 0.

    Args:
        pointsets: float32 or float64 [N, 18]: x1, y1, ..., x9, y9, the points in any order.
        polygons: [N, 8] of the dtype of pointsets, in the same unit: the corners x1, y1, ..., x4,
            y4 of convex quadrilaterals, in either direction.

    Returns:
        [N, 19] of the dtype of pointsets: 18 derivatives for the coordinates of the points, then
            the GIoU. It is computed in double, and rounded once; the same in every run and at any
            number of threads. Points inside the hull, or on its sides, have derivatives of 0; among
            equal points, the first has the derivative. A row with a NaN or infinite number has
            derivatives of 0 and a GIoU of NaN.

    Source: mluOpOmpConvexGiou; arXiv:1902.09630; mmcv convex_giou.
    """
    pointsets_tensor = arrays.tensor("pointsets", pointsets, "N 18")
    inputs = (*pointsets_tensor, *arrays.tensor("polygons", polygons, "N 8"))
    shape = (pointsets_tensor[0].shape[0], 19)
    return output_of(arrays, _convex_giou, inputs, "output", shape, pointsets)


@operator(definitions, derivative=NoDerivative())
def min_area_polygons(arrays: Arrays, pointsets: Array) -> Array:
    """Returns the rectangle of the smallest area around each set of nine points (mmcv).

    A smallest rectangle has a side along a side of the convex hull. The first one counts, counted
    counter-clockwise from the lowest, of several the leftmost corner of the hull; a later one
    replaces it only if its area is smaller by more than 1e-6 of it.

    Args:
        pointsets: float32 or float64 [N, 18]: x1, y1, ..., x9, y9, the points in any order.

    Returns:
        [N, 8] of the dtype of pointsets: the corners x1, y1, ..., x4, y4 at (max, min), (min, min),
            (min, max) and (max, max) of the axes of the rectangle, of which the first is turned by
            less than a right angle from x to y. They are computed in double, and rounded once; the
            same in every run and at any number of threads. mmcv's kernel computes angles in
            float32: it takes another rectangle of nearly the same area for 2.5 % of random sets. A
            row with a NaN or infinite number is NaN.

    Source: mluOpOmpMinAreaPolygons; mmcv min_area_polygons.
    """
    tensor = arrays.tensor("pointsets", pointsets, "N 18")
    shape = (tensor[0].shape[0], 8)
    return output_of(arrays, _min_area_polygons, tensor, "polygons", shape, pointsets)
