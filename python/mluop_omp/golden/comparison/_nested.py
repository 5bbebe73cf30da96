"""Comparison of values of any kind, containers included."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

from mluop_omp._library import MluOpError
from mluop_omp.golden._progress import track
from mluop_omp.golden._text import listed
from mluop_omp.golden.comparison import _boxes, _sites
from mluop_omp.golden.comparison._criteria import Options
from mluop_omp.golden.comparison._data import Operands
from mluop_omp.golden.comparison._result import Comparison
from mluop_omp.golden.comparison._tensors import compare_tensors
from mluop_omp.golden.comparison._values import Sparse, Tensor, convert

# Largest nesting of containers; a deeper one most likely contains itself.
_MAX_DEPTH = 64
# Members of a container that may hold boxes with their scores and labels.
_MAX_MEMBERS = 64


def compare_values(found: Any, expected: Any, options: Options, depth: int = 0) -> Comparison:
    """Raises ValueError or TypeError if the two cannot be compared."""
    operands = Operands(_sites.with_columns(found, options.columns), expected, options.axes)
    found, expected = convert(operands.found), convert(expected)
    if isinstance(found, dict) and isinstance(expected, dict):
        if depth == _MAX_DEPTH:
            raise ValueError(f"containers are nested more than {_MAX_DEPTH} deep")
        result = _compare_dicts(found, expected, options, depth)
        error = "" if depth else _nothing_compared(result)
        return dataclasses.replace(result, equal=False, error=error) if error else result
    if isinstance(found, (Tensor, Sparse)) and isinstance(expected, (Tensor, Sparse)):
        result = compare_tensors(found, expected, options)
        return result if result.equal else dataclasses.replace(result, _operands=operands)
    kinds = _kind(found), _kind(expected)
    if kinds[0] != kinds[1] or isinstance(found, (dict, Tensor, Sparse)):
        raise ValueError(f"found is {kinds[0]}, expected is {kinds[1]}")
    equal = bool(found == expected)
    note = "" if equal else f"found {_short(found)}, expected {_short(expected)}"
    return Comparison(equal, kind="other", notes=(note,) if note else ())


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        return "a container"
    if isinstance(value, (Tensor, Sparse)):
        return str(value)
    return "None" if value is None else f"of type {type(value).__name__}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _compare_dicts(found: dict, expected: dict, options: Options, depth: int) -> Comparison:
    missing = sorted(expected.keys() - found.keys(), key=_natural)
    extra = sorted(found.keys() - expected.keys(), key=_natural)
    children = {}
    common = sorted(found.keys() & expected.keys(), key=_natural)
    for name in track(common, "comparing"):
        try:
            children[name] = compare_values(found[name], expected[name], options, depth + 1)
        except (OSError, ValueError, TypeError, MemoryError, MluOpError) as error:
            children[name] = Comparison(False, kind="error", error=str(error) or "out of memory")
    if not all(children.values()):
        children.update(_matched_boxes(found, expected, children, options))
    return Comparison(
        equal=not missing and not extra and all(children.values()),
        kind="nested",
        children=children,
        missing=tuple(missing),
        extra=tuple(extra),
    )


def _nothing_compared(result: Comparison) -> str:
    """Returns why nothing was compared, "" if something was, or if one side has no parts."""
    if result.equal and result.compared == 0:
        return "nothing was compared: neither contains a tensor"
    if result.children or not (result.missing and result.extra):
        return ""
    sides = (("found", result.extra), ("expected", result.missing))
    names = " and ".join(f"{side} has {len(each)}: {listed(each)}" for side, each in sides)
    return f"no common name; {names}{_prefix(result.extra, result.missing)}"


def _prefix(found: tuple[str, ...], expected: tuple[str, ...]) -> str:
    """States the prefix that makes most names of one side names of the other."""
    for side, longer, shorter in (("found", found, expected), ("expected", expected, found)):
        names = set(shorter)
        prefixes = {longer[0].removesuffix(name) for name in names if longer[0].endswith(name)}
        for prefix in sorted(prefixes, key=len):
            common = sum(n.startswith(prefix) and n[len(prefix) :] in names for n in longer)
            if 2 * common >= len(names):
                return f"; {common} would match without the prefix {prefix!r} of {side}"
    return ""


def _matched_boxes(
    found: dict, expected: dict, children: dict[str, Comparison], options: Options
) -> dict[str, Comparison]:
    """Returns the comparisons of detections by matched boxes, which replace some children."""
    if len(children) > _MAX_MEMBERS:
        return {}
    try:
        pair = [{name: convert(each[name]) for name in children} for each in (found, expected)]
    except (OSError, ValueError, TypeError, MemoryError):
        return {}
    compare = functools.partial(compare_tensors, options=options)
    return _boxes.compare_matched(pair[0], pair[1], children, compare)


def _natural(name: str) -> tuple[int, str]:
    """Sort key: positions in lists as numbers, all other names as text."""
    return (int(name), name) if name.isdecimal() and len(name) < 19 else (10**19, name)
