"""Speed-up over each baseline."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from plots.report import Report, label
from plots.style import COLORS, GREY, MARKERS, legend_below, logarithmic


def draw_speed_up(report: Report, operator: str) -> Figure | None:
    cases = [case for case in report.at_network_size(operator) if case.get("speed_up")]
    if not cases:
        return None
    names = list(dict.fromkeys(name for case in cases for name in case["speed_up"]))
    figure, axes = plt.subplots(figsize=(11, 1.3 + 0.21 * len(cases)))
    for row, case in enumerate(cases):
        values = case["speed_up"].values()
        axes.plot([min(1, *values), max(1, *values)], [row, row], color="#cccccc", linewidth=1, zorder=1)
    for i, name in enumerate(names):
        points = [(case["speed_up"][name], row) for row, case in enumerate(cases) if name in case["speed_up"]]
        axes.plot(*zip(*points), marker=MARKERS[i], color=COLORS[i], linestyle="none", label=name, zorder=2)
    axes.axvline(1, color=GREY, linewidth=1)
    axes.set(xscale="log", xlabel="latency of the baseline / latency")
    axes.set_yticks(range(len(cases)), [label(case) for case in cases])
    axes.set_ylim(len(cases) - 0.4, -0.6)
    left, right = axes.get_xlim()
    axes.set_xlim(min(left, 0.8), right * 1.1)
    logarithmic(axes.xaxis)
    legend_below(figure, axes.get_legend_handles_labels()[0], len(names))
    return figure
