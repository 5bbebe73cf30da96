"""Suppression of boxes by plain loops, in double."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Point = tuple[float, float]
Iou = Callable[[Sequence[float], Sequence[float]], float]


def iou_of_corners(a: Sequence[float], b: Sequence[float]) -> float:
    """The IoU of boxes (x1, y1, x2, y2)."""
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    shared = max(width, 0) * max(height, 0)
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (a, b)]
    return shared / (sum(areas) - shared)


def iou_of_rotated(a: Sequence[float], b: Sequence[float]) -> float:
    """The IoU of boxes (x, y, w, h, angle)."""
    shared = area(clipped(vertices(a), vertices(b)))
    return shared / (a[2] * a[3] + b[2] * b[3] - shared)


def vertices(box: Sequence[float]) -> list[Point]:
    x, y, w, h, angle = map(float, box)
    cos, sin = math.cos(angle), math.sin(angle)
    return [
        (x + u * w * cos - v * h * sin, y + u * w * sin + v * h * cos)
        for u, v in ((-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5))
    ]


def clipped(polygon: list[Point], by: list[Point]) -> list[Point]:
    """Returns the part of a polygon inside a convex one, by cutting at each of its edges."""
    for (x1, y1), (x2, y2) in zip(by, by[1:] + by[:1]):
        side = [(x2 - x1) * (y - y1) - (y2 - y1) * (x - x1) for x, y in polygon]
        corners = []
        for index, (point, s) in enumerate(zip(polygon, side)):
            before, t = polygon[index - 1], side[index - 1]
            if s * t < 0:
                part = t / (t - s)
                corners.append(tuple(p + part * (q - p) for p, q in zip(before, point)))
            if s >= 0:
                corners.append(point)
        polygon = corners
    return polygon


def area(polygon: list[Point]) -> float:
    return sum(x * v - u * y for (x, y), (u, v) in zip(polygon, polygon[1:] + polygon[:1])) / 2


def by_score(scores: Sequence[float], threshold: float) -> list[int]:
    """Returns the boxes with a score above the threshold, the best first."""
    above = [index for index, score in enumerate(scores) if score > threshold]
    return sorted(above, key=lambda index: -scores[index])


def kept(boxes: np.ndarray, order: list[int], threshold: float, iou: Iou) -> list[int]:
    """Returns the boxes that no box before them in the order suppresses."""
    found: list[int] = []
    for index in order:
        if not any(iou(boxes[other], boxes[index]) > threshold for other in found):
            found.append(index)
    return found


def rows_of_rotated(
    boxes: np.ndarray, scores: np.ndarray, iou_threshold: float, score_threshold: float
) -> list[list[int]]:
    """Returns batch, class and box of boxes [N, B, 5] kept by scores [N, classes, B]."""
    return [
        [batch, label, index]
        for batch, of_batch in enumerate(scores)
        for label, each in enumerate(of_batch)
        for index in kept(
            boxes[batch], by_score(each, score_threshold), iou_threshold, iou_of_rotated
        )
    ]


def batched(boxes: np.ndarray, scores: np.ndarray, iou: Iou, **attributes: Any) -> list[np.ndarray]:
    """Returns dets, labels and index of boxes [N, B, 1 or C, columns] and scores [N, B, C]."""
    (N, B, C), columns, keep = scores.shape, boxes.shape[3], attributes["keep_topk"]
    dets = np.zeros((N, keep, columns + 1), boxes.dtype)
    labels, index = np.full((2, N, keep), -1)
    topk = attributes["topk"] if 0 < attributes["topk"] <= B else B
    for n in range(N):
        found = []
        for c in set(range(C)) - {attributes["background_label_id"]}:
            own = boxes[n, :, c % boxes.shape[2]]
            order = by_score(scores[n, :, c], attributes["score_threshold"])[:topk]
            best = kept(own, order, attributes["iou_threshold"], iou)
            found += [(-scores[n, b, c], c, b, own[b]) for b in best]
        for row, (score, c, b, box) in enumerate(sorted(found, key=lambda each: each[:3])[:keep]):
            dets[n, row, :-1] = np.clip(box, 0, 1) if attributes.get("clip_boxes", 1) else box
            dets[n, row, -1], labels[n, row] = -score, c
            index[n, row] = b if boxes.shape[2] == 1 else c * B + b
    return [dets, labels, index]
