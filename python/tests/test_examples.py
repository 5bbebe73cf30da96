"""Tables of the operators: worked examples at roundings, ties and limits; refused arguments; and
ties and special values in the arguments of all operators, against the definitions.
"""

from __future__ import annotations

import inspect

import cases
import numpy as np
import pytest
import test_boxes as box
from numpy.testing import assert_allclose, assert_array_equal
from test_boxes import INF, NAN, PI, boxes_3d

import mluop_omp
from mluop_omp._operators import operators


def ints(*values):
    return np.array(values, np.int32)


def as_tuple(output):
    return output if isinstance(output, tuple) else (output,)


def examples_of_boxes():
    for a, b, iou in box.EXAMPLES.values():
        for first, second in ((a, b), (b, a)):
            yield "box_iou_rotated", ([first], [second]), [[iou]]
    for x, overlap in box.BESIDE.items():
        for yaw, area in ((0, overlap), (NAN, 0)):
            boxes = [(0, 0, 0, 4, 2, 1.5, 0)], [(x, 0, 9, 4, 2, NAN, yaw)]
            yield "boxes_overlap_bev", boxes, [[area]]
    boxes, scores = list(box.NMS_BOXES), list(box.NMS_SCORES)
    in_space, labeled = boxes_3d(boxes, float), [(*each, i) for i, each in enumerate(boxes)]
    for threshold, kept in box.NMS_KEPT.items():
        for name, given in (("nms_rotated", boxes), ("nms_rotated", labeled), ("nms3d", in_space)):
            yield name, (given, scores, threshold), ints(*kept)
    for threshold, kept in box.NORMAL_KEPT.items():
        yield "nms3d_normal", (in_space, scores, threshold), ints(*kept)
    for options, kept in box.CORNERS_KEPT.items():
        yield "nms", (list(box.CORNERS), list(box.CORNER_SCORES), *options), ints(*kept)
    # An IoU that equals the threshold does not suppress.
    half, other, iou = box.EXAMPLES["half"]
    for threshold, kept in ((iou, (1, 0)), (np.nextafter(np.float32(iou), 0), (1,))):
        yield "nms_rotated", ([half, other], [1, 2], threshold), ints(*kept)
    for name in ("nms3d", "nms3d_normal"):  # The union is at least 1e-8: the IoU is 0.01.
        for threshold, kept in ((0.02, (0, 1)), (0.009, (0,))):
            yield name, ([[1e-5] * 7] * 2, [1, 1], threshold), ints(*kept)
    for method, (chosen, scores) in box.SOFT_NMS_CHOSEN.items():
        given = list(box.SOFT_NMS_BOXES), list(box.SOFT_NMS_SCORES), 0.3, 0.5, 1e-3, method
        dets = [(*box.SOFT_NMS_BOXES[i], score) for i, score in zip(chosen, scores)]
        yield "soft_nms", given, (dets, ints(*chosen))
    for threshold, groups in box.GROUPS.items():
        outputs = ints(*sum(groups, [])), ints(*map(len, groups))
        yield "nms_match", (list(box.MATCHED), threshold), outputs


def examples_of_quads():
    for a, b, iou in box.QUADS.values():
        for first, second in ((a, b), (b, a)):
            for each in box.listings(np.array(first, float)):
                yield "box_iou_quadri", (each, [second]), [[iou]]
    boxes, scores = list(box.NMS_QUADS), list(box.NMS_QUADS_SCORES)
    labeled = [(*each, i) for i, each in enumerate(boxes)]
    scored = [(*each, score) for each, score in zip(boxes, scores)]
    for threshold, kept in box.NMS_QUADS_KEPT.items():
        for given in (boxes, labeled):
            yield "nms_quadri", (given, scores, threshold), ints(*kept)
        yield "poly_nms", (scored, threshold), ints(*sorted(kept))
    # An IoU that equals the threshold does not suppress.
    half, whole = [(0, 0, 4, 0, 4, 1, 0, 1), box.BOX], [(*box.BOX, 2), (0, 0, 4, 0, 4, 1, 0, 1, 1)]
    for threshold, count in ((0.5, 2), (np.nextafter(np.float32(0.5), 0), 1)):
        yield "nms_quadri", (half, [1, 2], threshold), ints(1, 0)[:count]
        yield "poly_nms", (whole, threshold), ints(0, 1)[:count]
    for a, b, mode, offset, overlap in box.UPRIGHT:
        yield "bbox_overlaps", ([a], [b], mode, False, offset), [[overlap]]
        yield "bbox_overlaps", ([a, a], [b, b], mode, True, offset), [overlap, overlap]
    for polygon, points, inside in box.IN_QUADS:
        yield "points_in_polygons", (list(points), [polygon]), np.array(inside)[:, np.newaxis]


def examples_of_vertices():
    vertices, mask = np.zeros((1, 1, 24, 2)), np.zeros((1, 1, 24), bool)
    # The boxes (0, 0, 4, 2, 0) and (1, 0.5, 4, 2, 0), less the mean of the vertices.
    valid = [0, 6, 9, 22]
    vertices[0, 0, valid], mask[0, 0, valid] = [(2, 1), (-1, -0.5), (-1, 1), (2, -0.5)], True
    vertices -= (0.5, 0.25)
    for count, idx in ((4, (0, 9, 6, 22, 0, 8, 8, 8, 8)), (2, (8,) * 9)):
        yield "diff_iou_rotated_sort_vertices", (vertices, mask, ints([count])), ints([idx])
    corners, are_corners = np.zeros((1, 1, 24, 2)), np.zeros((1, 1, 24), bool)
    are_corners[:, :, :4] = True
    # Vertices with y = 0 are not selected.
    corners[0, 0, :4] = [(1, 0), (0, 1), (-1, 0), (0, -1)]
    expected = ints([(1, 3, 0, 0, 1, 8, 8, 8, 8)])
    yield "diff_iou_rotated_sort_vertices", (corners, are_corners, ints([4])), expected
    # Equal boxes: each corner counts twice. More than 8 vertices are 8.
    corners = corners.copy()
    corners[0, 0, :4] = corners[0, 0, 4:8] = [(1, 1), (-1, 1), (-1, -1), (1, -1)]
    are_corners = np.arange(24).reshape(1, 1, 24) < 8
    for count in (8, 9):
        expected = ints([(0, 1, 2, 3, 0, 8, 8, 8, 8)])
        yield "diff_iou_rotated_sort_vertices", (corners, are_corners, ints([count])), expected
    # All crossings are valid.
    everything = np.ones((1, 1, 24), bool)
    yield "diff_iou_rotated_sort_vertices", (corners, everything, ints([2])), ints([(0,) * 9])


def examples_of_priors():
    variances = [0.1, 0.1, 0.2, 0.2]
    square, largest, wide = 10.5, 945**0.5 / 2, (10.5 * 2**0.5, 10.5 / 2**0.5)
    halves = [(square,) * 2, (largest,) * 2, wide, wide[::-1]]
    for are_squares_first, order in ((True, (0, 1, 2, 3)), (False, (0, 2, 3, 1))):
        boxes = [[(4 - w) / 300, (4 - h) / 300, (4 + w) / 300, (4 + h) / 300] for w, h in halves]
        outputs = [[[boxes[each] for each in order]]], [[[variances] * 4]]
        numbers = 1, 1, 300, 300, 8.0, 8.0, 0.5, False, are_squares_first
        yield "prior_box", ([21], [1, 2, 0.5], variances, [45], *numbers), outputs
    outputs = [[[[0, 0, 1, 1]]]], [[[variances]]]
    yield "prior_box", ([40], [1], variances, None, 1, 1, 8, 8, 8.0, 8.0, 0.5, True), outputs
    cells = np.zeros((1, 7, 2, 2))
    cells[0, 4] = -9
    cells[0, :, 0, 1] = (0.2, -0.4, 0.1, 0.3, 1, 2, -1)
    sizes = ints([100, 200]), ints(10, 13)
    for scale, corners in (
        (1.0, (137.715104, 6.356113, 172.251695, 33.775121)),
        (1.05, (137.964274, 6.109394, 172.500865, 33.528401)),
    ):
        boxes, scores = np.zeros((1, 1, 4, 4)), np.zeros((1, 1, 2, 4))
        boxes[0, 0, :, 1], scores[0, 0, :, 1] = corners, (0.6439143, 0.1966119)
        yield "yolo_box", (cells, *sizes, 2, 0.5, 32, False, scale), (boxes, scores)
    # A confidence that equals the threshold is kept; so is NaN.
    cells = np.zeros((1, 6, 1, 3))
    cells[0, 4] = cells[0, 0] = (0, NAN, -0.01)
    boxes = [[[(0, 0, 0), (0, 0, 0), (29, 29, 0), (9, 9, 0)]]]
    outputs = boxes, [[[(0.25, NAN, 0)]]]
    yield "yolo_box", (cells, ints([10, 30]), ints(90, 90), 1, 0.5, 1), outputs


def proposals_of(anchors, scores, deltas, *numbers, images=((32, 32),)):
    """Returns an operator and its arguments, for the same anchors in each of the images."""
    N, A = len(images), len(anchors)
    deltas, scores = (np.tile(np.ravel(each) * 1.0, (N, 1, 1, 1)) for each in (deltas, scores))
    shapes = list(images), np.array([[anchors]], float), np.ones((1, 1, A, 4))
    return "generate_proposals_v2", (scores, deltas, *shapes, *numbers)


def examples_of_proposals():
    squares = (0, 0, 10, 10), (1, 1, 11, 11), (20, 20, 30, 30), (0, 0, 0.5, 0.5)
    deltas = (0, 0, 0, 0), (0, 0, 0, 0), (0.1, 0, np.log(2), 10), (0, 0, 0, 0)
    scores = 0.9, 0.8, 0.7, 0.6
    clamped = [squares[0], (16, 0, 32, 32)], [[0.9], [0.7]], ints(2)
    with_offset = [squares[0], (15.6, 0, 31, 31), squares[3]], [[0.9], [0.7], [0.6]], ints(3)
    for first in (0, 4, 5):
        for outputs in (clamped, with_offset):
            numbers = first, 4, 0.5, 0.1, 1.0, outputs is with_offset
            yield *proposals_of(squares, scores, deltas, *numbers), outputs
    # No box is as large as the least size; only the first candidate counts.
    nothing = [(0, 0, 0, 0)], [[0]], ints(1)
    yield *proposals_of(squares, scores, deltas, 0, 4, 0.5, 33.0), nothing
    yield *proposals_of(squares, scores, deltas, 1, 4, 0.5), ([squares[0]], [[0.9]], ints(1))
    # A picture without area is between two others; of equal scores, the first counts.
    outputs = [squares[0], (0, 0, 0, 0), squares[0]], [[0.5], [0], [0.5]], ints(1, 1, 1)
    images = (32, 32), (0, 0), (32, 32)
    zeros = np.zeros((4, 4))
    yield *proposals_of(squares, [0.5] * 4, zeros, 0, 1, 0.5, images=images), outputs
    # NaN comes first; -infinity takes part.
    outputs = [squares[1], squares[2]], [[NAN], [-INF]], ints(2)
    yield *proposals_of(squares, (-INF, NAN, -INF, 1), zeros, 0, 9, 0.5), outputs
    # An IoU that equals the threshold does not suppress.
    half = (0, 0, 4, 2), (0, 0, 2, 2)
    for threshold, count in ((0.5, 2), (np.nextafter(np.float32(0.5), 0), 1)):
        outputs = list(half[:count]), [[0.9], [0.8]][:count], ints(count)
        yield *proposals_of(half, (0.9, 0.8), zeros[:2], 0, 9, threshold), outputs


def examples_of_text():
    masks = np.ones((2, 1, 7), np.uint8)
    masks[1, 0, 4:] = 0  # Without effect.
    for labels, area, count, expected in (
        ((1, 0, 0, 0, 0, 0, 2), 0, 2, (1, 1, 1, 1, 2, 2, 2)),
        ((1, 0, 0, 0, 0, 0, 2), 0, 1, (1, 0, 0, 0, 0, 0, 2)),
        ((1, 1, 0, 0, 0, 0, 2), 2, 2, (1, 1, 1, 1, 1, 1, 1)),
    ):
        yield "contour_expand", (masks[:count], ints(labels), area, 2), ints(expected)
    labels, scores, mask = ints((1, 0, 0, 0, 2)), [[0.9, 0.8, 0.7, 0.6, 0.5]], np.ones((1, 5), bool)
    contour = (labels > 0).astype(np.uint8)
    for embedding, threshold, score, expected in (
        ((0, 0.3, 0.6, 0.9, 1.2), 0.8, (0, 0.8, 0.55), (1, 1, 1, 2, 2)),
        # A distance that equals the threshold is too far; NaN is near.
        ((0, 0.75, 0.5, 1, 0), 0.75, (0, 0.9, 0.5), (1, 0, 0, 0, 2)),
        ((0, NAN, 0.5, 1, 0), 0.75, (0, 0.8, 0.5), (1, 1, 1, 0, 2)),
    ):
        given = scores, mask, [[[each] for each in embedding]], labels, contour, 3, threshold
        count = [0, *(expected.count(label) for label in (1, 2))]
        yield "pixel_group", given, (np.array(score), ints(*count), ints(expected))


# A box, a point, and whether it is inside by the rules of mmcv and MLU-OPS: at faces and margins.
TURNED, UPRIGHT = (10, 5, -1, 4, 2, 1.5, PI / 6), (0, 0, 0, 4, 2, 2, 0)
INSIDE = [
    *((TURNED, (11.7, 6, -0.5), 1, 1), (TURNED, (11.733, 6, -0.5), 0, 0)),
    *((UPRIGHT, (2, 0, 1), 0, 1), (UPRIGHT, (2.000005, 0, 0.5), 0, 1)),
    *((UPRIGHT, (2.00002, 0, 0.5), 0, 0), (UPRIGHT, (0, 0, 2), 1, 0), (UPRIGHT, (0, 0, -1), 0, 1)),
]
# Points and the voxels, of two along each axis, that they are in: on the top face, and -8e-8 along
# y, by the rounding of the cosine.
PLACES = [((0.9, 0.1, 2.0), (1, 0, 1)), ((0, 1.9, 0.1), (1, 0, 0))]


def examples_of_two_sets():
    sets = [[(0, 0), (1, 0), (3, 3)]], [[(0, 1), (2, 0), (0, -1)]]
    idx, ones = (ints([0, 1, 1]), ints([0, 1, 0])), [[1, 1, 1]]
    yield "chamfer_distance", sets, ([[1, 1, 10]], ones, *idx)
    grads = [[(0, -2), (-4, 0), (2, 6)]], [[(0, 4), (2, -6), (0, -2)]]
    yield "chamfer_distance_backward", (*sets, *idx, ones, ones), grads
    # Infinity is nearer than NaN; the distance of equal infinities is NaN.
    sets = [[(NAN, 0), (0, 0), (INF, 0)]], [[(NAN, 0), (INF, 0), (-INF, 0)]]
    outputs = [[NAN, INF, INF]], [[NAN, INF, INF]], ints([0, 1, 2]), ints([0, 1, 1])
    yield "chamfer_distance", sets, outputs
    nothing = np.zeros((1, 0)), np.zeros((1, 0), np.int32)
    outputs = [[0]], nothing[0], ints([0]), nothing[1]
    yield "chamfer_distance", ([[(1, 2)]], np.zeros((1, 0, 2))), outputs


def examples_of_lattices():
    x = [[(-0.5, -1, -1.5, -2), (-1, -0.5, -2, -1.5)]]
    y = [[(-0.2, -0.4, -0.6), (-0.3, -0.5, -0.7), (-0.1, -0.2, -0.3)]]
    rows = (0, -0.2, -0.6, -1.2), (-0.5, -0.28698475, -0.54874949, -1.11588408)
    p = [[*rows, (-1.5, -0.41990105, -0.48422096, -0.63567424)]]
    yield "mutual_information", (x, y), ([-0.63567424], p)
    rows = (0.6519837, 0.28203706, 0.04880468, 0.01717456), (0.23123385, 0.52136208, 0.10936381)
    grad = [[rows[0], (*rows[1], 0.13804027)]]
    rows = (0.3480163, 0.06597924, 0.01717456), (0.42074985, 0.18142483, 0.1208657)
    grads = grad, [[*rows, (0.23123385, 0.75259592, 0.86195973)]]
    yield "mutual_information_backward", (x, y, p, [1]), grads
    boundary = np.array([(1, 1, 2, 3)])
    p = [[(0, 0, 0, 0), (0, 0, -0.5, -1.2), (0, -0.5, -0.54702239, -0.70139104)]]
    yield "mutual_information", (x, y, boundary), ([-0.70139104], p)
    # An empty boundary.
    boundary = np.array([(2, 0, 1, 3)])
    zeros = np.zeros_like(x), np.zeros_like(y)
    yield "mutual_information", (x, y, boundary), ([0], np.zeros((1, 3, 4)))
    yield "mutual_information_backward", (x, y, p, [1], boundary), zeros
    # NaN propagates along s only.
    nan = [[(-1, NAN)]], [[[-1], [-1]]], [[[-1, -1]]], [[[-1], [NAN]]]
    yield "mutual_information", nan[:2], ([NAN], [[(0, -1), (-1, NAN)]])
    yield "mutual_information", nan[2:], ([-2], [[(0, -1), (-1, -2)]])


def examples_of_experts():
    indices, locations, gates = ints(0, 1, 0), ints(1, 0, 1), [0.5, 2, 3]
    samples, grad = [(1, 2), (3, 4), (5, 6)], [(1, 1), (2, 0), (0, 1), (9, 9)]
    dispatch = [(0, 0), (15, 18), (6, 8), (0, 0)]
    yield "moe_dispatch", (gates, indices, locations, samples, 2, 2), dispatch
    yield "moe_dispatch_backward_gate", (indices, locations, samples, grad, 2, 2), [2, 4, 10]
    grads = [(1, 0), (0, 2), (6, 0)]
    yield "moe_dispatch_backward_data", (gates, indices, locations, grad, 2, 2), grads
    # Experts and rows out of range.
    indices, locations = ints(-1, 2, 0), ints(0, 0, 2)
    zeros = np.zeros((4, 2))
    yield "moe_dispatch", (gates, indices, locations, samples, 2, 2), zeros
    yield "moe_dispatch_backward_gate", (indices, locations, samples, grad, 2, 2), [0, 0, 0]
    yield "moe_dispatch_backward_data", (gates, indices, locations, grad, 2, 2), zeros[:3]


def examples_of_sites():
    rows = ints((0, 2), (0, -3), (0, 2), (-1, 7), (0, -3))
    yield "unique_rows", (rows,), (ints(0, 1, 3), ints(0, 1, 0, 2, 1))
    yield "unique_rows", (rows, True), (ints(3, 1, 0), ints(2, 1, 2, 0, 1))
    united = ints((0, 2), (0, -3), (-1, 7), (1, 1)), ints(0, 1, 0, 2, 1), ints(3, 1, 3)
    yield "union_rows", (rows, ints((1, 1), (0, -3), (1, 1))), united
    # The kernel of MinkowskiEngine: input = output + offset. Batch 1 has another site at 0.
    sites = ints((0, -3), (0, -2), (0, 0), (0, 1), (0, 5), (1, 0))
    pairs = ints(
        [(0, 2, -1, -1, -1, -1), (1, 3, -1, -1, -1, -1)],
        [range(6), range(6)],
        [(1, 3, -1, -1, -1, -1), (0, 2, -1, -1, -1, -1)],
    )
    yield "site_pairs", (sites, sites, ints([-1], [0], [1])), (pairs, ints(2, 6, 2))
    floors = ints((0, -4), (0, -2), (0, 0), (0, 4), (1, 0)), ints(0, 1, 2, 2, 3, 4)
    yield "floor_sites", (sites, (2,)), floors
    reached = ints((0, -2), (0, 0), (0, 2), (0, 6), (1, 0))
    yield "reached_sites", (sites, ints([0], [1]), (2,)), reached
    # Sums are of 64 bits: an input at the other end of the range is no neighbor.
    ends = ints((0, 2**31 - 1), (0, -(2**31)))
    pairs = ints([(-1, -1), (-1, -1)], [(-1, -1), (-1, -1)], [(0, 1), (0, 1)])
    yield "site_pairs", (ends, ends, ints([1], [-1], [0])), (pairs, ints(0, 0, 2))
    yield "floor_sites", (ends, (2,)), (ints((0, -(2**31)), (0, 2**31 - 2)), ints(1, 0))
    sites = ints((0, -2, 0), (0, -2, 4), (0, 0, 4), (1, -2, 0), (0, -2, 0))
    points = [(0.2, -1.5, 1), (1, -2, 0), (0, NAN, 0), (0, 2.0**31, 0), (0, 0.5, INF)]
    rows = ints((0, 1, -1, 2), (3, -1, -1, -1), *[(-1,) * 4] * 3)
    weights = [(0.5625, 0.1875, 0.1875, 0.0625), (1, 0, 0, 0), *[(0,) * 4] * 3]
    yield "corners", (points, sites, (2, 4)), (rows, weights)


def examples_of_points():
    far = [[(x, 0, 0) for x in (2e5, NAN, 1e5, 99999)]]
    yield from examples_of_two_sets()
    yield from examples_of_lattices()
    yield from examples_of_experts()
    yield from examples_of_sites()
    neighbors = [[[99999**2, 1e10, 1e10]]], ints([[3, 0, 0]])
    yield "knn", (far, [[(0, 0, 0)]], 3), neighbors
    yield "knn", (np.zeros((1, 0, 3)), [[(0, 0, 0)]], 1), ([[[1e10]]], ints([[0]]))
    for each, point, of_mmcv, of_mlu_ops in INSIDE:
        given = [[point]], [[each]]
        yield "points_in_boxes", given, ints([of_mlu_ops - 1])
        yield "points_in_boxes_part", given, ints([of_mmcv - 1])
        yield "points_in_boxes_all", given, ints([[of_mmcv]])
    roi = [(0, 0, 0, 4, 2, 2, PI / 2)]
    for place, voxel in PLACES:
        pooled = np.zeros((1, 2, 2, 2, 1))
        pooled[(0, *voxel)] = 7
        listed = (pooled == 7) * ints(1, 0, 0)
        argmax = np.where(pooled == 7, 0, -1).astype(np.int32)
        yield "roiaware_pool3d", (roi, [place], [[7]], (2, 2, 2), 3), (pooled, argmax, listed)
    # A voxel of NaN alone has no maximum.
    outputs = np.zeros((1, 1, 1, 1, 1)), ints([[[[-1]]]]), ints([[[[1, 0, 0]]]])
    yield "roiaware_pool3d", (roi, [(0, 0, 1)], [[NAN]], (1, 1, 1), 3), outputs


# An operator, its arguments, and its outputs. Lists and float64 are numbers of each element type.
EXAMPLES = [
    *(*examples_of_boxes(), *examples_of_quads(), *examples_of_text(), *examples_of_points()),
    *examples_of_proposals(),
    *(*examples_of_vertices(), *examples_of_priors()),
]


def is_numbers(argument):
    return isinstance(argument, list) or getattr(argument, "dtype", None) == np.float64


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example[0])
def test_examples(example, dtype):
    name, arguments, expected = example
    given = [np.array(a, np.float32).astype(dtype) if is_numbers(a) else a for a in arguments]
    found = as_tuple(getattr(mluop_omp, name)(*given))
    assert len(found) == len(as_tuple(expected))
    for output, each in zip(found, map(np.asarray, as_tuple(expected))):
        assert output.dtype == (np.int32 if each.dtype == np.int32 else dtype)
        tolerance = 0 if each.dtype == np.int32 else 2e-6
        assert_allclose(
            output, each, rtol=tolerance, atol=tolerance * (name == "boxes_overlap_bev")
        )


def test_float64_decides_what_float32_rounds():
    half, other, iou = box.EXAMPLES["half"]
    boxes = np.array((half, other), float)
    boxes[1, 3] *= 1 + 1e-12  # The IoU is greater than 0.5.
    scores = np.array((1.0, 2))
    assert_array_equal(mluop_omp.nms_rotated(boxes, scores, iou), [1])
    assert_array_equal(mluop_omp.nms3d(boxes_3d(boxes, float), scores, iou), [1])
    assert_array_equal(mluop_omp.nms3d_normal(boxes_3d(boxes, float), scores, iou), [1])


def columns(count):
    return lambda array: np.ones((*array.shape[:-1], count), array.dtype)


def first(count):
    return lambda array: array[:count]


def with_value(place, value):
    def change(array):
        array = array.copy()
        array[place] = value
        return array

    return change


# Each output is paired with the only input.
REPEATED_SITES = {"inputs": np.zeros((1, 4), "i"), "outputs": np.zeros((2, 4), "i")}
# An operator, the changed ones of its arguments, and what the error says.
REFUSED = [
    ("box_iou_rotated", {"mode": "giou"}, "mode is 'giou', expected one of iou, iof"),
    ("box_iou_rotated", {"boxes1": columns(6)}, "bbox1"),
    ("box_iou_rotated", {"aligned": True}, "bbox2"),
    ("box_iou_quadri", {"mode": "giou"}, "mode is 'giou', expected one of iou, iof"),
    ("box_iou_quadri", {"boxes2": columns(9)}, "bbox2"),
    ("bbox_overlaps", {"mode": "giou"}, "mode is 'giou', expected one of iou, iof"),
    ("bbox_overlaps", {"offset": 2}, "offset is 2, expected 0 or 1"),
    ("bbox_overlaps", {"boxes1": columns(5)}, "bbox1"),
    ("bbox_overlaps", {"aligned": True}, "bbox2"),
    ("nms_quadri", {"boxes": columns(10)}, "boxes dim 1 is 10, expected 8, or 9 with labels"),
    ("poly_nms", {"boxes": columns(8)}, "boxes dim 1 is 8, expected 9"),
    ("generate_proposals_v2", {"post_nms_top_n": -1}, "post_nms_top_n is -1, expected at least 0"),
    ("generate_proposals_v2", {"nms_thresh": 0.0}, "nms_thresh is 0, expected more than 0"),
    ("generate_proposals_v2", {"eta": 0.5}, "eta is 0.5, expected at least 1"),
    ("generate_proposals_v2", {"bbox_deltas": columns(9)}, "bbox_deltas dim 3 is 9, expected 8"),
    ("convex_iou", {"polygons": columns(9)}, "polygons"),
    ("convex_giou", {"polygons": first(2)}, "polygons"),
    ("min_area_polygons", {"pointsets": columns(16)}, "pointsets"),
    ("points_in_polygons", {"points": columns(3)}, "points"),
    ("diff_iou_rotated_sort_vertices", {"mask": np.uint8}, "mask has data type UINT8, expected BO"),
    ("diff_iou_rotated_sort_vertices", {"vertices": columns(3)}, "vertices dim 3 is 3, expected 2"),
    ("prior_box", {"step_w": 0.0}, "step_w is 0, expected a positive number"),
    ("prior_box", {"height": -1}, "height is -1, expected at least 0"),
    ("prior_box", {"variances": first(3)}, "variances dim 0 is 3, expected 4"),
    ("prior_box", {"max_sizes": first(1)}, "max_sizes dim 0 is 1, expected 2"),
    (
        "prior_box",
        {"aspect_ratios": np.ones_like, "min_max_aspect_ratios_order": True},
        "aspect_ratios has 3 ratios of 1, expected exactly one",
    ),
    ("yolo_box", {"class_num": 0}, "class_num is 0, expected at least 1"),
    ("yolo_box", {"iou_aware": True, "iou_aware_factor": 1.5}, "iou_aware_factor is 1.5, expected"),
    ("yolo_box", {"anchors": np.ones(7, "i")}, "anchors dim 0 is 7, expected a positive even num"),
    ("yolo_box", {"x": lambda x: x[:, 1:].copy()}, r"x dim 1 is \d+, expected \d+"),
    ("softmax_focal_loss", {"target": with_value(2, 5)}, r"target\[2\] is 5, expected -1 to 4"),
    ("softmax_focal_loss_backward", {"target": with_value(3, -2)}, r"target\[3\] is -2, exp"),
    ("softmax_focal_loss", {"gamma": -0.5}, "gamma is -0.5, expected 0 to 10000"),
    ("contour_expand", {"internal_kernel_label": with_value((2, 1), 4)}, r"label\[2, 1\] is 4, "),
    ("contour_expand", {"internal_kernel_label": with_value((2, 1), -1)}, "expected 0 to 3"),
    ("contour_expand", {"kernel_num": -1}, "kernel_num is -1, expected at least 0"),
    ("contour_expand", {"kernel_mask": np.int32}, "kernel_mask has data type INT32"),
    ("pixel_group", {"kernel_label": with_value((2, 1), 4)}, r"\[2, 1\] is 4, expected less"),
    ("pixel_group", {"kernel_region_num": -1}, "kernel_region_num is -1, expected at least 0"),
    ("pixel_group", {"mask": np.uint8}, "mask has data type UINT8, expected BOOL"),
    ("nms", {"offset": 2}, "offset is 2"),
    ("nms", {"scores": first(2)}, "confidence"),
    ("nms3d", {"scores": first(2)}, r"scores has shape \[2\], expected \[\d+\]"),
    ("nms3d_normal", {"boxes": columns(8)}, "boxes dim 1 is 8"),
    ("nms3d_normal", {"scores": np.int32}, "scores has dtype int32, expected float32"),
    ("soft_nms", {"method": "hard"}, "expected one of naive, linear, gaussian"),
    ("soft_nms", {"offset": 2}, "offset is 2, expected 0 or 1"),
    ("gather_points", {"indices": with_value((1, 0), -1)}, "indices"),
    ("gather_points_backward", {"indices": with_value((1, 0), 2**31 - 1)}, "indices"),
    ("gather_points", {"indices": np.ravel}, "indices has 1 dimensions, expected 2 or 3"),
    ("gather_points_backward", {"indices": np.ravel}, "indices has 1 dim.*, expected 2 or 3"),
    ("gather_points_backward", {"N": -1}, "N is -1"),
    ("stack_group_points", {"indices": with_value((6, 1), -1)}, r"indices\[6, 1\] is -1, exp"),
    ("chamfer_distance", {"xyz2": columns(3)}, "xyz2"),
    ("chamfer_distance_backward", {"idx1": with_value((1, 8), 14)}, r"idx1\[1, 8\] is 14, exp"),
    ("chamfer_distance_backward", {"idx2": with_value((0, 3), -1)}, r"idx2\[0, 3\] is -1, expect"),
    ("mutual_information", {"px": lambda px: px[..., 1:].copy()}, "the modified recursion of k2"),
    ("mutual_information", {"boundary": with_value((1, 0), -1)}, r"boundary\[1\] is \[-1, .*, exp"),
    ("mutual_information_backward", {"boundary": with_value((0, 3), 4)}, "at most 2 and 3"),
    ("mutual_information", {"boundary": np.int32}, "boundary has data type INT32, expected INT64"),
    ("moe_dispatch", {"capacity": 1}, "samples is 9, expected at most 3, num_experts . capacity"),
    ("moe_dispatch", {"capacity": -1}, "capacity is -1, expected at least 0"),
    ("moe_dispatch", {"gates": first(8)}, "indices dim 0 is 9, expected 8"),
    ("moe_dispatch", {"locations": np.int64}, "locations has data type INT64, expected INT32"),
    ("moe_dispatch_backward_gate", {"num_experts": 2}, "dispatch dim 0 is 12, expected 8"),
    ("moe_dispatch_backward_data", {"num_experts": 2}, "dispatch dim 0 is 12, expected 8"),
    ("unique_rows", {"rows": columns(9)}, "rows dim 1 is 9, expected 1 to 8"),
    ("unique_rows", {"rows": np.int64}, "rows has data type INT64, expected INT32"),
    ("union_rows", {"b": columns(4)}, "b dim 1 is 4, expected 3"),
    ("site_pairs", {"outputs": columns(3)}, "outputs dim 1 is 3, expected 4"),
    ("site_pairs", {"offsets": columns(4)}, "offsets dim 1 is 4, expected 3"),
    ("site_pairs", {**REPEATED_SITES, "offsets": np.zeros((1, 3), "i")}, "outputs|pairs"),
    ("reached_sites", {"multiples": (1, 0, 2)}, "multiples"),
    ("reached_sites", {"multiples": (1, 2)}, "multiples dim 0 is 2, expected 3"),
    ("reached_sites", {"multiples": (1, 2**31, 2)}, "multiples is .*, expected 32-bit integers"),
    ("reached_sites", {"offsets": with_value((4, 2), 2**31 - 1)}, "int32"),
    ("floor_sites", {"multiples": (1, -2, 2)}, "multiples"),
    ("floor_sites", {"sites": with_value((3, 3), -(2**31)), "multiples": (1, 1, 3)}, "int32"),
    ("corners", {"strides": (1, 0, 2)}, "strides"),
    ("corners", {"strides": (1, 2)}, "strides dim 0 is 2, expected 3"),
    ("corners", {"sites": columns(3)}, "sites dim 1 is 3, expected 4"),
    ("knn", {"k": 0}, "k is 0, expected 1 to 100"),
    # No machine has the memory for the results.
    ("knn", {"k": 2**31 - 1, "new_xyz": np.zeros((2, 4096, 3), "f")}, "k is 2147483647, expected"),
    ("furthest_point_sample", {"num_points": -1}, "num_points is -1"),
    ("roiaware_pool3d", {"method": "avg"}, "method is 'avg', expected one of max, mean"),
    ("roiaware_pool3d", {"out_size": (3, 2)}, "out_size has 2 elements, expected 3"),
    ("roiaware_pool3d", {"out_size": (3, -1, 2)}, "out_y is -1, expected at least 1"),
    ("roiaware_pool3d", {"max_pts_each_voxel": 0}, "max_pts_each_voxel is 0, expected at least 1"),
    (
        "roiaware_pool3d",
        {"rois": first(0), "pts": first(1)},
        r"pts_feature dim 0 is \d+, expected 1",
    ),
    (
        "roiaware_pool3d_backward",
        {"N": 12, "argmax": with_value((0, 1, 0, 0, 3), 12)},
        r"argmax\[0, 1, 0, 0, 3\] is 12, expected -1 to 11",
    ),
    ("roi_align", {"rois": with_value((3, 0), 2)}, r"boxes\[3, 0\] is 2, expected 0 to 1"),
    ("roi_align", {"output_size": (-1, 3)}, "pooled_height is -1, expected at least 1"),
    ("roi_align", {"rois": columns(4), "output_size": (0, 3)}, "rois dim 1 is 4, expected 5"),
    ("roi_align", {"output_size": (2,)}, "output_size has 1 elements, expected 2"),
    ("roi_align", {"method": "avg"}, "method is 'avg', expected one of max, mean"),
    ("roi_align", {"input": lambda image: image[0]}, "input has 3 dimensions, expected 4"),
    ("ms_deform_attn", {"level_start_index": first(1)}, "data_level_start_index dim 0 is 1, exp"),
    ("ms_deform_attn", {"spatial_shapes": with_value((1, 0), -1)}, r"shapes\[1, 0\] is -1, expect"),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("name", "changes", "text"), REFUSED)
def test_refused_arguments(name, changes, text, dtype):
    names = getattr(operators, name).signature.parameters
    arguments = dict(zip(names, cases.of_numpy(name, cases.arguments(name))))
    assert changes.keys() <= names.keys()
    for key, change in changes.items():
        arguments[key] = change(arguments[key]) if callable(change) else change
    for key, value in arguments.items():
        if getattr(value, "dtype", None) == np.float32:
            arguments[key] = value.astype(dtype)
    with pytest.raises(mluop_omp.MluOpError, match=text):
        getattr(mluop_omp, name)(**arguments)


def ties(array, rng):
    return np.round(2 * array) / 2


def special_values(array, rng):
    special = rng.choice(np.float32([NAN, INF, -INF, 0, -0.0, -1]), array.shape)
    return np.where(rng.random(array.shape) < 0.1, special, array)


# The positions of quadrilaterals whose overlaps are specified if their sides do not cross.
QUADS = {
    "box_iou_quadri": [0, 1],
    "convex_giou": [1],
    "convex_iou": [1],
    "nms_quadri": [0],
    "poly_nms": [0],
}


def without_crossing_sides(quads, simple):
    """Replaces quadrilaterals whose sides cross by simple ones."""
    corners = quads[:, :8].astype(float).reshape(-1, 4, 2)

    def side_of(i, k):
        """On which side of the line from corner i to the next corner k is."""
        along, to = (corners[:, j % 4] - corners[:, i] for j in (i + 1, k))
        return np.sign(along[:, 0] * to[:, 1] - along[:, 1] * to[:, 0])

    cross = [
        (side_of(i, i + 2) * side_of(i, i + 3) < 0)
        & (side_of((i + 2) % 4, i) * side_of((i + 2) % 4, i + 1) < 0)
        for i in (0, 1)
    ]
    return np.where(np.any(cross, 0)[:, np.newaxis], simple, quads)


# Options of the arguments of some operators.
OPTIONS = {
    "bbox_overlaps": [{"mode": "iof"}, {"N": 7, "aligned": True}, {"offset": 1}],
    "box_iou_quadri": [{"mode": "iof"}, {"N": 7, "aligned": True}],
    "box_iou_rotated": [{"mode": "iof"}, {"N": 7, "aligned": True}],
    "chamfer_distance": [{"N": 500, "M": 900}],
    "dynamic_scatter": [{"reduce": reduce} for reduce in ("max", "sum")],
    # More points than threads of a block, and than members of a heap.
    "furthest_point_sample": [{"N": 2100, "num_points": 300}],
    "furthest_point_sample_with_dist": [{"N": 1025}],
    "knn": [{"N": 300, "k": 32}, {"N": 300, "k": 100}, {"k": 100}],
    "nms": [{"N": 300, "offset": 1}],
    "roi_align": [{"method": "max"}],
    "roiaware_pool3d": [{"N": 700, "method": method} for method in ("max", "mean")],
    "soft_nms": [{"N": 300, "method": method} for method in ("naive", "linear")],
}
# The definitions multiply infinity by other zeros than the library does.
WITHOUT_SPECIAL_VALUES = (
    "deform_conv2d_backward_data",
    "deform_roi_pool_backward",
    "ms_deform_attn",
    "ms_deform_attn_backward",
    "prroi_pool",
    "prroi_pool_backward",
)
# The definitions lack overlaps with boxes of infinite sides, which the library computes.
FINITE_SIDES = ("boxes_overlap_bev", "nms3d", "nms3d_normal")


def options_of(name):
    many = [{"N": 300}] if "N" in cases.extents(name) and name != "soft_nms" else []
    return [{}, *many, *OPTIONS.get(name, [])]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("change", [ties, special_values])
@pytest.mark.parametrize(("name", "sizes"), [(n, o) for n in cases.NAMES for o in options_of(n)])
def test_ties_and_special_values(name, sizes, change, rng):
    """Results are the ones of the definition, and the bits where distances are results."""
    if change is special_values and name in WITHOUT_SPECIAL_VALUES:
        pytest.skip("no promise")
    arguments = list(cases.of_numpy(name, cases.arguments(name, **sizes)))
    # A RoI begins with the number of an image, and maxima are positions of samples.
    kept = "rois", "argmax_y", "argmax_x"
    for position, parameter in enumerate(inspect.signature(getattr(mluop_omp, name)).parameters):
        each = arguments[position]
        if getattr(each, "dtype", None) == np.float32 and parameter not in kept:
            arguments[position] = change(each, rng)
        if position in QUADS.get(name, ()):
            arguments[position] = without_crossing_sides(arguments[position], each)
    if name in FINITE_SIDES:
        for each in arguments[: 2 if name == "boxes_overlap_bev" else 1]:
            each[:, 3:5][np.isinf(each[:, 3:5])] = 1
    found, expected = (
        as_tuple(function(*arguments))
        for function in (getattr(mluop_omp, name), getattr(operators, name).definition)
    )
    tolerance = 0 if name in ("chamfer_distance", "knn", "three_nn") else 1e-5
    for output, each in zip(found, expected):
        assert_allclose(output, each, rtol=tolerance, atol=tolerance)
