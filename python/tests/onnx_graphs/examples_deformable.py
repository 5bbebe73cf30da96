"""Inputs and attributes of the nodes of deformable convolution."""

from __future__ import annotations

from typing import Any

import numpy as np

Example = tuple[list[np.ndarray], dict[str, Any]]

GEOMETRY = {
    "stride": [2, 1],
    "padding": [1, 2],
    "dilation": [1, 2],
    "groups": 2,
    "deform_groups": 2,
}


def singles(rng: np.random.Generator, *shapes: tuple[int, ...]) -> list[np.ndarray]:
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


def modulated(rng: np.random.Generator, geometry: dict[str, Any] | None = None) -> list[np.ndarray]:
    """Returns input, offset, mask, weight and bias, with a filter of 3 x 2 points."""
    geometry = {**GEOMETRY, **(geometry or {})}
    N, Ci, Co, size, kernel, groups = 2, 4, 6, (8, 7), (3, 2), geometry["deform_groups"]
    strides, dilations = geometry["stride"], geometry["dilation"]
    # (h, h, w, w) as mmdeploy has it, or (h, w).
    pads = geometry["padding"][0], geometry["padding"][-1]
    out = [
        (extent + 2 * pad - dilation * (points - 1) - 1) // stride + 1
        for extent, points, pad, stride, dilation in zip(size, kernel, pads, strides, dilations)
    ]
    points = groups * kernel[0] * kernel[1]
    image, offset, mask = singles(rng, (N, Ci, *size), (N, 2 * points, *out), (N, points, *out))
    weight, bias = singles(rng, (Co, Ci // geometry["groups"], *kernel), (Co,))
    return [image, 2 * offset, 1 / (1 + np.exp(-mask)), weight, bias]


def deform_conv(rng: np.random.Generator) -> Example:
    image, offset, _, weight, _ = modulated(rng)
    return [image, offset, weight], dict(GEOMETRY)


def modulated_deform_conv(rng: np.random.Generator) -> Example:
    return modulated(rng), dict(GEOMETRY)


EXAMPLES = {
    "MMCVDeformConv2d": deform_conv,
    "MMCVModulatedDeformConv2d": modulated_deform_conv,
    "ModulatedDeformableConv2dTRT": modulated_deform_conv,
    "ModulatedDeformableConv2dTRT2": modulated_deform_conv,
}
