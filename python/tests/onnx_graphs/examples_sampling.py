"""Inputs and attributes of the nodes of grid sampling and rotation."""

from __future__ import annotations

from typing import Any

import numpy as np

Example = tuple[list[np.ndarray], dict[str, Any]]


def image_and_grid(rng: np.random.Generator, dimensions: int = 2) -> list[np.ndarray]:
    """Returns an image or a volume, and a grid that reaches out of it."""
    sizes, out = (5, 6, 7)[-dimensions:], (2, 3, 4)[-dimensions:]
    image = rng.standard_normal((2, 3, *sizes)).astype(np.float32)
    grid = rng.uniform(-1.8, 1.8, (2, *out, dimensions)).astype(np.float32)
    return [image, grid]


def planes(grid: np.ndarray) -> np.ndarray:
    """Returns a grid as BEVFormer_tensorrt has it."""
    return np.ascontiguousarray(10 * np.moveaxis(grid, -1, 1))


def grid_sampler(rng: np.random.Generator) -> Example:
    modes = {"interpolation_mode": 1, "padding_mode": 2, "align_corners": 1}
    return image_and_grid(rng), modes


def grid_sampler_2d(rng: np.random.Generator) -> Example:
    (image, grid), modes = grid_sampler(rng)
    return [image, planes(grid)], modes


def grid_sampler_3d(rng: np.random.Generator) -> Example:
    image, grid = image_and_grid(rng, 3)
    return [image, planes(grid)], {"interpolation_mode": 0, "padding_mode": 1, "align_corners": 1}


def rotate(rng: np.random.Generator) -> Example:
    image = rng.standard_normal((3, 6, 7)).astype(np.float32)
    angle, center = np.array([33.0], np.float32), np.array([2.5, 4.0], np.float32)
    return [image, angle, center], {"interpolation": 0}


EXAMPLES = {
    "grid_sampler": grid_sampler,
    "GridSampler2DTRT": grid_sampler_2d,
    "GridSampler2DTRT2": grid_sampler_2d,
    "GridSampler3DTRT": grid_sampler_3d,
    "GridSampler3DTRT2": grid_sampler_3d,
    "RotateTRT": rotate,
    "RotateTRT2": rotate,
    "RotatePlugin": rotate,
}
