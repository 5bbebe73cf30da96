"""`python -m mluop_omp compare` of two runs."""

from __future__ import annotations

import argparse
from typing import Any

from mluop_omp.runs._compare import RunComparison, compare_runs
from mluop_omp.runs._names import read_rules
from mluop_omp.runs._run import is_run


def add_arguments(parser: Any) -> None:
    parser.add_argument(
        "--map",
        metavar="OLD=NEW",
        action="append",
        default=[],
        help="of runs: the name in EXPECTED of modules whose name in FOUND matches the regular "
        "expression OLD; @FILE: such lines of a file; repeat for several",
    )


def applies(arguments: argparse.Namespace) -> bool:
    """Returns whether one of both files is that of a run."""
    if is_run(arguments.found) or is_run(arguments.expected):
        return True
    if arguments.map:
        raise ValueError("--map is for runs, which mluop_omp.record writes: found other files")
    return False


def compare(arguments: argparse.Namespace) -> RunComparison:
    """Raises ValueError or OSError if they cannot be compared."""
    return compare_runs(
        arguments.found,
        arguments.expected,
        names=[rule for text in arguments.map for rule in read_rules(text)],
        rtol=arguments.rtol,
        atol=arguments.atol,
        criteria=arguments.criterion,
        worst=arguments.worst,
        axes=arguments.axes,
    )
