"""Draws the worked pictures of docs/operators: python docs/plots/pictures.py.

All numbers are results of mluop_omp.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle

import mluop_omp

FOLDER = Path(__file__).parent
COLORS = ["#3465c8", "#d9762b", "#3a9a5b", "#a24fb5"]
LIGHT = ["#dbe5f8", "#fbe5d2", "#d9f0e0", "#eedcf3"]
LINE, DIM = "#8b939c", "#5f6770"
# The same bytes in every run; text stays text.
matplotlib.rcParams.update(
    {
        "svg.hashsalt": "mluop-omp",
        "svg.fonttype": "none",
        "font.family": "DejaVu Sans, sans-serif",
        "font.size": 9,
    }
)


def grid(axes: Axes, columns: int, rows: int, first: int = 0) -> None:
    """Draws the lines of a grid whose rows are counted downwards."""
    for x in range(columns + 1):
        axes.plot([x, x], [0, rows], color=LINE, linewidth=0.8, zorder=1)
    for y in range(rows + 1):
        axes.plot([0, columns], [y, y], color=LINE, linewidth=0.8, zorder=1)
    axes.set(xlim=(-0.1, columns + 0.1), ylim=(rows + 0.1, -0.1), aspect="equal")
    axes.axis("off")


def cell(axes: Axes, x: float, y: float, fill: str, text: str = "", **style) -> None:
    axes.add_patch(Rectangle((x, y), 1, 1, facecolor=fill, edgecolor=LINE, linewidth=0.8, zorder=2))
    axes.text(x + 0.5, y + 0.5, text, ha="center", va="center", zorder=3, **style)


def title(axes: Axes, text: str) -> None:
    axes.set_title(text, fontsize=9, color=DIM, pad=6)


def voxel_pooling() -> Figure:
    xyz = np.array([[0, 0, 0], [2, 1, 0], [2, 1, 0], [1, 2, 0], [2, 1, 0], [4, 1, 0]], np.int32)
    places = np.array([[0.5, 0.5], [2.25, 1.3], [2.7, 1.4], [1.5, 2.5], [2.45, 1.75], [4.5, 1.5]])
    features = np.array([5, 1, 2, 8, 4, 9], np.float32)
    output, _ = mluop_omp.voxel_pooling(xyz[None], features[None, :, None], (4, 3, 1))
    figure, (left, right) = plt.subplots(1, 2, figsize=(6.4, 2.5), width_ratios=[5.2, 4.2])
    grid(left, 4, 3)
    left.set_xlim(-0.1, 5.1)
    for (x, y), value in zip(places, features):
        color = COLORS[0] if x < 4 else LINE
        left.plot(x, y, "o", color=color, markersize=13, zorder=3)
        left.text(
            x,
            y,
            f"{value:g}",
            color="white",
            ha="center",
            va="center_baseline",
            fontsize=8,
            zorder=4,
        )
    title(left, "points with one feature; 9 is out of range")
    grid(right, 4, 3)
    for y, x in np.ndindex(3, 4):
        value = output[0, y, x, 0]
        cell(
            right,
            x,
            y,
            LIGHT[0] if value else "white",
            f"{value:g}",
            color="black" if value else LINE,
        )
    title(right, "output: the sum of each cell")
    return figure


def voxelization() -> Figure:
    places = np.array(
        [[1.3, 0.4], [2.6, 1.2], [1.7, 0.7], [1.2, 0.8], [0.5, 2.4], [2.3, 1.7]], np.float32
    )
    points = np.pad(places, ((0, 0), (0, 1)))
    _, coors, counts = mluop_omp.voxelization(points, (1, 1, 1), (0, 0, 0, 4, 3, 1), 2, 8)
    figure, axes = plt.subplots(figsize=(3.6, 2.6))
    grid(axes, 4, 3)
    for v, ((_, y, x), count) in enumerate(zip(coors, counts)):
        axes.add_patch(
            Rectangle(
                (x, y), 1, 1, facecolor=LIGHT[v], edgecolor=COLORS[v], linewidth=1.5, zorder=2
            )
        )
        text = f"voxel {v}: {count} points" if count > 1 else f"voxel {v}: 1 point"
        axes.text(4.2, v * 0.7 + 0.8, text, color=COLORS[v], va="center")
    kept = {v: 0 for v in range(len(coors))}
    for n, (x, y) in enumerate(places):
        v = next(v for v, c in enumerate(coors) if (c[2], c[1]) == (int(x), int(y)))
        kept[v] += 1
        color = COLORS[v] if kept[v] <= 2 else LINE
        axes.plot(x, y, "o", color=color, markersize=11, zorder=3)
        axes.text(x, y, n, color="white", ha="center", va="center_baseline", fontsize=8, zorder=4)
    axes.set_xlim(-0.1, 7)
    title(axes, "max_points 2: point 3 is dropped")
    return figure


def masked_im2col() -> Figure:
    height, width, masks = 4, 5, [(0, 0), (1, 3), (3, 2)]
    feature = np.arange(1, height * width + 1, dtype=np.float32).reshape(1, 1, height, width)
    rows, columns = np.array(masks, np.int32).T.copy()
    col = mluop_omp.masked_im2col(feature, rows, columns, (3, 3), (1, 1))
    figure, (left, right) = plt.subplots(1, 2, figsize=(6.4, 3.6), width_ratios=[7.2, 4])
    grid(left, width, height)
    left.set(xlim=(-1.2, width + 1), ylim=(height + 1.2, -1.2))
    for y, x in np.ndindex(height, width):
        number = masks.index((y, x)) if (y, x) in masks else None
        color = "white" if number is None else LIGHT[number]
        cell(left, x, y, color, f"{feature[0, 0, y, x]:g}")
    for k, (y, x) in enumerate(masks):
        inset = 0.06 * k
        side = 3 - 2 * inset
        window = Rectangle(
            (x - 1 + inset, y - 1 + inset), side, side, fill=False, edgecolor=COLORS[k], linewidth=2
        )
        left.add_patch(window).set_zorder(4)
    title(left, "an image, and 3 x 3 windows of three masks")
    grid(right, 3, 9)
    for row, k in np.ndindex(col.shape):
        value = col[row, k]
        cell(
            right,
            k,
            row,
            LIGHT[k] if row == 4 else "white",
            f"{value:g}",
            color="black" if value else LINE,
        )
    for k in range(3):
        right.plot(
            [k + 0.08, k + 0.92], [-0.12, -0.12], color=COLORS[k], linewidth=3, clip_on=False
        )
    title(right, "data_col: a column for each mask")
    return figure


def sparse_convolution() -> Figure:
    sites = np.array([[0, 0, 1], [0, 1, 1], [0, 1, 2], [0, 3, 4], [0, 4, 1]], np.int32)
    figure, panels = plt.subplots(1, 4, figsize=(9, 2.9), width_ratios=[5, 5, 5, 3.2])
    for axes, text, size in zip(
        panels,
        (
            "input: 5 active sites",
            "submanifold 3 x 3:\nthe same sites",
            "pairs of offset (1, 2)",
            "3 x 3, stride 2, pad 1",
        ),
        (5, 5, 5, 3),
    ):
        grid(axes, size, size)
        title(axes, text)
    strided, _, _ = mluop_omp.indice_pairs(sites, 1, (5, 5), (3, 3), (2, 2), (1, 1), (1, 1))
    same, pairs, num = mluop_omp.indice_pairs(
        sites, 1, (5, 5), (3, 3), (1, 1), (1, 1), (1, 1), subm=True
    )
    for axes, rows, color in zip(panels, (sites, same, sites, strided), (0, 1, 0, 1)):
        for row, (_, y, x) in enumerate(rows):
            cell(axes, x, y, LIGHT[color], row)
    k = 5  # kh 1, kw 2: from the right neighbor
    for i, o in pairs[k, :, : num[k]].T:
        (_, y, x), (_, v, u) = sites[i], same[o]
        arrow = FancyArrowPatch(
            (x + 0.4, y + 0.25), (u + 0.6, v + 0.25), arrowstyle="-|>", mutation_scale=12
        )
        arrow.set(color=COLORS[1], linewidth=1.5, zorder=5)
        panels[2].add_patch(arrow)
    text = ", ".join(f"({i}, {o})" for i, o in pairs[k, :, : num[k]].T)
    panels[2].text(
        2.5, 5.5, f"(input row, output row): {text}", ha="center", fontsize=8, color=COLORS[1]
    )
    return figure


def three_interpolate() -> Figure:
    known = np.array([[0.2, 0.3, 0], [3.6, 0.5, 0], [1.6, 2.6, 0], [4.6, 2.7, 0]], np.float32)
    unknown = np.array([[1.5, 1.1, 0]], np.float32)
    dist2, idx = mluop_omp.three_nn(unknown[None], known[None])
    inverse = 1 / dist2
    weights = inverse / inverse.sum(-1, keepdims=True)
    features = np.array([[[10, 20, 30, 40]]], np.float32)
    output = mluop_omp.three_interpolate(features, idx, weights)[0, 0, 0]
    figure, axes = plt.subplots(figsize=(4.6, 2.8))
    x, y, _ = unknown[0]
    for weight, m in zip(weights[0, 0], idx[0, 0]):
        u, v, _ = known[m]
        axes.plot(
            [x, u],
            [y, v],
            color=COLORS[0],
            linewidth=1 + 6 * weight,
            alpha=0.5,
            solid_capstyle="butt",
        )
        axes.text(
            (x + u) / 2 + 0.15, (y + v) / 2 - 0.12, f"{weight:.2f}", color=COLORS[0], va="bottom"
        )
    for m, (u, v, _) in enumerate(known):
        near = m in idx
        axes.plot(u, v, "o", color=COLORS[0] if near else LINE, markersize=22)
        axes.text(u, v, f"{features[0, 0, m]:g}", color="white", ha="center", va="center_baseline")
    axes.plot(x, y, "s", color=COLORS[1], markersize=22)
    axes.text(x, y, f"{output:.1f}", color="white", ha="center", va="center_baseline", fontsize=8)
    axes.set(xlim=(-0.3, 5.1), ylim=(3.2, -0.2), aspect="equal")
    axes.axis("off")
    title(axes, "weights 1 / d², divided by their sum; 40 is no neighbor")
    return figure


def nms() -> Figure:
    boxes = np.array(
        [[0, 0, 4, 3], [0.8, 0.4, 4.6, 3.3], [5.4, 1, 8, 3], [5.9, 1.8, 9.2, 3.6]], np.float32
    )
    scores = np.array([0.9, 0.8, 0.6, 0.7], np.float32)
    kept = mluop_omp.nms(boxes, scores, 0.3)
    figure, axes = plt.subplots(figsize=(5, 2.2))
    for n, ((x1, y1, x2, y2), score) in enumerate(zip(boxes, scores)):
        color, style = (COLORS[0], "-") if n in kept else (LINE, "--")
        axes.add_patch(
            Rectangle(
                (x1, y1),
                x2 - x1,
                y2 - y1,
                fill=False,
                edgecolor=color,
                linestyle=style,
                linewidth=2,
            )
        )
        right = n in (1, 3)
        axes.text(
            x2 - 0.1 if right else x1 + 0.1,
            y2 - 0.1 if right else y1 + 0.1,
            f"{score:.1f}",
            color=color,
            ha="right" if right else "left",
            va="bottom" if right else "top",
        )
    axes.set(xlim=(-0.2, 9.4), ylim=(3.8, -0.2), aspect="equal")
    axes.axis("off")
    title(axes, "iou_threshold 0.3: solid boxes are kept")
    return figure


PICTURES = (voxel_pooling, voxelization, masked_im2col, sparse_convolution, three_interpolate, nms)

if __name__ == "__main__":
    for draw in PICTURES:
        figure = draw()
        path = FOLDER / f"{draw.__name__.replace('_', '-')}.svg"
        figure.savefig(path, bbox_inches="tight", facecolor="white", metadata={"Date": None})
        plt.close(figure)
