"""JSON objects of untrusted files: members of a stated type, errors that name the place."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any


class Invalid(Exception):
    """A file that is not as expected; its message follows the path of the file."""


@dataclasses.dataclass(frozen=True)
class Object:
    """A JSON object and its place in the file, for messages."""

    members: dict[str, Any]
    where: str

    def __post_init__(self) -> None:
        if not isinstance(self.members, dict):
            raise Invalid(f"{self.where} is {type(self.members).__name__}, expected an object")

    def get(self, name: str, kind: type, *default: Any) -> Any:
        """Returns a member. default: its value if it is missing; without one it is required."""
        if default and name not in self.members:
            return default[0]
        value = self.members.get(name)
        if not isinstance(value, kind) or isinstance(value, bool):
            found = "missing" if value is None else repr(value)[:80]
            raise Invalid(f"{self.where}: {name} is {found}, expected {kind.__name__}")
        return value

    def objects(self, name: str, *default: Any) -> list[Object]:
        values = enumerate(self.get(name, list, *default))
        return [Object(each, f"{self.where}: {name}[{k}]") for k, each in values]

    def object(self, name: str) -> Object:
        return Object(self.get(name, dict), f"{self.where}: {name}")

    def entries(self) -> Iterator[tuple[str, Object]]:
        """Yields the members, which must all be objects, by name."""
        for name, member in self.members.items():
            yield name, Object(member, f"{self.where}: {name[:200]}")

    def sizes(self, name: str, *default: Any) -> Any:
        values = self.get(name, list, *default)
        if values is None:
            return None
        if not all(type(each) is int and 0 <= each < 2**63 for each in values):
            raise Invalid(f"{self.where}: {name} is {values!r:.80}, expected sizes")
        return tuple(values)

    def number(self, name: str, base: int) -> int:
        """Parses a 64-bit number. JSON has them as texts, as many readers make numbers doubles."""
        text = self.get(name, str)
        try:
            number = int(text, base)
        except ValueError:
            number = -1
        if not 0 <= number < 2**64:
            raise Invalid(f"{self.where}: {name} is {text!r}, expected a number of 64 bits")
        return number
