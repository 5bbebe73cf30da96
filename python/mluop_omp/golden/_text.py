"""Text of reports: counts, lists of names, labels, tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

_MAX_NAMES = 8


def printable(text: str) -> str:
    """Replaces characters that a terminal cannot print or would obey; names come from files."""
    return "".join(each if each.isprintable() or each == "\n" else "?" for each in text)


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" + "s" * (number != 1)


def listed(names: Iterable[object], count: int = 0) -> str:
    """Returns the first names. count: their number, if `names` holds only some of them."""
    texts = list(map(str, names))
    shown = texts[:_MAX_NAMES]
    return ", ".join(shown) + ", ..." * (max(count, len(texts)) > len(shown))


def labeled(label: str, report: object) -> list[str]:
    """Returns the lines of a report: a label before the first line, the others indented."""
    return f"{label}: {report}".replace("\n", "\n  ").split("\n")


def name_of(module: str) -> str:
    """Returns the name of a module, or of an operation in one, in a text."""
    return f"(model){module}" if not module or module.startswith("::") else module


def path_of(role: str, path: str) -> str:
    return f"{role} {path}" if path else role


def below(path: str, name: object) -> str:
    """Returns the path of a member, whose name is quoted if it is empty or has a dot or a quote."""
    text = str(name)
    text = json.dumps(text) if not text or "." in text or '"' in text else text
    return f"{path}.{text}" if path else text


def module_label(name: str, kind: str) -> str:
    """Returns the name of a module in its model, followed by its class."""
    return f"{name_of(name)} ({kind})"


def call_label(name: str, kind: str, line: str) -> str:
    """Returns the label of a recorded call: of a module, or of an operation that a line calls."""
    return (
        f"{module_label(name, kind)}, at {line}"
        if line
        else module_label(name, kind.rpartition(".")[2])
    )


def table(rows: Sequence[Sequence[str]], alignment: str) -> list[str]:
    """Returns a line for each row. alignment: "<" or ">" for each column."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ["  ".join(map("{:{}{}}".format, row, alignment, widths)).rstrip() for row in rows]
