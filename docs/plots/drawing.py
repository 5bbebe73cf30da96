"""What the worked pictures share: colors, grids, cells, dots, boxes."""

from __future__ import annotations

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Polygon, Rectangle

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


def dot(axes: Axes, x: float, y: float, text: object = "", color: str = COLORS[0], **style) -> None:
    """Draws a point with a short text in it."""
    style = {"marker": "o", "markersize": 13, "zorder": 5, **style}
    axes.plot(x, y, color=color, **style)
    axes.text(
        x,
        y,
        text,
        color="white",
        ha="center",
        va="center_baseline",
        fontsize=8,
        zorder=style["zorder"] + 1,
    )


def plane(axes: Axes, right: float, top: float) -> None:
    """Shows the rectangle from the origin to (right, top), y upwards."""
    axes.set(xlim=(0, right), ylim=(0, top), aspect="equal")
    axes.axis("off")


def corners(x: float, y: float, dx: float, dy: float, yaw: float) -> np.ndarray:
    """Returns the corners of a box [4, 2]; the first edge has the lower y of the box's own axes."""
    cos, sin = np.cos(yaw), np.sin(yaw)
    own = np.array([[-dx, -dy], [dx, -dy], [dx, dy], [-dx, dy]]) / 2
    return own @ np.array([[cos, sin], [-sin, cos]]) + (x, y)


def outline(axes: Axes, points: np.ndarray, color: str, dashed: bool = False) -> Polygon:
    style = {"linestyle": "--" if dashed else "-", "linewidth": 2}
    patch = Polygon(points, fill=False, edgecolor=color, zorder=3, **style)
    axes.add_patch(patch)
    return patch


def shade_overlap(axes: Axes, first: Polygon, second: Polygon, color: str) -> None:
    """Fills the intersection of two outlines."""
    filled = Polygon(first.get_xy(), facecolor=color, edgecolor="none", zorder=2)
    axes.add_patch(filled).set_clip_path(second)
