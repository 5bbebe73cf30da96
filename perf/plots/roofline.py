"""Each case with a line up to its own roof: what the machine's peak, and its twin's bandwidth, allow."""

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from plots.report import Case, Report, io_bytes, latency, twin
from plots.style import COLORS, GREY, MARKERS, face, legend_below, logarithmic


def _color(report: Report, operator: str) -> str:
    return COLORS[report.operators.index(operator) % len(COLORS)]


def _marker(report: Report, operator: str) -> str:
    return MARKERS[report.operators.index(operator) % len(MARKERS)]


def _point(axes: Axes, report: Report, case: Case, x: float, y: float, limit: float) -> None:
    color = _color(report, case["operator"])
    axes.plot([x, x], [y, limit], color=color, linewidth=0.8, alpha=0.6, zorder=2)
    axes.plot([x], [limit], marker="_", markersize=8, color=color, zorder=2)
    marker = _marker(report, case["operator"])
    axes.plot(
        [x], [y], marker=marker, markersize=6.5, color=color, markerfacecolor=face(case["mode"], color), zorder=3
    )


def _fastest_twin(cases: list[Case]) -> float:
    """Bytes a second."""
    return max(io_bytes(case) / twin(case) for case in cases)


def _draw_copying(axes: Axes, report: Report, cases: list[Case]) -> None:
    for i, case in enumerate(cases):
        _point(axes, report, case, i, io_bytes(case) / latency(case) / 1e9, io_bytes(case) / twin(case) / 1e9)
    names = [f"{case['case']} {case['dtype']}" for case in cases]
    axes.set_xticks(range(len(cases)), names, rotation=90, fontsize=8)
    axes.set(yscale="log", ylabel="GB/s of input and output")
    logarithmic(axes.yaxis)


def _draw_computing(axes: Axes, report: Report, cases: list[Case]) -> None:
    intensities = [case["theory_ops"] / io_bytes(case) for case in cases]
    for case, intensity in zip(cases, intensities):
        limit = min(case["peak"], case["theory_ops"] / twin(case))
        _point(axes, report, case, intensity, case["theory_ops"] / latency(case) / 1e9, limit / 1e9)
        if "floor" in case:
            height = case["theory_ops"] / case["floor"]["median"] / 1e9
            axes.plot([intensity], [height], marker=5, markersize=5, color=_color(report, case["operator"]), zorder=2)
    peak, bandwidth = max(case["peak"] for case in cases) / 1e9, _fastest_twin(cases) / 1e9
    ridge = peak / bandwidth
    left, right = min(intensities) / 2, max(*intensities, ridge) * 2
    axes.plot([left, ridge, right], [left * bandwidth, peak, peak], color=GREY, linewidth=1.2)
    text = f"FMA peak, {report.threads} threads: {peak:.0f} GFLOP/s"
    axes.text(right, peak * 1.12, text, ha="right", color=GREY)
    axes.set(xscale="log", yscale="log", xlabel="operations / byte of input and output", ylabel="GFLOP/s")
    axes.set_xlim(left, right)
    axes.set_ylim(top=peak * 2)
    logarithmic(axes.xaxis)
    logarithmic(axes.yaxis)


def _handles(report: Report, computing: list[Case]) -> list[Line2D]:
    def mark(text: str, color: str, **style: object) -> Line2D:
        return Line2D([], [], color=color, linestyle="none", label=text, **style)

    handles = [mark(op, _color(report, op), marker=_marker(report, op)) for op in report.operators]
    if computing:
        bandwidth = _fastest_twin(computing) / 1e9
        handles.append(
            Line2D([], [], color=GREY, label=f"machine: FMA peak, {bandwidth:.0f} GB/s of the fastest twin")
        )
    handles.append(mark("deterministic", GREY, marker="o"))
    handles.append(mark("atomics", GREY, marker="o", markerfacecolor="white"))
    handles.append(mark("the case's own roof", GREY, marker="_", markersize=8))
    if any("floor" in case for case in computing):
        handles.append(mark("its floor", GREY, marker=5, markersize=5))
    return handles


def draw_roofline(report: Report) -> Figure | None:
    cases = report.at_network_size()
    kinds = [
        ("Cases without arithmetic", _draw_copying, [case for case in cases if case["theory_ops"] == 0], 1.0),
        ("Cases that compute", _draw_computing, [case for case in cases if case["theory_ops"] > 0], 2.2),
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
