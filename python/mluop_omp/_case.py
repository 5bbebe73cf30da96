"""`mluop_case`, also `python -m mluop_omp case`: the program in the package that runs cases."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path
from typing import Any, NoReturn

from mluop_omp._library import openmp_runtimes_of_torch

RUNNER = Path(__file__).with_name("mluop_case")
# The exit status of a shell for a command that does not exist. mluop_case itself ends with 0 to 2.
NOT_INSTALLED = 127
_MISSING = f"""
mluop_case: found no {RUNNER}. The package contains it if
protobuf with its static library, CLI11 and nlohmann-json are installed when the package is built:
  Debian, Ubuntu:  apt install libprotobuf-dev protobuf-compiler libcli11-dev nlohmann-json3-dev
  then, in the source folder:  pip install .
"""


def add_parser(commands: Any) -> None:
    # No argument begins with this prefix: all of them are passed on.
    parser = commands.add_parser(
        "case", help="run operator cases: mluop_case", add_help=False, prefix_chars="\0"
    )
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    parser.set_defaults(run=lambda parsed: _replace_process(parsed.arguments))


def main() -> NoReturn:
    """Runs mluop_case with the arguments of this process, whose place it takes."""
    _replace_process(sys.argv[1:])


def _replace_process(arguments: list[str]) -> NoReturn:
    if not RUNNER.is_file():
        print(_MISSING.strip(), file=sys.stderr)
        sys.exit(NOT_INSTALLED)
    # Python ignores these signals; a pipe that is closed ends a program.
    for name in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(name, signal.SIG_DFL)
    os.execve(RUNNER, ["mluop_case", *arguments], _environment())


def _environment() -> dict[str, str]:
    """The environment in which the program has the OpenMP runtime that this package has.

    The dynamic linker splits the list at colons and spaces: a name with one cannot be in it.
    """
    runtimes = [each for each in openmp_runtimes_of_torch() if not set(": ") & set(each)]
    preloaded = [*filter(None, [os.environ.get("LD_PRELOAD")]), *runtimes]
    return {**os.environ, **({"LD_PRELOAD": ":".join(preloaded)} if preloaded else {})}
