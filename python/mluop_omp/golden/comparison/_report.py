"""The report of a comparison: a few lines of text, the verdict first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Union

import numpy as np

from mluop_omp.golden._text import counted, labeled, listed, table
from mluop_omp.golden.comparison._data import Outcome, SiteMapping, SiteReport

# Children that get a whole report, and ones that get one line each; the others are counted.
_MAX_REPORTS, _MAX_LINES = 5, 20
# Children that cannot be compared for one reason are listed together from this number on.
_MIN_GROUP = 3
_MAX_SITES = 4
_FIGURES = (
    ("diff1", "diff2", "max_absolute", "max_relative"),
    ("cosine", "pcc", "max_ulp", "factor"),
)
# The verdict of an equal tensor in the table of all parts.
EQUAL = "equal"
# The columns of the table of all parts: figures and their formats.
_COLUMNS = {
    **dict.fromkeys(("diff1", "diff2", "max_absolute"), ".3g"),
    "max_ulp": "",
    "cosine": ".6g",
}
_SPECIALS = {
    "found_nan": "NaN in found",
    "expected_nan": "NaN in expected",
    "found_inf": "infinite in found",
    "expected_inf": "infinite in expected",
    "overflowed": "overflowed",
    "flushed": "flushed to zero",
}


# A row of a table: the name of a tensor, and its comparison or a text in place of the verdict. Runs
# add their own verdict.
Row = Union[tuple[str, Union[Outcome, str]], tuple[str, Outcome, str]]


def verdict_of(comparison: Outcome) -> str:
    """Returns the first line of the report."""
    if comparison.error:
        return f"cannot be compared: {comparison.error}"
    reasons = {"nested": _nested, "dense": _elements, "sparse": _sites}.get(comparison.kind)
    verdict = "equal" if comparison.equal else "differ"
    reason = reasons(comparison) if reasons else "; ".join(comparison.notes)
    agrees = comparison.kind == "dense" and all(each.passed for each in comparison.criteria)
    if agrees and not comparison.equal and comparison.notes:
        # The compared elements agree, and the first note states what differs.
        reason = f"{comparison.notes[0]}; {reason}"
    return f"{verdict}: {reason}" if reason else verdict


def summary_of(comparison: Outcome) -> str:
    """Returns a line: the verdict, the pattern and further findings."""
    pattern = [f"pattern: {comparison.pattern}"] if comparison.pattern else []
    notes = comparison.notes if comparison.kind in ("dense", "sparse") else ()
    return "; ".join([verdict_of(comparison), *pattern, *notes])


def text_of(comparison: Outcome) -> str:
    lines = [verdict_of(comparison)]
    if comparison.kind == "nested" and not comparison.error:
        lines += _children(comparison)
    elif comparison.kind in ("dense", "sparse"):
        lines += [] if comparison.sites is None else _site_lines(comparison.sites)
        lines += [f"pattern: {comparison.pattern}"] if comparison.pattern else []
        lines += [*comparison.notes, *_worst(comparison), *_figures(comparison)]
    return "\n".join(lines)


def _elements(comparison: Outcome) -> str:
    figures = comparison.figures
    tensor = f"{_dtypes(comparison)} {list(comparison.shape)}"
    total, differing, wrong = (figures[name] for name in ("elements", "differing", "wrong"))
    if total == 0:
        return f"{tensor} has no elements"
    named = [judgment for judgment in comparison.criteria if judgment.threshold is not None]
    if named:
        # The criteria that fail; if none does, all of them.
        failed = [judgment for judgment in comparison.criteria if not judgment.passed]
        text = ", ".join(map(str, failed or comparison.criteria)) + f"; {tensor}"
        if "allclose" in [judgment.name for judgment in comparison.criteria]:
            text += f", {tolerance_of(comparison)}"
        return text + ("; NaN or infinity in one only" if figures["special_mismatches"] else "")
    if differing == wrong == 0:
        found, expected = comparison.dtypes
        same = "have the same bits" if found == expected else f"are equal, rounded to {found}"
        return f"{tensor}, all {total} elements {same}"
    if any(judgment.name == "bits" for judgment in comparison.criteria):
        return f"{tensor}, {differing} of {total} elements have different bits"
    tolerance = tolerance_of(comparison)
    if wrong == 0:
        return f"{tensor}, all {total} elements are within {tolerance}"
    if comparison.rtol == comparison.atol == comparison.rms_atol == 0:
        return f"{tensor}, {wrong} of {total} elements differ"
    return f"{tensor}, {wrong} of {total} elements are outside {tolerance}"


def tolerance_of(comparison: Outcome) -> str:
    text = f"rtol {comparison.rtol:g}, atol {comparison.atol:.3g}"
    if comparison.rms_atol == 0:
        return text
    rms = comparison.figures["rms"]
    if rms == 0:
        return f"{text} (expected has no finite nonzero element)"
    relative = f"{comparison.rms_atol:g} of the root mean square {rms:.3g}"
    ratio = comparison.atol / comparison.rms_atol / rms
    if ratio > 1.01:
        return f"{text} (the smallest positive number, above {relative})"
    return f"{text} ({relative}{', counted as 1' if ratio < 0.99 else ''})"


def _dtypes(comparison: Outcome) -> str:
    found, expected = comparison.dtypes
    return found if found == expected else f"{found} (expected {expected})"


def _sites(comparison: Outcome) -> str:
    sites = comparison.sites
    assert sites is not None
    if sites.equal and not sites.common:
        return "no sites"
    counts = (
        (sites.only_found, "site", "only in found"),
        (sites.only_expected, "site", "only in expected"),
        (sites.elsewhere, "nonzero element", "outside the sites"),
    )
    parts = [f"{counted(count, noun)} {where}" for count, noun, where in counts if count]
    values = _elements(comparison) if sites.common else "no common sites"
    return "; ".join([*(parts or ["the same sites"]), values])


def _site_lines(sites: SiteReport) -> list[str]:
    lines = [f"sites: found {sites.found}, expected {sites.expected}, common {sites.common}"]
    if not sites.same_order:
        lines.append("rows are in another order (ignored)")
    kinds = {"only": "only", "repeated": "repeated", "outside": "out of range"}
    texts = {f"{k}_{s}": f"{t} in {s}" for k, t in kinds.items() for s in ("found", "expected")}
    for name, text in {**texts, "elsewhere": "nonzero outside the sites"}.items():
        if count := getattr(sites, name):
            examples = sites.examples.get(name, [])[:_MAX_SITES]
            lines.append(f"{text}: {count}: {listed(map(_tuple, examples), count)}")
    if sites.mapping is not None:
        lines.append(_mapping(sites.mapping, sites.found))
    return lines


def _mapping(mapping: SiteMapping, rows: int) -> str:
    axes = len(mapping.columns)
    parts = []
    if mapping.columns != tuple(range(axes)):
        order = ",".join(map(str, mapping.columns))
        is_last = mapping.columns[0] == axes - 1
        batch = "the batch last, " if is_last else ""
        parts.append(f"columns of found in another order ({batch}--columns {order})")
    if mapping.multiply != 1:
        parts.append(f"coordinates times {mapping.multiply}")
    if mapping.divide != 1:
        parts.append(f"coordinates divided by {mapping.divide}")
    if any(mapping.offset):
        parts.append(f"coordinates plus {list(mapping.offset)}")
    return (
        f"{mapping.matches} of {rows} sites of found would match with {', '.join(parts)}; "
        f"{counted(mapping.wrong, 'element')} would be wrong"
    )


def _worst(comparison: Outcome) -> list[str]:
    rows = []
    for element in comparison.worst:
        index = _tuple(element.index)
        if element.site is not None:
            index = f"{_tuple(element.site)} {_tuple(element.index[1:])}"
        values = map(_value, (element.expected, element.found), reversed(comparison.dtypes))
        errors = (f"{error:.3g}" for error in (element.absolute, element.relative))
        rows.append((index, *values, *errors))
    names = ("index" if comparison.sites is None else "site, channel", "expected", "found")
    return table([(*names, "absolute", "relative"), *rows], "<>>>>") if rows else []


def _value(value: float, dtype: str) -> str:
    """Returns the shortest text that distinguishes the number from others of its type."""
    if dtype in ("float16", "float32"):
        return str(np.dtype(dtype).type(value))
    if dtype == "bfloat16":
        return f"{value:.4g}"
    return str(value)


def _tuple(values: Sequence[int]) -> str:
    return "(" + ",".join(map(str, values)) + ")"


def _figures(comparison: Outcome) -> list[str]:
    figures = comparison.figures
    if not figures["differing"]:
        return []
    lines = [", ".join(f"{name} {_number(figures[name])}" for name in names) for names in _FIGURES]
    counts = [f"{figures[name]} {text}" for name, text in _SPECIALS.items() if figures[name]]
    return lines + [", ".join(counts)] * bool(counts)


def _number(value: Any) -> str:
    return str(value) if isinstance(value, int) else f"{value:.6g}"


def _nested(comparison: Outcome) -> str:
    children = comparison.children.values()
    counts = (
        (len(comparison.missing), "missing"),
        (len(comparison.extra), "extra"),
        (sum(not child.comparable for child in children), "cannot be compared"),
        (
            sum(not child.equal and child.comparable for child in children),
            f"of {len(children)} differ",
        ),
    )
    parts = [f"{count} {text}" for count, text in counts if count]
    if parts or not children:
        return ", ".join(parts) or "both are empty"
    return f"all {len(children)}" + ("" if _has_elements(comparison) else ", without elements")


def _has_elements(comparison: Outcome) -> bool:
    if comparison.kind == "nested":
        return any(map(_has_elements, comparison.children.values()))
    return comparison.figures.get("elements", 1) > 0


def _children(comparison: Outcome) -> list[str]:
    sides = (("missing", comparison.missing), ("extra", comparison.extra))
    lines = [f"{text}: {listed(names)}" for text, names in sides if names]
    wrong = {name: child for name, child in comparison.children.items() if not child.equal}
    for names in _groups(wrong):
        error = wrong[names[0]].error
        lines.append(f"{len(names)} cannot be compared: {listed(names)}; the first: {error}")
        wrong = {name: child for name, child in wrong.items() if name not in names}
    for position, (name, child) in enumerate(wrong.items()):
        if position == _MAX_REPORTS + _MAX_LINES:
            more = len(wrong) - position
            lines.append(f"{more} more differ; --all, or text(every=True), lists all tensors")
            break
        lines += labeled(name, child if position < _MAX_REPORTS else summary_of(child))
    return lines


def _groups(children: Mapping[str, Outcome]) -> list[list[str]]:
    """Returns the names of parts that cannot be compared for one reason, if they are several.

    Reasons are the same that differ in numbers only.
    """
    names: dict[str, list[str]] = {}
    for name, child in children.items():
        if child.error:
            reason = re.sub(r"\[[\d, ]*\]|\d+", "#", child.error)
            names.setdefault(reason, []).append(name)
    return [each for each in names.values() if len(each) >= _MIN_GROUP]


def every_part(comparison: Outcome, name: str = "") -> Iterator[tuple[str, Outcome | str]]:
    """Yields all parts of containers of any depth; a text for a part that only one side has."""
    if comparison.kind != "nested":
        yield name, comparison
        return
    for child, each in comparison.children.items():
        yield from every_part(each, _joined(name, child))
    for side, names in (("missing", comparison.missing), ("extra", comparison.extra)):
        yield from ((_joined(name, child), side) for child in names)


def _joined(name: str, child: str) -> str:
    return f"{name}/{child}" if name else child


def figure_rows(rows: Iterable[Row]) -> list[tuple[str, ...]]:
    """Returns a header, and the verdict and the figures of each tensor; "" for unknown figures."""
    columns = {"wrong": "", "elements": "", **_COLUMNS}
    lines = [("tensor", "verdict", *columns)]
    for name, each, *own in rows:
        verdict, figures = each, dict[str, Any]()
        if isinstance(each, Outcome):
            verdict = "not compared" if each.error else EQUAL if each.equal else "differs"
            verdict, figures = "".join(own) or verdict, each.figures
            # All other figures are about the finite elements.
            verdict += ", NaN or infinity" * bool(figures.get("special_mismatches"))
        texts = (format(figures[n], form) if n in figures else "" for n, form in columns.items())
        lines.append((name, str(verdict), *texts))
    return lines


def figures_table(rows: Iterable[Row]) -> list[str]:
    """Returns a table as lines: see `figure_rows`."""
    lines = [tuple(each or "-" for each in row) for row in figure_rows(rows)]
    return table(lines, "<<>>" + ">" * len(_COLUMNS))
