"""README.md and the pages of docs/ have Chinese translations that state the same."""

from __future__ import annotations

import os
import re
from functools import cache
from itertools import zip_longest
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# English pages, and the Chinese page of each.
PAGES = {"README.md": "README.zh.md"}
for each in sorted(ROOT.glob("docs/**/*.md")):
    path = each.relative_to(ROOT / "docs").as_posix()
    # The reference of the headers is English; pages of operators are translated one by one.
    is_translated = (
        "/" not in path or path.startswith("guide/") or "[中文]" in each.read_text("utf-8")
    )
    if is_translated and not path.startswith("zh/"):
        PAGES[f"docs/{path}"] = f"docs/zh/{path}"
ENGLISH = {chinese: english for english, chinese in PAGES.items()}
# A page that only readers of Chinese need: the terms, in both languages.
TERMS = "docs/zh/terms.md"

CODE_BLOCK = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
BLOCK = "\N{OBJECT REPLACEMENT CHARACTER}"  # in place of a code block
HEADING = re.compile(r"^(#+) (.*)$", re.MULTILINE)
CODE = re.compile(r"`([^`]+)`")
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
CHINESE = "[\u4e00-\u9fff]"
FULL_WIDTH = "[，。；：、！？（）]"
HALF_WIDTH = str.maketrans({"、": ", ", "，": ", ", "（": " (", "）": ")"})


@cache
def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def prose(name: str) -> str:
    return CODE_BLOCK.sub(BLOCK, read(name))


def slug(heading: str) -> str:
    """The anchor that GitHub gives to a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def target(page: str, link: str) -> str:
    """Returns the file that a link names, in its English version, and the number of the heading."""
    if "://" in link:
        return link
    path, _, anchor = link.partition("#")
    file = os.path.normpath(Path(page).parent / path) if path else page
    assert (ROOT / file).exists(), f"{page}: no file {link}"
    assert page not in ENGLISH or file not in PAGES, f"{page}: {link} is not the Chinese page"
    number = ""
    if anchor:
        anchors = [slug(title) for _, title in HEADING.findall(prose(file))]
        assert anchor in anchors, f"{page}: no heading {link}, expected one of {anchors}"
        number = f"#{anchors.index(anchor)}"
    return ENGLISH.get(file, file) + number


def code_block(page: str, block: str) -> object:
    """Returns a code block, or the English pages that a table of contents of the site lists."""
    if not block.startswith("```{toctree}"):
        return block
    _, _, entries = block.removesuffix("\n```").partition("\n\n")
    pages = [re.sub(r".*<(.*)>", r"\1", entry) + ".md" for entry in entries.splitlines()]
    # Each language ends with a page that the other one lacks; Chinese lists its own operators, too.
    other = ("terms.md", "zh/index.md", "operators/*.md")
    return [target(page, each) for each in pages if each not in other]


def contents(page: str) -> list[dict]:
    """Returns what the sections of a page, each of one heading, share with their translation."""
    blocks = iter(CODE_BLOCK.findall(read(page)))
    before, *parts = HEADING.split(prose(page))
    assert before == "", f"{page} does not begin with a heading"
    sections = []
    for level, title, text in zip(parts[::3], parts[1::3], parts[2::3]):
        if not sections:
            text = text.partition("\n\n")[2]  # without the link to the other language
        links = [(image, target(page, link)) for image, _, link in LINK.findall(text)]
        section = {
            "title": title,
            "level": level,
            "code blocks": [code_block(page, next(blocks)) for _ in range(text.count(BLOCK))],
            "paragraphs": len(re.findall(r"\n{2,}", text.strip())),
            "list items": len(re.findall(r"^(?:-|\d+\.) ", text, re.MULTILINE)),
            "links": sorted(link for image, link in links if not image),
            "images": [link for image, link in links if image],
            "code": code(text),
            "numbers": set(NUMBER.findall(CODE.sub("", LINK.sub(r"\2", text)))),
            "tables": re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE),
        }
        sections.append(section)
    return sections


def code(text: str) -> set[str]:
    return {" ".join(span.split()) for span in CODE.findall(text)}


def rows(table: str) -> list[list[str]]:
    return [re.split(r"(?<!\\)\|", row)[1:-1] for row in table.splitlines()]


def cells_agree(chinese: str, english: str) -> bool:
    """Whether two cells have the same code, and are equal if the Chinese one has no Chinese."""
    if re.search(CHINESE, chinese):
        return code(chinese) == code(english)
    plain = LINK.sub(r"\2", chinese).strip().translate(HALF_WIDTH)
    return plain == LINK.sub(r"\2", english).strip()


def test_each_page_has_a_translation():
    chinese = {each.relative_to(ROOT).as_posix() for each in ROOT.glob("docs/zh/**/*.md")}
    assert chinese - {TERMS} | {"README.zh.md"} == set(ENGLISH)


@pytest.mark.parametrize("page", PAGES)
def test_translation_states_the_same(page):
    translation = PAGES[page]
    links = [f"[中文]({os.path.relpath(translation, Path(page).parent)})", ""]
    assert read(page).splitlines()[1:3] == links
    targets = (os.path.relpath(each, Path(translation).parent) for each in (page, TERMS))
    links = ["[English]({}) · [术语]({})".format(*targets), ""]
    assert read(translation).splitlines()[1:3] == links
    for chinese, english in zip_longest(contents(translation), contents(page), fillvalue={}):
        title = chinese.pop("title", None)
        place = f"{translation}, {title}, of {english.pop('title', None)}"
        tables = chinese.pop("tables", []), english.pop("tables", [])
        for name in english or chinese:
            assert chinese.get(name) == english.get(name), f"{place}: {name}"
        for found, expected in zip_longest(*tables, fillvalue=""):
            shapes = [[len(row) for row in rows(table)] for table in (found, expected)]
            assert shapes[0] == shapes[1], f"{place}: columns of the rows of a table"
            for row, expected_row in zip(rows(found), rows(expected)):
                for cell, expected_cell in zip(row, expected_row):
                    assert cells_agree(cell, expected_cell), f"{place}: {cell}, of {expected_cell}"


@pytest.mark.parametrize("page", (*ENGLISH, TERMS))
def test_chinese_typography(page):
    """Spaces between Chinese and Latin; punctuation of full width; a line for each paragraph."""
    text = CODE.sub("code", LINK.sub(r"\2", prose(page))).replace("*", "")
    errors = rf"{CHINESE}(?:[A-Za-z0-9]| ?[,;:!?()]|\.)|(?:[A-Za-z0-9]|[,;:!?(] ?|\)){CHINESE}"
    errors += rf"| {FULL_WIDTH}|{FULL_WIDTH} (?!\|)"
    assert re.findall(rf".{{,8}}(?:{errors}).{{,8}}", text) == []
    assert re.findall(r"^[^#\n].*\n(?!\d+\. )\w.*", text, re.MULTILINE) == []
