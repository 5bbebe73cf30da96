#!/usr/bin/env python3
"""Draws what two operators compute: the density of a camera rig in bird's-eye view, and the voxels
of a LiDAR cloud.

    python3 python/examples/pictures.py pictures.png

Voxel pooling (BEVDepth) sums the features of the frustum points of six cameras for each cell of a
grid; with features of 1 it counts them. Voxelization (PointPillars, CenterPoint) collects the
points of a cloud for each voxel. Both inputs are synthetic; the formulas below make them.
"""

from __future__ import annotations

import sys

import matplotlib
import numpy as np

import mluop_omp

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

# Degrees to the left of the direction of travel.
CAMERAS = {
    "front": 0,
    "front left": 55,
    "back left": 110,
    "back": 180,
    "back right": -110,
    "front right": -55,
}
RANGE, CELLS = 51.2, 128


def frustum_points() -> np.ndarray:
    """Returns the points [6, 112, 16, 44, 3] of all pixels and depths of the cameras, in metres."""
    depth = np.linspace(2, 58, 112)[:, None, None]
    row = np.linspace(-0.26, 0.26, 16)[:, None]
    column = np.linspace(-0.63, 0.63, 44)
    forward, left, up = np.broadcast_arrays(depth, -column * depth, -row * depth + 1.6)
    points = []
    for degrees in CAMERAS.values():
        c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
        points.append(np.stack((c * forward - s * left, s * forward + c * left, up), axis=-1))
    return np.stack(points)


def camera_density() -> np.ndarray:
    """Returns the number of frustum points [128, 128] of each cell of 0.8 m."""
    points = frustum_points().reshape(1, -1, 3)
    size = 2 * RANGE / CELLS
    cells = np.floor((points - (-RANGE, -RANGE, -5)) / (size, size, 8)).astype(np.int32)
    ones = np.ones((*cells.shape[:2], 1), np.float32)
    counts, _ = mluop_omp.voxel_pooling(cells, ones, (CELLS, CELLS, 1))
    return counts[0, :, :, 0]


def lidar_cloud(rng: np.random.Generator) -> np.ndarray:
    """Returns a turn of 32 beams [N, 3] over flat ground, among boxes and a wall, in metres."""
    elevation = np.radians(np.linspace(-25, 5, 32))[:, None]
    azimuth = np.linspace(-np.pi, np.pi, 1084, endpoint=False)[None, :]
    direction = np.stack(
        np.broadcast_arrays(
            np.cos(elevation) * np.cos(azimuth),
            np.cos(elevation) * np.sin(azimuth),
            np.sin(elevation),
        ),
        axis=-1,
    ).reshape(-1, 3)
    with np.errstate(divide="ignore"):
        distance = np.where(direction[:, 2] < 0, -1.8 / direction[:, 2], np.inf)
    boxes = [(x, y, 4.5, 1.9) for x, y in ((12, 3.5), (-9, -3.5), (22, -4), (-20, 4), (6, -9))]
    boxes.append((0, 30, 90, 1))
    for x, y, length, width in boxes:
        low, high = (
            np.array([x - length / 2, y - width / 2, -1.8]),
            np.array([x + length / 2, y + width / 2, 0]),
        )
        if width == 1:
            high[2] = 4
        with np.errstate(divide="ignore", invalid="ignore"):
            near, far = low / direction, high / direction
        enter, leave = np.minimum(near, far).max(1), np.maximum(near, far).min(1)
        hit = (enter < leave) & (enter > 0)
        distance = np.where(hit, np.minimum(distance, enter), distance)
    seen = distance < 70
    noise = rng.normal(0, 0.02, (seen.sum(), 1))
    return (direction[seen] * (distance[seen, None] + noise)).astype(np.float32)


def lidar_voxels() -> tuple[np.ndarray, np.ndarray]:
    """Returns the cells z, y, x [V, 3] of 0.4 x 0.4 x 0.4 m, and the number of points [V] of
    each.
    """
    cloud = lidar_cloud(np.random.default_rng(20))
    bounds = (-RANGE, -RANGE, -3, RANGE, RANGE, 5)
    _, cells, counts = mluop_omp.voxelization(cloud, (0.4, 0.4, 0.4), bounds, 20, 60000)
    return cells, counts


def draw_density(axes: Axes) -> None:
    density = camera_density()
    extent = (-RANGE, RANGE, -RANGE, RANGE)
    image = axes.imshow(
        np.ma.masked_equal(density, 0), origin="lower", extent=extent, norm="log", cmap="viridis"
    )
    axes.set(
        title=f"Voxel pooling: {int(density.sum()):,} frustum points of six cameras",
        xlabel="x (m)",
        ylabel="y (m)",
    )
    axes.figure.colorbar(image, ax=axes, label="points of a cell of 0.8 m", shrink=0.8)


def draw_voxels(axes: Axes) -> None:
    cells, counts = lidar_voxels()
    z, y, x = cells.T
    order = np.argsort(z, kind="stable")
    image = axes.scatter(
        (x[order] + 0.5) * 0.4 - RANGE,
        (y[order] + 0.5) * 0.4 - RANGE,
        c=(z[order] + 0.5) * 0.4 - 3,
        s=2,
        marker="s",
        linewidths=0,
        cmap="cividis",
    )
    title = f"Voxelization: {counts.sum():,} points in {len(cells):,} voxels of 0.4 m"
    axes.set(title=title, xlabel="x (m)", ylabel="y (m)", aspect="equal")
    axes.set(xlim=(-RANGE, RANGE), ylim=(-RANGE, RANGE))
    axes.figure.colorbar(image, ax=axes, label="height of the voxel (m)", shrink=0.8)


def main(path: str) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
    draw_density(left)
    draw_voxels(right)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "pictures.png")
