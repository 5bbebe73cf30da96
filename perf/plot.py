#!/usr/bin/env python3
"""Plots runs of mluop_perf --json: writes perf-report.html, one page with embedded plots.

Requires matplotlib (Debian: python3-matplotlib). Several runs are merged into one report. If two runs contain the
same case, the report uses that of the last one.
"""

import argparse
import base64
import html
import io
import sys
from collections.abc import Iterable
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from plots.report import Case, Report, latency, read
from plots.roofline import draw_roofline
from plots.speed_up import draw_speed_up
from plots.sweep import draw_sizes, draw_threads

_STYLE = """body { font: 15px/1.5 sans-serif; max-width: 1180px; margin: 2em auto; padding: 0 1em; color: #222 }
img { max-width: 100%; display: block; margin: .5em 0 1.5em }
table { border-collapse: collapse; font-size: 13px } td, th { padding: .15em .7em; text-align: left }
tr:nth-child(even) { background: #f3f3f3 } .figure { text-align: right }"""

_COLUMNS = ("operator", "case", "dtype", "algorithm", "latency, ms", "GFLOP/s", "efficiency", "bound", "speed-up")
_FIGURES = range(4, 7)  # right-aligned columns


def _image(figure: Figure, text: str) -> str:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    plt.close(figure)
    data = base64.b64encode(buffer.getvalue()).decode()
    return f'<img alt="{html.escape(text)}" src="data:image/png;base64,{data}">'


def _row(tag: str, cells: Iterable[str]) -> str:
    parts = []
    for i, cell in enumerate(cells):
        kind = " class=figure" if i in _FIGURES else ""
        parts.append(f"<{tag}{kind}>{html.escape(cell)}</{tag}>")
    return "<tr>" + "".join(parts) + "</tr>"


def _cells(case: Case) -> list[str]:
    speed_ups = ", ".join(f"{value:.1f} over {name}" for name, value in case.get("speed_up", {}).items())
    gflops = f"{case['theory_ops'] / latency(case) / 1e9:.1f}" if case["theory_ops"] else ""
    names = [case[part] for part in ("operator", "case", "dtype", "algorithm")]
    figures = [f"{latency(case) * 1e3:.3f}", gflops, f"{case['binding_efficiency']:.2f}"]
    return [*names, *figures, case["binding_bound"], speed_ups]


def _table(report: Report) -> str:
    rows = [_row("td", _cells(case)) for case in report.at_network_size()]
    return "<table>" + "\n".join([_row("th", _COLUMNS), *rows]) + "</table>"


def _section(title: str, text: str, figures: Iterable[tuple[str, Figure | None]]) -> str:
    parts = [f"<h2>{title}</h2><p>{text}"]
    for name, figure in figures:
        if figure is not None:
            heading = f"<h3>{html.escape(name)}</h3>" if name else ""
            parts.append(heading + _image(figure, f"{title}: {name}" if name else title))
    if len(parts) == 1:
        parts.append("<p><em>No data in these runs.</em>")
    return "\n".join(parts)


def _page(report: Report) -> str:
    machines = [
        f"<p>{html.escape(machine)}; {report.threads} threads unless stated otherwise. "
        "Times are medians with warm caches."
        for machine in report.machines
    ]
    return "\n".join(
        [
            "<!doctype html><html lang=en><meta charset=utf-8><title>mluop-omp: perf report</title>"
            f"<style>{_STYLE}</style><h1>mluop-omp: perf report</h1>",
            *machines,
            _section(
                "Roofline",
                "A line connects each case with its roof, the smaller of the FMA peak and the throughput at the "
                "stream bound (the time to stream the compulsory bytes of the call). The shorter the line, the "
                "higher the efficiency. Arrows mark the throughput at the algorithmic bound, the time of the "
                "steps that the algorithm cannot avoid.",
                [("", draw_roofline(report))],
            ),
            _section(
                "Speed-up over the baselines",
                "Measured on the same inputs in the same run.",
                ((op, draw_speed_up(report, op)) for op in report.operators),
            ),
            _section(
                "Latency by number of threads",
                "Measured with <code>mluop_perf --threads 1,2,...</code>.",
                ((op, draw_threads(report, op)) for op in report.operators),
            ),
            _section(
                "Latency by size",
                "Measured with <code>mluop_perf --size 1/8,1/4,1/2,1,2</code>. Right: a constant curve means that "
                "the cost is linear, a falling curve that a part of the latency is constant, a rising curve that "
                "the latency grows faster than the work; if the stream bound rises too, the data exceed a cache.",
                ((op, draw_sizes(report, op)) for op in report.operators),
            ),
            f"<h2>Results</h2>{_table(report)}\n",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="written by mluop_perf --json FILE")
    parser.add_argument("-o", "--output", type=Path, default="perf-report.html", help="default: %(default)s")
    arguments = parser.parse_args()
    runs = []
    for file in arguments.files:
        try:
            runs.append(read(file))
        except (OSError, ValueError) as error:
            sys.exit(f"plot.py: {file}: {error}")
    report = Report(runs)
    if not report.cases:
        sys.exit("plot.py: the runs contain no verified case")
    arguments.output.write_text(_page(report), encoding="utf-8")


if __name__ == "__main__":
    main()
