"""Pictures of the operators on boxes."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from drawing import (
    COLORS,
    DIM,
    LIGHT,
    LINE,
    cell,
    corners,
    grid,
    outline,
    plane,
    shade_overlap,
    title,
)
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import mluop_omp

# x1, y1, x2, y2 and scores.
UPRIGHT = np.array(
    [[0.2, 0.6, 4.2, 3.6], [1, 0.2, 4.8, 3.1], [5.6, 0.6, 8.2, 2.6], [6.1, 0, 9.4, 1.8]], np.float32
)
SCORES = np.array([0.9, 0.8, 0.6, 0.7], np.float32)
# x, y, dx, dy, yaw.
ROTATED = np.array(
    [
        [2.2, 1.9, 3.4, 1.5, 0.4],
        [2.7, 1.7, 3.4, 1.5, 0.7],
        [6.6, 1.8, 3, 1.4, -0.4],
        [7, 1.9, 3, 1.4, 0.9],
    ],
    np.float32,
)


def sides(x1: float, y1: float, x2: float, y2: float) -> np.ndarray:
    return np.array([[x1, y1], [x2, y1], [x2, y2], [x1, y2]])


def with_z(boxes: np.ndarray) -> np.ndarray:
    """Returns boxes x, y, z, dx, dy, dz, yaw."""
    x, y, dx, dy, yaw = boxes.T
    zero, one = np.zeros_like(x), np.ones_like(x)
    return np.stack([x, y, zero, dx, dy, one, yaw], 1)


def label(axes: Axes, points: np.ndarray, text: str, color: str, below: bool) -> None:
    """Writes above the highest corner, or below the lowest one."""
    height = points[:, 1]
    x, y = points[height.argmin() if below else height.argmax()]
    style = {"ha": "center", "va": "top" if below else "bottom", "fontsize": 8}
    axes.text(x, y - 0.1 if below else y + 0.08, text, color=color, **style)


def suppression(boxes: list[np.ndarray], kept: np.ndarray, text: str) -> Figure:
    """Draws the outlines of boxes with their scores: solid ones are kept."""
    figure, axes = plt.subplots(figsize=(5, 2.4))
    plane(axes, 9.6, 4.1)
    for n, points in enumerate(boxes):
        color = COLORS[0] if n in kept else LINE
        outline(axes, points, color, dashed=n not in kept)
        label(axes, points, f"{SCORES[n]:.1f}", color, below=n % 2 == 1)
    axes.set_ylim(-0.5, 4.1)
    title(axes, text)
    return figure


def overlap(first: np.ndarray, second: np.ndarray, text: str) -> Figure:
    """Draws two polygons and shades what they share."""
    figure, axes = plt.subplots(figsize=(4, 2.3))
    plane(axes, 6, 3.2)
    patches = [outline(axes, box, COLORS[k]) for k, box in enumerate((first, second))]
    shade_overlap(axes, *patches, LIGHT[2])
    title(axes, text)
    return figure


def box_iou_rotated() -> Figure:
    first, second = (2.6, 1.6, 3.6, 1.8, 0.3), (3.5, 1.6, 2.6, 2, -0.5)
    boxes = np.array([[first], [second]], np.float32)
    iou, iof = (mluop_omp.box_iou_rotated(*boxes, mode)[0, 0] for mode in ("iou", "iof"))
    text = f"iou {iou:.2f}, iof {iof:.2f}: green / union, green / blue"
    return overlap(corners(*first), corners(*second), text)


def box_iou_quadri() -> Figure:
    first, second = (0.4, 0.4, 4, 0.9, 3.4, 2.8, 1, 2.4), (2.1, 0.3, 5.4, 0.7, 4.6, 2.2, 2.9, 1.5)
    boxes = np.array([[first], [second]], np.float32)
    iou, iof = (mluop_omp.box_iou_quadri(*boxes, mode)[0, 0] for mode in ("iou", "iof"))
    text = f"iou {iou:.2f}, iof {iof:.2f}: green / union, green / blue"
    return overlap(*boxes.reshape(2, 4, 2), text)


def boxes_overlap_bev() -> Figure:
    first, second = (2.4, 1.6, 4, 1.8, 0.2), (4, 1.5, 3, 1.4, -0.4)
    boxes = with_z(np.array([first, second], np.float32))
    area = mluop_omp.boxes_overlap_bev(boxes[:1], boxes[1:])[0, 0]
    return overlap(corners(*first), corners(*second), f"overlap from above: {area:.2f} m²")


def nms() -> Figure:
    kept = mluop_omp.nms(UPRIGHT, SCORES, 0.3)
    text = "iou_threshold 0.3: solid boxes are kept"
    return suppression([sides(*box) for box in UPRIGHT], kept, text)


def nms_rotated() -> Figure:
    kept = mluop_omp.nms_rotated(ROTATED, SCORES, 0.4)
    text = "iou_threshold 0.4: solid boxes are kept"
    return suppression([corners(*box) for box in ROTATED], kept, text)


def nms3d_normal() -> Figure:
    kept = mluop_omp.nms3d_normal(with_z(ROTATED), SCORES, 0.4)
    unturned = [corners(x, y, dx, dy, 0) for x, y, dx, dy, _ in ROTATED]
    figure = suppression(unturned, kept, "iou_threshold 0.4, without yaw: solid boxes are kept")
    for box in ROTATED:
        outline(figure.axes[0], corners(*box), "#d5d9de").set(zorder=1, linewidth=1)
    return figure


def soft_nms() -> Figure:
    dets, inds = mluop_omp.soft_nms(UPRIGHT, SCORES, 0.1, method="linear")
    figure, axes = plt.subplots(figsize=(5, 2.4))
    plane(axes, 9.6, 4.1)
    for det, n in zip(dets, inds):
        decayed = det[4] < SCORES[n]
        color = COLORS[1] if decayed else COLORS[0]
        points = sides(*UPRIGHT[n])
        outline(axes, points, color)
        x, y = points[2 if n in (0, 2) else 1]
        text = f"{SCORES[n]:.1f} → {det[4]:.2f}" if decayed else f"{SCORES[n]:.1f}"
        style = {"ha": "right", "va": "bottom" if n in (0, 2) else "top"}
        axes.text(x, y + (0.08 if n in (0, 2) else -0.1), text, color=color, fontsize=8, **style)
    axes.set_ylim(-0.5, 4.1)
    title(axes, "linear, iou_threshold 0.1: orange scores decay")
    return figure


def nms_match() -> Figure:
    dets = np.concatenate([UPRIGHT, SCORES[:, None]], 1)
    members, sizes = mluop_omp.nms_match(dets, 0.2)
    figure, axes = plt.subplots(figsize=(5, 2.4))
    plane(axes, 9.6, 4.1)
    for group, of_group in enumerate(np.split(members, sizes.cumsum()[:-1])):
        for n in of_group:
            points = sides(*UPRIGHT[n])
            outline(axes, points, COLORS[group], dashed=n != of_group[0])
            lower = n in (1, 3)
            x, y = points[1 if lower else 3]
            style = {"ha": "right" if lower else "left", "va": "top" if lower else "bottom"}
            y += -0.1 if lower else 0.08
            axes.text(x, y, f"box {n}, {SCORES[n]:.1f}", color=COLORS[group], fontsize=8, **style)
    axes.set_ylim(-0.5, 4.1)
    text = ", ".join(str(list(map(int, each))) for each in np.split(members, sizes.cumsum()[:-1]))
    title(axes, f"iou_threshold 0.2: groups {text}; solid boxes are kept")
    return figure


def ms_deform_attn() -> Figure:
    """A query with three points on each of two levels, whose weights are areas."""
    rng = np.random.default_rng(4)
    levels = [(4, 6), (2, 3)]
    query = np.array([0.45, 0.5], np.float32)
    locations = (query + rng.uniform(-0.28, 0.28, (2, 3, 2))).astype(np.float32)
    weights = np.array([[0.1, 0.3, 0.15], [0.2, 0.05, 0.2]], np.float32)
    keys = [rng.integers(0, 9, size).astype(np.float32) for size in levels]
    value = np.concatenate([each.ravel() for each in keys]).reshape(1, -1, 1, 1)
    shapes, starts = np.array(levels, np.int32), np.array([0, 24], np.int32)
    samples = locations[None, None, None], weights[None, None, None]
    output = mluop_omp.ms_deform_attn(value, shapes, starts, *samples).item()
    figure, axes = plt.subplots(figsize=(5.6, 2.9))
    for level, (left, size) in enumerate(((0, 1), (6.6, 1.33))):
        for (y, x), number in np.ndenumerate(keys[level]):
            corner = left + x * size, y * size
            square = np.array([[0, 0], [1, 0], [1, 1], [0, 1]]) * size + corner
            axes.fill(*square.T, facecolor=LIGHT[level], edgecolor=LINE, linewidth=0.8)
            middle = np.array(corner) + size / 2
            axes.text(*middle, f"{number:g}", color=DIM, ha="center", va="center")
        height, width = levels[level]
        extent = np.array([width, height]) * size
        for place, weight in zip(locations[level], weights[level]):
            x, y = place * extent + (left, 0)
            axes.plot(x, y, "o", color=COLORS[level], alpha=0.75, markersize=34 * weight**0.5)
        axes.plot(*(query * extent + (left, 0)), "x", color="black", markersize=8)
    axes.set(xlim=(-0.1, 10.7), ylim=(4.1, -0.1), aspect="equal")
    axes.axis("off")
    title(axes, f"the samples of a query (x) on two levels, times their weights: {output:.2f}")
    return figure


def roi_align() -> Figure:
    """Two by two bins, of two by two samples each."""
    rows = [2, 4, 6, 4, 2], [1, 3, 7, 8, 4], [0, 2, 5, 9, 6], [1, 1, 3, 5, 3]
    image, box = np.array(rows, np.float32), np.array([[0, 0.9, 0.7, 4.1, 3.5]], np.float32)
    means, *_ = mluop_omp.roi_align(image[None, None], box, (2, 2), 1.0, 2)
    figure, axes = plt.subplots(figsize=(5.2, 3))
    grid(axes, image.shape[1], image.shape[0])
    for (y, x), value in np.ndenumerate(image):
        axes.text(x + 0.5, y + 0.5, f"{value:g}", color=DIM, ha="center", va="center", zorder=4)
    _, x1, y1, x2, y2 = box[0]
    width, height = (x2 - x1) / 2, (y2 - y1) / 2
    for p, q in np.ndindex(2, 2):
        left, top, fill = x1 + q * width, y1 + p * height, LIGHT[(p + q) % 2]
        corner = np.array([[0, 0], [width, 0], [width, height], [0, height]]) + (left, top)
        axes.fill(*corner.T, facecolor=fill, zorder=0)
        outline(axes, corner, COLORS[0])
        for i, j in np.ndindex(2, 2):
            x, y = left + (j + 0.5) * width / 2, top + (i + 0.5) * height / 2
            axes.plot(x, y, "o", color=COLORS[0], markersize=3.5, zorder=5)
        cell(axes, 6 + q, 1 + p, fill, f"{means[0, 0, p, q]:.2f}", fontsize=8)
    axes.set(xlim=(-0.1, 8.1))
    title(axes, "2 x 2 bins of 2 x 2 samples: the mean of their interpolated values")
    return figure
