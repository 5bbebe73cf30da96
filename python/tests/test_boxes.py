"""Operators on boxes, on NumPy arrays: worked examples, an independent judge, edge cases."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mluop_omp
from mluop_omp._self_test import definitions as reference

PI = math.pi
# Two boxes, and their IoU.
EXAMPLES = {
    "octagon": ((0, 0, 2, 2, 0), (0, 0, 2, 2, PI / 4), math.sqrt(0.5)),
    "parallel": ((0, 0, 4, 2, 0), (1, 0.5, 4, 2, 0), 9 / 23),
    "turned": ((0, 0, 4, 2, PI / 6), (1, 0.5, 4, 2, -PI / 6), 0.3390738135),
    "cross": ((0, 0, 4, 1, 0), (0, 0, 4, 1, PI / 2), 1 / 7),
    "half": ((0, 0, 4, 2, 0), (0, 0, 4, 1, 0), 0.5),
    "edge": ((0, 0, 2, 2, 0), (2, 0, 2, 2, 0), 0),
    "corner": ((0, 0, 2, 2, 0), (2, 2, 2, 2, 0), 0),
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


def box_array(*boxes):
    return np.array(boxes, np.float32)


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name):
    a, b, iou = EXAMPLES[name]
    a, b = box_array(a), box_array(b)
    for first, second in ((a, b), (b, a)):
        found = mluop_omp.box_iou_rotated(first, second)
        assert found.dtype == np.float32 and found.shape == (1, 1) and found <= 1
        assert_allclose(found, iou, rtol=2e-6)
        assert_array_equal(mluop_omp.box_iou_rotated(first, second, aligned=True), found[0])


def test_intersection_over_foreground():
    boxes = box_array((0, 0, 4, 2, 0), (1, 0.5, 4, 2, 0), (1, 0.5, 8, 4, 0))
    found = mluop_omp.box_iou_rotated(boxes[:1], boxes, "iof")
    assert_allclose(found, [[1, 0.5625, 1]], rtol=1e-6)
    assert mluop_omp.box_iou_rotated(boxes[2:], boxes[:1], "iof") == 0.25


BOX = (0, 0, 4, 2, 0.5)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        *(({2: 1e-7, 3: 9e-8}, 0), ({2: -4}, 0), ({2: np.nan}, np.nan), ({3: np.nan}, np.nan)),
        *(
            ({2: -4, 3: -2}, 0),
            ({2: np.inf, 3: 0}, 0),
            ({2: np.inf}, 0),
            ({0: np.nan}, 0),
            ({4: np.nan}, 0),
        ),
        *(({1: -np.inf}, 0), ({4: np.inf}, 0), ({2: np.nan, 0: np.inf}, np.nan)),
    ],
)
def test_boxes_that_are_no_rectangles(changed, expected):
    box = box_array([changed.get(i, value) for i, value in enumerate(BOX)])
    both = box, box_array(BOX)
    for boxes in (both, both[::-1]):
        assert_array_equal(mluop_omp.box_iou_rotated(*boxes), [[expected]])
    assert_array_equal(mluop_omp.nms_rotated(np.concatenate(both), box_array(1, 2), 0), [1, 0])


def random_boxes(rng, count, extent):
    boxes = rng.uniform(-extent, extent, (count, 5))
    boxes[:, 2:4] = rng.uniform(0.3, 12, (count, 2))
    boxes[:, 4] = rng.uniform(-PI, PI, count)
    return boxes.astype(np.float32)


def polygons(boxes):
    """Returns the rectangles of rotated boxes, by shapely."""
    shapely = pytest.importorskip("shapely")
    x, y, w, h, angle = boxes.astype(float).T[:, :, np.newaxis]
    u, v = w / 2 * [-1, 1, 1, -1], h / 2 * [-1, -1, 1, 1]
    cos, sin = np.cos(angle), np.sin(angle)
    return shapely.polygons(np.stack((x + u * cos - v * sin, y + u * sin + v * cos), 2))


def shared_areas(first, second):
    shapely = pytest.importorskip("shapely")
    return shapely.area(shapely.intersection(polygons(first), polygons(second)))


def all_pairs(first, second):
    return np.repeat(first, len(second), 0), np.tile(second, (len(first), 1))


EXAMPLE_PAIRS = np.array([(a, b) for a, b, _ in EXAMPLES.values()], np.float32)


def test_box_iou_rotated_against_shapely(rng):
    first = np.concatenate((EXAMPLE_PAIRS[:, 0], random_boxes(rng, 300, 6)))
    second = np.concatenate((EXAMPLE_PAIRS[:, 1], random_boxes(rng, 300, 6)))
    origin = np.zeros(first.shape)
    origin[:, :2] = first[:, :2]
    shared = shared_areas(first - origin, second - origin)
    areas = [np.prod(boxes[:, 2:4], 1, float) for boxes in (first, second)]
    iou = shared / (areas[0] + areas[1] - shared)
    for dtype, rtol, atol in ((np.float32, 1e-6, 1e-9), (float, 1e-9, 1e-12)):
        arguments = first.astype(dtype), second.astype(dtype)
        found = mluop_omp.box_iou_rotated(*arguments, aligned=True)
        assert found.dtype == dtype
        assert_allclose(found, iou, rtol=rtol, atol=atol)


def test_boxes_overlap_bev_against_shapely(rng):
    """The margin of 1 cm changes a few pairs, by less than a strip around the smaller box."""
    first, second = random_boxes(rng, 300, 6), random_boxes(rng, 200, 6)
    expected = shared_areas(*all_pairs(first, second)).reshape(300, 200)
    for dtype, tolerance in ((np.float32, 1e-3), (float, 1e-12)):
        found = mluop_omp.boxes_overlap_bev(boxes_3d(first, dtype), boxes_3d(second, dtype))
        assert found.dtype == dtype
        assert_allclose(found, expected, atol=0.3)
        assert (abs(found - expected) < tolerance).mean() > 0.98


@pytest.mark.parametrize("name", ["nms", "nms_rotated", "nms3d_normal"])
def test_suppression_against_shapely(rng, name):
    boxes, scores = random_boxes(rng, 200, 12).astype(float), rng.random(200)
    if name != "nms_rotated":
        boxes[:, 4] = 0
    shared = shared_areas(*all_pairs(boxes, boxes)).reshape(200, 200)
    areas, half = boxes[:, 2:4].prod(1), boxes[:, 2:4] / 2
    ious, expected = shared / (areas[:, np.newaxis] + areas - shared), []
    for i in np.argsort(-scores):
        if not (ious[i, expected] > 0.1).any():
            expected.append(i)
    assert 1 < len(expected) < 199
    given = {
        "nms": np.concatenate((boxes[:, :2] - half, boxes[:, :2] + half), 1),
        "nms_rotated": boxes,
        "nms3d_normal": boxes_3d(boxes, float),
    }[name]
    for dtype in (np.float32, float):
        arguments = given.astype(dtype), scores.astype(dtype), 0.1
        assert_array_equal(getattr(mluop_omp, name)(*arguments), expected)


def test_points_in_boxes_against_shapely(rng):
    shapely = pytest.importorskip("shapely")
    rotated, points = random_boxes(rng, 30, 6), rng.uniform(-8, 8, (1, 2000, 3))
    z, dz = rng.uniform(-6, 0, 30), rng.uniform(1, 6, 30)
    boxes = boxes_3d(rotated, float)[np.newaxis]
    boxes[..., 2], boxes[..., 5] = z, dz
    x, y, height = points[0].T[..., np.newaxis]
    is_inside = shapely.contains_xy(polygons(rotated), x, y) & (height >= z) & (height <= z + dz)
    first = np.where(is_inside.any(1), is_inside.argmax(1), -1)
    centered = boxes + np.array([0, 0, 0.5, 0, 0, 0, 0]) * boxes[..., 5:6]
    for dtype in (np.float32, float):
        cloud, rows = points.astype(dtype), boxes.astype(dtype)
        assert_array_equal(mluop_omp.points_in_boxes_all(cloud, rows)[0], is_inside)
        assert_array_equal(mluop_omp.points_in_boxes_part(cloud, rows)[0], first)
        assert_array_equal(mluop_omp.points_in_boxes(cloud, centered.astype(dtype))[0], first)


def test_float64_decides_what_float32_rounds():
    a, b, iou = EXAMPLES["half"]
    boxes, scores = np.array((a, b), float), np.array((1, 2), float)
    boxes[0, 3] *= 1 - 1e-12  # The IoU is greater than 0.5.
    assert_array_equal(mluop_omp.nms_rotated(boxes, scores, iou), [1])
    assert_array_equal(mluop_omp.nms3d(boxes_3d(boxes, float), scores, iou), [1])
    assert_array_equal(mluop_omp.nms3d_normal(boxes_3d(boxes, float), scores, iou), [1])


def test_box_iou_rotated(rng):
    first, second = random_boxes(rng, 20, 6), random_boxes(rng, 30, 6)
    for mode in ("iou", "iof"):
        for boxes, aligned in ((second, False), (second[:20], True)):
            arguments = (first, boxes, mode, aligned)
            found, expected = (
                module.box_iou_rotated(*arguments) for module in (mluop_omp, reference)
            )
            assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


# The IoU of boxes 0 and 1 is 0.78, of 0 and 2 0.42, of 1 and 2 0.51; 3 and 4 are equal, as 0 and 5.
NMS_BOXES = (
    *((0, 0, 4, 2, 0), (0.5, 0, 4, 2, 0), (1, 0.5, 4, 2, 0.2)),
    *((10, 10, 4, 2, PI / 4), (10, 10, 2, 4, -PI / 4), (0, 0, 2, 4, PI / 2)),
)
NMS_SCORES = (0.5, 0.9, 0.9, 0.3, 0.8, 0.5)
# By threshold.
NMS_KEPT = {0.3: [1, 4], 0.5: [1, 4], 0.7: [1, 2, 4], -0.1: [1], math.nan: [1, 2, 4, 0, 5, 3]}


@pytest.mark.parametrize("threshold", NMS_KEPT)
@pytest.mark.parametrize("dtype", [np.float32, float])
def test_nms_of_the_example(threshold, dtype):
    boxes, scores = np.array(NMS_BOXES, dtype), np.array(NMS_SCORES, dtype)
    keep = mluop_omp.nms_rotated(boxes, scores, threshold)
    assert keep.dtype == np.int32
    assert_array_equal(keep, NMS_KEPT[threshold])
    labeled = np.concatenate((boxes, np.arange(6, dtype=dtype)[:, np.newaxis]), 1)
    assert_array_equal(mluop_omp.nms_rotated(labeled, scores, threshold), keep)


def test_an_iou_that_equals_the_threshold_does_not_suppress():
    a, b, iou = EXAMPLES["half"]
    boxes, scores = box_array(a, b), box_array(1, 2)
    assert_array_equal(mluop_omp.nms_rotated(boxes, scores, iou), [1, 0])
    assert_array_equal(mluop_omp.nms_rotated(boxes, scores, np.nextafter(np.float32(iou), 0)), [1])


@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 300])
def test_nms_rotated(rng, count):
    boxes = random_boxes(rng, count, 10)
    scores = rng.choice([0.0, -0.0, 0.5, np.nan, np.inf, -np.inf], count).astype(np.float32)
    arguments = (boxes, scores, 0.2)
    assert_array_equal(mluop_omp.nms_rotated(*arguments), reference.nms_rotated(*arguments))


# The IoU of boxes 0 and 1 is 0.6, of 0 and 2 1/3, of 1 and 2 0.6; 3 and 4 share an edge.
CORNERS = ((0, 0, 4, 1), (1, 0, 5, 1), (2, 0, 6, 1), (0, 3, 2, 5), (2, 3, 4, 5))
CORNER_SCORES = (0.9, 0.8, -0.5, 0, -math.inf)
# By threshold and offset. With offset 1, the IoU are 2/3, 3/7 and 2/3, and of 3 and 4 0.2.
CORNERS_KEPT = {
    (0.5, 0): [0, 3, 2, 4],
    (0.65, 0): [0, 1, 3, 2, 4],
    (0.3, 0): [0, 3, 4],
    (0.65, 1): [0, 3, 2, 4],
    (0.1, 1): [0, 3],
    (-0.1, 0): [0],
    (math.nan, 0): [0, 1, 3, 2, 4],
}


@pytest.mark.parametrize(("threshold", "offset"), CORNERS_KEPT)
def test_nms_of_corners(threshold, offset):
    boxes, scores = box_array(*CORNERS), box_array(*CORNER_SCORES)
    for dtype in (float, np.float32, np.float16):
        keep = mluop_omp.nms(boxes.astype(dtype), scores.astype(dtype), threshold, offset)
        assert keep.dtype == np.int32
        assert_array_equal(keep, CORNERS_KEPT[threshold, offset])


def random_corners(rng, count):
    corners = rng.uniform(0, 100, (count, 4)).astype(np.float32)
    corners[:, 2:] = corners[:, :2] + rng.uniform(1, 40, (count, 2))
    return corners


SCORES = (0.0, -0.0, -1.0, 0.5, np.nan, np.inf, -np.inf)


@pytest.mark.parametrize("count", [0, 1, 64, 65, 500])
def test_nms(rng, count):
    boxes, scores = random_corners(rng, count), rng.choice(SCORES, count).astype(np.float32)
    boxes[::7] = np.round(boxes[::7] / 20) * 20  # Some are equal, without area or NaN.
    boxes[::50, 2] = np.nan
    for threshold, offset in ((0.2, 0), (0.5, 1), (0, 0), (-1, 0)):
        arguments = (boxes, scores, threshold, offset)
        assert_array_equal(mluop_omp.nms(*arguments), reference.nms(*arguments))


def test_nms_against_torchvision(rng):
    torch = pytest.importorskip("torch")
    operators = pytest.importorskip("torchvision.ops")
    boxes, scores = random_corners(rng, 1000), rng.choice(SCORES, 1000).astype(np.float32)
    for threshold in (0, 0.2, 0.5):
        expected = operators.nms(torch.from_numpy(boxes), torch.from_numpy(scores), threshold)
        assert_array_equal(mluop_omp.nms(boxes, scores, threshold), expected)


def boxes_3d(boxes, dtype=np.float32):
    """Returns 3-D boxes of rotated boxes."""
    turned = np.full((len(boxes), 7), np.nan, dtype)
    turned[:, [0, 1, 3, 4, 6]] = boxes
    return turned


# The IoU without yaw of boxes 0 and 1 is 0.78, of 0 and 2 0.39, of 1 and 2 0.49, of 3 and 4, as of
# 0 and 5, 1/3.
NORMAL_KEPT = {0.3: [1, 4], 0.36: [1, 4, 5, 3], 0.5: [1, 2, 4, 5, 3], 0.8: [1, 2, 4, 0, 5, 3]}


@pytest.mark.parametrize("threshold", NMS_KEPT)
@pytest.mark.parametrize("dtype", [np.float32, float])
def test_nms3d_of_the_example(threshold, dtype):
    boxes, scores = boxes_3d(NMS_BOXES, dtype), np.array(NMS_SCORES, dtype)
    keep = mluop_omp.nms3d(boxes, scores, threshold)
    assert keep.dtype == np.int32
    assert_array_equal(keep, NMS_KEPT[threshold])


@pytest.mark.parametrize("threshold", NORMAL_KEPT)
@pytest.mark.parametrize("dtype", [np.float32, float])
def test_nms3d_normal_of_the_example(threshold, dtype):
    boxes, scores = boxes_3d(NMS_BOXES, dtype), np.array(NMS_SCORES, dtype)
    keep = mluop_omp.nms3d_normal(boxes, scores, threshold)
    assert keep.dtype == np.int32
    assert_array_equal(keep, NORMAL_KEPT[threshold])


@pytest.mark.parametrize("name", ["nms3d", "nms3d_normal"])
@pytest.mark.parametrize("count", [0, 1, 64, 65, 200])
def test_nms3d(rng, name, count):
    boxes, scores = boxes_3d(random_boxes(rng, count, 10)), rng.choice(SCORES, count)
    arguments = (boxes, scores.astype(np.float32), 0.2)
    functions = (getattr(module, name) for module in (mluop_omp, reference))
    assert_array_equal(*(function(*arguments) for function in functions))


@pytest.mark.parametrize("dtype", [np.float32, float])
@pytest.mark.parametrize("name", ["nms3d", "nms3d_normal"])
def test_the_union_of_3d_boxes_is_at_least_1e_8(name, dtype):
    boxes = np.full((2, 7), 1e-5, dtype)  # The IoU is 0.01.
    for threshold, kept in ((0.02, [0, 1]), (0.009, [0])):
        assert_array_equal(getattr(mluop_omp, name)(boxes, np.ones(2, dtype), threshold), kept)


def test_boxes_overlap_bev(rng):
    boxes = [np.zeros((count, 7), np.float32) for count in (20, 30)]
    for array in boxes:
        array[:, [0, 1, 3, 4, 6]] = random_boxes(rng, len(array), 6)
    assert_allclose(
        mluop_omp.boxes_overlap_bev(*boxes), reference.boxes_overlap_bev(*boxes), rtol=1e-6
    )


# x of a box beside one of 4 m at 0, and the area that both share.
@pytest.mark.parametrize(
    ("x", "overlap"),
    [(3.5, 1), (4, 0), (4.005, 0.0100002), (4.0095, 0.019), (4.0105, 0), (4.02, 0)],
)
@pytest.mark.parametrize("dtype", [np.float32, float])
def test_boxes_less_than_a_centimeter_apart_overlap(x, overlap, dtype):
    first, second = np.array([(0, 0, 0, 4, 2, 1.5, 0), (x, 0, 9, 4, 2, np.nan, 0)], dtype)[
        :, np.newaxis
    ]
    assert_allclose(mluop_omp.boxes_overlap_bev(first, second), [[overlap]], atol=1e-6)
    second[0, 6] = np.nan
    assert_array_equal(mluop_omp.boxes_overlap_bev(first, second), [[0]])


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((5, 5, "giou"), "mode is 'giou', expected one of iou, iof"),
        ((6, 5), "bbox1"),
        ((5, 4), "bbox2"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments, text):
    columns1, columns2, *mode = arguments
    boxes = np.ones((3, columns1), np.float32), np.ones((2, columns2), np.float32)
    with pytest.raises(mluop_omp.MluOpError, match=text):
        mluop_omp.box_iou_rotated(*boxes, *mode)


@pytest.mark.parametrize(
    ("name", "columns", "scores", "extra", "text"),
    [
        ("nms", 4, np.ones(3, "f"), (2,), "offset is 2"),
        ("nms", 5, np.ones(3, "f"), (), "boxes dim 1 is 5"),
        ("nms", 7, np.ones(3, "f"), (), "boxes dim 1 is 7"),
        ("nms", 4, np.ones(2, "f"), (), "confidence"),
        ("nms3d", 6, np.ones(3, "f"), (), "boxes dim 1 is 6"),
        ("nms3d", 7, np.ones(2, "f"), (), r"scores has shape \[2\], expected \[3\]"),
        ("nms3d_normal", 7, np.ones(3, "i"), (), "scores has dtype int32, expected float32"),
        ("nms3d_normal", 8, np.ones(3, "f"), (), "boxes dim 1 is 8"),
    ],
)
def test_boxes_and_scores_that_do_not_fit_are_refused(name, columns, scores, extra, text):
    with pytest.raises(mluop_omp.MluOpError, match=text):
        getattr(mluop_omp, name)(np.ones((3, columns), np.float32), scores, 0.5, *extra)


def test_aligned_boxes_are_pairs():
    with pytest.raises(mluop_omp.MluOpError, match="bbox2"):
        mluop_omp.box_iou_rotated(np.ones((3, 5), "f"), np.ones((2, 5), "f"), aligned=True)


# Boxes, scores, and by method the order and the scores of the chosen boxes: the example of mmcv.
SOFT_NMS_BOXES = ((6, 3, 8, 7), (3, 6, 9, 11), (3, 7, 10, 12), (1, 4, 13, 7))
SOFT_NMS_SCORES = (0.6, 0.9, 0.7, 0.2)
SOFT_NMS_CHOSEN = {
    "naive": ([1, 0, 3], (0.9, 0.6, 0.2)),
    "linear": ([1, 0, 2, 3], (0.9, 0.6, 0.29024392, 0.2)),
    "gaussian": ([1, 0, 2, 3], (0.9, 0.59630775, 0.35275510, 0.18650459)),
}


@pytest.mark.parametrize("method", SOFT_NMS_CHOSEN)
@pytest.mark.parametrize("dtype", [np.float32, float])
def test_soft_nms_of_the_example(method, dtype):
    boxes, scores = np.array(SOFT_NMS_BOXES, dtype), np.array(SOFT_NMS_SCORES, dtype)
    chosen, decayed = SOFT_NMS_CHOSEN[method]
    dets, inds = mluop_omp.soft_nms(boxes, scores, method=method)
    assert dets.dtype == dtype and inds.dtype == np.int32
    assert_array_equal(inds, chosen)
    assert_array_equal(dets[:, :4], boxes[chosen])
    assert_allclose(dets[:, 4], decayed, rtol=1e-6)


def test_soft_nms_keeps_the_order_of_mmcv_for_equal_scores():
    boxes = np.arange(16, dtype=np.float32).reshape(4, 4)
    # The first box takes the place of the chosen one, and the last box the place of a dropped one.
    assert_array_equal(mluop_omp.soft_nms(boxes[:3], box_array(0.5, 0.5, 1))[1], [2, 1, 0])
    dropped = mluop_omp.soft_nms(boxes, box_array(1, 0.25, 0.5, 0.5), min_score=0.375)
    assert_array_equal(dropped[1], [0, 3, 2])


def corner_boxes(rng, count, extent):
    corners = rng.uniform(-extent, extent, (count, 2))
    return np.concatenate((corners, corners + rng.uniform(1, 4, (count, 2))), 1).astype(np.float32)


@pytest.mark.parametrize("method", SOFT_NMS_CHOSEN)
@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 300])
def test_soft_nms(rng, count, method):
    scores = rng.choice([0.125, 0.25, 0.5, 0.75], count).astype(np.float32)
    for offset in (0, 1):
        arguments = (corner_boxes(rng, count, 8), scores, 0.3, 0.5, 0.1, method, offset)
        dets, inds = mluop_omp.soft_nms(*arguments)
        expected_dets, expected_inds = reference.soft_nms(*arguments)
        assert_allclose(dets, expected_dets, rtol=1e-5)
        if method != "gaussian":  # NumPy's exp may differ in the last bit, and with it the order.
            assert_array_equal(inds, expected_inds)


def test_soft_nms_refuses_other_methods_and_offsets():
    boxes, scores = np.ones((3, 4), "f"), np.ones(3, "f")
    with pytest.raises(mluop_omp.MluOpError, match="expected one of naive, linear, gaussian"):
        mluop_omp.soft_nms(boxes, scores, method="hard")
    with pytest.raises(mluop_omp.MluOpError, match="offset is 2, expected 0 or 1"):
        mluop_omp.soft_nms(boxes, scores, offset=2)


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
    math.nan: [[1], [3], [2], [4], [0]],
}


@pytest.mark.parametrize("threshold", GROUPS)
@pytest.mark.parametrize("dtype", [np.float32, float])
def test_nms_match_of_the_example(threshold, dtype):
    members, sizes = mluop_omp.nms_match(np.array(MATCHED, dtype), threshold)
    assert members.dtype == sizes.dtype == np.int32
    groups = np.split(members, sizes.cumsum()[:-1])
    assert [group.tolist() for group in groups] == GROUPS[threshold]


@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 300])
def test_nms_match(rng, count):
    scores = rng.choice([0.0, -0.0, 0.5, np.nan, np.inf, -np.inf], (count, 1))
    dets = np.concatenate((corner_boxes(rng, count, 8), scores), 1).astype(np.float32)
    for found, expected in zip(mluop_omp.nms_match(dets, 0.3), reference.nms_match(dets, 0.3)):
        assert_array_equal(found, expected)
