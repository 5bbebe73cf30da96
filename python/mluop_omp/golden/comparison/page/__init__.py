"""The report of a comparison as an HTML page: text, and drawings of tensors that differ.

_elements.py and _plan.py reduce tensors to cells and counts, _figures.py draws them, _template.py
is the page.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from mluop_omp._library import MluOpError
from mluop_omp.golden import _output
from mluop_omp.golden._progress import track
from mluop_omp.golden._text import printable
from mluop_omp.golden.comparison._data import Operands, Outcome
from mluop_omp.golden.comparison._errors import Measure
from mluop_omp.golden.comparison._report import EQUAL, Row, figure_rows, summary_of
from mluop_omp.golden.comparison._values import Sparse, Tensor, convert
from mluop_omp.golden.comparison.page import _elements, _figures, _plan, _template
from mluop_omp.golden.comparison.page._elements import Counts

# Largest numbers of tensors that are drawn and of lines of text.
_MAX_PARTS = 8
_MAX_LINES = 2000


def parts_of(comparison: Outcome, name: str = "") -> Iterator[tuple[str, Outcome]]:
    """Yields the tensors that differ with their names, from containers of any depth."""
    if comparison.kind in ("dense", "sparse") and not comparison.equal:
        yield name, comparison
    for child, each in comparison.children.items():
        yield from parts_of(each, f"{name}/{child}" if name else child)


def write(
    path: str | os.PathLike[str],
    result: Any,
    parts: Iterable[tuple[str, Outcome]],
    every: Iterable[Row] = (),
) -> None:
    """Writes the report of a comparison of tensors or of runs, and draws the first parts.

    every: the rows of a table, if they are several; see `figure_rows`. Raises OSError if the file
    cannot be written.
    """
    listed, sections = list(parts), []
    drawn = listed[:_MAX_PARTS]
    for name, comparison in track(drawn, "drawing") if len(drawn) > 1 else drawn:
        verdict = printable(summary_of(comparison))
        sections.append(_template.section(printable(name), verdict, _figures_of(comparison)))
    lines = printable(str(result)).splitlines()
    more = len(lines) - _MAX_LINES
    if more > 0:
        lines[_MAX_LINES:] = [f"... {more} more lines"]
    omitted = len(listed) - len(sections)
    head, *rows = (tuple(map(printable, row)) for row in figure_rows(every))
    # Tensors that differ come first.
    rows = [head, *sorted(rows, key=lambda row: row[1] == EQUAL)]
    table = _template.table(rows, _MAX_LINES) if len(rows) > 2 else ""
    _output.write_text(path, _template.page(bool(result.equal), lines, table, sections, omitted))


def _figures_of(comparison: Outcome) -> list[tuple[str, str]]:
    """Returns captions and figures; a caption without a figure is text."""
    figures: list[tuple[str, str]] = []
    message = ""
    try:
        if comparison._operands is None:
            message = "Not drawn: only a sample was compared, or the tensors are not at hand."
        else:
            figures += _drawings(comparison, comparison._operands)
    except (OSError, ValueError, TypeError, MemoryError, MluOpError) as error:
        message = f"The tensors cannot be read again: {error or 'out of memory'}"
    histogram = comparison.figures.get("ulp_histogram")
    if histogram and comparison.figures["elements"]:
        figures.append(("Elements by distance", _figures.draw_ulp(histogram)))
    return [*figures, (printable(message), "")] if message else figures


def _drawings(comparison: Outcome, operands: Operands) -> Iterator[tuple[str, str]]:
    found, expected = convert(operands.found), convert(operands.expected)
    # Draws wrong elements; if none is wrong, all that differ.
    what, measure = "wrong", Measure.of(comparison)
    if comparison.figures.get("wrong", 0) == 0:
        what, measure = "differing", Measure(0, 0)
    if isinstance(found, Tensor) and isinstance(expected, Tensor):
        if found.shape != comparison.shape or expected.shape != comparison.shape:
            raise ValueError(
                f"the shapes are {list(found.shape)} and {list(expected.shape)}, expected "
                f"{list(comparison.shape)} as in the comparison"
            )
        if found.array.size and found.shape:
            maps, counts = _elements.examine(found, expected, measure, operands.axes, what)
            for each in maps:
                if each.errors.any():
                    yield each.caption, _figures.draw_map(each, what)
            yield from _counted(counts, f"{what} elements")
    elif all(isinstance(each, (Sparse, Tensor)) for each in (found, expected)):
        maps, counts, omitted = _plan.examine(found, expected, measure)
        for each in maps:
            yield each.caption, _figures.draw_map(each, what)
        if omitted:
            yield f"{omitted} more batches differ.", ""
        yield from _counted([each for each in counts if each.name == "channel"], f"{what} elements")
        yield from _counted([each for each in counts if each.name != "channel"], "differing sites")


def _counted(counts: list[Counts], what: str) -> Iterator[tuple[str, str]]:
    if any(each.wrong.any() for each in counts):
        along = "along each dimension" if len(counts) > 1 else f"by {counts[0].name}"
        yield f"{what.capitalize()} {along}", _figures.draw_counts(counts, what)
