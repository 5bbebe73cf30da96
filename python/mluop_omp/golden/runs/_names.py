"""Maps the module names of one model to the names in another."""

from __future__ import annotations

import collections
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Union

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
        self._unused: dict[str, None] = {}
        for rule in names or ():
            pattern, replacement = _split(rule) if isinstance(rule, str) else rule
            try:
                self._rules.append((re.compile(pattern), replacement))
                re.sub(pattern, replacement, "")  # names of groups
            except (re.error, IndexError) as error:
                raise ValueError(f"map {pattern}={replacement}: {error}") from None
            self._unused[pattern] = None

    def __call__(self, name: str) -> str:
        for pattern, replacement in self._rules:
            match = pattern.fullmatch(name)
            if match is not None:
                self._unused.pop(pattern.pattern, None)
                return match.expand(replacement)
        return name

    @property
    def unused(self) -> list[str]:
        """Patterns that have matched no name."""
        return list(self._unused)


def suggest(found: Iterable[str], expected: Iterable[str]) -> tuple[int, str] | None:
    """Returns a rule that adds or removes a prefix, and the number of names it matches, or None.

    Wrappers add prefixes, such as "module" in DistributedDataParallel.
    """
    found, expected = set(found), set(expected)
    rules: collections.Counter[str] = collections.Counter()
    for prefix in _prefixes(found, expected):
        rules[re.escape(prefix) + r"\.(.*)=\1"] += 1
    for prefix in _prefixes(expected, found):
        rules[rf"(.+)={prefix}.\1"] += 1
    for rule, count in rules.most_common(1):
        if 2 * count > min(len(found), len(expected)):
            return count, rule
    return None


def _prefixes(names: set[str], others: set[str]) -> Iterator[str]:
    """Yields the prefixes of names whose rest is among the others."""
    for name in names:
        parts = name.split(".")
        for count in range(1, len(parts)):
            if ".".join(parts[count:]) in others:
                yield ".".join(parts[:count])


def contains(module: str, inner: str) -> bool:
    return inner.startswith(f"{module}." if module else "") and module != inner


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
