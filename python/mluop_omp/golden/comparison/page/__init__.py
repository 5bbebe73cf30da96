"""The report of a comparison as an HTML page: text, and drawings of tensors that differ.

_elements.py and _plan.py reduce tensors to cells and counts, _figures.py draws them, _template.py
is the page.
"""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Callable, Optional

from mluop_omp import _requirements
from mluop_omp._library import MluOpError
from mluop_omp.golden import _output
from mluop_omp.golden._progress import track
from mluop_omp.golden._text import printable
from mluop_omp.golden.comparison._data import Operands, Outcome
from mluop_omp.golden.comparison._errors import Measure
from mluop_omp.golden.comparison._report import verdict_of
from mluop_omp.golden.comparison._values import Sparse, Tensor, convert
from mluop_omp.golden.comparison.page import _elements, _figures, _plan, _template
from mluop_omp.golden.comparison.page._elements import Counts, Map

# Largest numbers of tensors that are drawn and of lines of text.
_MAX_PARTS = 8
_MAX_LINES = 2000
# A caption and the function that draws its figure, or None for text alone.
_Drawing = tuple[str, Optional[Callable[[], Any]]]


def parts_of(comparison: Outcome, name: str = "") -> Iterator[tuple[str, Outcome]]:
    """Yields the tensors that differ with their names, from containers of any depth."""
    if comparison.kind in ("dense", "sparse") and not comparison.equal:
        yield name, comparison
    for child, each in comparison.children.items():
        yield from parts_of(each, f"{name}/{child}" if name else child)


def write(path: str | os.PathLike[str], result: Any, parts: Iterable[tuple[str, Outcome]]) -> None:
    """Writes the report of a comparison of tensors or of runs, and draws the first parts.

    Raises ImportError without matplotlib, OSError if the file cannot be written.
    """
    _requirements.require("matplotlib")
    listed, numbers = list(parts), itertools.count()
    drawn = listed[:_MAX_PARTS]
    sections = []
    for name, comparison in track(drawn, "drawing") if len(drawn) > 1 else drawn:
        figures = _rendered(comparison, numbers)
        verdict = printable(verdict_of(comparison))
        sections.append(_template.section(printable(name), verdict, figures))
    lines = printable(str(result)).splitlines()
    more = len(lines) - _MAX_LINES
    if more > 0:
        lines[_MAX_LINES:] = [f"... {more} more lines"]
    omitted = len(listed) - len(sections)
    page = _template.page(bool(result.equal), lines, sections, omitted)
    _output.write_text(path, page)


def _rendered(comparison: Outcome, numbers: Iterator[int]) -> list[tuple[str, str | None]]:
    """Returns captions and figures. numbers: make the ids of the figures distinct."""
    rendered, message = [], ""
    try:
        if comparison._operands is None:
            message = "Not drawn: only a sample was compared, or the tensors are not at hand."
        else:
            for caption, draw in _drawings(comparison, comparison._operands):
                rendered.append((caption, draw and _figures.render(next(numbers), draw)))
    except (OSError, ValueError, TypeError, MemoryError, MluOpError) as error:
        message = f"The tensors cannot be read again: {error or 'out of memory'}"
    histogram = comparison.figures.get("ulp_histogram")
    if histogram and comparison.figures["elements"]:
        draw = functools.partial(_figures.draw_ulp, histogram)
        rendered.append(("Elements by distance", _figures.render(next(numbers), draw)))
    if message:
        rendered.append((printable(message), None))
    return rendered


def _drawings(comparison: Outcome, operands: Operands) -> Iterator[_Drawing]:
    found, expected = convert(operands.found), convert(operands.expected)
    measure, what = _measure(comparison)
    if isinstance(found, Tensor) and isinstance(expected, Tensor):
        if found.shape != comparison.shape or expected.shape != comparison.shape:
            raise ValueError(
                f"the shapes are {list(found.shape)} and {list(expected.shape)}, expected "
                f"{list(comparison.shape)} as in the comparison"
            )
        if found.array.size and found.shape:
            yield from _of_elements(found, expected, measure, what, operands.axes)
    elif all(isinstance(each, (Sparse, Tensor)) for each in (found, expected)):
        yield from _of_sites(found, expected, measure, what)


def _measure(comparison: Outcome) -> tuple[Measure, str]:
    """Returns which elements to draw: wrong ones; if none is wrong, all that differ."""
    if comparison.figures.get("wrong", 0) == 0:
        return Measure(0, 0), "differing"
    return Measure.of(comparison), "wrong"


def _of_elements(
    found: Tensor, expected: Tensor, measure: Measure, what: str, axes: Sequence[str] | None
) -> Iterator[_Drawing]:
    maps, counts = _elements.examine(found, expected, measure, axes)
    names = [printable(name) for name in _elements.names_of(found.shape, axes)]
    for each in maps:
        if each.errors.any():
            draw = functools.partial(_figures.draw_map, each, names, what)
            yield _map_caption(each, found.shape, names, what), draw
    yield from _of_counts(counts, f"{what} elements")


def _map_caption(each: Map, shape: tuple[int, ...], names: list[str], what: str) -> str:
    others = {
        dim: name
        for dim, name in enumerate(names)
        if dim not in (each.rows, each.columns) and shape[dim] > 1
    }
    parts = [f"Largest absolute error of {what} elements"]
    if each.fixed is not None:
        dim, index = each.fixed
        parts.append(f"at {names[dim]} = {index}")
        others.pop(dim)
    if others:
        parts.append(f"over all {', '.join(others.values())}")
    caption = " ".join(parts)
    if each.steps == (1, 1):
        return caption
    steps = each.steps[1:] if each.rows is None else each.steps
    return f"{caption}; cells of {' x '.join(map(str, steps))}"


def _of_sites(
    found: Sparse | Tensor, expected: Sparse | Tensor, measure: Measure, what: str
) -> Iterator[_Drawing]:
    data = _plan.examine(found, expected, measure)
    for plan in data.plans:
        caption = f"Sites of batch {plan.batch} from above"
        if plan.step > 1:
            caption += f"; cells of {plan.step} x {plan.step}"
        yield caption, functools.partial(_figures.draw_plan, plan, what)
    if data.batches > len(data.plans):
        yield f"{data.batches - len(data.plans)} more batches differ.", None
    elements = [each for each in data.counts if each.name == "channel"]
    sites = [each for each in data.counts if each.name != "channel"]
    yield from _of_counts(elements, f"{what} elements")
    yield from _of_counts(sites, "differing sites")


def _of_counts(counts: list[Counts], what: str) -> Iterator[_Drawing]:
    if any(each.wrong.any() for each in counts):
        along = "along each dimension" if len(counts) > 1 else f"by {printable(counts[0].name)}"
        draw = functools.partial(_figures.draw_counts, counts, what)
        yield f"{what.capitalize()} {along}", draw
