"""Roofline plot: each case with its roof, from the FMA peak and its stream bound."""

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from plots.report import Case, Report, io_bytes, latency, stream_bound
from plots.style import COLORS, GREY, MARKERS, face, legend_below, logarithmic


def _color(report: Report, operator: str) -> str:
    return COLORS[report.operators.index(operator) % len(COLORS)]


def _marker(report: Report, operator: str) -> str:
    # Shifted with each turn of the colors: no two operators share marker and color.
    turn, position = divmod(report.operators.index(operator), len(COLORS))
    return MARKERS[(position + turn) % len(MARKERS)]


def _point(axes: Axes, report: Report, case: Case, x: float, y: float, roof: float) -> None:
    color = _color(report, case["operator"])
    axes.plot([x, x], [y, roof], color=color, linewidth=0.8, alpha=0.6, zorder=2)
    axes.plot([x], [roof], marker="_", markersize=8, color=color, zorder=2)
    marker = _marker(report, case["operator"])
    axes.plot(
        [x], [y], marker=marker, markersize=6.5, color=color, markerfacecolor=face(case["algorithm"], color), zorder=3
    )


def _max_bandwidth(cases: list[Case]) -> float:
    """Bytes per second at the stream bound, the maximum over the cases."""
    return max(io_bytes(case) / stream_bound(case) for case in cases)


def _draw_bandwidth(axes: Axes, report: Report, cases: list[Case]) -> None:
    for i, case in enumerate(cases):
        roof = io_bytes(case) / stream_bound(case) / 1e9
        _point(axes, report, case, i, io_bytes(case) / latency(case) / 1e9, roof)
    names = [f"{case['case']} {case['dtype']}" for case in cases]
    axes.set_xticks(range(len(cases)), names, rotation=90, fontsize=8)
    axes.set(yscale="log", ylabel="GB/s of compulsory bytes")
    logarithmic(axes.yaxis)


def _draw_arithmetic(axes: Axes, report: Report, cases: list[Case]) -> None:
    intensities = [case["theory_ops"] / io_bytes(case) for case in cases]
    for case, intensity in zip(cases, intensities):
        roof = min(case["peak"], case["theory_ops"] / stream_bound(case))
        _point(axes, report, case, intensity, case["theory_ops"] / latency(case) / 1e9, roof / 1e9)
        if "algorithmic_bound" in case:
            height = case["theory_ops"] / case["algorithmic_bound"]["median"] / 1e9
            color = _color(report, case["operator"])
            axes.plot([intensity], [height], marker=5, markersize=5, color=color, zorder=2)
    peak, bandwidth = max(case["peak"] for case in cases) / 1e9, _max_bandwidth(cases) / 1e9
    ridge = peak / bandwidth
    left, right = min(intensities) / 2, max(*intensities, ridge) * 2
    axes.plot([left, ridge, right], [left * bandwidth, peak, peak], color=GREY, linewidth=1.2)
    text = f"FMA peak, {report.threads} threads: {peak:.0f} GFLOP/s"
    axes.text(right, peak * 1.12, text, ha="right", color=GREY)
    axes.set(xscale="log", yscale="log", xlabel="operations / compulsory byte", ylabel="GFLOP/s")
    axes.set_xlim(left, right)
    axes.set_ylim(top=peak * 2)
    logarithmic(axes.xaxis)
    logarithmic(axes.yaxis)


def _handles(report: Report, with_arithmetic: list[Case]) -> list[Line2D]:
    def mark(text: str, color: str, **style: object) -> Line2D:
        return Line2D([], [], color=color, linestyle="none", label=text, **style)

    handles = [mark(op, _color(report, op), marker=_marker(report, op)) for op in report.operators]
    if with_arithmetic:
        bandwidth = _max_bandwidth(with_arithmetic) / 1e9
        text = f"machine: FMA peak, {bandwidth:.0f} GB/s at the fastest stream bound"
        handles.append(Line2D([], [], color=GREY, label=text))
    handles.append(mark("native", GREY, marker="o"))
    handles.append(mark("device", GREY, marker="o", markerfacecolor="white"))
    handles.append(mark("roof of the case", GREY, marker="_", markersize=8))
    if any("algorithmic_bound" in case for case in with_arithmetic):
        handles.append(mark("algorithmic bound", GREY, marker=5, markersize=5))
    return handles


def draw_roofline(report: Report) -> Figure | None:
    cases = report.at_network_size()
    kinds = [
        ("Cases without arithmetic", _draw_bandwidth, [case for case in cases if case["theory_ops"] == 0], 1.0),
        ("Cases with arithmetic", _draw_arithmetic, [case for case in cases if case["theory_ops"] > 0], 2.2),
    ]
    kinds = [kind for kind in kinds if kind[2]]
    if not kinds:
        return None
    figure, axes = plt.subplots(
        1, len(kinds), figsize=(11, 6.2), width_ratios=[kind[3] for kind in kinds], squeeze=False
    )
    for one, (title, draw, of_kind, _) in zip(axes[0], kinds):
        draw(one, report, of_kind)
        one.set_title(title, loc="left")
    legend_below(figure, _handles(report, [case for case in cases if case["theory_ops"] > 0]), 3)
    return figure
