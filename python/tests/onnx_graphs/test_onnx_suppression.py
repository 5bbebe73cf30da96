"""Nodes of suppression against plain loops."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

pytest.importorskip("onnx", reason="requires onnx")

import examples_suppression as examples  # noqa: E402
import onnx_boxes as plain  # noqa: E402
from onnx_graph import evaluate  # noqa: E402

from mluop_omp import MluOpError  # noqa: E402


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def expect(rows: list[list[int]], columns: int) -> np.ndarray:
    return np.array(rows, np.int64).reshape(-1, columns)


def assert_same(found: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_array_equal(found, expected, strict=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("iou, least", [(0.1, 0.0), (0.3, 0.5), (0.7, 0.9), (0.1, 1.0)])
def test_nms_rotated(dtype, iou, least):
    boxes, scores = (each.astype(dtype) for each in examples.nms_rotated(rng(1))[0])
    attributes = {"iou_threshold": iou, "score_threshold": least}
    (found,) = evaluate("mmdeploy", "NMSRotated", [boxes, scores], attributes)
    assert_same(found, expect(plain.rows_of_rotated(boxes, scores, iou, least), 3))


def test_equal_scores_are_in_order_of_boxes():
    boxes = examples.rotated(rng(), 1, 20)
    boxes[..., :2] *= 100
    scores = np.full((1, 2, 20), 0.5, np.float32)
    attributes = {"iou_threshold": 0.5, "score_threshold": 0.0}
    (found,) = evaluate("mmdeploy", "NMSRotated", [boxes, scores], attributes)
    assert found.tolist() == [[0, label, box] for label in range(2) for box in range(20)]


@pytest.mark.parametrize("shape", [(0, 3, 15), (2, 0, 15), (2, 3, 0)])
def test_empty_inputs(shape):
    N, C, B = shape
    scores = np.zeros(shape, np.float32)
    attributes = {"iou_threshold": 0.5, "score_threshold": 0.0}
    rotated = np.zeros((N, B, 5), np.float32)
    (found,) = evaluate("mmdeploy", "NMSRotated", [rotated, scores], attributes)
    assert_same(found, np.zeros((0, 3), np.int64))
    thresholds = [np.zeros(1, np.float32)] * 2
    inputs = [rotated[..., :4].copy(), scores, *thresholds]
    (found,) = evaluate("mmdeploy", "NMSMatch", inputs)
    assert_same(found, np.zeros((0, 4), np.int64))
    attributes = {**examples.BATCHED, "num_classes": C}
    inputs = [rotated[:, :, None], scores.transpose(0, 2, 1)]
    dets, labels = evaluate("mmdeploy", "TRTBatchedRotatedNMS", inputs, attributes, outputs=2)
    assert_same(dets, np.zeros((N, 12, 6), np.float32))
    assert_same(labels, np.full((N, 12), -1, np.int64))


def matches(boxes: np.ndarray, scores: np.ndarray, iou: float, least: float) -> list[list[int]]:
    rows = []
    for batch, label in itertools.product(*map(range, scores.shape[:2])):
        each, remaining = scores[batch, label], plain.by_score(scores[batch, label], -1)
        while remaining:
            best, *remaining = remaining
            ious = [plain.iou_of_corners(boxes[batch, best], boxes[batch, i]) for i in remaining]
            taken = [index for index, value in zip(remaining, ious) if value >= iou]
            remaining = [index for index in remaining if index not in taken]
            if each[best] > least:
                rows += [[batch, label, best, index] for index in taken]
    return rows


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("iou, least", [(0.2, 0.0), (0.2, 0.6), (0.5, 0.3), (0.9, 0.0)])
def test_nms_match(dtype, iou, least):
    boxes, scores, *_ = examples.nms_match(rng(2))[0]
    inputs = [each.astype(dtype) for each in (boxes, scores)]
    thresholds = [np.array([each], np.float32) for each in (iou, least)]
    (found,) = evaluate("mmdeploy", "NMSMatch", [*inputs, *thresholds])
    assert_same(found, expect(matches(boxes, scores, iou, least), 4))


def test_nms_match_lists_suppressed_boxes_of_any_score():
    boxes = np.array([[[0, 0, 4, 4], [0, 0, 4, 5], [20, 20, 24, 24]]], np.float32)
    scores = np.array([[[0.9, 0.1, 0.8]]], np.float32)
    thresholds = [np.array([each], np.float32) for each in (0.5, 0.5)]
    (found,) = evaluate("mmdeploy", "NMSMatch", [boxes, scores, *thresholds])
    assert found.tolist() == [[0, 0, 0, 1]]


def test_a_score_that_equals_the_threshold_takes_no_part():
    """Two boxes whose scores are 0.5 and 0.75; each suppresses the one after it."""
    corners = np.array(
        [[[0, 0, 4, 4], [0, 0, 4, 5], [20, 20, 24, 24], [20, 20, 24, 25]]], np.float32
    )
    scores = np.array([[[0.5, 0.25, 0.75, 0.625]]], np.float32)
    rotated = np.array([[[2, 2, 4, 4, 0], [2, 9, 4, 4, 0], [22, 22, 4, 4, 0]]], np.float32)
    thresholds = {"iou_threshold": 0.5, "score_threshold": 0.5}
    inputs = [np.full(1, each, np.float32) for each in thresholds.values()]
    (found,) = evaluate("mmdeploy", "NMSMatch", [corners, scores, *inputs])
    assert found.tolist() == [[0, 0, 2, 3]]
    (found,) = evaluate("mmdeploy", "NMSRotated", [rotated, scores[..., :3]], thresholds)
    assert found.tolist() == [[0, 0, 2]]
    attributes = {**examples.BATCHED, **thresholds, "num_classes": 1, "background_label_id": -1}
    for name, boxes in (("TRTBatchedNMS", corners), ("TRTBatchedRotatedNMS", rotated)):
        given = [boxes[:, :, None], scores.transpose(0, 2, 1)[:, : boxes.shape[1]]]
        dets, labels = evaluate("mmdeploy", name, given, attributes, outputs=2)
        assert dets[0, :2, -1].tolist() == [0.75, 0] and labels[0, :2].tolist() == [0, -1]


VARIANTS = [
    {},
    {"clip_boxes": 0},
    {"clip_boxes": 0, "topk": -1, "keep_topk": 60, "is_normalized": 1},
    {"clip_boxes": 0, "topk": 4, "keep_topk": 3},
    {"clip_boxes": 1, "topk": 0, "background_label_id": 1},
    {"clip_boxes": 0, "topk": 99, "iou_threshold": 0.05, "score_threshold": 0.7},
    {"score_threshold": 1.0},
    {"keep_topk": 0},
]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("box_classes", [1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_batched_nms(variant, box_classes, dtype):
    attributes = {**examples.BATCHED, **variant}
    inputs = [examples.corners(rng(3), 2, 15, box_classes), examples.scores(rng(4), 2, 15, 3)]
    inputs = [each.astype(dtype) for each in inputs]
    expected = plain.batched(*inputs, plain.iou_of_corners, **attributes)
    for count in (2, 3):
        given = {**attributes, **({"return_index": 1} if count == 3 else {})}
        found = evaluate("mmdeploy", "TRTBatchedNMS", inputs, given, outputs=count)
        for each, other in zip(found, expected):
            assert_same(each, other)
    if not variant:
        assert (expected[1] >= 0).any(1).all() and (expected[0][..., :4] <= 1).all()


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("box_classes", [1, 3])
def test_batched_rotated_nms(variant, box_classes):
    attributes = {**examples.BATCHED, **variant}
    inputs = [examples.rotated(rng(5), 2, 15, box_classes), examples.scores(rng(6), 2, 15, 3)]
    expected = plain.batched(*inputs, plain.iou_of_rotated, **attributes)
    found = evaluate("mmdeploy", "TRTBatchedRotatedNMS", inputs, attributes, outputs=2)
    for each, other in zip(found, expected):
        assert_same(each, other)


def flat_iou(a, b):
    """As the kernel: 1 if a box has no area."""
    return 1.0 if min(a[2] * a[3], b[2] * b[3]) < 1e-14 else plain.iou_of_rotated(a, b)


@pytest.mark.parametrize("threshold", [0.3, 1.0])
@pytest.mark.parametrize("best", [False, True])
def test_boxes_without_area(threshold, best):
    boxes, scores = examples.rotated(rng(7), 1, 15, 1), examples.scores(rng(8), 1, 15, 3)
    first = scores[0, :, 0].argmax()
    boxes[0, [first if best else scores[0, :, 0].argmin(), 3], :, 2] = 0
    attributes = {**examples.BATCHED, "clip_boxes": 0, "topk": -1, "iou_threshold": threshold}
    expected = plain.batched(boxes, scores, flat_iou, **attributes)
    found = evaluate("mmdeploy", "TRTBatchedRotatedNMS", [boxes, scores], attributes, outputs=2)
    for each, other in zip(found, expected):
        assert_same(each, other)


def test_float16():
    boxes, scores = (each.astype(np.float16) for each in examples.batched_nms(rng(9))[0])
    attributes = {**examples.BATCHED, "clip_boxes": 0}
    found = evaluate("mmdeploy", "TRTBatchedNMS", [boxes, scores], attributes, outputs=2)
    expected = plain.batched(
        boxes.astype(np.float64), scores.astype(np.float64), plain.iou_of_corners, **attributes
    )
    assert_same(found[0], expected[0].astype(np.float16))
    assert_same(found[1], expected[1])


ROTATED, SCORES = np.zeros((1, 4, 5), np.float32), np.zeros((1, 3, 4), np.float32)
CORNERS, BY_BOX = np.zeros((1, 4, 1, 4), np.float32), np.zeros((1, 4, 3), np.float32)
ONE = np.zeros(1, np.float32)


@pytest.mark.parametrize(
    "name, inputs, attributes, message",
    [
        ("NMSRotated", [ROTATED, SCORES.astype(float)], {}, "scores has dtype float64, expected f"),
        (
            "NMSRotated",
            [ROTATED[:, :3], SCORES],
            {},
            "scores has dimension 2 of size 4, expected 3",
        ),
        ("NMSRotated", [ROTATED.astype("f2"), SCORES.astype("f2")], {}, "boxes has dtype float16"),
        (
            "NMSMatch",
            [ROTATED[..., :4], SCORES, np.zeros(2, np.float32), ONE],
            None,
            r"iou_threshold has shape \[2\], expected \[1\]",
        ),
        ("TRTBatchedNMS", [CORNERS, BY_BOX], {"num_classes": 4}, "num_classes is 4, expected 3"),
        ("TRTBatchedNMS", [CORNERS, BY_BOX], {"keep_topk": -1}, "keep_topk is -1, expected at le"),
        (
            "TRTBatchedNMS",
            [np.repeat(CORNERS, 2, 2), BY_BOX],
            {},
            "boxes dim 2 is 2, expected 1 or 3",
        ),
    ],
)
def test_errors(name, inputs, attributes, message):
    thresholds = {"iou_threshold": 0.5, "score_threshold": 0.0}
    if attributes is not None:
        attributes = {**(thresholds if name == "NMSRotated" else examples.BATCHED), **attributes}
    inputs = [np.ascontiguousarray(each) for each in inputs]
    with pytest.raises(MluOpError, match=f"^{name}: .*{message}"):
        evaluate("mmdeploy", name, inputs, attributes, outputs=2 if "Batched" in name else 1)
