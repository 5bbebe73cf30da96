"""Which points are in 3-D boxes, and in quadrilaterals."""

from __future__ import annotations

import numpy as np

from mluop_omp._definitions._precision import at_least_float32


@np.errstate(all="ignore")
def are_in_boxes(points, boxes, bottom=True, margin=0):
    """Returns [B, M, T]. (x, y, z) of a box is the center of its bottom, or else its center."""
    points, boxes = map(at_least_float32, (points, boxes))
    x, y, z, dx, dy, dz, yaw = np.moveaxis(boxes[:, np.newaxis], 3, 0)
    px, py, pz = np.moveaxis(points[:, :, np.newaxis], 3, 0)
    z = z + dz / 2 if bottom else z
    cos, sin = (f(-yaw, dtype=np.float64).astype(boxes.dtype) for f in (np.cos, np.sin))
    along_x = (px - x) * cos - (py - y) * sin
    along_y = (px - x) * sin + (py - y) * cos
    half_x, half_y = (
        side.astype(np.float64) / 2 + np.float64(boxes.dtype.type(margin)) for side in (dx, dy)
    )
    # A z that is NaN is inside.
    return ~(abs(pz - z) > dz / 2) & (abs(along_x) < half_x) & (abs(along_y) < half_y)


def _first_of(are_inside):
    none = np.ones((*are_inside.shape[:2], 1), bool)
    first = np.argmax(np.concatenate((are_inside, none), 2), 2)
    return np.where(first == are_inside.shape[2], -1, first).astype(np.int32)


def points_in_boxes(points, boxes):
    return _first_of(are_in_boxes(points, boxes, bottom=False, margin=1e-5))


def points_in_boxes_part(points, boxes):
    return _first_of(are_in_boxes(points, boxes))


def points_in_boxes_all(points, boxes):
    return are_in_boxes(points, boxes).astype(np.int32)


@np.errstate(all="ignore")
def points_in_polygons(points, polygons):
    """Counts the sides to the right of a point, until a corner or a side is at the point."""
    points, polygons = map(at_least_float32, (points, polygons))
    (x, y), corners = points.T[..., np.newaxis], polygons.reshape(-1, 4, 2)
    is_odd = np.zeros((len(points), len(corners)), bool)
    has_ended = is_odd.copy()
    for i in range(4):
        (from_x, from_y), (to_x, to_y) = corners[:, i].T, corners[:, i - 1].T
        has_ended |= ((x == from_x) & (y == from_y)) | ((x == to_x) & (y == to_y))
        crosses = ~has_ended & ((from_y < y) != (to_y < y))
        crossing = from_x + (y - from_y) * (to_x - from_x) / (to_y - from_y)
        is_odd ^= crosses & (crossing > x)
        has_ended |= crosses & (crossing == x)
    return is_odd.astype(points.dtype)


def points_in_boxes_arguments(random, B=2, M=20, T=4):
    return random.floats(B, M, 3), random.boxes(B, T)


points_in_boxes_part_arguments = points_in_boxes_all_arguments = points_in_boxes_arguments


def points_in_polygons_arguments(random, B=20, M=7):
    return random.floats(B, 2), random.quads(M)
