"""`python -m mluop_omp [COMMAND]`. Each command is a function of a module of its own."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from mluop_omp import __version__, _case, _status
from mluop_omp import _onnx_command as record
from mluop_omp._library import MluOpError
from mluop_omp.golden import _command as compare
from mluop_omp.golden import _replay_command as replay
from mluop_omp.golden._text import printable

_COMMANDS = (record, compare, replay, _case)
replay.REPLAYS[".onnx"] = record.replay
replay.OPTIONS[:] = [record.add_replay_options]
_DESCRIPTION = """
Without a command: prints versions, instruction set, OpenMP runtime, threads and the libraries that
are installed, and tests each operator on a small case against its definition.
"""
_EPILOG = "Exit status without a command: 0 if all operators passed, else 1."


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m mluop_omp", description=_DESCRIPTION, epilog=_EPILOG
    )
    parser.add_argument("--version", action="version", version=__version__)
    parser.set_defaults(run=_status.run)
    commands = parser.add_subparsers(metavar="COMMAND")
    for command in _COMMANDS:
        command.add_parser(commands)
    parsed = parser.parse_args(arguments)
    try:
        return parsed.run(parsed)
    except KeyboardInterrupt:
        return 130
    except (OSError, ValueError, TypeError, MemoryError, MluOpError) as error:
        message = printable(str(error)) or "out of memory"
        print(f"{parser.prog}: {message}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
