"""Pictures of the operators on point sets."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from drawing import COLORS, LIGHT, LINE, cell, corners, dot, outline, plane, title
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

import mluop_omp

CLOUD = np.array(
    [
        [0.9, 0.8],
        [2.0, 2.3],
        [3.1, 1.0],
        [2.6, 1.7],
        [4.9, 2.6],
        [1.3, 1.5],
        [3.8, 2.2],
        [5.3, 0.7],
    ],
    np.float32,
)


def flat(places: np.ndarray) -> np.ndarray:
    """Returns points [1, N, 3] of the plane z = 0."""
    return np.pad(np.asarray(places, np.float32), ((0, 0), (0, 1)))[None]


def cloud(axes: Axes, chosen: list[int]) -> None:
    """Draws CLOUD with the indices of its points."""
    plane(axes, 6, 3.2)
    for n, (x, y) in enumerate(CLOUD):
        dot(axes, x, y, n, COLORS[0] if n in chosen else LINE)


def ball_query() -> Figure:
    center, radius = (2.5, 1.3), 1.25
    members = mluop_omp.ball_query(flat([center]), flat(CLOUD), 0, radius, 3)[0, 0]
    figure, axes = plt.subplots(figsize=(4.6, 2.6))
    cloud(axes, list(members))
    axes.add_patch(Circle(center, radius, fill=False, edgecolor=COLORS[1], linewidth=1.5))
    dot(axes, *center, color=COLORS[1], marker="s", markersize=7)
    title(axes, f"nsample 3: the first three in the ball, {list(map(int, members))}")
    return figure


def knn() -> Figure:
    center = (3.4, 1.5)
    dist2, idx = mluop_omp.knn(flat(CLOUD), flat([center]), 4)
    figure, axes = plt.subplots(figsize=(4.6, 2.6))
    cloud(axes, list(idx[0, 0]))
    for rank, n in enumerate(idx[0, 0]):
        x, y = CLOUD[n]
        axes.plot([center[0], x], [center[1], y], color=COLORS[0], linewidth=1, zorder=2)
        axes.text(x + 0.18, y + 0.16, f"d² {dist2[0, 0, rank]:.2f}", color=COLORS[0], fontsize=8)
    dot(axes, *center, color=COLORS[1], marker="s", markersize=7)
    title(axes, f"k 4: idx {list(map(int, idx[0, 0]))}, in ascending order of d²")
    return figure


def three_nn() -> Figure:
    unknown = [(1.6, 0.9), (4.4, 1.6)]
    _, idx = mluop_omp.three_nn(flat(unknown), flat(CLOUD))
    figure, axes = plt.subplots(figsize=(4.6, 2.6))
    cloud(axes, list(idx.ravel()))
    for n, (x, y) in enumerate(unknown):
        for u, v in CLOUD[idx[0, n]]:
            axes.plot([x, u], [y, v], color=COLORS[n + 1], linewidth=1.5, zorder=2)
        dot(axes, x, y, color=COLORS[n + 1], marker="s", markersize=7)
    text = " and ".join(str(list(map(int, row))) for row in idx[0])
    title(axes, f"idx of the two squares: {text}, the nearest first")
    return figure


def furthest_point_sampling() -> Figure:
    samples = mluop_omp.furthest_point_sample(flat(CLOUD), 4)[0]
    figure, axes = plt.subplots(figsize=(4.6, 2.6))
    cloud(axes, list(samples))
    for rank, n in enumerate(samples):
        x, y = CLOUD[n]
        axes.text(x + 0.2, y + 0.16, f"sample {rank}", color=COLORS[0], fontsize=8)
    title(axes, f"num_points 4: {list(map(int, samples))}, each far from all before")
    return figure


def stack_ball_query() -> Figure:
    clouds = CLOUD[[0, 1, 2, 3, 5]], CLOUD[[6, 4, 7]]
    centers = np.array([[1.9, 1.4], [4.4, 2.0], [3.0, 3.0]], np.float32)
    counts, centers_cnt = np.array([5, 3], np.int32), np.array([1, 2], np.int32)
    points, radius = np.concatenate(clouds), 0.95
    idx = mluop_omp.stack_ball_query(
        flat(centers)[0], centers_cnt, flat(points)[0], counts, radius, 3
    )
    figure, axes = plt.subplots(figsize=(5.2, 3.4))
    plane(axes, 6.2, 4.2)
    for color, cloud_points in zip(COLORS, clouds):
        for n, (x, y) in enumerate(cloud_points):
            dot(axes, x, y, n, color)
    for (x, y), color, members in zip(centers, [COLORS[0], COLORS[1], COLORS[1]], idx):
        axes.add_patch(Circle((x, y), radius, fill=False, edgecolor=color, linewidth=1.5))
        dot(axes, x, y, color=color, marker="s", markersize=7)
        text = f"{list(map(int, members))}"
        axes.text(x + 0.15, y, text, color=color, va="center", fontsize=8)
    title(axes, "nsample 3: a ball holds points of its own cloud only")
    return figure


def stack_group_points() -> Figure:
    features = np.array([[10], [11], [20], [21], [22]], np.float32)
    counts = np.array([2, 3], np.int32)
    indices, groups = np.array([[1, 0], [0, 2]], np.int32), np.array([1, 1], np.int32)
    output = mluop_omp.stack_group_points(features, counts, indices, groups)
    figure, axes = plt.subplots(figsize=(5.2, 1.6))
    for row, feature in enumerate(features[:, 0]):
        cell(axes, row, 0, LIGHT[0 if row < counts[0] else 1], f"{feature:g}")
        local = row if row < counts[0] else row - counts[0]
        axes.text(
            row + 0.5, -0.35, f"{local}", ha="center", va="center", color=COLORS[1], fontsize=8
        )
    for m in range(2):
        for s in range(2):
            cell(axes, 6.5 + s, m, LIGHT[m], f"{output[m, 0, s]:g}")
        text = f"indices {list(map(int, indices[m]))}"
        axes.text(8.8, m + 0.5, text, va="center", color=COLORS[1], fontsize=8)
    axes.set(xlim=(-0.1, 11.4), ylim=(2.1, -0.7), aspect="equal")
    axes.axis("off")
    title(axes, "features of two clouds, and a group of each")
    return figure


def assign_score_withk() -> Figure:
    points = np.array([[1, 2], [5, 7]], np.float32).reshape(1, 2, 2, 1)
    centers = np.array([[0, 0], [1, 1]], np.float32).reshape(1, 2, 2, 1)
    scores = np.array([[0.5, 0.5], [1, 0]], np.float32).reshape(1, 1, 2, 2)
    knn_idx = np.array([[[1, 0]]], np.int32)
    output = mluop_omp.assign_score_withk(scores, points, centers, knn_idx)[0, 0, 0]
    figure, axes = plt.subplots(figsize=(5.6, 2.0))
    for k, i in enumerate(knn_idx[0, 0]):
        for m in range(2):
            difference = points[0, i, m, 0] - centers[0, knn_idx[0, 0, 0], m, 0]
            cell(axes, 2 + m, k, LIGHT[0], f"{difference:g}")
            cell(axes, 5 + m, k, LIGHT[1], f"{scores[0, 0, k, m]:g}")
        cell(axes, 8, k, LIGHT[2], f"{output[k]:g}")
        axes.text(1.8, k + 0.5, f"k = {k}: point {i}", ha="right", va="center", fontsize=8)
    for x, text in ((3, "points - centers"), (6, "scores"), (8.5, "output")):
        axes.text(x, -0.35, text, ha="center", va="center", color=COLORS[1], fontsize=8)
    axes.set(xlim=(-1.2, 9.2), ylim=(2.1, -0.7), aspect="equal")
    axes.axis("off")
    title(axes, "M 2: the sum over the kernels of each neighbor")
    return figure


def gather_points() -> Figure:
    features = np.array([[[10, 11, 12, 13, 14], [20, 21, 22, 23, 24]]], np.float32)
    indices = np.array([[3, 0, 3]], np.int32)
    output = mluop_omp.gather_points(features, indices)[0]
    figure, axes = plt.subplots(figsize=(5.2, 1.6))
    for n in range(5):
        place = list(indices[0]).index(n) if n in indices else None
        color = "white" if place is None else LIGHT[place]
        for c in range(2):
            cell(axes, n, c, color, f"{features[0, c, n]:g}")
    for m, n in enumerate(indices[0]):
        for c in range(2):
            cell(axes, m + 6.5, c, LIGHT[list(indices[0]).index(n)], f"{output[c, m]:g}")
        axes.text(m + 7, -0.35, f"{n}", ha="center", va="center", color=COLORS[1], fontsize=8)
    axes.text(6.2, -0.35, "indices", ha="right", va="center", color=COLORS[1], fontsize=8)
    axes.set(xlim=(-0.1, 9.6), ylim=(2.1, -0.7), aspect="equal")
    axes.axis("off")
    title(axes, "features [2, 5] and output [2, 3]: a column for each index")
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


def points_in_boxes() -> Figure:
    boxes = [(2, 1.5, 2.6, 1.3, 0.5), (4, 1.6, 2, 1.6, -0.3)]
    boxes7 = np.array([[[x, y, 0, dx, dy, 1, yaw] for x, y, dx, dy, yaw in boxes]], np.float32)
    places = np.array([[1.2, 1.2], [2.6, 1.6], [3.2, 1.9], [4.3, 1.2], [5.6, 0.5], [0.6, 2.3]])
    inside = mluop_omp.points_in_boxes(flat(places), boxes7)[0]
    figure, axes = plt.subplots(figsize=(4.6, 2.4))
    plane(axes, 6, 3)
    for t, each in enumerate(boxes):
        points = corners(*each)
        outline(axes, points, COLORS[t])
        x, y = points[3] if t == 0 else points[2]
        axes.text(x, y + 0.08, f"box {t}", color=COLORS[t], fontsize=8, ha="center", va="bottom")
    for (x, y), t in zip(places, inside):
        dot(axes, x, y, t, LINE if t < 0 else COLORS[t])
    title(axes, "each point has the lowest index of its boxes, or -1")
    return figure


def min_area_polygons() -> Figure:
    """Nine points turned with their rectangle, whose corners have their numbers outside of it."""
    along, across = (
        [0.3, 2.1, 3.9, 4.3, 3.2, 1.6, 0.1, 1.1, 2.6],
        [0.2, 0, 0.4, 1.5, 1.9, 1.6, 1, 0.9, 1],
    )
    places = np.stack((along, across), 1) @ [[0.9, 0.435], [-0.435, 0.9]] + (1.4, 0.3)
    rectangle = mluop_omp.min_area_polygons(places.astype(np.float32).reshape(1, 18)).reshape(4, 2)
    sides = np.linalg.norm(np.diff(rectangle[:3], axis=0), axis=1)
    figure, axes = plt.subplots(figsize=(4.6, 3.1))
    plane(axes, 6, 4.3)
    outline(axes, rectangle, COLORS[1])
    for x, y in places:
        dot(axes, x, y, markersize=6)
    for n, (x, y) in enumerate(rectangle + 0.1 * (rectangle - rectangle.mean(0))):
        axes.text(x, y, n, color=COLORS[1], ha="center", va="center")
    title(axes, f"the smallest rectangle around nine points: area {sides.prod():.2f}")
    return figure


ROI = (2.8, 1.8, 4.2, 2, 0.3)


def in_roi(u: float, v: float) -> np.ndarray:
    """Returns the place of a point by its coordinates along the axes of ROI."""
    x, y, _, _, yaw = ROI
    cos, sin = np.cos(yaw), np.sin(yaw)
    return np.array([x + u * cos - v * sin, y + u * sin + v * cos])


def roi7() -> np.ndarray:
    x, y, dx, dy, yaw = ROI
    return np.array([[x, y, 0, dx, dy, 1, yaw]], np.float32)


def roiaware_pool3d() -> Figure:
    own = [(-1.6, -0.6), (-1.0, -0.2), (0.2, 0.5), (-0.3, 0.3), (1.6, 0.6), (1.4, -0.5), (2.6, 0.4)]
    places, features = np.array([in_roi(*each) for each in own]), [4, 7, 2, 5, 3, 8, 9]
    values = np.array(features, np.float32)[:, None]
    pooled, _, _ = mluop_omp.roiaware_pool3d(roi7(), flat(places)[0], values, (3, 2, 1), 4)
    figure, axes = plt.subplots(figsize=(4.6, 2.9))
    plane(axes, 6, 3.6)
    _, _, dx, dy, yaw = ROI
    for i in range(3):
        for j in range(2):
            u, v = (i + 0.5) * dx / 3 - dx / 2, (j + 0.5) * dy / 2 - dy / 2
            value = pooled[0, i, j, 0, 0]
            voxel = corners(*in_roi(u, v), dx / 3, dy / 2, yaw)
            axes.fill(*voxel.T, facecolor=LIGHT[0] if value else "white", edgecolor=LINE)
            axes.text(*in_roi(u - 0.4, v + 0.3), f"{value:g}", color=COLORS[1], ha="center")
    outline(axes, corners(*ROI), COLORS[0])
    for (px, py), feature in zip(places, features):
        is_chosen = feature in pooled
        dot(axes, px, py, feature, COLORS[0] if is_chosen else LINE)
    title(axes, "out_size 3 x 2 x 1: the maximum of the points of each voxel")
    return figure


def roipoint_pool3d() -> Figure:
    own = [(2.4, 1.0), (-1.2, 0.3), (0.6, -0.5), (-2.6, -0.4), (1.3, 0.5)]
    places = np.array([in_roi(*each) for each in own])
    numbers = np.arange(len(own), dtype=np.float32)[None, :, None]
    rows, _ = mluop_omp.roipoint_pool3d(flat(places), numbers, roi7()[None], 5)
    samples = rows[0, 0, :, 3].astype(int)
    figure, axes = plt.subplots(figsize=(4.6, 3))
    plane(axes, 6, 3.6)
    outline(axes, corners(*ROI), COLORS[0])
    for n, (px, py) in enumerate(places):
        dot(axes, px, py, n, COLORS[0] if n in samples else LINE)
    for j, n in enumerate(samples):
        cell(axes, j + 0.5, -1.2, LIGHT[0], f"{n}")
    axes.set(ylim=(-1.4, 3.7))
    title(axes, "num_sampled_points 5: the points in the box, again from the first")
    return figure
