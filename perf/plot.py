#!/usr/bin/env python3
"""Draws what mluop_perf --json has written: perf-report.html, one page with all pictures inside.

Needs matplotlib (Debian: python3-matplotlib). Several files become one report; of a case that two of them have,
the last counts.
"""

import argparse
import base64
import html
import io
import json
import math
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullLocator

COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8c6d1f", "#56b4e9"]
GREY = "#444444"
MARKERS = ["o", "s", "^", "D", "v", "P"]
NETWORK_SIZE = 1.0

plt.rcParams.update({
    "font.size": 9, "axes.grid": True, "grid.color": "#dddddd", "grid.linewidth": 0.6, "axes.axisbelow": True,
    "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False,
})


class Report:
    """The verified cases of the files."""

    def __init__(self, runs):
        cases = {}
        for run in runs:
            for case in run["cases"]:
                if case["verified"]:
                    # With its own run's peak: machines differ.
                    case["peak"] = run["machine"]["fma_peak_flops"][str(case["threads"])]
                    cases[key(case)] = case
        self.machines = sorted({"{cpu}, {instruction_set}, mluop-omp {library}".format(**run["machine"])
                                for run in runs})
        self.operators = list(dict.fromkeys(case["operator"] for case in cases.values()))
        self.cases = sorted(cases.values(), key=lambda case: self.operators.index(case["operator"]))
        self.threads = max((case["threads"] for case in self.cases), default=1)

    def at_network_size(self):
        """What a run without sweeps has: warm, most threads."""
        return [case for case in self.cases if case["size_factor"] == NETWORK_SIZE
                and case["threads"] == self.threads and case["cache"] == "warm"]

    def sweeps(self, operator, along, fixed, value):
        """Warm cases that were measured at several values of `along`, at one of `fixed`: name -> cases."""
        found = {}
        for case in self.cases:
            if case["operator"] == operator and case["cache"] == "warm" and case[fixed] == value:
                found.setdefault(label(case), []).append(case)
        return {name: sorted(cases, key=lambda case: case[along])
                for name, cases in found.items() if len(cases) > 1}

    def color(self, operator):
        return COLORS[self.operators.index(operator) % len(COLORS)]

    def marker(self, operator):
        return MARKERS[self.operators.index(operator) % len(MARKERS)]


def key(case):
    return tuple(case[part] for part in ("operator", "case", "dtype", "mode", "size", "threads", "cache"))


def label(case):
    return "{case}  {dtype}  {mode}".format(**case)


def io_bytes(case):
    return case["theory_io_read_bytes"] + case["theory_io_write_bytes"]


def latency(case):
    return case["latency"]["median"]


def twin(case):
    return min(case["twin_ordinary"]["median"], case["twin_non_temporal"]["median"])


def plain(axis):
    """Figures as people write them, on a logarithmic axis."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())


def legend_below(figure, handles, columns):
    """Under the axes, which make room for it."""
    inches = 0.22 * math.ceil(len(handles) / columns) + 0.15
    figure.tight_layout(rect=(0, inches / figure.get_figheight(), 1, 1))
    figure.legend(handles=handles, loc="lower center", ncols=columns)


def face(case, color):
    return color if case["mode"] == "deterministic" else "white"


def draw_roofline(report):
    """Each case with a line up to its own roof: what the machine's peak, and its twin's bandwidth, allow."""
    figure, (stream, roof) = plt.subplots(1, 2, figsize=(11, 5.6), width_ratios=[1, 2.4])
    cases = report.at_network_size()
    computing = [case for case in cases if case["theory_ops"] > 0]
    copying = [case for case in cases if case["theory_ops"] == 0]

    def point(axes, x, y, limit, case):
        color = report.color(case["operator"])
        axes.plot([x, x], [y, limit], color=color, linewidth=0.8, alpha=0.6, zorder=2)
        axes.plot([x], [limit], marker="_", markersize=8, color=color, zorder=2)
        axes.plot([x], [y], marker=report.marker(case["operator"]), markersize=6.5, color=color,
                  markerfacecolor=face(case, color), linestyle="none", zorder=3)

    for case in computing:
        intensity = case["theory_ops"] / io_bytes(case)
        limit = min(case["peak"], case["theory_ops"] / twin(case))
        point(roof, intensity, case["theory_ops"] / latency(case) / 1e9, limit / 1e9, case)
    if computing:
        peak = max(case["peak"] for case in computing) / 1e9
        fastest = max(io_bytes(case) / twin(case) for case in computing) / 1e9
        left, right = (f(case["theory_ops"] / io_bytes(case) for case in computing) for f in (min, max))
        left, right, ridge = left / 2, max(right, peak / fastest) * 2, peak / fastest
        roof.plot([left, ridge, right], [left * fastest, peak, peak], color=GREY, linewidth=1.2)
        roof.text(right, peak * 1.07, f"FMA peak, {report.threads} threads: {peak:.0f} GFLOP/s", ha="right",
                  color=GREY)
        roof.set(xscale="log", yscale="log", xlim=(left, right), xlabel="operations / byte of input and output",
                 ylabel="GFLOP/s")
        roof.set_ylim(top=peak * 2)
        plain(roof.xaxis)
        plain(roof.yaxis)
    roof.set_title("Cases that compute", loc="left")

    for i, case in enumerate(copying):
        point(stream, i, io_bytes(case) / latency(case) / 1e9, io_bytes(case) / twin(case) / 1e9, case)
    stream.set(yscale="log", ylabel="GB/s of input and output", xticks=[])
    stream.set_xlabel("each mark a case")
    plain(stream.yaxis)
    stream.yaxis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1, 2, 5)))
    stream.set_title("Cases without arithmetic", loc="left")
    handles = [Line2D([], [], marker=report.marker(op), color=report.color(op), linestyle="none", label=op)
               for op in report.operators]
    if computing:
        handles.append(Line2D([], [], color=GREY,
                              label=f"machine: FMA peak, {fastest:.0f} GB/s of the fastest twin"))
    handles += [Line2D([], [], color=GREY, linestyle="none", label=text, **style) for text, style in (
        ("deterministic", {"marker": "o"}), ("atomics", {"marker": "o", "markerfacecolor": "white"}),
        ("the case's own roof", {"marker": "_", "markersize": 8}))]
    legend_below(figure, handles, 3)
    return figure


def draw_speed_up(report, operator):
    cases = [case for case in report.at_network_size() if case["operator"] == operator and case.get("speed_up")]
    if not cases:
        return None
    names = list(dict.fromkeys(name for case in cases for name in case["speed_up"]))
    figure, axes = plt.subplots(figsize=(9, 1.3 + 0.21 * len(cases)))
    for row, case in enumerate(cases):
        values = case["speed_up"].values()
        axes.plot([1, max(values)], [row, row], color="#cccccc", linewidth=1, zorder=1)
    for i, name in enumerate(names):
        rows = [(row, case["speed_up"][name]) for row, case in enumerate(cases) if name in case["speed_up"]]
        axes.plot([value for _, value in rows], [row for row, _ in rows], marker=MARKERS[i], color=COLORS[i],
                  linestyle="none", label=name, zorder=2)
    axes.axvline(1, color=GREY, linewidth=1)
    axes.set(xscale="log", xlabel="times as fast as the baseline", yticks=range(len(cases)),
             yticklabels=[label(case) for case in cases])
    axes.set_ylim(len(cases) - 0.4, -0.6)
    least, most = axes.get_xlim()
    axes.set_xlim(min(least, 0.8), most * 1.1)
    axes.xaxis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1, 2, 5)))
    plain(axes.xaxis)
    legend_below(figure, axes.get_legend_handles_labels()[0], len(names))
    return figure


def draw_sweep(report, operator, along, axis_label, fixed, value, relative, title, relative_label, ideal):
    """Left the time, right what it says about linearity: `relative(seconds, base, case)` against `ideal(x)`."""
    sweeps = report.sweeps(operator, along, fixed, value)
    if not sweeps:
        return None
    figure, (time, share) = plt.subplots(1, 2, figsize=(11, 3.9 + 0.22 * (len(sweeps) // 2 + 1)))
    colormap = plt.get_cmap("turbo")
    values = sorted({case[along] for cases in sweeps.values() for case in cases})
    for i, (name, cases) in enumerate(sweeps.items()):
        color = colormap(0.08 + 0.84 * i / max(len(sweeps) - 1, 1))
        style = {"color": color, "marker": MARKERS[i % len(MARKERS)], "markersize": 5, "linewidth": 1.4,
                 "linestyle": "-" if cases[0]["mode"] == "deterministic" else "--"}
        x = [case[along] for case in cases]
        time.plot(x, [latency(case) * 1e3 for case in cases], label=name, **style)
        base = next((case for case in cases if case[along] == 1), cases[0])
        share.plot(x, [relative(latency, base, case) for case in cases], **style)
        share.plot(x, [relative(twin, base, case) for case in cases], color=color, linestyle=":", linewidth=1.4)
    share.plot(values, [ideal(x) for x in values], color=GREY, linewidth=1)
    for axes in (time, share):
        axes.set_xscale("log", base=2)
        axes.set(xticks=values, xlabel=axis_label)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}" if x >= 1 else f"1/{1 / x:g}"))
        axes.xaxis.set_minor_locator(NullLocator())
    time.set_title("Time of a call", loc="left")
    share.set_title(title, loc="left")
    time.set(yscale="log", ylabel="ms")
    time.yaxis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1, 2, 5)))
    plain(time.yaxis)
    share.set(ylabel=relative_label)
    share.set_ylim(bottom=0)
    handles = time.get_legend_handles_labels()[0]
    handles.append(Line2D([], [], color=GREY, linestyle=":", linewidth=1.4,
                          label="right: the cases' streaming twins"))
    legend_below(figure, handles, 2)
    return figure


def draw_threads(report, operator):
    return draw_sweep(report, operator, "threads", "threads", "size_factor", NETWORK_SIZE,
                      lambda seconds, base, case: seconds(base) / seconds(case) * base["threads"],
                      "Speed-up over one thread (grey: ideal)", "times as fast", lambda threads: threads)


def draw_sizes(report, operator):
    return draw_sweep(report, operator, "size_factor", "size, of the network's", "threads", report.threads,
                      lambda seconds, base, case:
                      seconds(case) / seconds(base) / (case["size_factor"] / base["size_factor"]),
                      "Time by size (grey: linear)", "time / size, relative to size 1", lambda size: 1)


def image(figure, text):
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    plt.close(figure)
    data = base64.b64encode(buffer.getvalue()).decode()
    return f'<img alt="{html.escape(text)}" src="data:image/png;base64,{data}">'


def table(report):
    rows = []
    for operator in report.operators:
        cases = [case for case in report.at_network_size() if case["operator"] == operator]
        for case in cases:
            speed_ups = ", ".join(f"{value:.1f} {name}" for name, value in case.get("speed_up", {}).items())
            gflops = f"{case['theory_ops'] / latency(case) / 1e9:.1f}" if case["theory_ops"] else ""
            cells = [operator, case["case"], case["dtype"], case["mode"], f"{latency(case) * 1e3:.3f}", gflops,
                     case["bound"], f"{case['binding_efficiency']:.2f}", speed_ups]
            rows.append("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>")
    heads = ["operator", "case", "dtype", "mode", "time, ms", "GFLOP/s", "bound", "efficiency", "speed-up over"]
    return "<table><tr>" + "".join(f"<th>{head}</th>" for head in heads) + "</tr>" + "\n".join(rows) + "</table>"


STYLE = """body { font: 15px/1.5 sans-serif; max-width: 1180px; margin: 2em auto; padding: 0 1em; color: #222 }
img { max-width: 100%; display: block; margin: .5em 0 1.5em }
table { border-collapse: collapse; font-size: 13px } td, th { padding: .15em .7em; text-align: left }
tr:nth-child(even) { background: #f3f3f3 } td:nth-child(n+5):nth-child(-n+8) { text-align: right }"""


def page(report):
    parts = ["<!doctype html><html lang=en><meta charset=utf-8><title>mluop-omp: perf report</title>"
             f"<style>{STYLE}</style><h1>mluop-omp: perf report</h1>"]
    parts += [f"<p>{html.escape(machine)}; {report.threads} threads where nothing else is said. "
              "Times are medians, caches warm." for machine in report.machines]

    def section(title, text, figures):
        figures = [(name, figure) for name, figure in figures if figure is not None]
        parts.append(f"<h2>{title}</h2><p>{text}")
        if not figures:
            parts.append("<p><em>Not in these figures.</em>")
        for name, figure in figures:
            if name:
                parts.append(f"<h3>{html.escape(name)}</h3>")
            parts.append(image(figure, f"{title}: {name}" if name else title))

    section("Roofline", "Each case hangs below its own roof: the FMA peak, or what a loop reaches that streams "
            "the same number of bytes. The shorter the line, the less is left to gain.",
            [("", draw_roofline(report))] if report.at_network_size() else [])
    section("Speed-up over the baselines", "On the same inputs, in the same run.",
            [(op, draw_speed_up(report, op)) for op in report.operators])
    section("Time against threads", "From <code>mluop_perf --threads 1,2,...</code>",
            [(op, draw_threads(report, op)) for op in report.operators])
    section("Time against size", "From <code>mluop_perf --size 1/8,1/4,1/2,1,2</code>. Level: linear. Falling: a "
            "part of the time does not grow. Rising: the cost grows faster than the work, or, if the twin rises "
            "too, the data leave a cache.",
            [(op, draw_sizes(report, op)) for op in report.operators])
    parts.append("<h2>Figures</h2>" + table(report))
    return "\n".join(parts) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE", help="written by mluop_perf --json FILE")
    parser.add_argument("-o", "--output", default="perf-report.html", help="(default: %(default)s)")
    arguments = parser.parse_args()
    runs = []
    for name in arguments.files:
        try:
            with open(name, encoding="utf-8") as file:
                runs.append(json.load(file))
        except (OSError, ValueError) as error:
            sys.exit(f"plot.py: {name}: {error}")
        if runs[-1].get("schema") != "mluop_perf":
            sys.exit(f"plot.py: {name} is not written by mluop_perf --json")
    report = Report(runs)
    if not report.cases:
        sys.exit("plot.py: no verified case")
    with open(arguments.output, "w", encoding="utf-8") as file:
        file.write(page(report))


if __name__ == "__main__":
    main()
