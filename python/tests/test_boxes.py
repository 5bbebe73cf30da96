"""Operators on boxes: worked examples, which test_examples.py runs, and independent judges."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mluop_omp
from mluop_omp._definitions._random import Random
from mluop_omp._operators import operators

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
SQUARE, BOX, DART = (0, 0, 2, 0, 2, 2, 0, 2), (0, 0, 4, 0, 4, 2, 0, 2), (0, 0, 4, 0, 1, 1, 0, 4)
# Two quadrilaterals, and their IoU, for each corner and direction with which a list begins.
# mmcv's kernels return 1 for the trapezoid, 1.27 for the kite and 2 for "a corner twice".
QUADS = {
    "moved": (BOX, (1, 0.5, 5, 0.5, 5, 2.5, 1, 2.5), 9 / 23),
    "trapezoid": ((1, 1, 3, 4, 4, 4, 4, 1), (2, 1, 2, 4, 4, 4, 4, 1), 7 / 9),
    "kite": ((4, 1, 4, 4, 1, 4, 1, 1), (0, 4, 4, 2, 4, 3, 3, 4), 13 / 37),
    "a corner twice": ((0, 0, 4, 0, 4, 2, 4, 2), BOX, 0.5),
    "dart": (DART, DART, 1),
    "dart and square": (DART, SQUARE, 0.5),
    "bow-tie": ((0, 0, 2, 2, 2, 0, 0, 2), SQUARE, 0),
    "on a line": ((0, 0, 1, 1, 2, 2, 0.5, 0.5), SQUARE, 0),
    "one side": (SQUARE, (2, 0, 4, 0, 4, 2, 2, 2), 0),
    "an ulp apart": ((0, 0, 5, 0, 5, 7, 0, 7), (0, 5e-7, 5, 0, 5.0000005, 7, 0, 7), 1),
    "far": (
        (1e6, 1e6, 1e6 + 4, 1e6, 1e6 + 4, 1e6 + 2, 1e6, 1e6 + 2),
        (1e6 + 1, 1e6 + 0.5, 1e6 + 5, 1e6 + 0.5, 1e6 + 5, 1e6 + 2.5, 1e6 + 1, 1e6 + 2.5),
        9 / 23,
    ),
    "infinite": ((0, 0, INF, 0, 4, 2, 0, 2), BOX, NAN),
    "infinite, on a line": ((0, 0, INF, 0, 4, 2, 0, 2), (0, 0, 1, 1, 2, 2, 0.5, 0.5), 0),
}
# Boxes 0 and 1 are the ones of "moved"; 2 and 3 are equal; 4 is on a line.
NMS_QUADS = (
    *((1, 0.5, 5, 0.5, 5, 2.5, 1, 2.5), BOX, (9, 9, 12, 10, 12, 12, 10, 12)),
    *((12, 10, 9, 9, 10, 12, 12, 12), (0, 0, 1, 1, 2, 2, 0.5, 0.5)),
)
NMS_QUADS_SCORES = (0.5, 0.9, 0.95, 0.95, 0.1)
# By threshold.
NMS_QUADS_KEPT = {0.3: [2, 1, 4], 0.4: [2, 1, 0, 4], -0.1: [2], NAN: [2, 3, 1, 0, 4]}
# Two boxes x1, y1, x2, y2, mode and offset, and the overlap.
UPRIGHT = (
    ((0, 0, 10, 10), (5, 5, 15, 15), "iou", 0, 1 / 7),
    ((0, 0, 10, 10), (5, 5, 15, 15), "iof", 0, 1 / 4),
    ((0, 0, 10, 10), (5, 5, 15, 15), "iou", 1, 36 / 206),
    ((0, 0, 10, 10), (5, 5, 15, 15), "iof", 1, 36 / 121),
    # The example of mmcv.
    ((1, 1, 3, 4), (0, 2, 2, 5), "iou", 1, 1 / 3),
    ((2, 2, 3, 4), (0, 2, 2, 5), "iou", 1, 1 / 5),
    ((7, 7, 8, 8), (2, 1, 3, 3), "iou", 1, 0),
    # Areas of 0, of less than the offset, and negative ones.
    ((1, 1, 1, 1), (1, 1, 1, 1), "iou", 0, NAN),
    ((1, 1, 1, 1), (1, 1, 1, 1), "iou", 1, 1),
    ((0, 0, -0.5, -0.5), (0, 0, -0.5, -0.5), "iou", 1, 1 / 4),
    ((0, 0, -1, 1), (0, 0, 1, 1), "iof", 0, NAN),
    *((box, (0, 0, 1, 1), "iou", 0, NAN) for box in ((NAN, 0, 1, 1), (0, 0, NAN, 1))),
    ((0, 0, 300, 300), (0, 0, 300, 150), "iou", 0, 1 / 2),
)
# Quadrilaterals, points, and which are inside.
IN_QUADS = (
    # The example of mmcv.
    *(
        (polygon, ((300, 300), (400, 400), (100, 100), (300, 250), (100, 0)), inside)
        for polygon, inside in (
            ((200, 200, 400, 400, 500, 200, 400, 100), (0, 0, 0, 1, 0)),
            ((400, 400, 500, 500, 600, 300, 500, 200), (0, 0, 0, 0, 0)),
            ((300, 300, 600, 700, 700, 700, 700, 100), (0, 1, 0, 0, 0)),
        )
    ),
    # A rectangle listed from two of its corners, and points on its border.
    *(
        (polygon, ((2, 2), (0, 0), (4, 0), (4, 2), (2, 0), (4, 1), (0, 2), (0, 1)), inside)
        for polygon, inside in (
            (BOX, (1, 0, 0, 0, 0, 0, 0, 0)),
            ((4, 0, 4, 2, 0, 2, 0, 0), (1, 0, 0, 0, 0, 0, 1, 1)),
        )
    ),
    # The bow-tie contains points by their parity.
    ((0, 0, 2, 2, 2, 0, 0, 2), ((0.5, 1), (1, 0.5), (1, 1.5), (1.5, 1), (NAN, 1)), (1, 0, 0, 1, 0)),
    # Two of the sides are not counted.
    ((NAN, 0, 4, 0, 4, 2, 0, 2), ((-1, 1), (1, 1), (5, 1), (1, NAN)), (1, 1, 0, 0)),
)
# The example of mmcv: points of two squares, and the squares that they are compared with.
CROSSED = (1, 1, 2, 2, 1, 2, 2, 1, 1, 3, 3, 1, 2, 3, 3, 2, 1.5, 1.5)
POINT_SETS = (CROSSED, tuple(number + 0.5 for number in CROSSED))
SQUARES = ((1, 1, 1, 2, 2, 2, 2, 1), (1, 1, 1, 3, 3, 3, 3, 1))
CONVEX_IOUS = ((0.285714, 0.875), (0.058824, 0.428571))
CONVEX_GIOUS = (0.285714, 0.383117)
# By the number of the point; all others are 0.
SLOPES = (
    {
        **{0: (0.0204, 0.0408), 4: (0.0612, -0.0408), 5: (-0.0408, 0.0816)},
        **{6: (-0.0408, -0.0816), 7: (-0.0816, -0.0408)},
    },
    {
        **{0: (-0.1848, -0.1848), 4: (-0.1076, -0.0801), 5: (-0.0801, -0.1076)},
        **{6: (-0.0367, -0.0734), 7: (-0.0734, -0.0367)},
    },
)
# Where the borders coincide, the slopes for the first point depend on the origin.
SLOPES_BY_SHIFT = {
    (0, 0): (0.0204, 0.0408),
    (-3, 0): (0.0816, 0.0204),
    (0, -3): (0.0867, 0.1224),
    (-1, -1): (0.0816, 0.0816),
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


def kept(ious, scores):
    """Returns the boxes that suppression with a threshold of 0.1 keeps."""
    chosen = []
    for i in np.argsort(-scores):
        if not (ious[i, chosen] > 0.1).any():
            chosen.append(i)
    assert 1 < len(chosen) < len(scores) - 1
    return chosen


@pytest.mark.parametrize("dtype", [np.float32, float])
@pytest.mark.parametrize("name", ["nms", "nms_rotated", "nms3d", "nms3d_normal"])
def test_suppression_against_shapely(name, dtype, shared_areas, rng):
    boxes, scores = random_boxes(rng, 200, 12).astype(float), rng.random(200)
    if name in ("nms", "nms3d_normal"):
        boxes[:, 4] = 0
    shared, areas = shared_areas(boxes, boxes), boxes[:, 2:4].prod(1)
    expected = kept(shared / (areas[:, np.newaxis] + areas - shared), scores)
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


def listings(quads):
    """Yields quadrilaterals listed from each corner, in both directions."""
    corners = np.reshape(quads, (-1, 4, 2))
    for first in range(4):
        for step in (1, -1):
            yield np.roll(corners, first, 1)[:, ::step].reshape(-1, 8)


def regions(quads):
    """Returns quadrilaterals as polygons of shapely."""
    return pytest.importorskip("shapely").polygons(quads.astype(float).reshape(-1, 4, 2))


def hulls(pointsets):
    """Returns the convex hulls of sets of nine points, by shapely."""
    shapely = pytest.importorskip("shapely")
    return shapely.convex_hull(shapely.multipoints(pointsets.astype(float).reshape(-1, 9, 2)))


def areas_of(first, second):
    """Returns the areas that each pair of regions shares, and that it covers."""
    shapely = pytest.importorskip("shapely")
    shared = shapely.area(shapely.intersection(first[:, np.newaxis], second))
    return shared, shapely.area(first)[:, np.newaxis] + shapely.area(second) - shared


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float32, 1e-6), (float, 1e-9)])
def test_box_iou_quadri_against_shapely(dtype, rtol):
    random = Random()
    first, second = random.quads(60), random.quads(50)
    shared, union = areas_of(regions(first), regions(second))
    for each in listings(first.astype(dtype)):
        found = mluop_omp.box_iou_quadri(each, second.astype(dtype))
        assert_allclose(found, shared / union, rtol=rtol, atol=1e-3 * rtol)


@pytest.mark.parametrize("dtype", [np.float32, float])
def test_suppression_of_quadrilaterals_against_shapely(dtype, rng):
    quads = Random().quads(200) + np.tile(rng.uniform(-4, 4, (200, 2)), 4).astype(np.float32)
    scores = rng.random(200).astype(np.float32)
    shared, union = areas_of(regions(quads), regions(quads))
    expected = kept(shared / union, scores)
    quads, scores = quads.astype(dtype), scores.astype(dtype)
    assert_array_equal(mluop_omp.nms_quadri(quads, scores, 0.1), expected)
    boxes = np.concatenate((quads, scores[:, np.newaxis]), 1)
    assert_array_equal(mluop_omp.poly_nms(boxes, 0.1), np.sort(expected))


@pytest.mark.parametrize("dtype", [np.float32, float])
def test_points_in_polygons_against_shapely(dtype):
    shapely, random = pytest.importorskip("shapely"), Random()
    points, quads = random.floats(2000, 2), random.quads(30)
    expected = shapely.contains_xy(regions(quads), *points.astype(float).T[..., np.newaxis])
    for each in listings(quads.astype(dtype)):
        assert_array_equal(mluop_omp.points_in_polygons(points.astype(dtype), each), expected)


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float32, 1e-6), (float, 1e-9)])
def test_convex_iou_against_shapely(dtype, rtol):
    random = Random()
    points, quads = random.floats(60, 18), random.quads(50)
    shared, union = areas_of(hulls(points), regions(quads))
    for each in listings(quads.astype(dtype)):
        found = mluop_omp.convex_iou(points.astype(dtype), each)
        assert_allclose(found, shared / union, rtol=rtol, atol=1e-3 * rtol)


def gious(points, quads):
    """Returns the generalized IoU of each pair, by shapely."""
    shapely = pytest.importorskip("shapely")
    first, second = hulls(points), regions(quads)
    shared = shapely.area(shapely.intersection(first, second))
    union = shapely.area(first) + shapely.area(second) - shared
    both = shapely.area(shapely.convex_hull(shapely.union(first, second)))
    return shared / union - (both - union) / both


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 2e-6), (float, 1e-7)])
def test_convex_giou_against_shapely(dtype, tolerance):
    random, step = Random(), 1e-6
    points, quads = random.floats(60, 18), random.quads(60)
    slopes = [
        (gious(points + each, quads) - gious(points - each, quads)) / (2 * step)
        for each in step * np.eye(18)
    ]
    expected = np.stack((*slopes, gious(points, quads)), 1)
    for each in listings(quads.astype(dtype)):
        found = mluop_omp.convex_giou(points.astype(dtype), each)
        assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float32, 1e-5), (float, 1e-9)])
def test_min_area_polygons_against_shapely(dtype, rtol):
    shapely, points = pytest.importorskip("shapely"), Random().floats(200, 18)
    expected = shapely.area(shapely.minimum_rotated_rectangle(hulls(points)))
    found = mluop_omp.min_area_polygons(points.astype(dtype))
    rectangles = regions(found)
    assert_allclose(shapely.area(rectangles), expected, rtol=rtol)
    assert shapely.covers(shapely.buffer(rectangles, rtol), hulls(points)).all()
    corners = found.reshape(-1, 4, 2).astype(float)
    first, second = corners[:, 0] - corners[:, 1], corners[:, 2] - corners[:, 1]
    # The first axis is turned by less than a right angle, the second by a right angle more.
    assert (first[:, 0] > 0).all() and (first[:, 1] > -rtol).all()
    assert_allclose((first * second).sum(1), 0, atol=20 * rtol)
    assert (first[:, 0] * second[:, 1] > first[:, 1] * second[:, 0]).all()


@pytest.mark.parametrize("dtype", [np.float32, float])
def test_the_example_of_point_sets(dtype):
    points, squares = np.array(POINT_SETS, dtype), np.array(SQUARES, dtype)
    assert_allclose(mluop_omp.convex_iou(points, squares), CONVEX_IOUS, atol=1e-6)
    slopes = np.zeros((2, 9, 2))
    for row, each in enumerate(SLOPES):
        slopes[row, list(each)] = list(each.values())
    found = mluop_omp.convex_giou(points, squares)
    assert_allclose(found[:, 18], CONVEX_GIOUS, atol=1e-6)
    assert_allclose(found[:, :18].reshape(2, 9, 2), slopes, atol=5e-5)
    for shift, slope in SLOPES_BY_SHIFT.items():
        moved = (points[:1] + np.tile(shift, 9), squares[:1] + np.tile(shift, 4))
        found = mluop_omp.convex_giou(*(each.astype(dtype) for each in moved))
        assert_allclose(found[0, :2], slope, atol=5e-5)


@pytest.mark.parametrize("dtype", [np.float32, float])
def test_rectangles_of_point_sets(dtype):
    turned = np.array([(0, 0), (4, 0), (4, 2), (0, 2), *[(1, 1)] * 5]) @ [
        (math.cos(0.5), math.sin(0.5)),
        (-math.sin(0.5), math.cos(0.5)),
    ]
    for points, rectangle in (
        # The example of mmcv.
        (CROSSED, (3, 1, 1, 1, 1, 3, 3, 3)),
        (
            (1, 1, 8, 8, *CROSSED[4:]),
            (8, 8, 2.324324, 0.054054, 0.054054, 1.675676, 5.729730, 9.621622),
        ),
        (turned, (3.510330, 1.917702, 0, 0, -0.958851, 1.755165, 2.551479, 3.672867)),
        ((3, 5) * 9, (3, 5) * 4),
        ((0, 0, 2, 1, *(4, 2) * 7), (4, 2, 0, 0, 0, 0, 4, 2)),
        ((INF, 1, *CROSSED[2:]), (NAN,) * 8),
    ):
        found = mluop_omp.min_area_polygons(np.array(points, dtype).reshape(1, 18))
        assert_allclose(found, [rectangle], atol=2e-6)


@pytest.mark.parametrize("dtype", [np.float32, float])
def test_point_sets_without_area(dtype):
    """A hull of area 0 has a GIoU; a quadrilateral of area 0 with it has none."""
    on_line, square = np.array([(0, 0, 2, 1, *(4, 2) * 7)], dtype), np.array([SQUARE], dtype)
    assert_array_equal(mluop_omp.convex_iou(on_line, square), 0)
    # The hull of both has the corners (0, 0), (2, 0), (4, 2) and (0, 2).
    assert_allclose(mluop_omp.convex_giou(on_line, square)[:, 18], 4 / 6 - 1, rtol=1e-6)
    point = np.full((1, 18), 3, dtype)
    assert np.isnan(mluop_omp.convex_giou(point, point[:, :8])[:, 18]).all()
    nan = np.array([(NAN, *CROSSED[1:])], dtype)
    assert np.isnan(mluop_omp.convex_iou(nan, square)).all()
    found = mluop_omp.convex_giou(nan, square)
    assert not found[:, :18].any() and np.isnan(found[:, 18]).all()


def test_equal_points_have_one_derivative():
    points = np.array([(0, 0, 4, 0, 4, 2, 0, 2, *(4, 2, 4, 0, 1, 1, 2, 1, 3, 1))], np.float32)
    found = mluop_omp.convex_giou(points, np.array([QUADS["moved"][0]], np.float32))
    assert found[0, :8].all() and not found[0, 8:18].any()


def test_bbox_overlaps_of_half_are_computed_in_float32(rng):
    """The areas exceed the largest number of float16; the results are rounded once."""
    low = rng.uniform(0, 200, (20, 2))
    boxes = np.concatenate((low, low + rng.uniform(300, 600, (20, 2))), 1).astype(np.float16)
    for mode in ("iou", "iof"):
        found = mluop_omp.bbox_overlaps(boxes, boxes, mode)
        wide = mluop_omp.bbox_overlaps(*[boxes.astype(np.float32)] * 2, mode)
        assert found.dtype == np.float16 and np.isfinite(found).all() and found.any()
        assert_array_equal(found, wide.astype(np.float16))


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("offset", [0, 1])
@pytest.mark.parametrize("mode", ["iou", "iof"])
def test_bbox_overlaps_have_the_bits_of_the_definition(mode, offset, aligned):
    random = Random()
    first, second = 100 * random.corners(97), 100 * random.corners(97)
    options = mode, aligned, offset
    expected = operators.bbox_overlaps.definition(first, second, *options)
    assert_array_equal(mluop_omp.bbox_overlaps(first, second, *options), expected)
