"""Inputs and attributes of the nodes of suppression."""

from __future__ import annotations

from typing import Any

import numpy as np

Example = tuple[list[np.ndarray], dict[str, Any]]

BATCHED = {
    "num_classes": 3,
    "background_label_id": -1,
    "iou_threshold": 0.4,
    "score_threshold": 0.2,
    "topk": 10,
    "keep_topk": 12,
}


def corners(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Returns overlapping boxes (x1, y1, x2, y2)."""
    low = rng.uniform(0, 12, (*shape, 2))
    return np.concatenate((low, low + rng.uniform(2, 8, (*shape, 2))), -1).astype(np.float32)


def rotated(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Returns overlapping boxes (x, y, w, h, a)."""
    center, size = rng.uniform(0, 12, (*shape, 2)), rng.uniform(2, 9, (*shape, 2))
    angle = rng.uniform(-3, 3, (*shape, 1))
    return np.concatenate((center, size, angle), -1).astype(np.float32)


def scores(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Returns scores that are all different."""
    size = int(np.prod(shape))
    return ((rng.permutation(size) + 1) / (size + 1)).reshape(shape).astype(np.float32)


def nms_rotated(rng: np.random.Generator) -> Example:
    inputs = [rotated(rng, 2, 15), scores(rng, 2, 3, 15)]
    return inputs, {"iou_threshold": 0.2, "score_threshold": 0.3}


def nms_match(rng: np.random.Generator) -> Example:
    thresholds = [np.array([each], np.float32) for each in (0.3, 0.25)]
    return [corners(rng, 2, 15), scores(rng, 2, 3, 15), *thresholds], {}


def batched_nms(rng: np.random.Generator) -> Example:
    return [corners(rng, 2, 15, 1), scores(rng, 2, 15, 3)], dict(BATCHED)


def batched_rotated_nms(rng: np.random.Generator) -> Example:
    return [rotated(rng, 2, 15, 1), scores(rng, 2, 15, 3)], dict(BATCHED)


EXAMPLES = {
    "NMSRotated": nms_rotated,
    "NMSMatch": nms_match,
    "TRTBatchedNMS": batched_nms,
    "TRTBatchedRotatedNMS": batched_rotated_nms,
}
