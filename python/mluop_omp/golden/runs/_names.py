"""Maps the module names of one model to the names in another."""

from __future__ import annotations

import collections
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Union

from mluop_omp.golden._text import counted

Names = Union[None, str, Mapping[str, str], Iterable[Union[str, tuple[str, str]]]]


class NameMap:
    """Renames by the first pattern that matches a whole name, with re.fullmatch and expand."""

    def __init__(self, names: Names) -> None:
        """Raises ValueError unless names are pairs or texts such as "old=new"."""
        if isinstance(names, Mapping):
            names = names.items()  # type: ignore[assignment]
        elif isinstance(names, str):
            names = [names]
        self._rules: list[tuple[re.Pattern[str], str]] = []
        for rule in names or ():
            pattern, replacement = _split(rule) if isinstance(rule, str) else rule
            try:
                self._rules.append((re.compile(pattern), replacement))
                re.sub(pattern, replacement, "")  # names of groups
            except (re.error, IndexError) as error:
                raise ValueError(f"map {pattern}={replacement}: {error}") from None
        # Patterns that have matched no name.
        self.unused = dict.fromkeys(pattern.pattern for pattern, _ in self._rules)

    def adapt(self, found: set[str], expected: set[str], side: str = "found") -> str:
        """Adds or removes a prefix if more names match then; returns a line that says so, or "".

        Wrappers such as DistributedDataParallel add a prefix, "module". The wrapper itself gets a
        name that no module has. side: whose names these are, for the line.
        """
        named = {self(name) for name in found}
        mine, others = named - expected, expected - named
        counts = collections.Counter(("remove", each) for each in _prefixes(mine, others))
        counts.update(("add", each) for each in _prefixes(others, mine))
        for (kind, prefix), count in counts.most_common(1):
            if 2 * count <= min(len(mine), len(others)):
                return ""
            if kind == "add":
                self._add("(.+)", rf"{prefix}.\1")
                self._add("", prefix)
                return f"{side} lacks the prefix {prefix}: {counted(count, 'module')}"
            parts = prefix.split(".")
            for length in range(len(parts)):
                self._add(re.escape(".".join(parts[:length])), "(wrapper) \\g<0>")
            self._add(rf"{re.escape(prefix)}(?:\.(.*))?", r"\1")
            return f"{side} has the prefix {prefix}: {counted(count, 'module')}"
        return ""

    def _add(self, pattern: str, replacement: str) -> None:
        self._rules.append((re.compile(pattern), replacement))

    def __call__(self, name: str) -> str:
        for pattern, replacement in self._rules:
            match = pattern.fullmatch(name)
            if match is not None:
                self.unused.pop(pattern.pattern, None)
                return match.expand(replacement)
        module, sign, operation = name.partition("::")
        return f"{self(module)}::{operation}" if sign else name


def _prefixes(names: set[str], others: set[str]) -> Iterator[str]:
    """Yields the prefixes of names whose rest is among the others."""
    for name in names:
        parts = name.split(".")
        for count in range(1, len(parts)):
            if ".".join(parts[count:]) in others:
                yield ".".join(parts[:count])


def contains(module: str, inner: str) -> bool:
    """Returns whether a module contains a module or an operation."""
    return inner != module and (not module or inner.startswith((f"{module}.", f"{module}::")))


def read_rules(text: str) -> list[str]:
    """Returns the rule "old=new", or the rules in the lines of the file named after "@"."""
    if not text.startswith("@"):
        return [text]
    lines = Path(text[1:]).read_text().splitlines()
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]


def _split(rule: str) -> tuple[str, str]:
    # Groups such as (?=x) contain the sign, too.
    pattern, sign, replacement = rule.rpartition("=")
    if not sign:
        raise ValueError(f"map is {rule!r}, expected OLD=NEW")
    return pattern, replacement
