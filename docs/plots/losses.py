"""The pictures of losses."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from drawing import COLORS, LINE, title
from matplotlib.figure import Figure

import mluop_omp


def sigmoid_focal_loss() -> Figure:
    """The curves of one class, which is the target of the first row only."""
    x = np.linspace(-4, 4, 81, dtype=np.float32)
    logits, target = np.stack((x, x)).reshape(-1, 1), np.repeat(np.array([0, 1], np.int32), len(x))
    figure, both = plt.subplots(1, 2, figsize=(6.4, 2.5))
    for axes, function, text in zip(
        both,
        (mluop_omp.sigmoid_focal_loss, mluop_omp.sigmoid_focal_loss_backward),
        ("loss: gamma 0 dashed, gamma 2", "derivative"),
    ):
        for gamma, style in ((0.0, "--"), (2.0, "-")):
            curves = function(logits, target, gamma=gamma).reshape(2, -1)
            for curve, color in zip(curves, COLORS):
                axes.plot(x, curve, style, color=color, linewidth=1.8)
        axes.axhline(0, color=LINE, linewidth=0.8)
        axes.set_xlabel("input")
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        title(axes, text)
    both[0].text(-3.9, 1.2, "the target of the row", color=COLORS[0])
    both[0].text(0.2, 2.75, "another class", color=COLORS[1])
    return figure
