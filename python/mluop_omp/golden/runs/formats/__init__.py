"""Runs in the formats of other tools.

A format is a row of `_FORMATS`: whether a path is a run of the format, and a function that
describes it. That returns the content of a run.json as docs/record.md defines it, which _run.py
checks, and a function that reads a tensor by its name when it is asked for.
"""

from __future__ import annotations

import contextlib
from typing import Any, Callable

import numpy as np

from mluop_omp.golden.runs.formats import _msprobe, _polygraphy
from mluop_omp.golden.runs.formats._named import read as read_named
from mluop_omp.golden.runs.formats._polygraphy import write as write_polygraphy

__all__ = ["read_named", "reader_of", "write_polygraphy"]

_Read = Callable[[str, contextlib.ExitStack], "tuple[dict[str, Any], Callable[[str], np.ndarray]]"]
_FORMATS: tuple[tuple[Callable[[str], bool], _Read], ...] = (
    (_msprobe.is_dump, _msprobe.read),
    (_polygraphy.is_results, _polygraphy.read),
)


def reader_of(path: str) -> _Read | None:
    """Returns the reader of a run of another tool; None for any other path."""
    return next((read for recognizes, read in _FORMATS if recognizes(path)), None)
