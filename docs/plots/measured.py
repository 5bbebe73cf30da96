"""Draws the plots of docs/perf.md from runs of the perf suite: python docs/plots/measured.py RUN.json ...

    mluop_perf --algorithm native --dtype float --threads 1,2 --json RUN.json

Of each operator it draws the case that CASES names, if the runs contain it.
"""

from __future__ import annotations

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.append(str(FOLDER.parents[1] / "perf"))

import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from plots.report import Case, Report, latency, read, stream_bound  # noqa: E402
from plots.roofline import draw_roofline  # noqa: E402
from plots.style import COLORS, GREY  # noqa: E402

# The case of a network that is named in perf/NOTES.md, or the largest one.
CASES = {
    "voxel_pooling_forward": "camera",
    "voxelization": "centerpoint_nuscenes 347200x5_10x120000",
    "dynamic_point_to_voxel_forward": "mvx_net_max",
    "dynamic_scatter_backward": "mvx_net",
    "indice_convolution_forward": "subm_64x64",
    "indice_convolution_backward_data": "subm_64x64",
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


def selected(files: list[str]) -> Report:
    runs = [read(Path(file)) for file in files]
    for run in runs:
        run["cases"] = [case for case in run["cases"] if CASES.get(case["operator"]) == case["case"]]
    report = Report(runs)
    order = list(CASES)
    report.operators.sort(key=order.index)
    report.cases.sort(key=lambda case: order.index(case["operator"]))
    return report


def draw_threads(report: Report) -> Figure:
    """Speed-up over one thread: a row for each operator, beside that of its stream bound."""
    rows: list[tuple[Case, Case]] = []
    for operator in report.operators:
        cases = [case for case in report.cases if case["operator"] == operator]
        one = next(case for case in cases if case["threads"] == 1)
        rows += [(one, case) for case in cases if case["threads"] == report.threads]
    figure, axes = plt.subplots(figsize=(8, 0.8 + 0.24 * len(rows)))
    for row, (one, many) in enumerate(rows):
        speed_up, bound = (seconds(one) / seconds(many) for seconds in (latency, stream_bound))
        axes.plot([1, speed_up], [row, row], color="#cccccc", linewidth=1, zorder=1)
        axes.plot(speed_up, row, "o", color=COLORS[0], zorder=3)
        axes.plot(bound, row, "|", color=COLORS[1], markersize=9, markeredgewidth=1.5, zorder=2)
    axes.axvline(report.threads, color=GREY, linewidth=1)
    axes.plot([], [], "o", color=COLORS[0], label="operator")
    axes.plot([], [], "|", color=COLORS[1], markersize=9, markeredgewidth=1.5, label="stream bound")
    names = [f"{case['operator']}  {case['case']}" for case, _ in rows]
    axes.set_yticks(range(len(rows)), names, fontsize=8)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set(xlabel=f"speed-up of {report.threads} threads over one (line: ideal)")
    axes.set_xlim(left=1)
    axes.legend(loc="lower left")
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
