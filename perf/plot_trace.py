#!/usr/bin/env python3
"""Draws a trace of MLUOP_OMP_TRACE: a row for each thread, a bar for each task, coloured by kernel.

plot_trace.py TRACE.json PICTURE.png [--call N]    N: the call to draw, from 0; default: the last
"""

import argparse
import json

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402  pylint: disable=wrong-import-position

_CALL_THREAD = 0


def _events_of_call(events: list[dict], number: int | None) -> tuple[dict, list[dict]]:
    """The call and the events of its launches and tasks."""
    calls = [index for index, event in enumerate(events) if "tensors" in event["args"]]
    first = calls[-1 if number is None else number]
    later = [index for index in calls if index > first]
    return events[first], events[first + 1 : later[0] if later else len(events)]


def _label(event: dict) -> str:
    args = event["args"]
    traffic = (args.get("bytes_loaded", 0) + args.get("bytes_stored", 0)) / 1e6
    text = f"task {args['taskId']}: {args['items']} items, {args['tiles']} tiles, {traffic:.1f} MB"
    return text + (f", {args['atomics']} atomics" if args["atomics"] else "")


def draw(trace: str, picture: str, number: int | None) -> None:
    """Reads the trace and writes the picture."""
    with open(trace, encoding="utf-8") as file:
        call, events = _events_of_call(json.load(file), number)
    kernels = list(dict.fromkeys(event["name"] for event in events))
    colors = {kernel: f"C{index}" for index, kernel in enumerate(kernels)}
    threads = sorted({event["tid"] for event in events})
    figure, axes = pyplot.subplots(figsize=(10, 0.8 + 0.5 * len(threads)), dpi=110)
    for event in events:
        start, width = (event["ts"] - call["ts"]) / 1e3, event["dur"] / 1e3
        axes.barh(threads.index(event["tid"]), width, left=start, height=0.8, color=colors[event["name"]],
                  edgecolor="white", linewidth=0.5)
        if event["tid"] != _CALL_THREAD and width > 0.3 * call["dur"] / 1e3:
            axes.text(start + width / 2, threads.index(event["tid"]), _label(event), ha="center", va="center",
                      fontsize=7.5, color="white")
    axes.set_yticks(range(len(threads)), ["launches" if t == _CALL_THREAD else f"thread {t - 1}" for t in threads])
    axes.invert_yaxis()
    axes.set_xlabel("ms")
    axes.set_title(call["name"], fontsize=10)
    handles = [pyplot.Rectangle((0, 0), 1, 1, color=colors[kernel]) for kernel in kernels]
    axes.legend(handles, kernels, loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8, frameon=False)
    figure.tight_layout()
    figure.savefig(picture)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace")
    parser.add_argument("picture")
    parser.add_argument("--call", type=int, metavar="N")
    arguments = parser.parse_args()
    draw(arguments.trace, arguments.picture, arguments.call)


if __name__ == "__main__":
    main()
