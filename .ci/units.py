"""Prints the translation units of src/ that changes concern.

python3 .ci/units.py BUILD [COMMIT]

BUILD holds a compile_commands.json. With a COMMIT: the units that have changed since, or include,
at any depth and by a name in quotes, a file that has; all units if a file has changed that decides
how each is checked. Without: all.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOR_ALL = {".clang-tidy", ".ci/tidy", ".ci/units.py", "CMakePresets.json", "cmake/warnings.cmake"}
INCLUDE = re.compile(r'^#include "(.+)"', re.MULTILINE)


def all_units(build: Path) -> list[Path]:
    commands = json.loads((build / "compile_commands.json").read_text())
    files = {Path(command["file"]) for command in commands}
    return sorted(file for file in files if {ROOT / "src", build / "src"} & set(file.parents))


class Includes:
    """The files that a file includes, and itself."""

    def __init__(self) -> None:
        self._of: dict[Path, set[Path]] = {}

    def of(self, file: Path) -> set[Path]:
        if file not in self._of:
            self._of[file] = {file}
            for name in INCLUDE.findall(file.read_text()):
                for folder in (file.parent, ROOT / "src", ROOT / "include"):
                    if (folder / name).is_file():
                        self._of[file] |= self.of((folder / name).resolve())
                        break
        return self._of[file]


def changed_units(units: list[Path], commit: str) -> list[Path]:
    command = ["git", "diff", "--name-only", "--no-renames", commit]
    changed = set(
        subprocess.run(
            command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
        ).stdout.split()
    )
    if changed & FOR_ALL:
        return units
    files, includes = {ROOT / name for name in changed}, Includes()
    return [unit for unit in units if files & includes.of(unit)]


def main() -> None:
    build, *commit = Path(sys.argv[1]).resolve(), *sys.argv[2:]
    units = all_units(build)
    if not units:
        sys.exit(f"units.py: {build} compiles no file of src/")
    for unit in changed_units(units, *commit) if commit else units:
        print(unit)


if __name__ == "__main__":
    main()
