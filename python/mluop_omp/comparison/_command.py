"""`python -m mluop_omp compare`: two files or folders."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any

from mluop_omp import _output, _progress, _requirements
from mluop_omp._text import printable
from mluop_omp.comparison import Comparison, _files, compare
from mluop_omp.runs import RunComparison, compare_runs
from mluop_omp.runs._names import read_rules
from mluop_omp.runs._run import is_run

_DESCRIPTION = """
Compares FOUND with EXPECTED: .npy, .npz, .pt, .pth, .safetensors, raw elements (.bin, .raw, or any
other name if --dtype is given), or folders of such files, which are matched by relative name.
Of two runs of a model, files of mluop_omp.record, shows the first module that differs.
A file of several tensors that has features [N, C] and indices [N, 1 + dims] (batch first), and
nothing else but spatial_shape and batch_size, is a sparse tensor: rows are joined by coordinate.
"""
_EPILOG = """
Metrics that pass up to their threshold: diff1, diff2, diff3, diff3_1, diff3_2, diff4,
max_absolute, max_relative, max_ulp. Metrics that pass from their threshold on: cosine, pcc.
Without a threshold: allclose (no element is wrong), bits (no element has other bits).

Exit status: 0 equal, 1 different, 2 cannot be compared, or nothing was compared, or, of runs
without a difference, only a part.
"""


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "compare",
        help="compare two files or folders of tensors",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("found", metavar="FOUND", help="the result")
    parser.add_argument("expected", metavar="EXPECTED", help="what it should be")
    parser.add_argument(
        "--rtol", type=float, help="relative tolerance; default: by element type, 1.3e-6 of float32"
    )
    parser.add_argument(
        "--atol",
        type=float,
        help="absolute tolerance; default: by element type, 1e-5 of the root mean square of the "
        "elements of EXPECTED other than 0 for float32",
    )
    parser.add_argument(
        "--criterion",
        metavar="NAME=VALUE",
        action="append",
        help="a metric and its threshold, in place of the tolerances; repeat for several",
    )
    parser.add_argument(
        "--worst", metavar="N", type=int, default=5, help="wrong elements to print; default: 5"
    )
    parser.add_argument(
        "--axes", metavar="N,C,H,W", type=_names, help="names of the dimensions, for the pattern"
    )
    parser.add_argument("--dtype", help="element type of raw files, such as float32 or half")
    parser.add_argument(
        "--expected-dtype", metavar="DTYPE", help="that of EXPECTED; default: that of --dtype"
    )
    parser.add_argument(
        "--shape", metavar="D,D,...", type=_extents, help="shape of raw files; default: one row"
    )
    parser.add_argument(
        "--map",
        metavar="OLD=NEW",
        action="append",
        default=[],
        help="of runs: the name in EXPECTED of modules whose name in FOUND matches the regular "
        "expression OLD; @FILE: such lines of a file; repeat for several",
    )
    parser.add_argument("--json", metavar="FILE", help="write the result as JSON")
    parser.add_argument(
        "--html",
        metavar="FILE",
        help="write a page that draws the tensors that differ; requires matplotlib",
    )
    parser.set_defaults(run=run)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


def _extents(text: str) -> tuple[int, ...]:
    extents = tuple(int(extent) for extent in text.split(",")) if text else ()
    if any(extent < 0 for extent in extents):
        raise ValueError
    return extents


def _only(value: Any, other: Any) -> Any:
    """Returns the only tensor of an archive if the other file is not an archive."""
    is_single = isinstance(value, dict) and len(value) == 1 and not isinstance(other, dict)
    return next(iter(value.values())) if is_single else value


# What argparse calls the types in its messages.
_names.__name__, _extents.__name__ = "names", "shape"


def run(arguments: argparse.Namespace) -> int:
    """Prints the report and returns the exit status. Raises ValueError, TypeError or OSError."""
    if arguments.html is not None:
        message = _requirements.missing("matplotlib")
        if message is not None:
            raise ValueError(f"--html: {message}")
    with _progress.shown():
        result = _compare(arguments)
        _print(printable(str(result)))
        if arguments.html is not None:
            result.html(arguments.html)
    if arguments.json is not None:
        _output.write_text(arguments.json, json.dumps(result.to_dict(), indent=1) + "\n")
    return 2 if not result.comparable else 0 if result.equal else 1


def _print(text: str) -> None:
    try:
        print(text, flush=True)
    except BrokenPipeError:
        # The reader, such as head, has read enough. What is buffered has to go somewhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _compare(arguments: argparse.Namespace) -> Comparison | RunComparison:
    paths = arguments.found, arguments.expected
    options = {
        "rtol": arguments.rtol,
        "atol": arguments.atol,
        "criteria": arguments.criterion,
        "worst": arguments.worst,
        "axes": arguments.axes,
    }
    if any(map(is_run, paths)):
        rules = [rule for text in arguments.map for rule in read_rules(text)]
        return compare_runs(*paths, names=rules, **options)
    if arguments.map:
        raise ValueError("--map is for runs, which mluop_omp.record writes: found other files")
    dtypes = arguments.dtype, arguments.expected_dtype or arguments.dtype
    formats = [_files.RawFormat(dtype, arguments.shape) for dtype in dtypes]
    found, expected = map(_files.read, paths, formats)
    return compare(_only(found, expected), _only(expected, found), **options)
