"""`python -m mluop_omp COMMAND`. Each command is a function of a module of its own."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from mluop_omp import __version__
from mluop_omp._library import MluOpError
from mluop_omp._text import printable
from mluop_omp.comparison import _command as compare

_COMMANDS = (compare,)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m mluop_omp", description="Tools of mluop_omp.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
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
