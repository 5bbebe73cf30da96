"""What mluop_perf --json has written."""

import json
from pathlib import Path
from typing import Any

Case = dict[str, Any]

NETWORK_SIZE = 1.0
_SCHEMA_VERSION = 1


def read(file: Path) -> dict[str, Any]:
    """Raises OSError if the file cannot be read, ValueError if it is something else."""
    run = json.loads(file.read_text(encoding="utf-8"))
    if not isinstance(run, dict) or run.get("schema") != "mluop_perf":
        raise ValueError("is not written by mluop_perf --json")
    if run.get("schema_version") != _SCHEMA_VERSION:
        raise ValueError(f"has schema_version {run.get('schema_version')}, expected {_SCHEMA_VERSION}")
    return run


class Report:
    """The verified cases of several runs. Of a case that two of them have, the last counts."""

    def __init__(self, runs: list[dict[str, Any]]) -> None:
        cases: dict[tuple[Any, ...], Case] = {}
        for run in runs:
            for case in filter(lambda each: each["verified"], run["cases"]):
                # With its own run's peak: machines differ.
                case["peak"] = run["machine"]["fma_peak_flops"][str(case["threads"])]
                cases[_key(case)] = case
        self.machines = sorted(
            {"{cpu}, {instruction_set}, mluop-omp {library}".format(**run["machine"]) for run in runs}
        )
        self.operators = list(dict.fromkeys(case["operator"] for case in cases.values()))
        self.cases = sorted(cases.values(), key=lambda case: self.operators.index(case["operator"]))
        self.threads = self._usual_threads()

    def _usual_threads(self) -> int:
        """What most cases have at network size; of several, the fewest that reach the peak: as many as there are
        cores."""
        peaks: dict[int, list[float]] = {}
        for case in self.cases:
            if case["size_factor"] == NETWORK_SIZE:
                peaks.setdefault(case["threads"], []).append(case["peak"])
        most = max(map(len, peaks.values()), default=0)
        highest = {threads: max(each) for threads, each in peaks.items() if len(each) == most}
        enough = 0.9 * max(highest.values(), default=0)
        return min((threads for threads, peak in highest.items() if peak >= enough), default=1)

    def at_network_size(self, operator: str | None = None) -> list[Case]:
        """What a run without sweeps has: warm, the usual threads."""
        return [
            case
            for case in self.cases
            if case["size_factor"] == NETWORK_SIZE
            and case["threads"] == self.threads
            and case["cache"] == "warm"
            and operator in (None, case["operator"])
        ]

    def sweeps(self, operator: str, along: str, fixed: str, value: float) -> dict[str, list[Case]]:
        """Warm cases that were measured at several values of `along`, at one of `fixed`, by their labels."""
        found: dict[str, list[Case]] = {}
        for case in self.cases:
            if case["operator"] == operator and case["cache"] == "warm" and case[fixed] == value:
                found.setdefault(label(case), []).append(case)
        ordered = {name: sorted(cases, key=lambda case: case[along]) for name, cases in found.items()}
        return {name: cases for name, cases in ordered.items() if len(cases) > 1}


def _key(case: Case) -> tuple[Any, ...]:
    return tuple(case[part] for part in ("operator", "case", "dtype", "mode", "size", "threads", "cache"))


def label(case: Case) -> str:
    return "{case}  {dtype}  {mode}".format(**case)


def io_bytes(case: Case) -> int:
    return case["theory_io_read_bytes"] + case["theory_io_write_bytes"]


def latency(case: Case) -> float:
    """Seconds of a call, the median."""
    return case["latency"]["median"]


def twin(case: Case) -> float:
    """Seconds of the streaming twin with the better stores."""
    return min(case["twin_ordinary"]["median"], case["twin_non_temporal"]["median"])
