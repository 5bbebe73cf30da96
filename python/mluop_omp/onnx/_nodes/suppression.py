"""Non-maximum suppression, as mmdeploy exports it: for each image and each class on its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mluop_omp._library import bad_param
from mluop_omp._operators.suppression import nms, nms_match, nms_rotated
from mluop_omp.onnx._nodes._checks import require_at_least, require_not_half, require_same_dtype
from mluop_omp.onnx._table import REQUIRED, Float, Integer, node

_MMDEPLOY = "open-mmlab/mmdeploy"
_THRESHOLDS = {"iou_threshold": REQUIRED(Float), "score_threshold": REQUIRED(Float)}
_BATCHED = {
    "num_classes": REQUIRED(Integer),
    "background_label_id": REQUIRED(Integer),
    **_THRESHOLDS,
    "topk": REQUIRED(Integer),
    "keep_topk": REQUIRED(Integer),
    "is_normalized": 0,
    "clip_boxes": 1,
}
# The rotated kernel takes a smaller area as none.
_LEAST_AREA = 1e-14
# Returns the indices of the boxes it keeps, in descending order of scores.
_Suppression = Callable[[np.ndarray, np.ndarray, float], np.ndarray]


def _classes(scores: np.ndarray) -> Iterator[tuple[int, int, np.ndarray]]:
    """Yields batch, class and the scores of that class, of scores [N, C, B]."""
    for batch, of_batch in enumerate(scores):
        for label, of_class in enumerate(of_batch):
            yield batch, label, of_class


def _rows(rows: list[np.ndarray], columns: int) -> np.ndarray:
    return np.concatenate([np.zeros((0, columns), np.int64), *rows])


@node(
    "mmdeploy",
    name="NMSRotated",
    inputs=("boxes", "scores"),
    shapes={"boxes": "N B 5", "scores": "N C B"},
    attributes=_THRESHOLDS,
    outputs=("indices",),
    operators=("nms_rotated",),
    source=_MMDEPLOY,
)
def nms_rotated_of_classes(
    boxes: np.ndarray, scores: np.ndarray, *, iou_threshold: float, score_threshold: float
) -> tuple[np.ndarray]:
    """Keeps the rotated boxes that overlap no kept box of their class with a higher score.

    Boxes with a score above score_threshold take part. In descending order of scores, a box is kept
    unless its IoU with a box kept before exceeds iou_threshold. A box is (x, y, w, h, a): its width
    lies along (cos a, sin a), its height along (-sin a, cos a), a in radians.

    Returns int64 rows (batch, class, box), sorted by batch, class, and descending score. Among
    equal scores, the lower index comes first; the kernel's order of them is undefined. float32 or
    float64.
    """
    require_not_half("boxes", boxes)
    require_same_dtype("boxes", boxes, "scores", scores)
    rows = []
    for batch, label, each in _classes(scores):
        chosen = np.flatnonzero(each > score_threshold)
        kept = chosen[nms_rotated(boxes[batch][chosen], each[chosen], iou_threshold)]
        rows.append(_with_class(batch, label, kept))
    return (_rows(rows, 3),)


def _with_class(batch: int, label: int, *columns: np.ndarray) -> np.ndarray:
    """Returns int64 rows (batch, label, columns...)."""
    first = np.broadcast_to(np.array([[batch, label]], np.int64), (len(columns[0]), 2))
    return np.concatenate((first, np.stack(columns, 1).astype(np.int64)), 1)


@node(
    "mmdeploy",
    name="NMSMatch",
    inputs=("boxes", "scores", "iou_threshold", "score_threshold"),
    shapes={"boxes": "N B 4", "scores": "N C B"},
    outputs=("indices",),
    operators=("nms_match",),
    source=_MMDEPLOY,
)
def nms_match_of_classes(
    boxes: np.ndarray, scores: np.ndarray, iou_threshold: np.ndarray, score_threshold: np.ndarray
) -> tuple[np.ndarray]:
    """Lists which boxes each kept box suppresses, class by class.

    In descending order of scores, a box that no box has suppressed is kept; it suppresses each
    later box of the class whose IoU with it is iou_threshold or more. Boxes are (x1, y1, x2, y2).
    Both thresholds are inputs with one element.

    Returns int64 rows (batch, class, kept box, suppressed box) for kept boxes with a score above
    score_threshold, sorted by batch, class, and descending scores of the kept and of the suppressed
    box. A kept box that suppresses none has no row. As in the kernel, boxes of any score take part
    and are listed as suppressed; the function that mmdeploy traces drops boxes of lower scores
    beforehand. Among equal scores, the lower index comes first. float32 or float64.
    """
    require_not_half("boxes", boxes)
    require_same_dtype("boxes", boxes, "scores", scores)
    iou = _number("iou_threshold", iou_threshold)
    least = _number("score_threshold", score_threshold)
    rows = []
    for batch, label, each in _classes(scores):
        members, sizes = nms_match(np.concatenate((boxes[batch], each[:, None]), 1), iou)
        kept = np.repeat(members[np.cumsum(sizes) - sizes], sizes)
        is_row = (members != kept) & (each[kept] > least)
        rows.append(_with_class(batch, label, kept[is_row], members[is_row]))
    return (_rows(rows, 4),)


def _number(name: str, array: np.ndarray) -> float:
    if array.shape not in ((1,), ()):
        raise bad_param(f"input {name} has shape {list(array.shape)}, expected [1]")
    return float(array.reshape(()))


@node(
    "mmdeploy",
    name="TRTBatchedNMS",
    inputs=("boxes", "scores"),
    shapes={"boxes": "N B _ 4", "scores": "N B C"},
    attributes={**_BATCHED, "return_index": 0},
    outputs=("dets", "labels", "index?"),
    operators=("nms",),
    source=_MMDEPLOY,
)
def batched_nms(
    boxes: np.ndarray, scores: np.ndarray, *, return_index: int, **attributes: Any
) -> tuple[np.ndarray, ...]:
    """Suppresses the boxes (x1, y1, x2, y2) of each class, and keeps the best of all classes.

    In each class except background_label_id, the boxes with a score above score_threshold take
    part, in descending order of scores: the first topk; all if topk is at most 0 or above B. A box
    is kept unless its IoU with a box kept before exceeds iou_threshold. The keep_topk best of all
    kept boxes are returned in descending order of scores. Among equal scores, the lower class and
    then the lower index comes first.

    boxes [N, B, 1, 4] are shared by the classes; [N, B, C, 4] holds a box for each class. Returns

    - dets [N, keep_topk, 5]: the box, clamped to 0..1 if clip_boxes, and its score;
    - labels [N, keep_topk];
    - index [N, keep_topk], if return_index: the box; label * B + box if each class has its own.

    Rows without a box hold 0, label -1 and index -1. is_normalized has no effect, as in the kernel.
    labels and index are int64, as in the traced graph; the plugin writes int32. If keep_topk
    exceeds the boxes that take part, the outputs end with rows without a box; the plugin leaves
    them unwritten. The plugin sorts rows without a box as scores of 0, so its order differs where a
    negative score_threshold keeps scores of 0 or less.
    """
    outputs = _batched(nms, boxes, scores, **attributes)
    return outputs if return_index else outputs[:2]


@node(
    "mmdeploy",
    name="TRTBatchedRotatedNMS",
    inputs=("boxes", "scores"),
    shapes={"boxes": "N B _ 5", "scores": "N B C"},
    attributes=_BATCHED,
    outputs=("dets", "labels"),
    operators=("nms_rotated",),
    source=_MMDEPLOY,
)
def batched_rotated_nms(
    boxes: np.ndarray, scores: np.ndarray, **attributes: Any
) -> tuple[np.ndarray, ...]:
    """As TRTBatchedNMS, with rotated boxes (x, y, w, h, a) as in NMSRotated; dets have 6 columns.

    clip_boxes clamps all five numbers of a box to 0..1, as the kernel does. As in the kernel, a box
    with an area below 1e-14 has the IoU 1 with every box.
    """
    require_not_half("boxes", boxes)
    return _batched(_rotated, boxes, scores, **attributes)[:2]


def _rotated(boxes: np.ndarray, scores: np.ndarray, iou_threshold: float) -> np.ndarray:
    """Suppresses rotated boxes in descending order of scores; some boxes may have no area."""
    is_flat = boxes[:, 2] * boxes[:, 3] < _LEAST_AREA
    if not iou_threshold < 1 or not is_flat.any():
        return nms_rotated(boxes, scores, iou_threshold)
    # The first box is kept. It suppresses all boxes if it has no area, else those without area.
    if is_flat[0]:
        return np.zeros(1, np.int32)
    rest = np.flatnonzero(~is_flat)
    return rest[nms_rotated(boxes[rest], scores[rest], iou_threshold)]


def _batched(
    suppression: _Suppression,
    boxes: np.ndarray,
    scores: np.ndarray,
    *,
    num_classes: int,
    background_label_id: int,
    iou_threshold: float,
    score_threshold: float,
    topk: int,
    keep_topk: int,
    is_normalized: int,
    clip_boxes: int,
) -> tuple[np.ndarray, ...]:
    """Returns dets, labels and index. Not read: is_normalized."""
    require_same_dtype("boxes", boxes, "scores", scores)
    require_at_least("attribute keep_topk", keep_topk, 0)
    N, B, C = scores.shape
    if num_classes != C:
        raise bad_param(f"attribute num_classes is {num_classes}, expected {C}, as scores dim 2")
    if boxes.shape[2] not in (1, C):
        raise bad_param(
            f"input boxes dim 2 is {boxes.shape[2]}, expected 1 or {C}, as scores dim 2"
        )
    if not 0 < topk <= B:
        topk = B
    columns = boxes.shape[3]
    dets = np.zeros((N, keep_topk, columns + 1), boxes.dtype)
    labels = np.full((N, keep_topk), -1, np.int64)
    index = labels.copy()
    for n in range(N):
        box, label = _best(
            suppression,
            *(boxes[n], scores[n], iou_threshold, score_threshold),
            *(background_label_id, topk, keep_topk),
        )
        of_class = label if boxes.shape[2] > 1 else np.zeros_like(label)
        found = boxes[n, box, of_class]
        dets[n, : len(box), :columns] = found.clip(0, 1) if clip_boxes else found
        dets[n, : len(box), columns] = scores[n, box, label]
        labels[n, : len(box)] = label
        index[n, : len(box)] = of_class * B + box
    return dets, labels, index


def _best(
    suppression: _Suppression,
    boxes: np.ndarray,
    scores: np.ndarray,
    iou_threshold: float,
    score_threshold: float,
    background: int,
    topk: int,
    keep_topk: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Returns box and class of the keep_topk best kept boxes, of boxes [B, 1 or C, columns]."""
    kept, labels = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for label in range(scores.shape[1]):
        of_class = scores[:, label]
        chosen = np.flatnonzero(of_class > score_threshold)
        if label == background or len(chosen) == 0:
            continue
        chosen = chosen[np.argsort(-of_class[chosen], kind="stable")][:topk]
        own = np.ascontiguousarray(boxes[chosen, label if boxes.shape[1] > 1 else 0])
        kept.append(chosen[suppression(own, of_class[chosen], iou_threshold)])
        labels.append(np.full(len(kept[-1]), label))
    box, label = np.concatenate(kept), np.concatenate(labels)
    best = np.argsort(-scores[box, label], kind="stable")[:keep_topk]
    return box[best], label[best]
