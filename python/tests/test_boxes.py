"""Operators on boxes: worked examples, which test_examples.py runs, and independent judges."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mluop_omp

PI, INF, NAN = math.pi, math.inf, math.nan
# Two boxes, and their IoU.
EXAMPLES = {
    "half": ((0, 0, 4, 2, 0), (0, 0, 4, 1, 0), 0.5),
    "area of 9e-15": ((0, 0, 1e-7, 9e-8, 0.5), (0, 0, 4, 2, 0.5), 0),
    # Overlap only if the angles have the opposite direction.
    "direction": (
        (1010.5, 860.00012207, 12.20655537, 48.82622528, 0.960070372),
        (1022, 870.49993896, 10.81665134, 43.26660919, 0.9827936607),
        0,
    ),
    # For these, mmcv's kernels return values from 0 to 3, and -1.2e7 for the thin box.
    "angles 4 ulp apart": ((0, 0, 4, 2, 0.287059784), (0, 0, 4, 2, 0.287059903), 1),
    "sides exchanged": ((0, 0, 4, 2, 0.7), (0, 0, 2, 4, 0.7 + PI / 2), 1),
    "half a turn": ((0, 0, 4, 2, 0.7), (0, 0, 4, 2, 0.7 + PI), 1),
    "small": ((0, 0, 1e-3, 5e-4, 0.3), (0, 0, 1e-3, 5e-4, 0.3), 1),
    "smaller": ((0, 0, 6e-5, 3e-5, 0.3), (0, 0, 6e-5, 3e-5, 0.3), 1),
    "small, turned": ((0, 0, 2e-3, 1e-3, 0.3), (5e-4, 2e-4, 2e-3, 1e-3, 0.7), 0.469399292),
    "far": ((1e6, 1e6, 4, 2, 0.5), (1e6 + 1, 1e6 + 0.5, 4, 2, 0.5), 0.5456357813),
    "thin": (
        (135.07, 406.72, 7.9445e-7, 1971.1, 1.7708),
        (151.008, 436.2173, 302.0159, 313.7347, 3.1184),
        2.59664e-9,
    ),
}
# The IoU of boxes 0 and 1 is 0.78, of 0 and 2 0.42, of 1 and 2 0.51; 3 and 4 are equal, as 0 and 5.
NMS_BOXES = (
    *((0, 0, 4, 2, 0), (0.5, 0, 4, 2, 0), (1, 0.5, 4, 2, 0.2)),
    *((10, 10, 4, 2, PI / 4), (10, 10, 2, 4, -PI / 4), (0, 0, 2, 4, PI / 2)),
)
NMS_SCORES = (0.5, 0.9, 0.9, 0.3, 0.8, 0.5)
# By threshold.
NMS_KEPT = {0.3: [1, 4], 0.5: [1, 4], 0.7: [1, 2, 4], -0.1: [1], NAN: [1, 2, 4, 0, 5, 3]}
# The IoU without yaw of boxes 0 and 1 is 0.78, of 0 and 2 0.39, of 1 and 2 0.49, of 3 and 4, as of
# 0 and 5, 1/3.
NORMAL_KEPT = {0.3: [1, 4], 0.36: [1, 4, 5, 3], 0.5: [1, 2, 4, 5, 3], 0.8: [1, 2, 4, 0, 5, 3]}
# The IoU of boxes 0 and 1 is 0.6, of 0 and 2 1/3, of 1 and 2 0.6; 3 and 4 share an edge.
CORNERS = ((0, 0, 4, 1), (1, 0, 5, 1), (2, 0, 6, 1), (0, 3, 2, 5), (2, 3, 4, 5))
CORNER_SCORES = (0.9, 0.8, -0.5, 0, -INF)
# By threshold and offset. With offset 1, the IoU are 2/3, 3/7 and 2/3, and of 3 and 4 0.2.
CORNERS_KEPT = {
    (0.5, 0): [0, 3, 2, 4],
    (0.65, 0): [0, 1, 3, 2, 4],
    (0.3, 0): [0, 3, 4],
    (0.65, 1): [0, 3, 2, 4],
    (0.1, 1): [0, 3],
    (-0.1, 0): [0],
    (NAN, 0): [0, 1, 3, 2, 4],
}
# x of a box beside one of 4 m at 0, and the area that both share.
BESIDE = {3.5: 1, 4: 0, 4.005: 0.0100002, 4.0095: 0.019, 4.0105: 0, 4.02: 0}
# Boxes, scores, and by method the order and the scores of the chosen boxes: the example of mmcv.
SOFT_NMS_BOXES = ((6, 3, 8, 7), (3, 6, 9, 11), (3, 7, 10, 12), (1, 4, 13, 7))
SOFT_NMS_SCORES = (0.6, 0.9, 0.7, 0.2)
SOFT_NMS_CHOSEN = {
    "naive": ([1, 0, 3], (0.9, 0.6, 0.2)),
    "linear": ([1, 0, 2, 3], (0.9, 0.6, 0.29024392, 0.2)),
    "gaussian": ([1, 0, 2, 3], (0.9, 0.59630775, 0.35275510, 0.18650459)),
}
# The IoU of boxes 1 and 3, and of 1 and 0, is 0.5; of 3 and 4 0.6.
MATCHED = (
    *((0, 0, 4, 2, 0.5), (0, 0, 4, 1, 0.9), (10, 0, 12, 2, 0.7)),
    *((0, 0, 4, 2, 0.9), (1, 0, 5, 2, 0.6)),
)
# By threshold.
GROUPS = {
    0.5: [[1, 3, 0], [2], [4]],
    0.55: [[1], [3, 4, 0], [2]],
    0: [[1, 3, 2, 4, 0]],
    NAN: [[1], [3], [2], [4], [0]],
}


def boxes_3d(boxes, dtype=np.float32):
    """Returns 3-D boxes of rotated boxes."""
    turned = np.full((len(boxes), 7), np.nan, dtype)
    turned[:, [0, 1, 3, 4, 6]] = boxes
    return turned


def random_boxes(rng, count, extent):
    boxes = rng.uniform(-extent, extent, (count, 5))
    boxes[:, 2:4] = rng.uniform(0.3, 12, (count, 2))
    boxes[:, 4] = rng.uniform(-PI, PI, count)
    return boxes.astype(np.float32)


@pytest.fixture
def polygons():
    """Returns a function of rotated boxes to their rectangles, by shapely."""
    shapely = pytest.importorskip("shapely")

    def rectangles(boxes):
        x, y, w, h, angle = boxes.astype(float).T[:, :, np.newaxis]
        u, v = w / 2 * [-1, 1, 1, -1], h / 2 * [-1, -1, 1, 1]
        cos, sin = np.cos(angle), np.sin(angle)
        return shapely.polygons(np.stack((x + u * cos - v * sin, y + u * sin + v * cos), 2))

    return rectangles


@pytest.fixture
def shared_areas(polygons):
    """Returns a function of rotated boxes to the areas that each pair shares."""
    shapely = pytest.importorskip("shapely")

    def areas(first, second):
        return shapely.area(shapely.intersection(polygons(first)[:, np.newaxis], polygons(second)))

    return areas


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float32, 1e-6), (float, 1e-9)])
def test_box_iou_rotated_against_shapely(dtype, rtol, shared_areas, rng):
    first, second = random_boxes(rng, 60, 6), random_boxes(rng, 50, 6)
    shared, areas = shared_areas(first, second), [e[:, 2:4].prod(1, float) for e in (first, second)]
    found = mluop_omp.box_iou_rotated(first.astype(dtype), second.astype(dtype))
    union = areas[0][:, np.newaxis] + areas[1] - shared
    assert_allclose(found, shared / union, rtol=rtol, atol=1e-3 * rtol)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-3), (float, 1e-12)])
def test_boxes_overlap_bev_against_shapely(dtype, tolerance, shared_areas, rng):
    """The margin of 1 cm changes a few pairs, by less than a strip around the smaller box."""
    first, second = random_boxes(rng, 90, 6), random_boxes(rng, 80, 6)
    expected = shared_areas(first, second)
    found = mluop_omp.boxes_overlap_bev(boxes_3d(first, dtype), boxes_3d(second, dtype))
    assert_allclose(found, expected, atol=0.3)
    assert (abs(found - expected) < tolerance).mean() > 0.98


@pytest.mark.parametrize("dtype", [np.float32, float])
@pytest.mark.parametrize("name", ["nms", "nms_rotated", "nms3d", "nms3d_normal"])
def test_suppression_against_shapely(name, dtype, shared_areas, rng):
    boxes, scores = random_boxes(rng, 200, 12).astype(float), rng.random(200)
    if name in ("nms", "nms3d_normal"):
        boxes[:, 4] = 0
    shared, areas = shared_areas(boxes, boxes), boxes[:, 2:4].prod(1)
    ious, expected = shared / (areas[:, np.newaxis] + areas - shared), []
    for i in np.argsort(-scores):
        if not (ious[i, expected] > 0.1).any():
            expected.append(i)
    assert 1 < len(expected) < 199
    if name == "nms":
        center, half = boxes[:, :2], boxes[:, 2:4] / 2
        boxes = np.concatenate((center - half, center + half), 1)
    elif name != "nms_rotated":
        boxes = boxes_3d(boxes, float)
    arguments = boxes.astype(dtype), scores.astype(dtype), 0.1
    assert_array_equal(getattr(mluop_omp, name)(*arguments), expected)


@pytest.mark.parametrize("dtype", [np.float32, float])
def test_points_in_boxes_against_shapely(dtype, polygons, rng):
    shapely = pytest.importorskip("shapely")
    rotated, points = random_boxes(rng, 30, 6), rng.uniform(-8, 8, (1, 2000, 3))
    z, dz = rng.uniform(-6, 0, 30), rng.uniform(1, 6, 30)
    boxes = boxes_3d(rotated, float)[np.newaxis]
    boxes[..., 2], boxes[..., 5] = z, dz
    x, y, height = points[0].T[..., np.newaxis]
    is_inside = shapely.contains_xy(polygons(rotated), x, y) & (height >= z) & (height <= z + dz)
    first = np.where(is_inside.any(1), is_inside.argmax(1), -1)
    points, from_bottom = points.astype(dtype), boxes.astype(dtype)
    boxes[..., 2] += dz / 2
    assert_array_equal(mluop_omp.points_in_boxes_all(points, from_bottom)[0], is_inside)
    assert_array_equal(mluop_omp.points_in_boxes_part(points, from_bottom)[0], first)
    assert_array_equal(mluop_omp.points_in_boxes(points, boxes.astype(dtype))[0], first)
