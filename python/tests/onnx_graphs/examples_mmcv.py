"""Inputs and attributes of the nodes of mmcv's own symbolic functions."""

from __future__ import annotations

from typing import Any

import examples_rois
import numpy as np

Example = tuple[list[np.ndarray], dict[str, Any]]


def singles(rng: np.random.Generator, *shapes: tuple[int, ...]) -> list[np.ndarray]:
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


def soft_nms(rng: np.random.Generator) -> Example:
    low = rng.uniform(0, 20, (30, 2))
    boxes = np.concatenate((low, low + rng.uniform(5, 15, (30, 2))), 1).astype(np.float32)
    attributes = {
        "iou_threshold": 0.25,
        "sigma": 0.5,
        "min_score": 0.05,
        "method": 1,
        "offset": 0,
    }
    return [boxes, rng.uniform(0, 1, 30).astype(np.float32)], attributes


def masked_conv(rng: np.random.Generator) -> Example:
    features, weight, bias = singles(rng, (1, 3, 6, 7), (5, 3, 3, 3), (5,))
    mask = (rng.uniform(0, 1, (1, 6, 7)) < 0.4).astype(np.float32)
    return [features, mask, weight, bias], {"padding": [1, 1], "stride": 1}


def border_align(rng: np.random.Generator) -> Example:
    (image,) = singles(rng, (2, 8, 9, 11))
    boxes = np.stack([examples_rois.rois(rng, 6, 11.0)[:, 1:] for _ in range(2)])
    return [image, boxes], {"pool_size": 4}


def carafe(rng: np.random.Generator) -> Example:
    inputs = singles(rng, (2, 4, 3, 5), (2, 2 * 9, 6, 10))
    return inputs, {"kernel_size": 3, "group_size": 2, "scale_factor": 2.0}


def deform_roi_pool(rng: np.random.Generator) -> Example:
    (offset,) = singles(rng, (5, 2, 3, 4))
    attributes = {
        "pooled_height": 3,
        "pooled_width": 4,
        "spatial_scale": 0.25,
        "sampling_ratio": 2.0,
        "gamma": 0.2,
    }
    return [examples_rois.image(rng), examples_rois.rois(rng), offset], attributes


def prroi_pool(rng: np.random.Generator) -> Example:
    attributes = {"pooled_height": 3, "pooled_width": 4, "spatial_scale": 0.25}
    return [examples_rois.image(rng), examples_rois.rois(rng)], attributes


def psa_mask(rng: np.random.Generator) -> Example:
    return singles(rng, (2, 15, 4, 5)), {"psa_type": 1, "mask_size": [3, 5]}


def rotated_feature_align(rng: np.random.Generator) -> Example:
    (image,) = singles(rng, (2, 3, 5, 6))
    boxes = rng.uniform(0, 40, (2, 5, 6, 5))
    boxes[..., 4] = rng.uniform(-3, 3, (2, 5, 6))
    return [image, boxes.astype(np.float32)], {"spatial_scale": 0.125, "points": 5}


EXAMPLES = {
    "SoftNonMaxSuppression": soft_nms,
    "MMCVMaskedConv2d": masked_conv,
    "MMCVBorderAlign": border_align,
    "MMCVCARAFE": carafe,
    "MMCVCARAFENaive": carafe,
    "MMCVDeformRoIPool": deform_roi_pool,
    "PrRoIPool": prroi_pool,
    "MMCVPSAMask": psa_mask,
    "MMCVRotatedFeatureAlign": rotated_feature_align,
}
