"""The tables of nodes of docs/onnx.md and docs/zh/onnx.md agree with the table of the package."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mluop_omp.onnx import Node, nodes

TESTS = Path(__file__).parent
DOCS = TESTS.parents[2] / "docs"
# The domain of the nodes that _nodes/own.py declares for each operator: one row stands for all.
OWN = "mluop_omp"
PAGES = [("onnx.md", "Nodes", "none", "NumPy"), ("zh/onnx.md", "节点", "无", "NumPy")]


def rows(page: str, section: str) -> dict[tuple[str, str], list[str]]:
    """Returns the cells of each row, by names of nodes and their domains."""
    text = (DOCS / page).read_text(encoding="utf-8").partition(f"\n## {section}\n")[2]
    lines = re.findall(r"^\| (`.*) \|$", text.partition("\n## ")[0], re.MULTILINE)
    found = {}
    for line in lines:
        names, domains, *others = (cell.strip() for cell in line.split("|"))
        for name in words(names):
            assert (name, domains) not in found, f"{page}: {name} has two rows"
            found[name, domains] = others
    return found


def words(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def domains_of(cell: str, none: str) -> tuple[str, ...]:
    return tuple("" if each == none else each.strip("`") for each in re.split(", |、", cell))


def listed() -> list[Node]:
    return [node for node in nodes() if node.domains != (OWN,)]


@pytest.mark.parametrize(("page", "section", "none", "numpy"), PAGES, ids=[p[0] for p in PAGES])
def test_each_node_has_a_row(page, section, none, numpy):
    found = {
        (name, domains_of(domains, none)): cells
        for (name, domains), cells in rows(page, section).items()
    }
    assert found.keys() == {(node.name, node.domains) for node in listed()}
    for node in listed():
        inputs, operators, source, _ = found[node.name, node.domains]
        assert words(inputs) == list(node.inputs), node.name
        assert operators == numpy or words(operators) == list(node.operators), node.name
        assert (operators == numpy) == (not node.operators), node.name
        assert source == node.source, node.name


@pytest.mark.parametrize(("page", "section", "none", "numpy"), PAGES, ids=[p[0] for p in PAGES])
def test_the_tests_of_each_row_name_its_nodes(page, section, none, numpy):
    """Beside the tests of all nodes: a file that compares this node with another definition."""
    for (name, _), (*_, tests) in rows(page, section).items():
        assert words(tests), name
        for test in words(tests):
            text = (TESTS / f"{test}.py").read_text()
            assert re.search(rf"\b{name}\b", text), f"{test}: {name}"
