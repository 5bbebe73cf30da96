"""The pages of the documentation site: functions, sections, cases of the perf suite, headers."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

import mluop_omp

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    (page for page in ROOT.glob("docs/operators/*.md") if page.stem != "index"),
    key=lambda page: page.stem,
)
HEADERS = {name: (ROOT / "include" / name).read_text() for name in ("mlu_op.h", "mlu_op_omp.h")}
# Modules whose functions are operators.
MODULES = [
    f"mluop_omp.{name}"
    for name in (
        "attention",
        "boxes",
        "losses",
        "masked_conv",
        "points",
        "rois",
        "sparse_conv",
        "voxels",
    )
]
SECTIONS = [
    "Definition",
    "Tensors",
    "Special values",
    "Outputs",
    "Algorithms",
    "Performance",
    "Used by",
    "Example",
]
FUNCTION = re.compile(r"MLUOP_WIN_API\s+(mluOp\w+)\(")


def operator_functions() -> set[str]:
    """Returns the functions of the section Operators of both headers."""
    sections = re.compile(r"^ \* Operators(?: that MLU-OPS lacks.*)?$", re.MULTILINE)
    return {
        name for header in HEADERS.values() for name in FUNCTION.findall(sections.split(header)[1])
    }


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


def table_of_functions(page: Path) -> str:
    return page.read_text().partition("\n## ")[0]


def test_each_operator_has_a_page():
    pages = {page.stem: re.findall(r"`(mluOp\w+)`", table_of_functions(page)) for page in PAGES}
    described = [name for names in pages.values() for name in names]
    assert len(described) == len(set(described)), "a function is on two pages"
    declared = {name for header in HEADERS.values() for name in FUNCTION.findall(header)}
    assert set(described) <= declared
    assert operator_functions() <= set(described)
    exported = ((name, getattr(mluop_omp, name)) for name in mluop_omp.__all__)
    of_arrays = {name for name, value in exported if getattr(value, "__module__", "") in MODULES}
    text = "".join(table_of_functions(page) for page in PAGES)
    assert of_arrays <= set(re.findall(r"`mluop_omp\.(\w+)`", text))


def test_the_index_lists_each_page():
    index = (ROOT / "docs" / "operators" / "index.md").read_text()
    table, _, contents = index.partition("```{toctree}")
    assert sorted(re.findall(r"\(([\w-]+)\.md\)", table)) == [page.stem for page in PAGES]
    assert contents == "\n:hidden:\n:glob:\n\n*\n```\n"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_sections_and_picture(page):
    text = page.read_text()
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == SECTIONS
    pictures = re.findall(r"^!\[.+\]\((.+)\)$", text.partition("\n## Tensors\n")[0], re.MULTILINE)
    assert len(pictures) <= 1
    assert all((page.parent / picture).stat().st_size < 100_000 for picture in pictures)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_perf_cases(page):
    """`mluop_perf --op` selects operators whose names contain the text."""
    sources = "".join(
        source.read_text()
        for folder in ("perf/ops", "case/operators")  # the sizes of networks are in either
        for source in ROOT.glob(f"{folder}/*.cpp")
    )
    names = re.findall(r'"([a-z]\w+)"', sources)
    selections = re.findall(r"--op\s+(\w+)", page.read_text())
    assert selections
    for selection in selections:
        assert any(selection in name for name in names), selection


@pytest.mark.parametrize("header", list(HEADERS))
def test_comments_for_doxygen(header):
    """The filter loses no text of a declaration, and each function has a comment."""
    location = ROOT / "docs" / "doxygen_filter.py"
    spec = importlib.util.spec_from_file_location("doxygen_filter", location)
    doxygen_filter = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(doxygen_filter)
    converted = doxygen_filter.convert(HEADERS[header])

    def code(text: str) -> str:
        return "".join(re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL).split())

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
