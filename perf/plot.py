#!/usr/bin/env python3
"""Draws what mluop_perf --json has written: perf-report.html, one page with all pictures inside.

Needs matplotlib (Debian: python3-matplotlib). Several files become one report; of a case that two of them have,
the last counts.
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

_COLUMNS = ("operator", "case", "dtype", "mode", "time, ms", "GFLOP/s", "efficiency", "bound", "speed-up over")
_FIGURES = range(4, 7)  # aligned by their last digit


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
    speed_ups = ", ".join(f"{value:.1f} {name}" for name, value in case.get("speed_up", {}).items())
    gflops = f"{case['theory_ops'] / latency(case) / 1e9:.1f}" if case["theory_ops"] else ""
    names = [case[part] for part in ("operator", "case", "dtype", "mode")]
    figures = [f"{latency(case) * 1e3:.3f}", gflops, f"{case['binding_efficiency']:.2f}"]
    return [*names, *figures, case["bound"], speed_ups]


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
        parts.append("<p><em>Not in these figures.</em>")
    return "\n".join(parts)


def _page(report: Report) -> str:
    machines = [
        f"<p>{html.escape(machine)}; {report.threads} threads where nothing else is said. "
        "Times are medians, caches warm."
        for machine in report.machines
    ]
    return "\n".join(
        [
            "<!doctype html><html lang=en><meta charset=utf-8><title>mluop-omp: perf report</title>"
            f"<style>{_STYLE}</style><h1>mluop-omp: perf report</h1>",
            *machines,
            _section(
                "Roofline",
                "Each case hangs below its own roof: the FMA peak, or what a loop reaches that streams "
                "the same number of bytes. The shorter the line, the less is left to gain. Arrows point to what a loop "
                "reaches that does only what no implementation can leave out.",
                [("", draw_roofline(report))],
            ),
            _section(
                "Speed-up over the baselines",
                "On the same inputs, in the same run.",
                ((op, draw_speed_up(report, op)) for op in report.operators),
            ),
            _section(
                "Time against threads",
                "From <code>mluop_perf --threads 1,2,...</code>",
                ((op, draw_threads(report, op)) for op in report.operators),
            ),
            _section(
                "Time against size",
                "From <code>mluop_perf --size 1/8,1/4,1/2,1,2</code>. Level: linear. Falling: "
                "a part of the time does not grow. Rising: the cost grows faster than the work, or, if the twin "
                "rises too, the data leave a cache.",
                ((op, draw_sizes(report, op)) for op in report.operators),
            ),
            f"<h2>Figures</h2>{_table(report)}\n",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="written by mluop_perf --json FILE")
    parser.add_argument("-o", "--output", type=Path, default="perf-report.html", help="(default: %(default)s)")
    arguments = parser.parse_args()
    runs = []
    for file in arguments.files:
        try:
            runs.append(read(file))
        except (OSError, ValueError) as error:
            sys.exit(f"plot.py: {file}: {error}")
    report = Report(runs)
    if not report.cases:
        sys.exit("plot.py: no verified case")
    arguments.output.write_text(_page(report), encoding="utf-8")


if __name__ == "__main__":
    main()
