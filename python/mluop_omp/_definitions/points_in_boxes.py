"""Which points are in 3-D boxes."""

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


def points_in_boxes_arguments(random, B=2, M=20, T=4):
    return random.floats(B, M, 3), random.boxes(B, T)


points_in_boxes_part_arguments = points_in_boxes_all_arguments = points_in_boxes_arguments
