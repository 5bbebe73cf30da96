"""The pages of the documentation site: functions, sections, cases of the perf suite, headers."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest

from mluop_omp._operators import all_operators

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    page.stem: page.read_text()
    for page in sorted(ROOT.glob("docs/operators/*.md"), key=lambda page: page.stem)
    if page.stem != "index"
}
HEADERS = {name: (ROOT / "include" / name).read_text() for name in ("mlu_op.h", "mlu_op_omp.h")}
SECTIONS = "Definition Tensors Special-values Outputs Algorithms Performance Used-by Example"
FUNCTION = re.compile(r"MLUOP_WIN_API\s+(mluOp\w+)\(")


@pytest.mark.parametrize("header", list(HEADERS))
def test_sections_of_the_reference(header):
    """The page of a header has its sections, in its order, and its macros outside of them."""
    page = (ROOT / "docs" / "reference" / f"{Path(header).stem}.md").read_text()
    titles = re.findall(r"^/\* -{20,}\n \* ([^.\n]*)", HEADERS[header], re.MULTILINE)
    assert re.findall(r"^## (.*)$", page, re.MULTILINE) == titles
    groups = [re.sub(r"\W", "_", title.lower()) for title in titles]
    assert re.findall(r"doxygengroup:: (.*)$", page, re.MULTILINE) == groups
    first = HEADERS[header].partition("/* -----")[0]
    macros = re.findall(r"^#define (MLUOP_\w+) \S", first, re.MULTILINE)
    assert re.findall(r"doxygendefine:: (.*)$", page, re.MULTILINE) == macros


def test_each_operator_has_a_page():
    tables = [text.partition("\n## ")[0] for text in PAGES.values()]
    described = [name for table in tables for name in re.findall(r"`(mluOp\w+)`", table)]
    assert len(described) == len(set(described)), "a function is on two pages"
    heading = re.compile(r"^ \* Operators(?: that MLU-OPS lacks.*)?$", re.MULTILINE)
    declared = {name for header in HEADERS.values() for name in FUNCTION.findall(header)}
    operators = {n for h in HEADERS.values() for n in FUNCTION.findall(heading.split(h)[1])}
    assert operators <= set(described) <= declared
    of_arrays = re.findall(r"`mluop_omp\.(\w+)`", "".join(tables))
    assert {operator.name for operator in all_operators()} <= set(of_arrays)


def test_the_index_lists_each_page():
    index = (ROOT / "docs" / "operators" / "index.md").read_text()
    table, _, contents = index.partition("```{toctree}")
    assert sorted(re.findall(r"\(([\w-]+)\.md\)", table)) == list(PAGES)
    assert contents == "\n:hidden:\n:glob:\n\n*\n```\n"


@functools.cache
def names_of_perf_cases() -> list[str]:
    folders = "perf/ops", "case/operators"  # The sizes of networks are in either.
    sources = (source.read_text() for each in folders for source in ROOT.glob(f"{each}/*.cpp"))
    return re.findall(r'"([a-z]\w+)"', "".join(sources))


@pytest.mark.parametrize("page", PAGES)
def test_sections_picture_and_perf_cases(page):
    """`mluop_perf --op` selects operators whose names contain the text."""
    text = PAGES[page]
    titles = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert " ".join(title.replace(" ", "-") for title in titles) == SECTIONS
    pictures = re.findall(r"^!\[.+\]\((.+)\)$", text.partition("\n## Tensors\n")[0], re.MULTILINE)
    assert len(pictures) <= 1
    for picture in pictures:
        assert (ROOT / "docs" / "operators" / picture).stat().st_size < 100_000
    selections = re.findall(r"--op\s+(\w+)", text)
    assert selections
    for selection in selections:
        assert any(selection in name for name in names_of_perf_cases()), selection


@pytest.mark.parametrize("header", list(HEADERS))
def test_comments_for_doxygen(header, monkeypatch):
    """The filter loses no text of a declaration, and each function has a comment."""
    monkeypatch.syspath_prepend(ROOT / "docs")
    import doxygen_filter

    def code(text: str) -> str:
        return "".join(re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL).split())

    converted = doxygen_filter.convert(HEADERS[header])
    assert code(converted) == code(HEADERS[header])
    comments = re.findall(r"\*/\n[\w* ]+MLUOP_WIN_API\s+(mluOp\w+)\(", converted)
    assert comments == FUNCTION.findall(HEADERS[header])


def test_the_search_splits_chinese(monkeypatch):
    """Chinese has no spaces: two neighbors are a word of the index, as of the query."""
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(ROOT / "docs")
    import languages

    words = ["NRAM", "体素", "素池", "池化", "和", "max_ulp"]
    assert languages.split("NRAM，体素池化 和 max_ulp。") == words
