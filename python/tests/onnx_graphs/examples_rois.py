"""Inputs and attributes of the nodes of RoI align."""

from __future__ import annotations

from typing import Any

import numpy as np

Example = tuple[list[np.ndarray], dict[str, Any]]


def image(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((2, 3, 9, 11)).astype(np.float32)


def rois(rng: np.random.Generator, count: int = 5, extent: float = 50.0) -> np.ndarray:
    """Returns RoIs (image, x1, y1, x2, y2); some reach out of the image."""
    low = rng.uniform(-0.1 * extent, 0.6 * extent, (count, 2))
    high = low + rng.uniform(0.02 * extent, 0.6 * extent, (count, 2))
    images = rng.integers(0, 2, (count, 1))
    return np.concatenate((images, low, high), 1).astype(np.float32)


def rotated_rois(rng: np.random.Generator) -> np.ndarray:
    low, high = np.split(rois(rng)[:, 1:], 2, 1)
    angles = rng.uniform(-3, 3, (5, 1))
    images = rng.integers(0, 2, (5, 1))
    columns = images, (low + high) / 2, high - low, angles
    return np.concatenate(columns, 1).astype(np.float32)


def roi_align(rng: np.random.Generator) -> Example:
    attributes = {
        "output_height": 3,
        "output_width": 4,
        "spatial_scale": 0.25,
        "sampling_ratio": 2,
        "mode": "avg",
        "aligned": 0,
    }
    return [image(rng), rois(rng)], attributes


def roi_align_of_tensorrt(rng: np.random.Generator) -> Example:
    boxes = rois(rng)
    attributes = {
        "output_height": 3,
        "output_width": 4,
        "spatial_scale": 0.25,
        "sampling_ratio": 2,
        "mode": 0,
        "coordinate_transformation_mode": 0,
    }
    return [image(rng), boxes[:, 1:].copy(), boxes[:, 0].astype(np.int32)], attributes


def roi_align_rotated(rng: np.random.Generator) -> Example:
    attributes = {
        "output_height": 3,
        "output_width": 4,
        "spatial_scale": 0.25,
        "sampling_ratio": 2,
        "aligned": 1,
        "clockwise": 1,
    }
    return [image(rng), rotated_rois(rng)], attributes


def multi_level(rng: np.random.Generator) -> Example:
    """RoIs of three levels, and two RoIs of a negative area and of none."""
    sizes = (16, 20), (8, 10), (4, 5)
    maps = [rng.standard_normal((2, 3, *size)).astype(np.float32) for size in sizes]
    boxes = [rois(rng, 3, extent) for extent in (40.0, 90.0, 180.0)]
    odd = np.array([[0, 30, 10, 20, 40], [1, 30, 10, 30, 40]], np.float32)
    attributes = {
        "output_height": 2,
        "output_width": 3,
        "pool_mode": 1,
        "sampling_ratio": 1,
        "roi_scale_factor": 1.5,
        "finest_scale": 12,
        "featmap_strides": [4.0, 8.0, 16.0],
        "aligned": 1,
    }
    return [np.concatenate((*boxes, odd)), *maps], attributes


EXAMPLES = {
    "MMCVRoiAlign": roi_align,
    "ROIAlign_TRT": roi_align_of_tensorrt,
    "MMCVRoIAlignRotated": roi_align_rotated,
    "MMCVMultiLevelRoiAlign": multi_level,
}
