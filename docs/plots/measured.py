"""Draws the plots of docs/perf.md: python docs/plots/measured.py RUN.json ...

    mluop_perf --dtype float --algorithm native --threads 1,2 --json RUN.json

Draws the case that CASES names for each operator, from the run with the lowest latency.
"""

from __future__ import annotations

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.append(str(FOLDER.parents[1] / "perf"))

import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from plots.report import Case, Report, io_bytes, latency, read, stream_bound  # noqa: E402
from plots.style import COLORS, GREY, logarithmic  # noqa: E402

# The case of a network that is named in perf/NOTES.md, or the largest one.
CASES = {
    "voxel_pooling_forward": "camera",
    "voxelization": "centerpoint_nuscenes 347200x5_10x120000",
    "dynamic_point_to_voxel_forward": "mvx_net_max",
    "dynamic_scatter_backward": "mvx_net",
    "indice_convolution_forward": "subm_64x64",
    "indice_convolution_backward_filter": "subm_64x64",
    "masked_im2col_forward": "256x100x152 k3",
    "masked_col2im_forward": "256x100x152",
    "furthest_point_sample": "votenet_sa1 8x20000_m2048",
    "gather_points_forward": "votenet sa3 c256",
    "ball_query": "votenet_sa1 8x2048_n20000",
    "knn": "dgcnn 2x4096_k20",
    "three_nn_forward": "fp1 2x16384_m4096",
    "three_interpolate_forward": "16x128x1024_n4096",
    "three_interpolate_backward": "16x128x4096_m1024",
    "points_in_boxes": "document 1x272414_t66",
    "box_iou_rotated": "4096x4096",
    "boxes_overlap_bev": "proposals 4096x4096",
    "nms": "proposals 4096_iou0.7",
    "nms_rotated": "centerpoint_waymo 4096_iou0.7",
}


# Copies: their arithmetic is none, their roof is the stream bound.
COPIES = (
    "dynamic_point_to_voxel_forward",
    "dynamic_scatter_backward",
    "masked_im2col_forward",
    "masked_col2im_forward",
    "gather_points_forward",
)
# Offsets, in points, of labels of the roofline that would overlap others.
OFFSETS = {
    "ball_query": (6, 4),
    "three_interpolate_backward": (6, 4),
    "indice_convolution_forward": (7, -2),
    "indice_convolution_backward_filter": (-40, -16),
    "voxel_pooling_forward": (-60, -10),
    "knn": (-22, -4),
}


def is_drawn(case: Case) -> bool:
    kind = (case["dtype"], case["algorithm"], case["cache"])
    return CASES.get(case["operator"]) == case["case"] and kind == ("float", "native", "warm")


def selected(files: list[str]) -> Report:
    runs = [read(Path(file)) for file in files]
    fastest: dict[tuple[str, int], Case] = {}
    for run in runs:
        for case in filter(is_drawn, run["cases"]):
            key = (case["operator"], case["threads"])
            fastest[key] = min(fastest.get(key, case), case, key=latency)
    for run in runs:
        run["cases"] = [
            case for case in run["cases"] if any(case is each for each in fastest.values())
        ]
    report = Report(runs)
    order = list(CASES)
    report.operators.sort(key=order.index)
    report.cases.sort(key=lambda case: order.index(case["operator"]))
    return report


def draw_copies(axes: Axes, cases: list[Case]) -> None:
    """A row for each case: compulsory bytes by time, and by the stream bound."""
    for row, case in enumerate(cases):
        found, roof = (io_bytes(case) / seconds(case) / 1e9 for seconds in (latency, stream_bound))
        axes.plot([found, roof], [row, row], color="#cccccc", linewidth=1, zorder=1)
        axes.plot(found, row, "o", color=COLORS[0], zorder=3)
        axes.plot(roof, row, "|", color=COLORS[1], markersize=9, markeredgewidth=1.5, zorder=2)
    axes.set_yticks(range(len(cases)), [case["operator"] for case in cases], fontsize=8)
    axes.set_ylim(len(cases) - 0.4, -0.6)
    axes.set_xlim(left=0)
    axes.set(xlabel="GB/s of compulsory bytes")
    axes.set_title("Copies", loc="left")


def draw_arithmetic(axes: Axes, cases: list[Case]) -> None:
    """GFLOP/s by operations per compulsory byte, below the machine's roofline."""
    peak = max(case["peak"] for case in cases) / 1e9
    bandwidth = max(io_bytes(case) / stream_bound(case) for case in cases) / 1e9
    right, left = 5e3, 0.03
    axes.plot([left, peak / bandwidth, right], [left * bandwidth, peak, peak], color=GREY)
    axes.text(left * 1.2, peak * 1.1, f"FMA peak, {peak:.0f} GFLOP/s", color=GREY, fontsize=8)
    for case in cases:
        x = case["theory_ops"] / io_bytes(case)
        y = case["theory_ops"] / latency(case) / 1e9
        roof = min(case["peak"], case["theory_ops"] / stream_bound(case)) / 1e9
        axes.plot([x, x], [y, roof], color="#cccccc", linewidth=1, zorder=1)
        axes.plot(x, y, "o", color=COLORS[0], zorder=3)
        axes.plot(x, roof, "_", color=COLORS[1], markersize=9, markeredgewidth=1.5, zorder=2)
        name = case["operator"].removesuffix("_forward").replace("_", " ")
        offset = OFFSETS.get(case["operator"], (6, -8))
        axes.annotate(name, (x, y), offset, textcoords="offset points", fontsize=7.5)
    axes.set(xscale="log", yscale="log", xlim=(left, right))
    axes.set_ylim(0.2, max(axes.get_ylim()[1], 2 * peak))
    axes.set(xlabel="operations / compulsory byte", ylabel="GFLOP/s")
    logarithmic(axes.xaxis)
    logarithmic(axes.yaxis)
    axes.set_title("Cases with arithmetic", loc="left")


def draw_roofline(report: Report) -> Figure:
    cases = [case for case in report.cases if case["threads"] == report.threads]
    style = {"figsize": (11, 5.2), "width_ratios": [1, 2.6]}
    figure, (left, right) = plt.subplots(1, 2, **style)
    draw_copies(left, [case for case in cases if case["operator"] in COPIES])
    draw_arithmetic(right, [case for case in cases if case["theory_ops"] > 0])
    right.plot([], [], "o", color=COLORS[0], label="operator")
    right.plot([], [], "_", color=COLORS[1], markersize=9, markeredgewidth=1.5, label="its roof")
    right.legend(loc="lower right")
    figure.tight_layout()
    return figure


def draw_threads(report: Report) -> Figure:
    """Speed-up over one thread: a row for each operator."""
    speed_ups = {}
    for operator in report.operators:
        cases = [case for case in report.cases if case["operator"] == operator]
        one, many = (
            next(latency(case) for case in cases if case["threads"] == threads)
            for threads in (1, report.threads)
        )
        speed_ups[f"{operator}  {CASES[operator]}"] = one / many
    figure, axes = plt.subplots(figsize=(8, 0.6 + 0.22 * len(speed_ups)))
    for row, speed_up in enumerate(speed_ups.values()):
        axes.plot([1, speed_up], [row, row], color="#cccccc", linewidth=1, zorder=1)
        axes.plot(speed_up, row, "o", color=COLORS[0], zorder=3)
    axes.axvline(report.threads, color=GREY, linewidth=1)
    axes.set_yticks(range(len(speed_ups)), list(speed_ups), fontsize=8)
    axes.set_ylim(len(speed_ups) - 0.4, -0.6)
    axes.set_xlim(left=1)
    axes.set(xlabel=f"latency of 1 thread / latency of {report.threads} threads (line: ideal)")
    figure.tight_layout()
    return figure


def save(figure: Figure, name: str) -> None:
    figure.savefig(FOLDER / name, facecolor="white", metadata={"Date": None})
    plt.close(figure)


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    # The same bytes in every run; text stays text.
    plt.rcParams.update({"svg.hashsalt": "mluop-omp", "svg.fonttype": "none"})
    report = selected(sys.argv[1:])
    missing = [name for name in CASES if name not in report.operators]
    if missing:
        sys.exit(f"measured.py: found no case of {', '.join(missing)}, expected one of each")
    save(draw_roofline(report), "roofline.svg")
    save(draw_threads(report), "threads.svg")
    print(*report.machines, sep="\n")


if __name__ == "__main__":
    main()
