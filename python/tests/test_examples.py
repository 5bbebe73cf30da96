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


def examples_of_points():
    far = [[(x, 0, 0) for x in (2e5, NAN, 1e5, 99999)]]
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
EXAMPLES = [*examples_of_boxes(), *examples_of_quads(), *examples_of_points()]


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
    ("convex_iou", {"polygons": columns(9)}, "polygons"),
    ("convex_giou", {"polygons": first(2)}, "polygons"),
    ("min_area_polygons", {"pointsets": columns(16)}, "pointsets"),
    ("points_in_polygons", {"points": columns(3)}, "points"),
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
    tolerance = 0 if name in ("knn", "three_nn") else 1e-5
    for output, each in zip(found, expected):
        assert_allclose(output, each, rtol=tolerance, atol=tolerance)
