"""Pictures of the operators on grids: voxels, images, sparse tensors."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from drawing import COLORS, LIGHT, LINE, cell, dot, grid, title
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle

import mluop_omp


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


def bev_pool() -> Figure:
    features = np.array([[10], [20]], np.float32)
    depth = np.array([[2, 2, 3, 2, 1], [3, 4, 2, 1, 0]], np.float32) / 10
    camera, slopes = (-0.4, 1.5), (-0.2, 0.2)
    pixel, place = np.divmod(np.arange(10), 5)
    x = place + 0.5
    y = camera[1] + np.take(slopes, pixel) * (x - camera[0])
    ranks_bev = np.where(x < 4, np.floor(y) * 4 + np.floor(x), -1).astype(np.int32)
    ranks = np.arange(10, dtype=np.int32), pixel.astype(np.int32), ranks_bev
    output = mluop_omp.bev_pool(depth.reshape(10), features, *ranks, 12).reshape(3, 4)
    figure, (left, right) = plt.subplots(1, 2, figsize=(6.8, 2.5), width_ratios=[6.4, 4.2])
    grid(left, 4, 3)
    left.set_xlim(-1.1, 5.1)
    for number, slope in enumerate(slopes):
        end = camera[1] + slope * (5 - camera[0])
        left.plot((camera[0], 5), (camera[1], end), color=COLORS[number], linewidth=1, zorder=2)
        color, at = COLORS[number], camera[1] + 3 * slope
        left.text(-0.6, at, f"{features[number, 0]:g}", color=color, ha="center", va="center")
    for p in range(10):
        color = COLORS[pixel[p]] if ranks_bev[p] >= 0 else LINE
        text = f"{depth.flat[p]:g}".removeprefix("0") or "0"
        dot(left, x[p], y[p], text, color)
    title(left, "pixels of features 10 and 20, and depths of their points")
    grid(right, 4, 3)
    for row, column in np.ndindex(3, 4):
        value = output[row, column]
        fill, color = (LIGHT[2], "black") if value else ("white", LINE)
        cell(right, column, row, fill, f"{value:g}", color=color)
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


def dynamic_scatter() -> Figure:
    places = np.array([[0.4, 0.6], [2.3, 1.3], [2.7, 1.7], [1.5, 2.5], [0.7, 0.3], [2.6, 1.2]])
    values = np.array([[5], [1], [7], [8], [3], [4]], np.float32)
    coors = np.zeros((6, 3), np.int32)
    coors[:, 1:] = places[:, ::-1]
    feats, voxels, of_point, _ = mluop_omp.dynamic_scatter(values, coors, "max")
    figure, (left, right) = plt.subplots(1, 2, figsize=(6.4, 2.5), width_ratios=[4, 3.6])
    grid(left, 4, 3)
    for v, (_, y, x) in enumerate(voxels):
        cell(left, x, y, LIGHT[v])
    for (x, y), value, v in zip(places, values, of_point):
        dot(left, x, y, f"{value[0]:g}", COLORS[v], markersize=11)
    title(left, "points with one feature")
    for v, (value, (_, y, x)) in enumerate(zip(feats, voxels)):
        cell(right, 0, v, LIGHT[v], f"{value[0]:g}")
        right.text(1.2, v + 0.5, f"voxel {v}: z 0, y {y}, x {x}", color=COLORS[v], va="center")
    right.set(xlim=(-0.1, 4.6), ylim=(3.1, -0.1), aspect="equal")
    right.axis("off")
    title(right, "voxel_feats of max, by coordinate")
    return figure


def masked_col2im() -> Figure:
    masks = [(0, 1), (1, 3), (3, 2)]
    col = np.array([[7, 4, 9]], np.float32)
    rows, columns = np.array(masks, np.int32).T.copy()
    image = mluop_omp.masked_col2im(col, rows, columns, (4, 5))[0, 0]
    figure, (left, right) = plt.subplots(1, 2, figsize=(5.4, 2.4), width_ratios=[3, 5])
    for k, (y, x) in enumerate(masks):
        cell(left, k, 1.5, LIGHT[k], f"{col[0, k]:g}")
        left.text(
            k + 0.5, 2.9, f"({y}, {x})", color=COLORS[k], ha="center", va="center", fontsize=8
        )
    left.set(xlim=(-0.1, 3.1), ylim=(4.1, -0.1), aspect="equal")
    left.axis("off")
    title(left, "col: a value for each mask")
    grid(right, 5, 4)
    for y, x in np.ndindex(image.shape):
        fill = LIGHT[masks.index((y, x))] if (y, x) in masks else "white"
        cell(right, x, y, fill, f"{image[y, x]:g}", color="black" if image[y, x] else LINE)
    title(right, "im: 0 elsewhere")
    return figure


def deform_conv() -> Figure:
    image = np.arange(1, 43, dtype=np.float32).reshape(1, 1, 6, 7)
    moves = [(-0.4, -0.6), (-0.7, 0.2), (-0.3, 0.9), (0.3, -0.8), (0.2, 0.3), (-0.2, 0.6)]
    offsets = np.array([*moves, (0.8, -0.4), (0.4, 0.1), (0.6, 0.7)], np.float32)
    offset = np.tile(offsets.reshape(1, 18, 1, 1), (1, 1, 4, 5))
    weight = np.full((1, 1, 3, 3), 1 / 9, np.float32)
    output = mluop_omp.deform_conv2d(image, offset, weight)
    figure, (left, right) = plt.subplots(1, 2, figsize=(7, 3), width_ratios=[7, 5])
    grid(left, 7, 6)
    for y, x in np.ndindex(6, 7):
        left.text(x + 0.06, y + 0.06, f"{image[0, 0, y, x]:g}", va="top", fontsize=7, color=LINE)
    row, column = 1, 2
    for k, (move_y, move_x) in enumerate(offsets):
        y, x = row + k // 3 + 0.5, column + k % 3 + 0.5
        left.plot(x, y, "o", color=COLORS[0], markersize=4, zorder=4)
        arrow = FancyArrowPatch(
            (x, y),
            (x + move_x, y + move_y),
            arrowstyle="-|>",
            mutation_scale=8,
            shrinkA=0,
            shrinkB=0,
        )
        left.add_patch(arrow).set(color=COLORS[1], linewidth=1.3, zorder=5)
    y, x = np.floor((row + 2 + offsets[8, 0], column + 2 + offsets[8, 1]))
    for corner_y, corner_x in np.ndindex(2, 2):
        corner = Rectangle((x + corner_x, y + corner_y), 1, 1, facecolor=LIGHT[1], zorder=0)
        left.add_patch(corner)
    title(left, "input: nine positions and their offsets;\nfour pixels around the last position")
    grid(right, 5, 4)
    for y, x in np.ndindex(4, 5):
        fill = LIGHT[2] if (y, x) == (row, column) else "white"
        cell(right, x, y, fill, f"{output[0, 0, y, x]:.1f}", fontsize=8)
    title(right, "output: the mean of nine samples")
    return figure


def indice_convolution() -> Figure:
    sites = np.array([[0, x] for x in (1, 2, 5)], np.int32)
    same, pairs, num = mluop_omp.indice_pairs(
        np.insert(sites, 1, 0, 1), 1, (1, 7), (1, 3), (1, 1), (0, 1), (1, 1), subm=True
    )
    features = np.array([[10], [20], [50]], np.float32)
    filters = np.array([1, 2, 3], np.float32).reshape(1, 1, 3, 1, 1)
    output = mluop_omp.indice_conv(features, filters, pairs, num, len(same), subm=True)
    figure, axes = plt.subplots(figsize=(5.6, 2.6))
    for row, (_, x) in enumerate(sites):
        cell(axes, 2 * row + 0.5, 0, LIGHT[0], f"{features[row, 0]:g}")
        axes.text(2 * row + 1, -0.3, f"row {row}: x {x}", ha="center", fontsize=8, color=COLORS[0])
        cell(axes, 2 * row + 0.5, 3, LIGHT[2], f"{output[row, 0]:g}")
    for k in range(3):
        for i, o in pairs[k, :, : num[k]].T:
            shift = 0.25 * (k - 1)
            arrow = FancyArrowPatch(
                (2 * i + 1 + shift, 1), (2 * o + 1 + shift, 3), arrowstyle="-|>", mutation_scale=10
            )
            axes.add_patch(arrow).set(color=COLORS[k + 1], linewidth=1.5, zorder=4)
        text = f"offset {k}: × {filters.ravel()[k]:g}, {num[k]} pairs".replace("1 pairs", "1 pair")
        axes.text(6.8, 1.3 + 0.55 * k, text, color=COLORS[k + 1], fontsize=8, va="center")
    axes.text(6.8, 0.5, "features", va="center", fontsize=8, color=COLORS[0])
    axes.text(6.8, 3.5, "output: the sum of the arrows", va="center", fontsize=8, color=COLORS[2])
    axes.set(xlim=(0, 11.5), ylim=(4.1, -0.7), aspect="equal")
    axes.axis("off")
    title(axes, "a row of a sparse image, kernel 3, submanifold")
    return figure


def indice_maxpool() -> Figure:
    features = np.array([[3], [5], [-1], [-2], [4]], np.float32)
    pairs = np.array([[[0, 1, 2, 3, 4], [0, 0, 1, 1, 2]]], np.int32)
    output = mluop_omp.indice_maxpool(features, pairs, np.array([5]), 3)
    figure, axes = plt.subplots(figsize=(5.6, 2.4))
    for row, feature in enumerate(features[:, 0]):
        cell(axes, 1.5 * row, 0, LIGHT[0], f"{feature:g}")
    for row, feature in enumerate(output[:, 0]):
        cell(axes, 3 * row + 0.75 if row < 2 else 6, 3, LIGHT[2], f"{feature:g}")
    for i, o in pairs[0].T:
        x = 3 * o + 1.25 if o < 2 else 6.5
        arrow = FancyArrowPatch((1.5 * i + 0.5, 1), (x, 3), arrowstyle="-|>", mutation_scale=10)
        axes.add_patch(arrow).set(color=COLORS[1], linewidth=1.5, zorder=4)
    axes.text(7.6, 0.5, "features", va="center", fontsize=8, color=COLORS[0])
    axes.text(7.6, 3.5, "features_out", va="center", fontsize=8, color=COLORS[2])
    axes.set(xlim=(-0.1, 10.5), ylim=(4.1, -0.2), aspect="equal")
    axes.axis("off")
    title(axes, "the maximum of each output, which starts at 0")
    return figure
