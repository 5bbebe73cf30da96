"""`python -m mluop_omp compare`: compares two files or folders."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any

from mluop_omp.golden import _output, _progress
from mluop_omp.golden._text import printable
from mluop_omp.golden.comparison import Comparison, _files, compare
from mluop_omp.golden.runs import RunComparison, compare_runs
from mluop_omp.golden.runs._names import read_rules
from mluop_omp.golden.runs._run import is_run

_DESCRIPTION = """
Compares FOUND with EXPECTED: .npy, .npz, .pt, .pth, .safetensors, .tensor of Lidar_AI_Solution, .pb
of ONNX, raw elements (.bin, .raw, or any other name with --dtype), or folders of such files,
matched by relative name.
For two runs of a model, reports the first module that differs. A run is a file of mluop_omp.record,
a dump of msprobe (the folder of dump.json), or a RunResults of Polygraphy (.json; FILE.json#RUNNER
where it has several runners).
A file that holds features [N, C] and indices [N, 1 + dims] (batch first), optionally spatial_shape
and batch_size, and nothing else, is a sparse tensor: its rows are joined by coordinate. Also known
are voxel_features and voxel_coords, feats and coors, feats and coords, and folders of two .npy.
"""
_EPILOG = """
Metrics that must not exceed their threshold: diff1, diff2, diff3, diff3_1, diff3_2, diff4,
max_absolute, max_relative, max_ulp. Metrics that must reach their threshold: cosine, pcc.
Metrics without a threshold: allclose (no element is wrong), bits (all bits are equal).

Exit status: 0 equal; 1 different; 2 the inputs cannot be compared, hold nothing to compare, or are
runs that agree but were compared only in part.
"""


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "compare",
        help="compare two files or folders of tensors",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("found", metavar="FOUND", help="the result to check")
    parser.add_argument("expected", metavar="EXPECTED", help="the correct result")
    parser.add_argument(
        "--rtol", type=float, help="relative tolerance; default by element type, 1.3e-6 for float32"
    )
    parser.add_argument(
        "--atol",
        type=float,
        help="absolute tolerance; default: by element type, for float32 1e-5 times the root mean "
        "square of the nonzero elements of EXPECTED",
    )
    parser.add_argument(
        "--criterion",
        dest="criteria",
        metavar="NAME=VALUE",
        action="append",
        help="decide by a metric and its threshold instead of the tolerances; may be repeated",
    )
    parser.add_argument(
        "--worst", metavar="N", type=int, default=5, help="wrong elements to print; default: 5"
    )
    parser.add_argument(
        "--axes",
        metavar="N,C,H,W",
        type=lambda text: tuple(map(str.strip, text.split(","))),
        help="names of the dimensions in the pattern",
    )
    parser.add_argument(
        "--all", action="store_true", help="also print a table of all tensors with their figures"
    )
    parser.add_argument(
        "--columns",
        metavar="C,C,...",
        type=shape,
        action="append",
        help="columns of the coordinates of FOUND in the order of EXPECTED, the batch first, such "
        "as 0,3,2,1; may be repeated for another number of columns",
    )
    parser.add_argument("--dtype", help="element type of raw files, such as float32 or half")
    parser.add_argument(
        "--expected-dtype", metavar="DTYPE", help="element type of a raw EXPECTED; default: --dtype"
    )
    parser.add_argument(
        "--shape", metavar="D,D,...", type=shape, help="shape of raw files; default: one row"
    )
    parser.add_argument(
        "--shapes",
        metavar="FILE",
        help="shapes of raw files by name, as of qnn-net-run and snpe-net-run: a line "
        "'NAME D,D,... DTYPE' for each, JSON, or model_net.json; files in folders then match "
        "without suffix",
    )
    add_common(parser, "runs: rename each module of FOUND", "EXPECTED")
    parser.add_argument(
        "--html",
        metavar="FILE",
        help="write a page with drawings of the tensors that differ",
    )
    parser.set_defaults(run=run)


def add_common(parser: argparse.ArgumentParser, renames: str, other: str) -> None:
    """Adds the options of both commands. renames: what --map does, to names in `other`."""
    parser.add_argument(
        "--map",
        metavar="OLD=NEW",
        action="append",
        default=[],
        help=f"{renames} whose whole name matches the regular expression OLD to NEW, its name in "
        f"{other}; @FILE reads one rule a line; may be repeated",
    )
    parser.add_argument("--json", metavar="FILE", help="write the result as JSON")


def rules_of(arguments: argparse.Namespace) -> list[str]:
    return [rule for text in arguments.map for rule in read_rules(text)]


def shape(text: str) -> tuple[int, ...]:
    """Parses a shape; argparse reports invalid values by the name of this function."""
    extents = tuple(int(extent) for extent in text.split(",")) if text else ()
    if any(extent < 0 for extent in extents):
        raise ValueError
    return extents


def _only(value: Any, other: Any) -> Any:
    """Returns the tensor of an archive that holds one, unless the other file is an archive too."""
    is_single = isinstance(value, dict) and len(value) == 1 and not isinstance(other, dict)
    return next(iter(value.values())) if is_single else value


def run(arguments: argparse.Namespace) -> int:
    """Prints the report and returns the exit status. Raises ValueError, TypeError or OSError."""
    with _progress.shown():
        result = _compare(arguments)
        print_report(result.text(every=arguments.all))
        if arguments.html is not None:
            result.html(arguments.html)
    write_json(arguments, result)
    return 2 if not result.comparable else 0 if result.equal else 1


def write_json(arguments: argparse.Namespace, result: Any) -> None:
    if arguments.json is not None:
        _output.write_text(arguments.json, json.dumps(result.to_dict(), indent=1) + "\n")


def print_report(text: str) -> None:
    try:
        print(printable(text), flush=True)
    except BrokenPipeError:
        # The reader, such as head, has closed the pipe. Buffered text is flushed to /dev/null.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _compare(arguments: argparse.Namespace) -> Comparison | RunComparison:
    paths = arguments.found, arguments.expected
    names = "rtol", "atol", "criteria", "worst", "axes", "columns"
    options = {name: getattr(arguments, name) for name in names}
    if any(map(is_run, paths)):
        return compare_runs(*paths, names=rules_of(arguments), **options)
    if arguments.map:
        raise ValueError("--map applies to runs of models, found other files")
    dtypes = arguments.dtype, arguments.expected_dtype or arguments.dtype
    shapes = None if arguments.shapes is None else _files.read_shapes(arguments.shapes)
    formats = [_files.RawFormat(dtype, arguments.shape, shapes) for dtype in dtypes]
    found, expected = map(_files.read, paths, formats)
    return compare(_only(found, expected), _only(expected, found), **options)
