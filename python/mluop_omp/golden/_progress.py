"""Progress bars on stderr, for commands; they require a terminal, and tqdm or rich."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

_Item = TypeVar("_Item")
# Whether bars are enabled, and whether one is shown: nested loops show no bar of their own.
_enabled = False
_active = False
# Loops that end sooner show no bar.
_DELAY_SECONDS = 1.0


@contextlib.contextmanager
def shown() -> Iterator[None]:
    """Enables the bars of `track` in the block."""
    global _enabled
    before, _enabled = _enabled, sys.stderr.isatty()
    try:
        yield
    finally:
        _enabled = before


def track(items: Sequence[_Item], text: str) -> Iterable[_Item]:
    """Returns the items; iterating over them shows a bar where bars are enabled."""
    return _tracked(items, text) if _enabled and not _active else items


def _tracked(items: Sequence[_Item], text: str) -> Iterator[_Item]:
    global _active
    _active = True
    try:
        yield from _bar(items, text)
    finally:
        _active = False


def _bar(items: Sequence[_Item], text: str) -> Iterable[_Item]:
    with contextlib.suppress(ImportError):
        from tqdm import tqdm

        return tqdm(items, text, leave=False, delay=_DELAY_SECONDS, file=sys.stderr)
    with contextlib.suppress(ImportError):
        from rich.console import Console
        from rich.progress import track as rich_track

        return rich_track(items, text, console=Console(stderr=True), transient=True)
    return items
