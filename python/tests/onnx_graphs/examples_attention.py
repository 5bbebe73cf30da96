"""Inputs and attributes of the nodes of multi-scale deformable attention."""

from __future__ import annotations

from typing import Any

import numpy as np

Example = tuple[list[np.ndarray], dict[str, Any]]

SHAPES = np.array([[6, 5], [3, 4], [1, 2]])


def at_locations(rng: np.random.Generator, integer: type = np.int64) -> list[np.ndarray]:
    """Returns the inputs of a node that takes locations, partly outside of a level."""
    N, Q, M, D, P = 2, 7, 3, 4, 2
    keys = SHAPES.prod(1)
    value = rng.standard_normal((N, keys.sum(), M, D)).astype(np.float32)
    starts = np.cumsum([0, *keys[:-1]])
    locations = rng.uniform(-0.2, 1.2, (N, Q, M, len(SHAPES), P, 2)).astype(np.float32)
    weights = rng.uniform(0, 1, locations.shape[:-1]).astype(np.float32)
    return [value, SHAPES.astype(integer), starts.astype(integer), locations, weights]


def at_offsets(
    rng: np.random.Generator, references: int = 1, integer: type = np.int64
) -> list[np.ndarray]:
    """Returns the inputs of a node that takes reference points and offsets."""
    N, Q, M, D, L, P = 2, 7, 3, 4, len(SHAPES), 4
    value = rng.standard_normal((N, SHAPES.prod(1).sum(), M, D)).astype(np.float32)
    points = rng.uniform(0, 1, (N, Q, 1, 2 * references)).astype(np.float32)
    offsets = (2 * rng.standard_normal((N, Q, M, L * P * 2))).astype(np.float32)
    weights = rng.standard_normal((N, Q, M, L * P)).astype(np.float32)
    return [value, SHAPES.astype(integer), points, offsets, weights]


def mmcv_attention(rng: np.random.Generator) -> Example:
    return at_locations(rng), {"im2col_step": 64}


def attention(rng: np.random.Generator) -> Example:
    return at_locations(rng), {}


def attention_at_offsets(rng: np.random.Generator) -> Example:
    return at_offsets(rng, 2), {}


EXAMPLES = {
    "MMCVMultiScaleDeformableAttention": mmcv_attention,
    "MultiScaleDeformableAttentionPlugin": attention,
    "MultiscaleDeformableAttnPlugin_TRT": attention,
    "MultiScaleDeformableAttnTRT": attention_at_offsets,
    "MultiScaleDeformableAttnTRT2": attention_at_offsets,
}
