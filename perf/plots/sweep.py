"""Latency by number of threads and by size."""

from collections.abc import Callable
from dataclasses import dataclass

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullLocator

from plots.report import NETWORK_SIZE, Case, Report, io_bytes, latency, stream_bound
from plots.style import GREY, MARKERS, face, legend_below, logarithmic

Seconds = Callable[[Case], float]


@dataclass(frozen=True)
class _Axis:
    """The setting that varies, and what the right plot shows."""

    along: str
    label: str
    title: str
    relative_label: str
    relative: Callable[[Seconds, Case, Case], float]  # (seconds, base case, case)
    ideal: Callable[[float], float]


def _speed_up(seconds: Seconds, base: Case, case: Case) -> float:
    return seconds(base) / seconds(case) * base["threads"]


def _cost(seconds: Seconds, base: Case, case: Case) -> float:
    """Latency / work relative to the base case, as in the linearity table."""

    def work(of: Case) -> float:
        return of["theory_ops"] if base["binding_bound"] == "compute" else io_bytes(of)

    return seconds(case) / work(case) * work(base) / seconds(base)


_THREADS = _Axis("threads", "threads", "Speed-up over one thread (grey: ideal)", "speed-up", _speed_up, float)
_SIZES = _Axis(
    "size_factor",
    "multiple of the network size",
    "Latency / work (grey: linear)",
    "latency / work, relative to size 1",
    _cost,
    lambda _: 1.0,
)


def _draw_case(
    left: Axes, right: Axes, axis: _Axis, name: str, cases: list[Case], color: str, marker: str
) -> None:
    style = {"color": color, "marker": marker, "markersize": 5, "linewidth": 1.4}
    style["markerfacecolor"] = face(cases[0]["algorithm"], color)
    x = [case[axis.along] for case in cases]
    base = next((case for case in cases if case[axis.along] == 1), cases[0])
    left.plot(x, [latency(case) * 1e3 for case in cases], label=name, **style)
    right.plot(x, [axis.relative(latency, base, case) for case in cases], **style)
    bounds = [axis.relative(stream_bound, base, case) for case in cases]
    right.plot(x, bounds, color=color, linestyle=":", linewidth=1)


def _format(left: Axes, right: Axes, axis: _Axis, values: list[float]) -> None:
    # The limits follow from the cases: the ideal exceeds them if there are more threads than cores.
    right.set_ylim(0, right.get_ylim()[1])
    right.plot(values, [axis.ideal(x) for x in values], color=GREY, linewidth=1)
    for axes in (left, right):
        axes.set_xscale("log", base=2)
        axes.set(xticks=values, xlabel=axis.label)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}" if x >= 1 else f"1/{1 / x:g}"))
        axes.xaxis.set_minor_locator(NullLocator())
    left.set(yscale="log", ylabel="ms")
    logarithmic(left.yaxis)
    left.set_title("Latency", loc="left")
    right.set(ylabel=axis.relative_label)
    right.set_title(axis.title, loc="left")


def _draw_sweep(axis: _Axis, sweeps: dict[str, list[Case]]) -> Figure | None:
    """Left: latency. Right: speed-up or latency / work."""
    if not sweeps:
        return None
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.9 + 0.22 * (len(sweeps) // 2 + 1)))
    colormap = plt.get_cmap("turbo")
    for i, (name, cases) in enumerate(sweeps.items()):
        color = colormap(0.08 + 0.84 * i / max(len(sweeps) - 1, 1))
        _draw_case(left, right, axis, name, cases, color, MARKERS[i % len(MARKERS)])
    _format(left, right, axis, sorted({case[axis.along] for cases in sweeps.values() for case in cases}))
    handles = left.get_legend_handles_labels()[0]
    handles.append(Line2D([], [], color=GREY, linestyle=":", linewidth=1, label="right: stream bounds"))
    legend_below(figure, handles, 2)
    return figure


def draw_threads(report: Report, operator: str) -> Figure | None:
    return _draw_sweep(_THREADS, report.sweeps(operator, "threads", "size_factor", NETWORK_SIZE))


def draw_sizes(report: Report, operator: str) -> Figure | None:
    return _draw_sweep(_SIZES, report.sweeps(operator, "size_factor", "threads", report.threads))
