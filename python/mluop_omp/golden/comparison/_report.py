"""The report of a comparison: a few lines of text, the verdict first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mluop_omp.golden._text import counted, labeled, listed, table
from mluop_omp.golden.comparison._data import Outcome, SiteMapping, SiteReport, is_comparable

# Children that get a whole report; the others get one line each.
_MAX_REPORTS = 5
_MAX_SITES = 4
_FIGURES = (
    ("diff1", "diff2", "max_absolute", "max_relative"),
    ("cosine", "pcc", "max_ulp", "factor"),
)
_SPECIALS = {
    "found_nan": "NaN in found",
    "expected_nan": "NaN in expected",
    "found_inf": "infinite in found",
    "expected_inf": "infinite in expected",
    "overflowed": "overflowed",
    "flushed": "flushed to zero",
}


def verdict_of(comparison: Outcome) -> str:
    """Returns the first line of the report."""
    if comparison.error:
        return f"cannot be compared: {comparison.error}"
    reasons = {"nested": _nested, "dense": _elements, "sparse": _sites}.get(comparison.kind)
    verdict = "equal" if comparison.equal else "differ"
    reason = reasons(comparison) if reasons else "; ".join(comparison.notes)
    return f"{verdict}: {reason}" if reason else verdict


def text_of(comparison: Outcome) -> str:
    return "\n".join(_lines(comparison))


def _lines(comparison: Outcome) -> list[str]:
    lines = [verdict_of(comparison)]
    if comparison.kind == "nested" and not comparison.error:
        return lines + _children(comparison)
    if comparison.kind == "other" or comparison.error:
        return lines
    if comparison.sites is not None:
        lines += _site_lines(comparison.sites)
    if comparison.pattern:
        lines.append(f"pattern: {comparison.pattern}")
    lines += comparison.notes
    lines += _worst(comparison)
    if comparison.figures.get("differing"):
        lines += _figures(comparison)
    return lines


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
    parts = []
    if sites.only_found:
        parts.append(f"{counted(sites.only_found, 'site')} only in found")
    if sites.only_expected:
        parts.append(f"{counted(sites.only_expected, 'site')} only in expected")
    if sites.elsewhere:
        parts.append(f"{counted(sites.elsewhere, 'nonzero element')} outside the sites")
    if sites.equal:
        parts.append("the same sites")
    parts.append(_elements(comparison) if sites.common else "no common sites")
    return "; ".join(parts)


def _site_lines(sites: SiteReport) -> list[str]:
    lines = [f"sites: found {sites.found}, expected {sites.expected}, common {sites.common}"]
    if not sites.same_order:
        lines.append("rows are in another order (ignored)")
    kinds = (("only", "only"), ("repeated", "repeated"), ("outside", "out of range"))
    sides = ("found", "expected")
    texts = {f"{kind}_{side}": f"{text} in {side}" for kind, text in kinds for side in sides}
    for name, text in {**texts, "elsewhere": "nonzero outside the sites"}.items():
        count = getattr(sites, name)
        if count:
            examples = sites.examples.get(name, [])[:_MAX_SITES]
            lines.append(f"{text}: {count}: {listed(map(_tuple, examples), count)}")
    if sites.mapping is not None:
        lines.append(_mapping(sites.mapping, sites.found))
    return lines


def _mapping(mapping: SiteMapping, rows: int) -> str:
    axes = len(mapping.columns)
    parts = []
    if mapping.columns != tuple(range(axes)):
        parts.append(f"columns of found in the order {list(mapping.columns)}")
        if mapping.columns[0] == axes - 1:
            parts[-1] += ", the batch last"
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
    if not comparison.worst:
        return []
    sparse = comparison.worst[0].site is not None
    rows = [("site, channel" if sparse else "index", "expected", "found", "absolute", "relative")]
    for element in comparison.worst:
        index = _tuple(element.index)
        if element.site is not None:
            index = f"{_tuple(element.site)} {_tuple(element.index[1:])}"
        values = map(_value, (element.expected, element.found), reversed(comparison.dtypes))
        errors = (f"{error:.3g}" for error in (element.absolute, element.relative))
        rows.append((index, *values, *errors))
    return table(rows, "<>>>>")


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
    lines = [", ".join(f"{name} {_number(figures[name])}" for name in names) for names in _FIGURES]
    counts = [f"{figures[name]} {text}" for name, text in _SPECIALS.items() if figures.get(name)]
    if counts:
        lines.append(", ".join(counts))
    return lines


def _number(value: Any) -> str:
    return str(value) if isinstance(value, int) else f"{value:.6g}"


def _nested(comparison: Outcome) -> str:
    children = comparison.children.values()
    differing = sum(not child.equal and is_comparable(child) for child in children)
    errors = sum(not is_comparable(child) for child in children)
    parts = []
    if comparison.missing:
        parts.append(f"{len(comparison.missing)} missing")
    if comparison.extra:
        parts.append(f"{len(comparison.extra)} extra")
    if errors:
        parts.append(f"{errors} cannot be compared")
    if differing:
        parts.append(f"{differing} of {len(comparison.children)} differ")
    if parts:
        return ", ".join(parts)
    if not comparison.children:
        return "both are empty"
    return f"all {len(comparison.children)}" + ", without elements" * (
        not _has_elements(comparison)
    )


def _has_elements(comparison: Outcome) -> bool:
    if comparison.kind == "nested":
        return any(map(_has_elements, comparison.children.values()))
    return comparison.figures.get("elements", 1) > 0


def _children(comparison: Outcome) -> list[str]:
    lines = []
    for text, names in (("missing", comparison.missing), ("extra", comparison.extra)):
        if names:
            lines.append(f"{text}: {listed(names)}")
    wrong = [(name, child) for name, child in comparison.children.items() if not child.equal]
    for position, (name, child) in enumerate(wrong):
        lines += labeled(name, child if position < _MAX_REPORTS else verdict_of(child))
    return lines
