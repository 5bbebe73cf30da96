"""Reads and selects the results of mluop_perf --json."""

import json
from pathlib import Path
from typing import Any

Case = dict[str, Any]

NETWORK_SIZE = 1.0
_SCHEMA_VERSION = 3


def read(file: Path) -> dict[str, Any]:
    """Raises OSError if the file cannot be read, ValueError if mluop_perf --json did not write it."""
    run = json.loads(file.read_text(encoding="utf-8"))
    if not isinstance(run, dict) or run.get("schema") != "mluop_perf":
        raise ValueError("was not written by mluop_perf --json")
    if run.get("schema_version") != _SCHEMA_VERSION:
        raise ValueError(f"has schema_version {run.get('schema_version')}, expected {_SCHEMA_VERSION}")
    return run


class Report:
    """The verified cases of several runs. If two runs contain the same case, the last run counts."""

    def __init__(self, runs: list[dict[str, Any]]) -> None:
        cases: dict[tuple[Any, ...], Case] = {}
        for run in runs:
            for case in filter(lambda each: each["verified"], run["cases"]):
                # The peak of the same run, because runs may come from different machines.
                case["peak"] = run["machine"]["fma_peak_flops"][str(case["threads"])]
                cases[_key(case)] = case
        self.machines = sorted(
            {"{cpu}, {instruction_set}, mluop-omp {library}".format(**run["machine"]) for run in runs}
        )
        self.operators = list(dict.fromkeys(case["operator"] for case in cases.values()))
        self.cases = sorted(cases.values(), key=lambda case: self.operators.index(case["operator"]))
        self.threads = self._usual_threads()

    def _usual_threads(self) -> int:
        """The number of threads of most cases at network size. If several numbers are equally frequent, the
        smallest one that reaches 90 % of the highest FMA peak: the number of cores."""
        peaks: dict[int, list[float]] = {}
        for case in self.cases:
            if case["size_factor"] == NETWORK_SIZE:
                peaks.setdefault(case["threads"], []).append(case["peak"])
        max_cases = max(map(len, peaks.values()), default=0)
        highest = {threads: max(each) for threads, each in peaks.items() if len(each) == max_cases}
        threshold = 0.9 * max(highest.values(), default=0)
        return min((threads for threads, peak in highest.items() if peak >= threshold), default=1)

    def at_network_size(self, operator: str | None = None) -> list[Case]:
        """Cases at network size with warm caches and the usual number of threads."""
        return [
            case
            for case in self.cases
            if case["size_factor"] == NETWORK_SIZE
            and case["threads"] == self.threads
            and case["cache"] == "warm"
            and operator in (None, case["operator"])
        ]

    def sweeps(self, operator: str, along: str, fixed: str, value: float) -> dict[str, list[Case]]:
        """Warm cases with several values of `along` and the value `value` of `fixed`, by label."""
        found: dict[str, list[Case]] = {}
        for case in self.cases:
            if case["operator"] == operator and case["cache"] == "warm" and case[fixed] == value:
                found.setdefault(label(case), []).append(case)
        ordered = {name: sorted(cases, key=lambda case: case[along]) for name, cases in found.items()}
        return {name: cases for name, cases in ordered.items() if len(cases) > 1}


def _key(case: Case) -> tuple[Any, ...]:
    return tuple(case[part] for part in ("operator", "case", "dtype", "algorithm", "size", "threads", "cache"))


def label(case: Case) -> str:
    return "{case}  {dtype}  {algorithm}".format(**case)


def io_bytes(case: Case) -> int:
    return case["theory_io_read_bytes"] + case["theory_io_write_bytes"]


def latency(case: Case) -> float:
    """Median seconds of a call."""
    return case["latency"]["median"]


def stream_bound(case: Case) -> float:
    """Median seconds of the stream bound with the faster kind of store."""
    return min(case["stream_bound_ordinary"]["median"], case["stream_bound_non_temporal"]["median"])
